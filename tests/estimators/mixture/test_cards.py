"""Cards: what the state knows of each cluster, in words and units of the rows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import evermix as em
from helpers.engine_cases import data_for
from helpers.mixture_cases import arrays_of, blobs


def line(n=900, seed=0):
    """Rows of three clusters on a line, the first two of which are neighbours."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 2))
    X[:, 0] += np.array([0.0, 12.0, 60.0])[y]
    return X, y


def by_centre(mix, X, y):
    """The card of each of the true clusters."""
    return [mix.card(int(np.bincount(mix.predict(X[y == k])).argmax())) for k in range(y.max() + 1)]


def test_clusters_without_common_words_are_not_near():
    """Two subjects share half of their words; the third, which is small, has words of its own."""
    rng = np.random.default_rng(0)
    words = [range(0, 8), range(4, 12), range(12, 20)]
    counts = np.zeros((330, 20))
    for row, subject in enumerate(np.repeat([0, 1, 2], [150, 150, 30])):
        np.add.at(counts[row], rng.choice(words[subject], 12), 1)
    mix = em.Mixture(em.Multinomial(alpha=0.05), prior=em.DP()).fit(counts)
    first, second, alone = (int(mix.labels_[row]) for row in (0, 150, 300))
    assert len({first, second, alone}) == mix.n_clusters_ == 3
    near = {card.id: [id for id, _ in card.nearest] for card in mix.cards()}
    assert near == {first: [second], second: [first], alone: []}


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_a_card_says_how_large_a_cluster_is_and_what_is_near(learn):
    X, y = line()
    mix = getattr(em.Mixture(), learn)(X)
    assert mix.n_clusters_ == 3
    cards = by_centre(mix, X, y)
    for k, card in enumerate(cards):
        at = np.flatnonzero(mix.cluster_ids_ == card.id)[0]
        assert card.size == mix.tally_.mass[at] == pytest.approx((y == k).sum(), abs=0.5)
        assert card.share == pytest.approx(mix.tally_.mass[at] / mix.tally_.mass.sum())
        assert len(card.nearest) == 2
        assert card.traits[0].column == "0"
        assert card.traits[0].here == pytest.approx(X[y == k, 0].mean(), abs=0.05)
        assert card.traits[0].elsewhere == pytest.approx(X[y != k, 0].mean(), abs=0.05)
        assert card.traits[0].spread == pytest.approx(X[y == k, 0].std(), abs=0.05)
    assert cards[0].nearest[0][0] == cards[1].id
    assert cards[2].nearest[0][0] == cards[1].id
    assert [card.id for card in mix.cards()] == [
        card.id for card in sorted(cards, key=lambda card: -card.size)
    ]


def test_examples_are_typical_rows_of_their_cluster():
    X, y = line()
    stream, fit = em.Mixture().partial_fit(X), em.Mixture().fit(X)
    assert fit.cards()[0].examples == ()  # it keeps no rows
    for mix, cards in ((stream, stream.cards()), (fit, fit.cards(X, names=["x", "y"]))):
        for card in cards:
            assert len(card.examples) == 3
            for example in card.examples:
                assert mix.predict(X[[example.row]])[0] == card.id
                assert list(example.values.values()) == X[example.row].tolist()
    assert list(fit.cards(X, names=["x", "y"])[0].examples[0].values) == ["x", "y"]


def test_the_trend_is_that_of_the_latest_rows():
    rng = np.random.default_rng(0)
    old, late = np.zeros((6000, 2)), np.zeros((6000, 2))
    late[:, 0] = 30 * (rng.random(6000) < 0.5)
    X = np.vstack([old, late]) + rng.normal(size=(12000, 2))
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF()).partial_fit(X)
    grows, shrinks = (mix.card(int(mix.predict([[x, 0.0]])[0])) for x in (30.0, 0.0))
    assert grows.share == pytest.approx(0.25, abs=0.02)
    assert grows.recent_share == pytest.approx(0.5, abs=0.1)
    assert grows.trend > 1.5 and shrinks.trend < 0.8
    assert grows.born > 5900 and grows.age == 12000 - grows.born
    assert "lately" in repr(grows)


