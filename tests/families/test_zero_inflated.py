"""Columns that are often 0: whether a number is 0 has a probability of its own in each cluster."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.estimators.data.table_family import automatic_table
from evermix.families.imputing import drawn, imputed
from evermix.families.often_zero import has_spike, zero_inflated
from helpers.family_cases import CASES, OFTEN

NAN = np.nan


def spent(n=60, seed=0):
    """Amounts (N, 1) that are 0 in about half of the rows, and some that are missing."""
    rng = np.random.default_rng(seed)
    amounts = np.where(rng.random(n) < 0.5, 0.0, rng.lognormal(size=n))
    return np.where(rng.random(n) < 0.1, NAN, amounts)[:, None]


def as_two_columns(X):
    """Whether amounts are not 0, and the amounts that are not."""
    return np.column_stack([np.where(np.isnan(X), NAN, X != 0), np.where(X == 0, NAN, X)])


def both(X):
    """The family of amounts, and that of the two columns."""
    amounts = em.LogNormal(0.0, 0.1, 2.0, 1.0)
    one = em.Mixed({0: em.ZeroInflated(amounts, em.Bernoulli(0.5, 2.0))})
    two = em.Mixed({0: em.Bernoulli(0.5, 2.0), 1: amounts})
    return one.candidates(X)[0], two.candidates(as_two_columns(X))[0]


def test_it_is_a_product_of_whether_and_how_much():
    X = spent()
    (one, two), r = both(X), np.random.default_rng(0).dirichlet([1, 1, 1], size=len(X))
    stats = one.accumulate(X, r)
    np.testing.assert_array_equal(stats, two.accumulate(as_two_columns(X), r))
    eta = one.posterior(stats, r.sum(axis=0))
    np.testing.assert_array_equal(
        one.log_predictive(X, eta), two.log_predictive(as_two_columns(X), eta)
    )
    np.testing.assert_array_equal(one.log_base(X), two.log_base(as_two_columns(X)))


@pytest.mark.parametrize("engine", [em.ADF(), em.Gibbs(sweeps=3), em.MemoizedVB(laps=2), em.EP()])
def test_engines_learn_what_they_learn_from_two_columns(engine):
    X, found = spent()[:, 0], []
    X = X[~np.isnan(X)][:, None]
    for family, rows in zip(both(X), (X, as_two_columns(X)), strict=True):
        mix = em.Mixture(family, em.DP(1.0), engine, random_state=0).fit(rows)
        found.append((mix.labels_, mix.learner_.state.tally.stats))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_zeros_and_amounts_have_the_probability_one_together():
    X = spent()
    family, _ = both(X)
    eta = family.posterior(family.accumulate(X, np.ones((len(X), 1))), np.array([60.0]))

    def density(x):
        row = np.array([[x]])
        return np.exp(family.log_predictive(row, eta)[0, 0] + family.log_base(row)[0])

    rest = quad(lambda log: density(np.exp(log)) * np.exp(log), -40, 40)[0]
    assert density(0.0) + rest == pytest.approx(1.0, abs=1e-6)
    assert density(NAN) == 1.0


def test_what_is_drawn_is_as_often_zero():
    X = spent(2000)
    family, _ = both(X)
    eta = family.posterior(family.accumulate(X, np.ones((len(X), 1))), np.array([2000.0]))[0]
    rng = np.random.default_rng(1)
    rows = np.array([family.draw(eta, 2000.0, rng)[0] for _ in range(2000)])
    share = np.mean(X[~np.isnan(X)] == 0)
    assert abs(np.mean(rows == 0) - share) < 4 * np.sqrt(share * (1 - share) / 1000)
    holes = np.full((2000, 1), NAN)
    filled = drawn(family, holes, np.stack([eta, eta]), np.full((2000, 2), 0.5), rng)
    assert abs(np.mean(filled == 0) - share) < 4 * np.sqrt(share * (1 - share) / 1000)
    assert rows.min() >= 0
    assert filled.min() >= 0


def test_what_is_missing_is_zero_where_most_are():
    family, X = CASES["mixed-zeros"]
    eta = family.posterior(family.accumulate(X, np.ones((len(X), 1))), np.array([float(len(X))]))
    found = imputed(family, X, eta, np.ones((len(X), 1)))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[~np.isnan(X)], X[~np.isnan(X)])
    for share, filled in ((0.9, 0.0), (0.1, None)):
        rows = np.where(np.arange(100) < 100 * share, 0.0, np.exp(np.arange(100) % 7))[:, None]
        one, _ = both(rows)
        eta = one.posterior(one.accumulate(rows, np.ones((100, 1))), np.array([100.0]))
        value = imputed(one, np.array([[NAN]]), eta, np.ones((1, 1)))[0, 0]
        assert value == 0 if filled == 0 else 1 < value < np.exp(6)


def losses(shares, means, n=400):
    """Clusters eta (K, E) of negative numbers, 0 in some share of the rows; and their family."""
    family = em.Mixed({0: em.ZeroInflated(em.Gaussian(0.0, 0.1, 3.0, 1.0), em.Bernoulli(1, 1))})
    rows, clusters, rng = [], [], np.random.default_rng(0)
    for share, mean in zip(shares, means, strict=True):
        rows.append(np.where(np.arange(n) < share * n, 0.0, rng.normal(mean, 1.0, n))[:, None])
    family = family.candidates(np.vstack(rows))[0]
    for X in rows:
        one = np.ones((n, 1))
        clusters.append(family.posterior(family.accumulate(X, one), np.array([float(n)]))[0])
    return family, np.stack(clusters), rows


@pytest.mark.parametrize("r", [[0.5, 0.5], [0.1, 0.9], [0.8, 0.2]])
@pytest.mark.parametrize("shares", [(0.1, 0.4), (0.45, 0.05), (0.9, 0.9), (0.95, 0.05)])
def test_what_is_missing_is_the_mean_over_clusters_that_are_not_zero(shares, r):
    means = np.array([-50.0, -20.0])
    family, eta, rows = losses(shares, means)
    p = np.array([(1 + np.sum(X != 0)) / (2 + len(X)) for X in rows])
    m = np.array([X[X != 0].sum() / (0.1 + np.sum(X != 0)) for X in rows])  # of the posteriors
    found = imputed(family, np.array([[NAN]]), eta, np.array([r]))[0, 0]
    known = sum(r[k] * p[k] for k in range(2))
    mean = sum(r[k] * p[k] * m[k] for k in range(2)) / known
    assert found == pytest.approx(mean if known >= 0.5 else 0.0, rel=1e-9)
    assert not np.signbit(found) or found < 0


def test_zeros_have_no_sign():
    family, eta, _ = losses((0.5, 0.5), (-50.0, -20.0))
    rng, r = np.random.default_rng(0), np.full((200, 2), 0.5)
    found = [
        drawn(family, np.full((200, 1), NAN), eta, r, rng)[:, 0],
        np.array([family.draw(eta[0], 400.0, rng)[0] for _ in range(200)]),
    ]
    for values in found:
        assert 0 < np.sum(values == 0) < 200
        assert not np.signbit(values[values == 0]).any()


def test_it_is_kept_with_a_model(tmp_path):
    mix = em.Mixture(
        em.Mixed(
            {
                0: em.ZeroInflated(),
                1: em.Bernoulli(),
                2: em.ZeroInflated(em.Gaussian()),
                3: em.Gaussian(),
            }
        ),
        em.DP(1.0),
        em.ADF(),
    ).fit(OFTEN)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.learner_.model.family == mix.learner_.model.family
    np.testing.assert_array_equal(again.predict_proba(OFTEN), mix.predict_proba(OFTEN))
    shown = repr(em.Mixed({"a": (em.ZeroInflated(em.Gaussian()), 2)}))
    assert shown == (
        "Mixed({'a': (ZeroInflated(family=Gaussian(), zero=Bernoulli(a=1.0, b=1.0)), 2.0)})"
    )


@pytest.mark.parametrize(
    "given", [{"family": em.Poisson()}, {"family": em.LogGaussian()}, {"zero": em.Gaussian()}]
)
def test_other_families_are_refused(given):
    with pytest.raises(TypeError, match="must be"):
        em.ZeroInflated(**given)


def test_messages_say_where_it_belongs():
    with pytest.raises(TypeError, match=r"em.Mixed\(\{0: em.ZeroInflated\(\)\}\)"):
        em.Mixture(em.ZeroInflated()).fit([[0.0], [1.0]])
    with pytest.raises(TypeError, match=r"em.ZeroInflated\(\) for a column that is often 0"):
        em.Mixed({"x": em.ZeroInflated})


def test_explanations_name_the_column_once_and_add_up():
    family, X = CASES["mixed-zeros"]
    names = list(family.names)
    table = pd.DataFrame(X, columns=names)
    mix = em.Mixture(
        em.Mixed({n: em.ZeroInflated(em.Gaussian()) for n in names}), em.DP(5.0), em.ADF(lookback=0)
    ).partial_fit(table)
    for i in range(len(table)):
        why = mix.explain(table.iloc[[i]], against=-1)
        parts = [each.log_odds for each in why.contributions]
        assert abs(sum(parts) - why.log_odds) < 1e-9
        columns = [each.name for each in why.contributions if each.name in names]
        assert len(set(columns)) == len(columns)


# ---- chosen without settings -----------------------------------------------------------------


def shop(n, seed, shares=(0.9, 0.4, 0.05)):
    """Customers of three kinds, some of whom did not spend anything on snacks; and their kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    zero = rng.random((n, 2)) < np.array([shares, shares[::-1]]).T[kind]
    sizes = np.exp(rng.normal(np.array([[1.0, 3.0], [2.0, 2.0], [4.0, 1.0]])[kind], 0.5))
    amounts = np.where(zero, 0.0, sizes).round(2)
    town = np.array(list("abc"))[np.where(rng.random(n) < 0.8, kind, rng.integers(3, size=n))]
    table = {"snacks": amounts[:, 0], "drinks": amounts[:, 1], "town": town}
    return pd.DataFrame(table | {"stay": rng.normal(kind * 3.0)}), kind


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stream", [False, True])
def test_zeros_cut_no_cluster(seed, stream):
    table, kind = shop(900, seed)
    mix = em.Mixture(random_state=0)
    if stream:
        for start in range(0, 900, 300):
            mix.partial_fit(table[start : start + 300])
    else:
        mix.fit(table)
    assert "often 0 (snacks, drinks)" in mix.family_reason_
    assert mix.n_clusters_ == 3
    assert adjusted_mutual_info_score(kind, mix.predict(table)) > 0.9


