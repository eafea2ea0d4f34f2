"""Tables: columns by name, levels with codes, holes; from a fit to a file and back."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture

import evermix as em
from evermix.families import Bernoulli, Categorical, Gaussian, LogNormal, Mixed

N = 300
NAN = np.nan


def made(seed=0, holes=0.0, n=N):
    """Return a table of three clusters, and which row is of which."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, size=n)
    table = pd.DataFrame(
        {
            "age": rng.normal(30 + 12 * z, 2.0),
            "country": np.array(["de", "fr", "it"], dtype=object)[(z + (rng.random(n) < 0.1)) % 3],
            "member": rng.random(n) < np.array([0.1, 0.9, 0.5])[z],
            "height": rng.normal(170 - 9 * z, 3.0),
        }
    )
    for name in table if holes else ():
        gone = rng.random(n) < holes
        gone[z.argmin()] = False
        table[name] = table[name].astype(object).where(~gone, None)
    return table, z


BLOCKS = {
    "age": Gaussian(),
    "country": Categorical(),
    "member": Bernoulli(),
    "height": Gaussian(),
}


@pytest.fixture(scope="module")
def holed():
    """A table with holes, and a model of it."""
    table, z = made(holes=0.15)
    table.loc[0, "age"] = 31.0
    return table.dropna(how="all"), em.Mixture().fit(table.dropna(how="all"))


def test_a_table_of_several_kinds_is_clustered_by_all_of_them():
    table, z = made()
    mix = em.Mixture().fit(table)
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.95
    kinds = {block.names: type(block.family) for block in mix.model_.family.blocks}
    assert kinds == {
        ("country",): Categorical,
        ("member",): Bernoulli,
        ("age", "height"): Gaussian,  # nothing is missing
    }
    assert sorted(mix.levels_["country"]) == ["de", "fr", "it"]


def test_what_is_true_or_false_is_shown_as_yes_or_no(holed):
    table, mix = holed
    traits = [str(trait) for card in mix.cards() for trait in card.traits]
    assert any("member = yes: " in trait for trait in traits)
    row = table[table["member"].eq(True)].iloc[[0]]
    assert "member = yes" in repr(mix.explain(row)) and "member = 1" not in repr(mix.explain(row))
    shown = repr(mix.cards(table))
    assert "member = yes" in shown and "member = no" in shown and "member = 1" not in shown
    levels = {trait.level for card in mix.cards() for trait in card.traits}
    assert any(level is True for level in levels)


def test_holes_leave_the_clusters(holed):
    table, mix = holed
    _, z = made(holes=0.15)
    assert all(len(block.names) == 1 for block in mix.model_.family.blocks)
    assert adjusted_mutual_info_score(z[table.index], mix.labels_) > 0.8


def arrow(table):
    return pa.table({name: pa.array(table[name], from_pandas=True) for name in table})


def as_dict(table):
    return {name: table[name].tolist() for name in table}


@pytest.mark.parametrize("change", [lambda t: t[t.columns[::-1]], arrow, as_dict])
def test_columns_are_taken_by_name_from_any_table(holed, change):
    table, mix = holed
    want = mix.score_samples(table)
    np.testing.assert_array_equal(mix.score_samples(change(table)), want)
    np.testing.assert_allclose(em.Mixture().fit(change(table)).score(table), want.mean(), rtol=1e-3)


@pytest.mark.parametrize("family", ["auto", Mixed(BLOCKS)], ids=["auto", "blocks"])
def test_rows_and_names_have_the_order_of_the_table(family, tmp_path):
    """Not that of the blocks; files written before there was an order still have the latter."""
    table, _ = made(holes=0.1)
    table = table[["member", "height", "country", "age"]]
    mix = em.Mixture(family).fit(table)
    assert list(mix.feature_names_in_) == list(mix.model_.family.order) == list(table)
    assert {tuple(example.values) for card in mix.cards(table) for example in card.examples} == {
        tuple(table)
    }
    mix.save(tmp_path / "model.em")
    again = em.load(tmp_path / "model.em")
    assert again.model_.family == mix.model_.family
    np.testing.assert_array_equal(
        again.score_samples(table[list(BLOCKS)]), mix.score_samples(table)
    )

    spec = Mixed(BLOCKS).to_spec()
    del spec["order"]
    assert Mixed.from_spec(spec).names == tuple(BLOCKS)