@pytest.mark.parametrize(
    ("share", "lately", "fading", "growing"),
    [
        (0.1, 0.2, False, True),
        (0.1, 0.197, False, True),  # which is shown as 2
        (0.1, 0.19, False, False),
        (0.001, 0.009, False, False),
        (0.1, 0.3, True, False),
        (0.1, None, False, False),
    ],
)
def test_a_cluster_grows_if_its_trend_is_shown_as_two(share, lately, fading, growing):
    X, _ = blobs(100, groups=2)
    (card, *_) = em.Mixture().fit(X).cards()
    card = replace(card, share=share, recent_share=lately, fading=fading)
    assert card.growing is card.to_dict()["growing"] is growing


def test_without_kept_rows_the_trend_is_that_of_the_course():
    X, y = blobs(2000, groups=2)
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF(lookback=0)).partial_fit(X)
    assert all(0.8 < card.trend < 1.25 for card in mix.cards())
    for _ in range(10):
        mix.partial_fit(X[y == 0][:200])
    assert mix.card(int(mix.labels_[0])).recent_share == 1.0
    assert em.Mixture().fit(X).cards()[0].trend is None


def test_a_subject_that_has_ended_is_fading_and_not_growing():
    """Although most of its rows are late ones; what comes seldom is neither."""
    rng = np.random.default_rng(0)
    which = np.zeros(3000, int)
    which[2400:2800] = np.where(rng.random(400) < 0.5, 1, 0)
    which[[100, 1200, 2300]] = 2
    X = rng.normal(size=(3000, 2)) + np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 40.0]])[which]
    for lookback in (0, 64):
        mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF(lookback=lookback)).partial_fit(X)
        stays, ended, rare = (
            mix.card(int(mix.predict([place])[0])) for place in ([0, 0.0], [30, 0.0], [0, 40.0])
        )
        assert ended.recent_share > 2 * ended.share
        assert (ended.fading, ended.trend) == (True, 0.0) and "fading" in repr(ended)
        assert not stays.fading and stays.trend > 0.7
        assert (rare.fading, rare.trend) == (False, None)


def test_of_many_clusters_none_is_fading_by_chance():
    """Of thirty of equal shares, one or the other has no row where four are expected."""
    where = 30.0 * np.array([[k % 6, k // 6] for k in range(30)])
    false = []
    for seed in (3, 5, 8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1500, 2)) + where[rng.integers(30, size=1500)]
        mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF(lookback=0)).partial_fit(X)
        false += [card.id for card in mix.cards() if card.fading]
    assert not false


@pytest.mark.parametrize("lookback", [0, 64])
def test_a_subject_that_has_ended_is_fading_although_strays_come(lookback):
    rng = np.random.default_rng(0)
    which = (rng.random(4000) < 0.14) & (np.arange(4000) < 2000)
    which[[2500, 3000, 3700, 3990]] = True
    X = rng.normal(size=(4000, 2)) + 30.0 * which[:, None]
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF(lookback=lookback)).partial_fit(X)
    ended, stays = (mix.card(int(mix.predict([[x, x]])[0])) for x in (30.0, 0.0))
    assert 0 < ended.recent_share < 0.01 and ended.fading and ended.trend == 0
    assert not stays.fading


@pytest.mark.parametrize("lookback", [0, 64])
def test_steady_clusters_hardly_ever_seem_to_fade(lookback):
    """Four rows are missed by chance once in 55 times, less the width of bins."""
    rng, found = np.random.default_rng(0), []
    which = rng.choice(8, 6000, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.07, 0.05, 0.03])
    X = rng.normal(size=(6000, 2)) + 30.0 * np.stack([which % 3, which // 3], axis=1)
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), em.ADF(lookback=lookback))
    for some in np.split(X, 30):
        mix.partial_fit(some)
        found += [card.fading for card in mix.cards()]
    assert len(found) > 200 and sum(found) <= 0.02 * len(found)