def test_cards_say_how_many_are_zero():
    table, kind = shop(900, 0)
    mix = em.Mixture(random_state=0).fit(table)
    of_kind = {np.bincount(kind[mix.labels_ == card.id]).argmax(): card for card in mix.cards()}
    shares = {
        k: {t.column: t for t in card.traits if t.level == 0}["snacks"].here
        for k, card in of_kind.items()
        if any(t.level == 0 and t.column == "snacks" for t in card.traits)
    }
    assert 0 in shares
    for k, share in shares.items():
        mine = table["snacks"][mix.labels_ == of_kind[k].id]
        assert share == pytest.approx(np.mean(mine == 0), abs=0.02)
    hardly = {trait.column: trait for trait in reversed(of_kind[0].traits)}["snacks"]
    assert hardly.level == 0  # before what the few others spent
    texts = [str(trait) for card in of_kind.values() for trait in card.traits]
    assert any(text.startswith("snacks = 0: ") for text in texts)


@pytest.mark.parametrize("seed", range(3))
def test_counts_that_follow_a_price_are_numbers(seed):
    """Meals and what was paid for them: two columns that were independent would cut clusters."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=1200)
    meals = rng.poisson(np.array([18.0, 7.0, 1.5])[kind])
    paid = np.clip(4.2 * meals + rng.normal(0, 0.4, 1200), 0, None).round(2)
    town = np.array(list("abc"))[np.where(rng.random(1200) < 0.8, kind, rng.integers(3, size=1200))]
    table = pd.DataFrame({"meals": meals, "paid": paid, "town": town})
    mix = em.Mixture(random_state=0).fit(table)
    assert mix.n_clusters_ <= 5
    alone = em.Mixture(random_state=0).fit(table.drop(columns="paid"))
    assert "categories (meals, town)" in alone.family_reason_


def test_a_spike_is_no_end_of_a_range_and_no_usual_number():
    rng = np.random.default_rng(0)
    assert has_spike(np.where(rng.random(500) < 0.2, 0.0, rng.normal(size=500)))
    assert not has_spike(np.where(rng.random(500) < 0.03, 0.0, rng.normal(size=500)))
    assert not has_spike(rng.normal(size=500).round())  # as many of other numbers
    assert not has_spike(rng.normal(0, 10, size=2000).round())
    assert not has_spike(np.zeros(500))


def test_columns_of_an_array_that_are_often_zero():
    table, kind = shop(900, 0)
    X = np.column_stack([table["snacks"], table["drinks"], table["stay"]])
    mix = em.Mixture(random_state=0).fit(X)
    assert "2 of 3 columns are often 0" in mix.family_reason_
    assert mix.n_clusters_ == 3
    assert adjusted_mutual_info_score(kind, mix.labels_) > 0.8


@pytest.mark.parametrize("noise", [0.1, 2.0])
def test_numbers_that_follow_another_column_share_a_covariance_with_it(noise):
    """A weight that is 0 where it was not measured says more together with the height."""
    rng = np.random.default_rng(0)
    height = rng.normal(np.array([160, 175, 185])[rng.integers(3, size=800)], 6.0)
    weight = np.where(rng.random(800) < 0.1, 0.0, 0.9 * height - 80 + rng.normal(0, noise, 800))
    names = ["height", "weight"]
    assert not zero_inflated(dict(zip(names, (height, weight), strict=True)))
    assert set(zero_inflated(dict(zip(names, (rng.permutation(height), weight), strict=True)))) == {
        "weight"
    }


@pytest.mark.parametrize("n", [90, 120, 600, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_that_follow_a_column_on_a_line_for_each_cluster_stay_with_it(n, seed):
    """Neighbours by that column are of all clusters. The order of rows changes nothing."""
    rng = np.random.default_rng(seed)
    kind, km = rng.integers(2, size=n), rng.uniform(1, 40, n)
    fare = 3 + 1.6 * km + 24 * kind + rng.normal(0, 1.5, n)
    table = {"km": km, "fare": np.where(rng.random(n) < 0.08, 0.0, fare)}
    order = rng.permutation(n)
    assert not zero_inflated(table)
    assert not zero_inflated({name: values[order] for name, values in table.items()})


def test_clusters_on_parallel_lines_are_found():
    rng = np.random.default_rng(0)
    kind, km = rng.integers(2, size=1000), rng.uniform(1, 40, 1000).round(1)
    fare = (3 + 1.6 * km + 24 * kind + rng.normal(0, 1.5, 1000)).round(2)
    X = np.column_stack([km, np.where(rng.random(1000) < 0.08, 0.0, fare)])
    mix = em.Mixture(random_state=0).fit(X)
    assert mix.n_clusters_ <= 4
    assert adjusted_mutual_info_score(kind, mix.labels_) > 0.6


@pytest.mark.parametrize("columns", [["boxes"], ["total"], ["boxes", "total"]])
def test_counts_and_their_totals_cut_no_cluster(columns):
    rng = np.random.default_rng(1)
    kind = rng.integers(3, size=900)
    boxes = rng.poisson(np.array([0.2, 2.2, 7.0])[kind])
    day = np.where(rng.random(900) < 0.7, kind, rng.integers(3, size=900))
    table = pd.DataFrame({"boxes": boxes, "total": 18.5 * boxes})[columns]
    table["day"], table["km"] = np.array(list("abc"))[day], rng.normal(4.0 * kind)
    if len(columns) == 2:
        with pytest.warns(UserWarning, match="'total' holds a multiple of column 'boxes'"):
            mix = em.Mixture(random_state=0).fit(table)
    else:
        mix = em.Mixture(random_state=0).fit(table)
    assert mix.n_clusters_ == 3
    assert adjusted_mutual_info_score(kind, mix.labels_) > 0.9


def test_columns_of_an_array_keep_their_names():
    """Rows of a data frame of numbers are an array, whose columns have names nevertheless."""
    table, _ = shop(900, 0)
    numbers = table[["snacks", "drinks", "stay"]]
    mix = em.Mixture(random_state=0)
    for start in range(0, 900, 300):
        mix.partial_fit(numbers[start : start + 300])
    assert {t.column for card in mix.cards() for t in card.traits} <= set(numbers)
    holes = numbers.head(3).copy()
    holes.iloc[0, 0] = NAN
    assert not mix.impute(holes).isna().any(axis=None)
    why = mix.explain(numbers.iloc[[0]])
    assert "snacks" in {each.name for each in why.contributions}


def test_negative_numbers_are_named_with_what_takes_them():
    with pytest.raises(ValueError, match=r"numbers >= 0, got -1.0 .*em.ZeroInflated\(em.Gaussian"):
        em.Mixture(em.Mixed({0: em.ZeroInflated()})).fit([[0.0], [2.0], [-1.0]])


@pytest.mark.parametrize("seed", range(3))
def test_zeros_of_other_columns_do_not_make_numbers_follow_them(seed):
    """They tell of clusters; numbers that are independent within these follow nothing."""
    rng = np.random.default_rng(seed)
    kind, table = rng.integers(3, size=2000), {}
    for name in ("food", "wine", "toys", "fuel", "books"):
        sizes = rng.lognormal(3 + rng.normal(0, 1.2, 3)[kind], 0.4).round(2)
        table[name] = np.where(rng.random(2000) < rng.uniform(0.1, 0.7, 3)[kind], 0.0, sizes)
    assert set(zero_inflated(table)) == set(table)


def test_columns_that_are_apart_need_not_follow_nothing():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    table = {"x": x, "y": np.maximum(x + rng.normal(0, 0.1, 2000), 0.0)}
    assert not zero_inflated(table) and set(zero_inflated(table, apart=True)) == {"y"}
    X = np.column_stack(list(table.values()))
    X[::50, 0] = np.nan
    assert "1 of 2 columns are often 0" in em.Mixture(random_state=0).fit(X).family_reason_


def test_what_agrees_in_zeros_or_in_few_rows_is_no_total():
    rng = np.random.default_rng(0)
    returns = np.where(rng.random(2000) < 0.93, 0, rng.integers(1, 5, 2000))
    table = {"returns": returns, "town": rng.choice(list("ab"), 2000)}
    refund = (returns * rng.lognormal(3, 1, 2000)).round(2)
    assert "refund" not in automatic_table(table | {"refund": refund}).ignored
    total = np.where(rng.random(2000) < 0.95, rng.lognormal(3, 1, 2000), 12.5 * returns)
    few = np.where(total == 12.5 * returns, returns, np.nan)
    assert not automatic_table(table | {"few": few, "total": total}).ignored
    with pytest.warns(
        UserWarning, match="'total' holds a multiple of column 'returns' in all rows"
    ):
        found = automatic_table(table | {"total": 12.5 * returns})
    assert found.ignored == ("total",)


@pytest.mark.parametrize("noise", [0, 33])
def test_counts_of_a_price_are_levels_where_columns_share_no_covariance(noise):
    rng = np.random.default_rng(0)
    paid = rng.uniform(0, 90, 1000)
    table = {"paid": paid, "meals": paid // 10, "town": rng.choice(list("ab"), 1000)}
    family = automatic_table(table | {f"x{i}": rng.normal(size=1000) for i in range(noise)})
    (of_meals,) = [block.family for block in family.blocks if "meals" in block.names]
    assert isinstance(of_meals, em.Categorical if noise else em.Gaussian)