def test_an_order_holds_every_column_once():
    with pytest.raises(
        ValueError, match=r"order must hold every column of blocks once, got \['age"
    ):
        Mixed(BLOCKS, order=["age", "age", "country", "member"])


def test_polars_tables_are_those_of_pandas(holed):
    pl = pytest.importorskip("polars")
    table, mix = holed
    given = pl.DataFrame({name: table[name].tolist() for name in table}, strict=False)
    np.testing.assert_array_equal(mix.score_samples(given), mix.score_samples(table))
    again = em.Mixture().fit(given)
    np.testing.assert_allclose(again.score(given), mix.score(table), rtol=1e-9)
    codes = given.with_columns(
        pl.col("country").cast(pl.Categorical), pl.col("age").cast(pl.Decimal(20, 6))
    )
    np.testing.assert_allclose(mix.score_samples(codes), mix.score_samples(table), atol=1e-4)
    full = mix.impute(given)
    assert isinstance(full, pl.DataFrame) and full.columns == given.columns
    assert full.null_count().sum_horizontal().item() == 0
    np.testing.assert_array_equal(mix.predict(given.lazy()), mix.predict(given))
    with pytest.raises(TypeError, match=r"LazyFrame. Give X.collect\(\)"):
        mix.impute(given.lazy())


def test_decimals_are_numbers(holed):
    table, mix = holed
    exact = table["age"].map(lambda age: None if age is None else Decimal(age))
    got = mix.score_samples(table.assign(age=exact))
    np.testing.assert_array_equal(got, mix.score_samples(table))


def test_a_model_of_a_table_is_loaded_as_it_was_saved(holed, tmp_path):
    table, mix = holed
    mix.save(tmp_path / "model.em")
    again = em.load(tmp_path / "model.em")
    assert again.levels_ == mix.levels_
    assert list(again.feature_names_in_) == list(mix.feature_names_in_)
    np.testing.assert_array_equal(again.score_samples(table), mix.score_samples(table))


@pytest.mark.parametrize("cut", [7, 100])
def test_cuts_of_a_stream_and_a_file_in_between_change_nothing(cut, tmp_path):
    """Also where levels appear later, and while rows wait."""
    table, _ = made(holes=0.2)
    table.loc[150:, "country"] = table.loc[150:, "country"].replace("de", "at")
    whole = em.Mixture(Mixed(BLOCKS)).partial_fit(table)
    parts = em.Mixture(Mixed(BLOCKS))
    for start in range(0, N, cut):
        parts.partial_fit(table.iloc[start : start + cut])
        if start in (0, 200, 203):
            parts.save(tmp_path / "part.em")
            parts = em.load(tmp_path / "part.em")
    assert parts.levels_ == whole.levels_
    assert parts.model_.family == whole.model_.family
    np.testing.assert_array_equal(parts.state_.tally.stats, whole.state_.tally.stats)


def test_a_level_that_was_never_met_is_scored_as_new(holed):
    table, mix = holed
    row = table.iloc[[0, 0]].assign(country=["it", "atlantis"])
    known, new = mix.score_samples(row)
    assert new < known
    assert "atlantis" not in mix.levels_["country"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda t: t[["age"]], "lacks the columns 'country', .*At least half"),
        (lambda t: t.rename(columns={"age": "Age"}), "Did you mean 'Age'"),
        (lambda t: t.assign(age="old"), "'age' must hold numbers, got 'old' in row 0"),
        (lambda t: t.assign(age=np.inf), "infinity"),
        (lambda t: t.assign(country=[[1]] * len(t)), "levels must be words"),
        (lambda t: t.assign(age=pd.Timestamp("2020-01-01")), "'age' holds dates"),
        (lambda t: t.to_numpy(), "fitted to a table"),
    ],
)
def test_other_tables_are_refused_and_nothing_is_lost(holed, change, problem):
    table, mix = holed
    before = mix.score(table)
    for ask in (mix.predict, mix.partial_fit):
        with pytest.raises((TypeError, ValueError), match=problem):
            ask(change(table))
    assert mix.score(table) == before