def test_clusters_of_a_fit_do_not_fade_before_they_should_have_had_rows():
    X, y = blobs(1000, groups=4)
    mix = em.Mixture(random_state=0).fit(X)
    mix.partial_fit(X[y == 0][:12])
    assert not any(card.fading for card in mix.cards())
    assert all(card.recent_share is None for card in mix.cards())  # of twelve rows
    for _ in range(4):
        mix.partial_fit(X[y == 0][:100])
    assert [card.fading for card in mix.cards()] == [False, True, True, True]


def test_words_are_named():
    rng = np.random.default_rng(0)
    topics = np.array([[9, 9, 0, 0, 5], [0, 0, 9, 9, 5.0]])
    y = rng.integers(2, size=600)
    X = sparse.csr_matrix(np.array([rng.multinomial(20, topics[k] / topics[k].sum()) for k in y]))
    words = ["cat", "dog", "bond", "stock", "the"]
    mix = em.Mixture().partial_fit(X)
    found = {frozenset(t.column for t in card.traits[:2]) for card in mix.cards(names=words)}
    assert found == {frozenset(["cat", "dog"]), frozenset(["bond", "stock"])}
    card = mix.cards(names=words)[0]
    assert set(card.examples[0].values) <= set(words)
    assert card.traits[0].kind == "share" and "%" in str(card.traits[0])
    assert mix.cards()[0].traits[0].column in "01234"


def test_tables_tell_levels_and_units():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(600) < 0.1, np.nan, rng.normal(30 + 40 * y, 3)),
            "city": np.where(rng.random(600) < 0.9, np.array(["Rome", "Oslo"])[y], "Bonn"),
            "member": rng.random(600) < 0.1 + 0.8 * y,
            "country": "Norway",
        }
    )
    mix = em.Mixture(random_state=0).fit(table)
    old = mix.card(int(mix.predict(table[y == 1])[0]), table)
    traits = {trait.column: trait for trait in old.traits}
    assert traits["city"].level == "Oslo"
    assert traits["city"].here == pytest.approx(0.9, abs=0.05)
    assert traits["age"].here == pytest.approx(70, abs=1)
    assert traits["member"].here == pytest.approx(0.9, abs=0.05)
    assert "country" not in traits  # it is the same everywhere
    assert "city = Oslo: 9" in repr(old)
    assert old.examples[0].values["city"] == "Oslo" and None not in old.examples[0].values.values()


@pytest.mark.parametrize("name", sorted(em.families.FAMILIES))
def test_every_family_has_cards_and_asking_changes_nothing(name):
    X = data_for(name, n=300)
    mix = em.Mixture(em.families.FAMILIES[name](), em.DP(5.0), em.ADF()).partial_fit(X)
    before = {name: values.tobytes() for name, values in arrays_of(mix).items()}
    for card in mix.cards():
        assert json.loads(json.dumps(card.to_dict()))["id"] == card.id
        assert f"cluster {card.id}" in repr(card)
        assert mix.n_clusters_ == 1 or card.size < 1 or card.traits
    assert before == {name: values.tobytes() for name, values in arrays_of(mix).items()}


ENGINES = [em.Gibbs(sweeps=4, burn_in=1), em.RCRP(), em.DPMeans(), em.EP(laps=2), em.SUGS()]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_every_engine_has_cards(engine):
    X, y = line(300)
    family = em.FixedGaussian(1.0, 100.0)
    mix = em.Mixture(family, em.DP(1.0), engine, random_state=0).fit(X)
    cards = mix.cards()
    assert sorted(card.id for card in cards) == sorted(mix.cluster_ids_.tolist())
    assert np.sum([card.share for card in cards]) == pytest.approx(1.0)
    if isinstance(engine, em.Gibbs):
        assert cards[0].born is None and cards[0].examples


def test_a_card_names_what_was_merged_into_it():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 2))
    engine = em.ADF(birth=0.01, lookback=0)
    mix = em.Mixture(em.Gaussian(0.0, 0.1, 4.0, 0.05), em.DP(5.0), engine).partial_fit(X)
    lineage = mix.lineage_
    merged = {id for id, heir in enumerate(lineage.into) if heir >= 0}
    assert merged
    assert merged >= {id for card in mix.cards() for id in card.merged} != set()


