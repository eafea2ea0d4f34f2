"""Why a row is in its cluster: contributions add up to the log odds."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import evermix as em
from helpers.engine_cases import data_for
from helpers.mixture_cases import blobs, texts


def total(why):
    return sum(each.log_odds for each in why.contributions)


def rows_of(X, n=12):
    return (X[i : i + 1] for i in range(n))


@pytest.mark.parametrize("name", sorted(em.families.FAMILIES))
def test_contributions_add_up_to_the_log_odds_in_every_family(name):
    X = data_for(name, n=400)
    mix = em.Mixture(em.families.FAMILIES[name](), em.DP(5.0), em.ADF(lookback=0)).partial_fit(X)
    assert mix.n_clusters_ > 1
    proba = mix.predict_proba(X)
    for i, row in enumerate(rows_of(X)):
        why = mix.explain(row)
        best, second = np.sort(proba[i])[::-1][:2]
        assert why.cluster == mix.predict(row)[0]
        assert abs(total(why) - why.log_odds) < 1e-9
        rival = proba[i, mix.cluster_ids_ == why.other].item()
        if second > 0.01 * best:
            assert rival == second
        if rival > 1e-300:
            assert why.log_odds == pytest.approx(np.log(best / rival), abs=1e-6)
        assert (
            abs(total(mix.explain(row, against=-1)) - mix.explain(row, against=-1).log_odds) < 1e-9
        )


ENGINES = [
    em.EP(laps=2),
    em.MemoizedVB(laps=3),
    em.Gibbs(sweeps=3, burn_in=1),
    em.SUGS(),
    em.OnlineCRP(),
]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)
def test_contributions_add_up_whatever_the_engine(engine):
    X, _ = blobs(300)
    mix = em.Mixture(em.Gaussian(), em.DP(1.0), engine, random_state=0).fit(X)
    for row in rows_of(X):
        why = mix.explain(row)
        assert why.cluster == mix.predict(row)[0]
        assert abs(total(why) - why.log_odds) < 1e-9 * max(1.0, abs(why.log_odds))


def test_the_word_that_decides_comes_first():
    X = sparse.csr_matrix(np.repeat([[20.0, 5.0, 0.0], [0.0, 5.0, 20.0]], 200, axis=0))
    mix = em.Mixture(em.Multinomial(0.1), em.DP(1.0), em.ADF(merge=None)).partial_fit(X)
    why = mix.explain(sparse.csr_matrix([[2.0, 3.0, 0.0]]), names=["cat", "the", "dog"])
    first = why.contributions[0]
    assert (first.name, first.value) == ("cat", 2)
    assert first.log_odds > 5
    (common,) = (each for each in why.contributions if each.name == "the")
    assert abs(common.log_odds) < 0.1
    assert "cat = 2" in repr(why)
    assert json.loads(json.dumps(why.to_dict()))["cluster"] == why.cluster


def test_columns_and_levels_of_a_table_are_named():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    table = pd.DataFrame(
        {
            "age": rng.normal(30 + 40 * y, 3),
            "city": np.where(rng.random(400) < 0.9, np.array(["Rome", "Oslo"])[y], "Bonn"),
        }
    )
    mix = em.Mixture(random_state=0).fit(table)
    why = mix.explain({"age": 71.0, "city": "Oslo"})
    assert why.contributions[0].name == "age"
    assert {"age": 71, "city": "Oslo"}.items() <= {
        c.name: c.value for c in why.contributions
    }.items()
    assert mix.explain(table[:1]).cluster == mix.labels_[0]
    partly = mix.explain({"age": None, "city": "Oslo"})
    assert "age" not in {each.name for each in partly.contributions}
    unknown = mix.explain({"age": 71.0, "city": "Lima"})
    assert abs(total(unknown) - unknown.log_odds) < 1e-9


def test_one_cluster_is_compared_with_a_new_one():
    mix = em.Mixture().fit(np.random.default_rng(0).normal(size=(200, 2)))
    why = mix.explain([0.0, 0.0])
    assert (why.other, mix.n_clusters_) == (-1, 1)
    assert "a new cluster" in repr(why)


@pytest.mark.parametrize("family", [em.Gaussian(), em.DiagonalGaussian()], ids=["full", "diagonal"])
def test_the_rival_is_no_broad_cluster_of_odd_rows(family):
    """Unless the row may be of it; nor is that near any other cluster, but they may be near it."""
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=800)
    X = rng.normal(size=(800, 4)) + 4.0 * np.array([kind % 2, kind // 2, 0 * kind, 0 * kind]).T
    X[:16] *= 15
    mix = em.Mixture(family, random_state=0).fit(X)
    assert mix.n_clusters_ == 5
    broad = int(mix.cluster_ids_[mix.tally_.mass.argmin()])
    for card in mix.cards():
        assert len(card.nearest) == 3 and broad not in [id for id, _ in card.nearest]
    odd = mix.cluster_ids_.tolist().index(broad)
    rows = X[16:].reshape(-1, 1, 4)[:100]
    for row, proba in zip(rows, mix.predict_proba(X[16:]), strict=False):
        why = mix.explain(row)
        assert why.other != broad or proba[odd] >= 0.01 * proba.max()
        assert abs(total(why) - why.log_odds) < 1e-9 * max(1.0, abs(why.log_odds))


def test_rows_that_fit_nowhere_are_compared_with_a_new_cluster():
    X, _ = blobs(300)
    mix = em.Mixture().fit(X)
    odd = X[0].copy()
    odd[-1] = 1e3
    why = mix.explain(odd)
    near, next_best = np.argsort(-mix.predict_proba([odd])[0])[:2]
    assert (why.cluster, why.other) == (mix.cluster_ids_[near], -1)
    assert why.novelty == pytest.approx(mix.novelty([odd])[0])
    start = f"looks new (novelty 1): a new cluster rather than cluster {why.cluster}, log odds of "
    assert repr(why).startswith(start) and f"{why.log_odds:.3f}" in repr(why)
    assert why.log_odds < 0 and why.contributions[0].name == str(X.shape[1] - 1)
    assert abs(total(why) - why.log_odds) < 1e-9 * abs(why.log_odds)
    other = mix.explain(odd, against=int(mix.cluster_ids_[next_best]))
    assert repr(other).startswith("looks new (novelty 1); among the clusters that there are: ")
    assert repr(mix.explain(X[0])).startswith("cluster ") and mix.explain(X[0]).novelty < 0.1


def test_questions_that_have_no_answer_are_refused():
    X, _ = blobs(300)
    mix = em.Mixture().fit(X)
    with pytest.raises(ValueError, match="one row at a time, got 2"):
        mix.explain(X[:2])
    with pytest.raises(ValueError, match="no cluster 99"):
        mix.explain(X[0], against=99)
    with pytest.raises(ValueError, match="itself"):
        mix.explain(X[0], against=int(mix.predict(X[:1])[0]))


def test_words_that_are_new_are_explained_too():
    X, _ = texts(200)
    mix = em.Mixture(em.Multinomial(growing=True)).partial_fit(X)
    wide = sparse.csr_matrix(([2.0, 1.0], ([0, 0], [1, 77])), shape=(1, 90))
    why = mix.explain(wide)
    assert {"1", "77"} <= {each.name for each in why.contributions}
    assert abs(total(why) - why.log_odds) < 1e-9


def test_a_level_that_was_never_met_is_named():
    table = pd.DataFrame({"brand": ["Puky", "Kalkhoff"] * 50, "price": [60.0, 900.0] * 50})
    table["price"] += np.arange(100) % 7
    mix = em.Mixture().fit(table)
    for brand in ("Unknownbrand", None):
        row = {"brand": brand, "price": 61.0}
        for rows in (row, pd.DataFrame([row]), pd.Series(row)):
            why = mix.explain(rows)
            (value,) = [each.value for each in why.contributions if each.name == "brand"] or [None]
            assert value == brand
            assert ("brand = Unknownbrand" in repr(why)) == (brand is not None)


def test_a_row_is_checked_once():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(40, 9, 200), "town": rng.choice(["a", "b"], 200)})
    mix = em.Mixture(random_state=0).fit(table)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mix.explain(table.assign(more=1.0).iloc[[0]])
    assert len(said) == 1 and "more" in str(said[0].message)


def test_the_own_cluster_is_called_as_it_was_asked_for():
    X = blobs()[0] if isinstance(blobs(), tuple) else blobs()
    mix = em.Mixture(random_state=0).fit(X)
    own = int(mix.predict(X[:1])[0])
    mix.rename(own, "me, myself")
    for against, called in (("me, myself", "'me, myself'"), (own, str(own))):
        with pytest.raises(ValueError, match=f"the row is in cluster {called} itself"):
            mix.explain(X[0], against=against)