@pytest.mark.parametrize(
    ("value", "problem"),
    [("oops", "'age' must hold numbers, got 'oops' in row 5. Replace"), (np.inf, "infinity")],
)
def test_a_stray_value_among_numbers_is_refused_from_the_start(value, problem):
    table, _ = made()
    table["age"] = table["age"].astype(object)
    table.loc[5, "age"] = value
    for learn in (em.Mixture().fit, em.Mixture().partial_fit):
        with pytest.raises(ValueError, match=problem):
            learn(table)
    with pytest.raises(ValueError, match="infinity"):
        em.Mixture().fit(table.assign(age=np.inf))


@pytest.mark.parametrize("as_words", [False, True])
def test_stray_words_in_several_columns_are_named_at_once(as_words):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]).astype(object)
    table.loc[3, "a"], table.loc[5, "c"] = "unknown", "none known"
    said = "'unknown' in row 3 of 'a', 'none known' in row 5 of 'c'. Replace such a value by None"
    with pytest.raises(ValueError, match=said):
        em.Mixture().fit(table.astype(str) if as_words else table)


def test_a_column_of_times_is_said_to_hold_dates():
    days = pd.date_range("2024-01-01", periods=60)
    table = pd.DataFrame({"size": np.random.default_rng(0).normal(size=60), "day": days})
    with pytest.warns(UserWarning, match="'day' holds dates: it is ignored"):
        em.Mixture().fit(table)


def test_a_column_without_values_is_refused_if_it_has_a_block():
    table, _ = made()
    kinds = em.Mixed({"height": em.Gaussian()})
    with pytest.raises(ValueError, match="no row has a value in column 'height'"):
        em.Mixture(kinds).fit(table.assign(height=NAN)[["height"]])


def test_rows_without_values_are_reported_and_counted():
    table, _ = made(holes=0.1)
    table.iloc[4] = None
    with pytest.warns(UserWarning, match=r"1 of 300 rows hold no value"):
        mix = em.Mixture().fit(table)
    assert mix.state_.tally.mass.sum() == pytest.approx(N)
    weights = mix.predict_proba(table.iloc[[4]])
    np.testing.assert_allclose(weights[0].sum(), 1.0)
    assert mix.score_samples(table.iloc[[4]])[0] == pytest.approx(0.0, abs=1e-12)


def test_an_array_with_holes_has_columns_of_their_own():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, size=200)
    X = rng.normal(size=(200, 3)) + 8 * z[:, None]
    X[rng.random(X.shape) < 0.2] = NAN
    X[np.isnan(X).all(axis=1), 0] = 0.0
    mix = em.Mixture().fit(X)
    assert isinstance(mix.model_.family, Mixed)
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.9


def test_a_fit_on_an_array_forgets_the_levels_of_a_table():
    table, _ = made()
    mix = em.Mixture().fit(table)
    X = table[["age", "height"]].to_numpy()
    mix.fit(X)
    assert not hasattr(mix, "levels_")
    assert mix.predict(X).shape == (N,)


def test_numbers_without_holes_are_an_array_as_before():
    table, _ = made()
    numbers = table[["age", "height"]]
    mix = em.Mixture().fit(numbers)
    assert isinstance(mix.model_.family, Gaussian)
    want = em.Mixture().fit(numbers.to_numpy()).score_samples(numbers.to_numpy())
    np.testing.assert_array_equal(mix.score_samples(numbers), want)


