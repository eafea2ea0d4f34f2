"""Kernels equal the array maths, step by step, for every family."""

import numpy as np
import pytest

from evermix.families import Family
from evermix.kernels.base import add, kernel, refresh
from evermix.kernels.scoring import score_rows
from evermix.tally import Tally
from helpers.family_cases import CASES

WITH_COLUMNS = [n for n, (family, _) in CASES.items() if type(family).columns != Family.columns]


@kernel
def feed(work, rows, r, mass):
    """Add every row to every slot with weights r (N, K), then open the slot after the empty one."""
    K = r.shape[1]
    for i in range(r.shape[0]):
        for k in range(K):
            mass[k] += r[i, k]
            add(work, rows, i, k, r[i, k], mass[k])
    refresh(work, K + 1, 0.0)


def start(family, K):
    """A tally of K empty clusters with room behind them, its columns, and the work."""
    tally = Tally.empty(family.n_stats, (), family.layout)
    tally.append(np.arange(K))
    tally.reserve(K + 2)
    columns = family.columns(tally)
    return tally, columns, family.workspace(tally, columns)


def scores(family, work, X, slots):
    out = np.empty((X.shape[0], slots))
    score_rows(work, family.rows(X), slots, out)
    return out


# Blocks with weights have no compiled verbs.
@pytest.fixture(params=[name for name in CASES if name != "mixed-weights"])
def case(request):
    return CASES[request.param]


@pytest.fixture
def fed(case):
    return feed_softly(*case)


def feed_softly(family, X):
    """A family, its rows, a tally of 3 clusters after 300 soft additions, columns and work."""
    tally, columns, work = start(family, 3)
    rng = np.random.default_rng(5)
    rows = family.rows(X[rng.integers(0, X.shape[0], size=300)])
    feed(work, rows, rng.dirichlet(np.ones(3), size=300), tally.mass)
    return family, X, tally, columns, work


def test_scores_equal_the_array_maths(fed):
    """Also after hundreds of soft additions, and in the two empty slots behind them."""
    family, X, tally, _, work = fed
    stats = np.vstack([tally.stats, np.zeros((2, family.n_stats))])
    mass = np.append(tally.mass, [0.0, 0.0])
    want = family.log_predictive(X, family.posterior(stats, mass))
    np.testing.assert_allclose(scores(family, work, X, 5), want, rtol=1e-10, atol=1e-9)


def test_derived_values_do_not_depend_on_when_they_are_computed(fed):
    """Bit for bit: otherwise cutting a stream elsewhere would change results."""
    family, X, tally, columns, work = fed
    fresh = family.workspace(tally, columns)
    feed(fresh, family.rows(X), np.empty((0, 3)), tally.mass)  # opens the slot behind, too
    for name in work._fields:
        value = getattr(work, name)
        if isinstance(value, np.ndarray) and name not in ("residual", "scratch"):
            np.testing.assert_array_equal(value, getattr(fresh, name), err_msg=name)


@pytest.mark.parametrize("case", WITH_COLUMNS, indirect=True)
def test_columns_follow_the_statistics(fed):
    """A cache that is updated step by step stays what a rebuild would give."""
    family, _, tally, columns, _ = fed
    rebuilt_columns = family.columns(tally)
    assert columns.keys() == rebuilt_columns.keys()
    for name, rebuilt in rebuilt_columns.items():
        scale = np.abs(rebuilt[:3]).max()
        np.testing.assert_allclose(columns[name][:3], rebuilt[:3], atol=1e-9 * scale)


def test_sequential_scores_multiply_to_the_marginal(case):
    """The chain rule, through the kernels alone."""
    family, X = case
    tally, _, work = start(family, 1)
    one, total = np.ones((1, 1)), 0.0
    for i in range(X.shape[0]):
        row = X[i : i + 1]
        total += scores(family, work, row, 1)[0, 0]
        feed(work, family.rows(row), one, tally.mass)
    stats = family.accumulate(X, np.ones((X.shape[0], 1)))
    np.testing.assert_allclose(total, family.log_marginal(stats, tally.mass)[0], rtol=1e-10)


def test_taking_a_row_out_undoes_adding_it(fed):
    """A negative weight subtracts."""
    family, X, tally, _, work = fed
    before = scores(family, work, X, 4)
    row, one = family.rows(X[4:5]), np.ones((1, 3))
    feed(work, row, one, tally.mass)
    feed(work, row, -one, tally.mass)
    np.testing.assert_allclose(scores(family, work, X, 4), before, rtol=1e-9, atol=1e-8)


def test_a_row_far_from_everything_is_scored():
    """Products of factors overflow there; their logs do not."""
    family, X = CASES["diagonal"]
    far = X[:1] + 1e120
    _, _, work = start(family, 0)
    want = family.log_predictive(far, family.eta0[None])
    assert np.isfinite(want)
    np.testing.assert_allclose(scores(family, work, far, 1), want, rtol=1e-10)


def test_an_empty_document_is_exactly_as_likely_everywhere():
    """No rounding may draw it to one cluster: likelihood 1 in every slot."""
    family, X = CASES["multinomial"]
    tally, _, work = start(family, 3)
    n = X.shape[0]
    feed(work, family.rows(X), np.random.default_rng(0).random((n, 3)), tally.mass)
    empty = X[:1]
    assert empty.sum() == 0
    np.testing.assert_array_equal(scores(family, work, empty, 4), 0.0)
    np.testing.assert_array_equal(family.log_base(empty), 0.0)
