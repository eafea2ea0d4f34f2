"""Which kinds of covariance the rows decide between."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.families.kinds import (
    FEW_COLUMNS,
    apart,
    group,
    kinds,
    open_names,
    shared,
    without_search,
)
from helpers.variants import slow_but

NUMBERS = tuple("abcdefghij")


def _table(n: int, correlated: bool, d: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    """Three clusters of d numbers, which are correlated or not, and a level of no meaning."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    spread = rng.normal(size=(d, d)) if correlated else np.eye(d)
    X = rng.normal(size=(n, d)) @ spread + 10.0 * rng.normal(size=(3, d))[y]
    return pd.DataFrame(X, columns=NUMBERS[:d]).assign(level=rng.choice(list("xyz"), n)), y


def _mixed(*blocks: tuple) -> em.Mixed:
    return em.Mixed({"amount": em.LogNormal(), **dict(blocks), "last": em.Gaussian()})


def test_columns_that_share_a_covariance_are_taken_apart_in_place():
    family = _mixed((NUMBERS, em.Gaussian()))
    together, alone = kinds(family)
    assert together == family and alone == apart(family)
    assert alone.names == family.names and shared(alone) is None
    assert len(alone.blocks) == 12


def test_columns_are_put_together_again_by_the_names_of_what_is_learnt():
    family = _mixed((NUMBERS, em.Gaussian()))
    names = open_names(kinds(family))
    assert len(set(names)) == len(names)
    found = kinds(apart(family), None, names)
    assert found == kinds(family)
    assert [one.names for one in found] == [family.names] * 2


def test_few_columns_and_given_weights_leave_nothing_to_decide():
    few = _mixed((NUMBERS[:4], em.Gaussian()))
    weighted = _mixed((NUMBERS, (em.Gaussian(), 2.0)))
    for family in (few, weighted, apart(few), em.Poisson()):
        assert kinds(family) == [family]


def test_amounts_may_be_independent_where_other_numbers_are_not():
    knees = {"x": 0.5, "y": 2.0, "a": 0.0, "b": 0.0}
    family = em.Mixed({"level": em.Categorical(), **dict([group(knees)[:2]])})
    together, linear, *rest = kinds(family)
    assert together == family and not rest
    assert shared(linear).names == ("a", "b") and type(shared(linear).family) is em.Gaussian
    assert [block.family.knee for block in linear.blocks[1:3]] == [0.5, 2.0]
    names = open_names(kinds(family))
    for one in (family, linear, apart(family)):
        assert kinds(one, None, names) == [family, linear]


def test_a_log_scale_is_proposed_for_amounts_only():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(size=300)), rng.normal(size=300), rng.random(300)])
    plain, logs = kinds(em.Gaussian(), X)
    assert plain == em.Gaussian() and type(logs) is em.LogGaussian
    assert logs.knees[0] > 0 and not logs.knees[1:].any()
    zeros = np.where(rng.random(300)[:, None] < 0.1, 0.0, X[:, :1])
    assert kinds(em.Gaussian(), zeros) == [em.Gaussian()]
    assert kinds(em.Gaussian(), X[:10]) == [em.Gaussian()]
    for huge in (X[:, :1] * 1e300, np.exp(100 * X[:, 1:2])):  # beyond what can be squared
        assert len(kinds(em.Gaussian(), huge)) <= 2


def _amounts(rho: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Four clusters of two amounts and two numbers, which rise together or not."""
    rng, n = np.random.default_rng(0), 600
    y = rng.integers(0, 4, n)
    spread = 0.5 * np.linalg.cholesky(rho * np.ones((4, 4)) + (1 - rho) * np.eye(4))
    X = 1.5 * rng.normal(size=(4, 4))[y] + rng.normal(size=(n, 4)) @ spread.T
    X[:, :2] = np.exp(X[:, :2] + 4)
    return pd.DataFrame(X, columns=["income", "spent", "age", "visits"]), y


@pytest.mark.parametrize("level", slow_but([True], [True, False]))
@pytest.mark.parametrize("rho", [0.8, 0.0])
def test_amounts_that_rise_together_are_one_cluster(rho, level):
    """In a table with a category, and in a table that is an array of numbers."""
    table, y = _amounts(rho)
    if level:
        table["level"] = np.random.default_rng(1).choice(list("xyz"), len(y))
    stream = em.Mixture()
    for start in range(0, len(y), 100):
        stream.partial_fit(table.iloc[start : start + 100])
    fit = em.Mixture().fit(table)
    for mix in (fit, stream):
        family = mix.model_.family
        family = shared(family).family if level else family
        assert type(family) is (em.LogGaussian if rho or not level else em.Gaussian)
        assert mix.n_clusters_ == 4
        assert adjusted_mutual_info_score(y, mix.predict(table)) > 0.9


def test_without_a_search_many_columns_stay_apart():
    many, some = _mixed((NUMBERS, em.Gaussian())), _mixed((NUMBERS[:FEW_COLUMNS], em.Gaussian()))
    assert without_search(many) == apart(many)
    assert without_search(some) == some and without_search(em.Gaussian()) == em.Gaussian()
    table, _ = _table(200, correlated=True, d=10)
    assert shared(em.Mixture(engine=em.ADF()).fit(table).model_.family) is None


@pytest.mark.parametrize("gaps", slow_but([True], [False, True]))
@pytest.mark.parametrize("correlated", [True, False])
def test_the_rows_of_a_table_decide_whether_columns_share_a_covariance(correlated, gaps):
    table, y = _table(300, correlated)
    if gaps:  # in a tenth of the rows at most, else columns stay apart
        table.loc[table.index % 20 == 7, "c"] = np.nan
    stream = em.Mixture()
    for start in range(0, 300, 100):
        stream.partial_fit(table.iloc[start : start + 100])
    fit = em.Mixture().fit(table)
    for mix in (fit, stream):
        assert (shared(mix.model_.family) is not None) == correlated
        assert set(mix.model_.family.names) == {*table.columns}
    assert fit.n_clusters_ == 3
    found = pd.crosstab(y, fit.labels_).to_numpy()
    assert found.max(axis=1).sum() >= 0.95 * len(y)


def test_where_many_rows_have_gaps_columns_stay_apart():
    table, _ = _table(200, correlated=True)
    mix = em.Mixture().partial_fit(table.iloc[:70])
    later = table.iloc[70:].reset_index(drop=True)
    later.loc[later.index % 2 == 0, "c"] = np.nan
    mix.partial_fit(later)
    assert shared(mix.model_.family) is None


def test_a_stream_whose_columns_were_taken_apart_goes_on_from_a_file(tmp_path):
    table, _ = _table(200, correlated=False)
    first, rest = table.iloc[:100], table.iloc[100:]
    mix = em.Mixture().partial_fit(first)
    mix.save(tmp_path / "stream.evermix")
    other = em.load(tmp_path / "stream.evermix").partial_fit(rest)
    mix.partial_fit(rest)
    assert np.array_equal(mix.predict_proba(table), other.predict_proba(table))