def test_a_few_numbers_are_levels_and_a_constant_is_one():
    table, z = made()
    rng = np.random.default_rng(0)
    table = table.assign(rank=rng.integers(1, 4, size=N), crop=rng.integers(0, 3, N) / 4, same=2.5)
    mix = em.Mixture().fit(table)
    assert sorted(mix.levels_["rank"]) == [1, 2, 3]
    assert sorted(mix.levels_["crop"]) == [0, 0.25, 0.5]
    assert mix.levels_["same"] == [2.5]
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.9


def test_amounts_of_all_sizes_are_normal_on_the_log_scale():
    """A cluster of amounts is one cluster, and zeros may come later."""
    table, z = made()
    rng = np.random.default_rng(0)
    table["price"] = np.exp(rng.normal(3 + z, 0.8)).round(2)
    mix = em.Mixture().fit(table)
    kinds = {block.names: type(block.family) for block in mix.model_.family.blocks}
    assert kinds[("price",)] is LogNormal and kinds[("age", "height")] is Gaussian
    assert mix.n_clusters_ == 3
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.95
    mix.partial_fit(table.assign(price=0.0))
    assert np.isfinite(mix.score_samples(table.assign(price=-1.0))).all()


def test_a_few_holes_leave_columns_together():
    """Columns of which more is missing are on their own."""
    table, _ = made()
    table.loc[:9, "age"] = NAN
    table["weight"] = table["height"] - 100 + np.random.default_rng(0).normal(size=N)
    table.loc[::3, "weight"] = NAN
    mix = em.Mixture().fit(table)
    names = {block.names for block in mix.model_.family.blocks}
    assert ("age", "height") in names and ("weight",) in names


def test_a_table_of_names_texts_and_dates_is_refused():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefghij"), 12)) for _ in range(60)]
    table = pd.DataFrame({"id": [f"t-{i}" for i in range(60)], "text": texts})
    table["day"] = pd.date_range("2024-01-01", periods=60)
    with pytest.raises(ValueError, match="fit_transform.table.'text'."):
        em.Mixture().fit(table)
    with pytest.raises(ValueError, match="'id', 'day' hold dates, numbers of rows, or too"):
        em.Mixture().fit(table[["id", "day"]])


def test_rows_with_gaps_are_labelled_by_what_they_have_of_a_group():
    """Labels are those of predictions; columns that rise together stay together."""
    rng = np.random.default_rng(0)
    z, n = rng.integers(3, size=600), 600
    logs = 2.0 * np.array([[0, 1], [2, 0], [3, 3]])[z] + rng.normal(size=(n, 1)) * [1.0, 0.8]
    table = pd.DataFrame(np.exp(logs + 0.3 * rng.normal(size=(n, 2))), columns=["earns", "pays"])
    table["level"] = rng.choice(list("xy"), n)
    for name in ("earns", "pays"):
        table.loc[rng.random(n) < 0.06, name] = NAN
    mix = em.Mixture().fit(table)
    assert ("earns", "pays") in {block.names for block in mix.model_.family.blocks}
    part = table[["earns", "pays"]].isna().sum(axis=1) == 1
    np.testing.assert_array_equal(mix.labels_[part], mix.predict(table[part]))
    assert mix.n_clusters_ == 3


@pytest.mark.parametrize("names", [[f"row {i}" for i in range(N)], list(range(1000, 1000 + N))])
def test_names_of_rows_are_ignored(names, tmp_path):
    """With them or without, with those of other rows, and after loading: the same clusters."""
    table, _ = made()
    with pytest.warns(UserWarning, match="'id' holds (too many different words|another number)"):
        mix = em.Mixture().fit(table.assign(id=names))
    plain = em.Mixture().fit(table)
    np.testing.assert_array_equal(mix.labels_, plain.labels_)
    mix.save(tmp_path / "mix.npz")
    again = em.load(tmp_path / "mix.npz")
    for rows in (table, table.assign(id=names[::-1])):
        np.testing.assert_array_equal(again.predict_proba(rows), plain.predict_proba(table))
    holes = table.assign(id=names)
    holes.loc[0, "age"] = NAN
    assert list(again.impute(holes)["id"]) == names