def test_what_is_not_there_has_no_card():
    mix = em.Mixture().partial_fit(np.random.default_rng(0).normal(size=(20, 2)))
    assert mix.cards()  # of rows that wait
    with pytest.raises(ValueError, match="no cluster 99"):
        mix.card(99)
    with pytest.raises(NotFittedError):
        em.Mixture().cards()


@pytest.mark.parametrize("knee", [None, 0.5])
def test_typical_amounts_are_in_their_units(knee):
    """Also on the scale of amounts that may be zero."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(np.log(np.repeat([[5.0], [400.0]], 300, axis=0)), 0.1))
    mix = em.Mixture(em.LogNormal(knee=knee)).fit(X)
    found = sorted(card.traits[0].here for card in mix.cards())
    assert found == pytest.approx([5.0, 400.0], rel=0.05)


def learnt_amounts(amounts):
    """A table of two far clusters: amounts of the first, and large ones of the second."""
    rng = np.random.default_rng(0)
    n = len(amounts)
    x = np.concatenate([rng.normal(size=n), 50.0 + rng.normal(size=n)])
    y = np.concatenate([amounts, np.round(np.exp(rng.normal(6.0, 1.0, size=n)))])
    blocks = {"x": em.Gaussian(), "y": em.LogNormal(knee=0.5)}
    mix = em.Mixture(em.Mixed(blocks)).fit(pd.DataFrame({"x": x, "y": y}))
    home = int(np.bincount(mix.labels_[:n]).argmax())
    own = amounts[mix.labels_[:n] == home]
    (trait,) = (trait for trait in mix.card(home).traits if trait.column == "y")
    return trait, own


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.3, 0.7, 1.5, 4.0])
def test_a_range_holds_most_rows_also_where_they_are_zeros_and_small_numbers(rate):
    trait, own = learnt_amounts(np.random.default_rng(1).poisson(rate, size=300).astype(float))
    low, high = trait.range
    assert low <= trait.here <= high
    assert np.mean((low <= own) & (own <= high)) > 0.5
    if rate <= 0.7:  # most rows have none
        assert low == 0.0 and trait.parts()[1].split(" to ")[0] == "0"
        assert trait.brief().startswith("y 0")
    assert json.loads(json.dumps(trait.to_dict()))["range"] == [low, high]


def test_a_cluster_of_one_row_has_its_values_and_none_where_it_has_none():
    rng = np.random.default_rng(0)
    n = 400
    kind = np.repeat([0.0, 1.0], n // 2)
    table = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, size=n).round(),
            "weight": rng.normal(10.0 + 30.0 * kind, 1.0).round(1),
            "paid": np.exp(rng.normal(3.0 + 2.0 * kind, 0.7)).round(2),
        }
    )
    table.loc[n] = [np.nan, 900.0, 29.95]
    blocks = {"age": em.Gaussian(), "weight": em.Gaussian(), "paid": em.LogNormal(knee=1.0)}
    mix = em.Mixture(em.Mixed(blocks)).fit(table)
    card = mix.card(int(mix.labels_[n]))
    assert card.size == pytest.approx(1.0, abs=0.4)
    found = {trait.column: trait for trait in card.traits}
    assert set(found) == {"weight", "paid"}
    assert found["weight"].parts()[1] == "900" and found["weight"].spread is None
    assert "to" not in found["paid"].parts()[1] and found["paid"].range is None
    assert found["paid"].here == pytest.approx(29.95, rel=0.1)


def test_ranges_of_numbers_that_may_be_negative_do_not_begin_at_zero():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-1.0, 3.0, 300), rng.normal(800.0, 100.0, 300)])[:, None]
    mix = em.Mixture(em.LogNormal(knee=10.0)).fit(X)
    trait = mix.card(int(np.bincount(mix.labels_[:300]).argmax())).traits[0]
    assert trait.range == pytest.approx((-4.0, 2.0), abs=1.0)