@pytest.mark.parametrize("as_words", [False, True])
def test_dates_are_ignored_unless_they_have_a_block(as_words):
    table, _ = made()
    days = np.datetime64("2024-01-01") + np.arange(N) % 30
    days = days.astype(str) if as_words else days
    with pytest.warns(UserWarning, match="'day' holds dates: it is ignored"):
        mix = em.Mixture().fit(table.assign(day=days))
    np.testing.assert_array_equal(mix.labels_, em.Mixture().fit(table).labels_)
    own = em.Mixture(Mixed({"day": em.Categorical()}))
    if as_words:
        assert own.fit(pd.DataFrame({"day": days})).levels_["day"][0] == "2024-01-01"
    else:
        with pytest.raises(TypeError, match="dates or durations"):
            own.fit(pd.DataFrame({"day": days}))


def test_numbers_of_rows_beside_numbers_alone_are_ignored():
    X = np.random.default_rng(0).normal(size=(200, 2)) + 8 * (np.arange(200) % 2)[:, None]
    table = pd.DataFrame(X, columns=["x", "y"]).assign(id=range(200))
    with pytest.warns(UserWarning, match="'id'"):
        mix = em.Mixture().fit(table)
    assert mix.n_clusters_ == 2 and mix.model_.family.ignored == ("id",)


def test_half_of_the_cells_change_means_by_sampling_error():
    """Cells removed at random: the means that are left are those of about half of the rows."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, size=4000)
    X = rng.normal(size=(4000, 3)) + 10 * z[:, None]
    holes = np.where(rng.random(X.shape) < 0.5, NAN, X)
    holes = holes[~np.isnan(holes).all(axis=1)]
    family = Mixed({j: Gaussian() for j in range(3)})
    full, half = (em.Mixture(family).fit(rows) for rows in (X, holes))
    assert full.n_clusters_ == half.n_clusters_ == 2
    for mix, n in ((full, 2000), (half, 1000)):
        means = np.sort([_mean(mix, j) for j in range(3)], axis=1)
        np.testing.assert_allclose(means, [[0, 10]] * 3, atol=5 / np.sqrt(n))


def _mean(mix, j):
    """Means (K,) of a column of numbers."""
    family, stats = mix.model_.family, mix.state_.tally.stats
    span, origin = family.spans[j], family.blocks[j].family.origin[0]
    return stats[:, span.start] / stats[:, span.end] + origin


def test_models_of_tables_are_merged():
    table, z = made(n=600)
    table.loc[300:, "country"] = table.loc[300:, "country"].replace("de", "at").to_numpy()
    first = em.Mixture(Mixed(BLOCKS)).fit(table[:300])
    second = em.Mixture(first.model_.family).fit(table[300:])
    both = em.merge([first, second])
    assert adjusted_mutual_info_score(z, both.predict(table)) > 0.95
    assert sorted(both.levels_["country"]) == ["at", "de", "fr", "it"]
    family, stats = both.model_.family, both.state_.tally.stats
    start = family.spans[[block.names for block in family.blocks].index(("country",))].start
    counts = dict(zip(both.levels_["country"], stats[:, start:].sum(axis=0), strict=False))
    want = table["country"].value_counts()
    assert {name: round(n) for name, n in counts.items()} == want.to_dict()


# ---- filling holes ---------------------------------------------------------------------------


def test_holes_are_filled_with_what_the_cluster_of_a_row_has(holed):
    table, mix = holed
    full = mix.impute(table)
    assert list(full.columns) == list(table.columns)
    assert not full.isna().any().any()
    whole, z = made()
    seen = table.notna().to_numpy()
    assert (full.to_numpy()[seen] == table.to_numpy()[seen]).all()
    rows = np.flatnonzero(table["age"].isna() & table["height"].notna())
    error = full["age"].to_numpy(dtype=float)[rows] - (30 + 12 * made(holes=0.15)[1][rows])
    assert np.abs(error).mean() < 3.0  # within a cluster they spread by 2
    gone = np.flatnonzero(table["country"].isna() & table["height"].notna())
    common = np.array(["de", "fr", "it"])[made(holes=0.15)[1][gone]]
    assert np.mean(full["country"].to_numpy()[gone] == common) > 0.7


@pytest.mark.parametrize("change", [arrow, as_dict])
def test_filled_tables_are_of_the_same_library(holed, change):
    table, mix = holed
    given = change(table)
    full = mix.impute(given)
    assert type(full) is type(given)
    back = full.to_pandas() if hasattr(full, "to_pandas") else pd.DataFrame(full)
    want = mix.impute(table)
    np.testing.assert_allclose(back["age"].astype(float), want["age"].astype(float))
    assert back["country"].tolist() == want["country"].tolist()


def test_a_group_is_filled_by_regression():
    """What is missing follows from what was seen, as a Gaussian says: here nearly a line."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    X = np.column_stack([x, 3 * x + 1 + 0.1 * rng.normal(size=500)])
    mix = em.Mixture(Mixed({(0, 1): Gaussian()})).fit(X)
    found = mix.impute(np.array([[1.0, NAN], [NAN, 4.0], [NAN, NAN], [0.5, 7.0]]))
    np.testing.assert_allclose(found[0], [1.0, 4.0], atol=0.1)
    np.testing.assert_allclose(found[1], [1.0, 4.0], atol=0.1)
    np.testing.assert_allclose(found[2], X.mean(axis=0), atol=0.3)
    np.testing.assert_array_equal(found[3], [0.5, 7.0])


def test_rows_without_holes_are_not_filled_by_other_families():
    mix = em.Mixture().fit(np.random.default_rng(0).normal(size=(60, 2)))
    with pytest.raises(TypeError, match=r"em.Mixture\(em.Mixed\(\)\)"):
        mix.impute(np.zeros((1, 2)))


def test_incomplete_groups_are_left_out_of_the_group_alone():
    """Learning: means of a group are those of its complete rows; the error is measured here."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, size=4000)
    X = rng.normal(size=(4000, 3)) + 12 * z[:, None]
    X[:, 1] += 0.8 * (X[:, 0] - 12 * z)
    holes = X.copy()
    holes[rng.random(4000) < 0.4, 1] = NAN
    with pytest.warns(UserWarning, match="lack a value in some of the columns 0, 1"):
        mix = em.Mixture(Mixed({(0, 1): Gaussian(), 2: Gaussian()})).fit(holes)
    assert mix.n_clusters_ == 2
    means = (_mean(mix, 0), _group_mean(mix, 1))
    for mean in means:
        np.testing.assert_allclose(np.sort(mean), [0, 12], atol=5 / np.sqrt(1200))
    assert adjusted_mutual_info_score(z, mix.labels_) > 0.99


def _group_mean(mix, j):
    family, stats = mix.model_.family, mix.state_.tally.stats
    span, kind = family.spans[0], family.blocks[0].family
    return stats[:, span.start + j] / stats[:, span.end] + kind.origin[j]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tables_with_many_holes_are_clustered_better_than_after_imputation(seed):
    """Three of ten cells are missing; against means, one-hot codes and Gaussians by BIC."""
    rng, K, n = np.random.default_rng(seed), 5, 1500
    z = rng.choice(K, size=n, p=rng.dirichlet(np.full(K, 5.0)))
    columns = {}
    for j in range(4):
        columns[f"x{j}"] = rng.normal(rng.normal(0, 2.5, K)[z], rng.uniform(0.5, 1.2, K)[z])
    for j in range(3):
        shares = rng.dirichlet(np.full(4, 0.4), size=K).cumsum(axis=1)[z]
        columns[f"c{j}"] = np.array(list("abcd"))[(rng.random((n, 1)) > shares[:, :3]).sum(axis=1)]
    table = pd.DataFrame(columns).astype(object)
    table = table.where(rng.random(table.shape) > 0.3, None).dropna(how="all")
    z, numbers = z[table.index], table[[f"x{j}" for j in range(4)]].astype(float)
    words = pd.get_dummies(table[["c0", "c1", "c2"]].fillna("?")).to_numpy(dtype=float)
    X = np.column_stack([numbers.fillna(numbers.mean()) / numbers.std(), words])
    others = [GaussianMixture(k, covariance_type="diag", reg_covar=0.01) for k in range(1, 11)]
    others = [other.set_params(random_state=0).fit(X) for other in others]
    other = min(others, key=lambda each: each.bic(X)).predict(X)
    mix = em.Mixture().fit(table)
    assert adjusted_mutual_info_score(z, mix.labels_) > adjusted_mutual_info_score(z, other) + 0.1
    assert abs(mix.n_clusters_ - K) <= 1


def test_columns_beside_those_that_are_known_are_ignored_with_a_warning(holed, tmp_path):
    table, mix = holed
    more = table.assign(shoe=1.0)
    with pytest.warns(UserWarning, match="does not know the columns 'shoe' of the table"):
        np.testing.assert_array_equal(mix.predict(more), mix.predict(table))
    with pytest.warns(UserWarning, match="'shoe'"):
        assert list(mix.impute(more)["shoe"]) == [1.0] * len(table)
    with pytest.warns(UserWarning, match="'shoe'"):
        mix.report(tmp_path / "page.html", more)
    with pytest.raises(ValueError, match="does not know: 'shoe'"):
        em.Mixture(Mixed(BLOCKS)).fit(more)
    with pytest.raises(ValueError, match="lacks the column 'age'"):
        em.Mixture(Mixed(BLOCKS)).fit(table.drop(columns="age"))


def test_a_column_that_a_later_table_lacks_is_missing_in_all_rows(holed):
    table, mix = holed
    fewer, empty = table.drop(columns="age"), table.assign(age=np.nan)
    with pytest.warns(UserWarning, match="lacks the column 'age': it is missing in all rows"):
        np.testing.assert_array_equal(mix.predict_proba(fewer), mix.predict_proba(empty))


def test_a_stream_goes_on_with_tables_of_other_columns(holed):
    table, _ = holed
    found, plain = (em.Mixture(Mixed(BLOCKS)).partial_fit(table[:200]) for _ in range(2))
    with pytest.warns(UserWarning, match="does not know the columns 'shoe'"):
        found.partial_fit(table[200:300].assign(shoe=1.0))
    with pytest.warns(UserWarning, match="lacks the column 'age'"):
        found.partial_fit(table[300:].drop(columns="age"))
    plain.partial_fit(table[200:300]).partial_fit(table[300:].assign(age=np.nan))
    np.testing.assert_array_equal(found.state_.tally.stats, plain.state_.tally.stats)


@pytest.mark.parametrize("library", [pd.DataFrame, pa.table])
def test_columns_of_numbers_are_taken_by_their_names_too(library):
    rng = np.random.default_rng(0)
    plain = {"a": rng.normal(size=200), "b": rng.normal(size=200) + 9.0 * rng.integers(2, size=200)}
    table, more = library(plain), library({"shoe": np.ones(200), **plain})
    mix = em.Mixture(em.DiagonalGaussian()).fit(table)
    assert not hasattr(mix, "levels_")
    if not hasattr(mix, "feature_names_in_"):
        return  # scikit-learn takes no names of this library
    with pytest.warns(UserWarning, match="does not know the columns 'shoe'"):
        np.testing.assert_array_equal(mix.predict(more), mix.labels_)
    with pytest.raises(ValueError, match="eature names"):
        mix.predict(library({"shoe": np.ones(200), "b": plain["b"]}))


def test_a_row_of_a_data_frame_is_explained(holed):
    table, mix = holed
    assert mix.explain(table.iloc[0]) == mix.explain(table.iloc[[0]])
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 2)), columns=["a", "b"])
    mix = em.Mixture(em.DiagonalGaussian()).fit(numbers)
    assert mix.explain(numbers.iloc[3]) == mix.explain(numbers.iloc[[3]])
