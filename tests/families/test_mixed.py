"""Tables: what a row has not seen is integrated out, and the order of things changes nothing."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import evermix as em
from evermix.engines.batch import Batch
from evermix.engines.run import run_laps
from evermix.engines.shards import Shard
from evermix.families import Bernoulli, Categorical, DiagonalGaussian, Gaussian, LogNormal, Mixed
from evermix.families.growing import widened
from evermix.model import Model
from evermix.tally import Tally
from evermix.testing import set_partitions
from helpers.family_cases import CASES, HOLES, TABLE

NAN = np.nan


def learnt(family, X):
    """Natural parameters (1, E) after rows X in one cluster."""
    n = X.shape[0]
    return family.posterior(family.accumulate(X, np.ones((n, 1))), np.array([float(n)]))


def scores(family, eta, X):
    return family.log_predictive(X, eta)[:, 0] + family.log_base(X)


def test_a_table_is_a_product_of_its_columns():
    """Each factor is that of its own family, learnt from the rows that have seen it."""
    family, X = CASES["mixed-holes"]
    want = np.zeros(len(X))
    for block, columns in zip(family.blocks, family.columns_of_blocks, strict=True):
        part = X[:, columns]
        seen = ~np.isnan(part).any(axis=1)
        want[seen] += scores(block.family, learnt(block.family, part[seen]), part[seen])
    np.testing.assert_allclose(scores(family, learnt(family, X), X), want, rtol=1e-10)


@pytest.mark.parametrize("missing", [[0], [1], [1, 2], [4], [0, 3, 7, 8], list(range(9))])
def test_marginalising_a_column_is_leaving_it_out(missing):
    """The density of the columns that were seen is that of a table of these columns."""
    family, _ = CASES["mixed"]
    eta = learnt(family, TABLE)
    X = TABLE.copy()
    X[:, missing] = NAN
    want = np.zeros(len(X))
    for block, columns in zip(family.blocks, family.columns_of_blocks, strict=True):
        kept = [c for c in columns if c not in missing]
        if len(kept) == len(columns):
            part = TABLE[:, columns]
            want += scores(block.family, learnt(block.family, part), part)
        elif kept:  # one of two columns: a Gaussian with one degree of freedom less
            (c,) = kept
            whole = block.family
            j = list(columns).index(c)
            alone = Gaussian(0.5, whole.kappa, whole.nu - 1, whole.scale[j, j])
            alone = alone.candidates(TABLE[:, [c]])[0]
            want += scores(alone, learnt(alone, TABLE[:, [c]]), TABLE[:, [c]])
    np.testing.assert_allclose(scores(family, eta, X), want, rtol=1e-10, atol=1e-10)


def test_a_marginal_density_integrates_the_joint_one():
    """Over a fine grid of the column that is missing."""
    family = Mixed({(0, 1): Gaussian(0.0, 0.5, 5.0, 1.0)}).candidates(TABLE[:, :2])[0]
    eta = learnt(family, TABLE[:, :2])
    grid = np.linspace(-300, 300, 60_001)
    both = np.column_stack([np.full(len(grid), 2.5), grid])
    want = logsumexp(scores(family, eta, both)) + np.log(grid[1] - grid[0])
    got = scores(family, eta, np.array([[2.5, NAN]]))
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_levels_have_the_law_of_polya():
    """Against probabilities from scipy."""
    X = np.array([[0.0], [2.0], [2.0], [1.0], [2.0]])
    family = Categorical(alpha=0.3, n_levels=4).candidates(X)[0]
    counts = np.array([1, 1, 3, 0])
    got = family.log_marginal(family.accumulate(X, np.ones((5, 1))), np.array([5.0]))[0]
    coefficient = stats.multinomial.logpmf(counts, 5, np.full(4, 0.25)) + 5 * np.log(4)
    want = stats.dirichlet_multinomial.logpmf(counts, np.full(4, 0.3), 5) - coefficient
    assert got == pytest.approx(want, rel=1e-10)


def test_log_normal_is_the_density_of_positive_numbers():
    """It integrates to one, unlike that of the logarithms."""
    family = LogNormal(0.3, 0.5, 3.0, 1.0).candidates(np.ones((1, 1)))[0]
    logs = np.linspace(-60, 60, 200_001)
    values = np.exp(logs)
    log_density = scores(family, family.eta0[None], values[:, None])
    assert logsumexp(log_density + logs) + np.log(logs[1] - logs[0]) == pytest.approx(0, abs=1e-4)


def test_with_a_knee_it_is_the_density_of_all_numbers():
    """The logarithm for large ones, and signs for negative ones."""
    family = LogNormal(0.3, 0.5, 3.0, 1.0, knee=2.0).candidates(np.ones((1, 1)))[0]
    logs = np.linspace(-60, 60, 200_001)
    log_density = scores(family, family.eta0[None], family.unscaled(logs)[:, None])
    slopes = np.log(4.0) + np.logaddexp(logs, -logs) - np.log(2)  # of sinh
    assert logsumexp(log_density + slopes) + np.log(logs[1] - logs[0]) == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(family.scaled(np.array([2e6])), np.log(1e6), rtol=1e-10)
    np.testing.assert_allclose(family.scaled(np.array([-3.0, 0.0])), [-np.arcsinh(0.75), 0.0])


def test_all_answers_of_a_small_table_sum_to_one():
    """Whatever was seen of the rows before."""
    family = Mixed({"a": Categorical(0.4, 3), "b": Bernoulli(0.5, 2.0), "c": Categorical(1.0, 2)})
    before = np.array([[0.0, NAN, 1.0], [2.0, 1.0, NAN], [NAN, NAN, NAN], [2.0, 0.0, 0.0]])
    family = family.candidates(before)[0]
    eta = learnt(family, before)
    cells = np.array(list(product(range(3), range(2), range(2))), dtype=float)
    assert logsumexp(scores(family, eta, cells)) == pytest.approx(0, abs=1e-12)
    for known in cells[:, 0]:  # and marginals are sums over what is missing
        some = cells[cells[:, 0] == known]
        want = logsumexp(scores(family, eta, some))
        got = scores(family, eta, np.array([[known, NAN, NAN]]))[0]
        assert got == pytest.approx(want, abs=1e-12)


def test_gibbs_draws_partitions_with_their_exact_probabilities():
    """All partitions of four rows with holes, by enumeration."""
    X = np.array([[0.0, 0.1], [NAN, 0.3], [1.0, NAN], [1.0, 2.5]])
    family = Mixed({0: Categorical(0.5, 2), 1: Gaussian(0.0, 0.5, 3.5, 0.5)}).candidates(X)[0]
    prior, exact = em.DP(1.0), {}
    for labels in set_partitions(4):
        r = np.eye(4)[list(labels)][:, : max(labels) + 1]
        mass = r.sum(axis=0)
        fit = family.log_marginal(family.accumulate(X, r), mass).sum()
        exact[labels] = fit + prior.log_eppf(mass)
    total = logsumexp(list(exact.values()))
    engine, rng = em.Gibbs(sweeps=6000, burn_in=100), np.random.default_rng(0)
    model, shard = Model(family, prior), Shard([Batch(X, np.ones(4))], {})
    state = run_laps(engine, model, engine.initial(model, rng), shard, rng)
    found = [_in_order(labels) for labels in engine.draws(state).labels]
    for labels, log_p in exact.items():
        p, share = np.exp(log_p - total), found.count(labels) / len(found)
        assert abs(share - p) < 5 * np.sqrt(2 * p * (1 - p) / len(found)) + 1e-3


def _in_order(labels):
    names = list(dict.fromkeys(labels.tolist()))
    return tuple(names.index(k) for k in labels.tolist())


def test_the_order_of_blocks_and_of_levels_changes_nothing():
    X = HOLES[:, [0, 4, 5]]
    one = Mixed({0: Gaussian(), 1: Categorical(), 2: Bernoulli()}).candidates(X)[0]
    names = {2: Bernoulli(), 1: Categorical(), 0: Gaussian()}
    other = Mixed(names).candidates(X)[0]
    want = scores(one, learnt(one, X), X)
    np.testing.assert_allclose(scores(other, learnt(other, X), X), want, rtol=1e-12)
    Y = X.copy()
    Y[:, 1] = 2.0 - Y[:, 1]
    np.testing.assert_allclose(scores(one, learnt(one, Y), Y), want, rtol=1e-12)


def test_a_weight_counts_a_block_as_often():
    """Twice the weight is the row twice, in that block alone."""
    X = HOLES[:, [0, 4]]
    plain = Mixed({0: Gaussian(0, 1, 4.0, 1.0), 1: Categorical(1.0, 3)}).candidates(X)[0]
    twice = Mixed({0: Gaussian(0, 1, 4.0, 1.0), 1: (Categorical(1.0, 3), 2.0)}).candidates(X)[0]
    more = np.vstack([X, np.column_stack([np.full(len(X), NAN), X[:, 1]])])
    got = twice.log_marginal(twice.accumulate(X, np.ones((len(X), 1))), np.ones(1))
    want = plain.log_marginal(plain.accumulate(more, np.ones((len(more), 1))), np.ones(1))
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_new_levels_are_levels_that_nobody_has_counted():
    """A family that gets them later has the clusters of one that knew them."""
    X = HOLES[:, [0, 4, 5]]
    blocks = {0: Gaussian(0, 1, 4.0, 1.0), 1: Categorical(0.5), 2: Bernoulli()}
    few = Mixed(blocks).candidates(X)[0]
    many = Mixed(blocks | {1: Categorical(0.5, 6)}).candidates(X)[0]
    one = np.ones((len(X), 1))
    tally = Tally.of(np.arange(1), np.array([30.0]), few.accumulate(X, one), {}, few.layout)
    family, tally = widened(few, tally, (6,))
    assert family == many
    np.testing.assert_array_equal(tally.stats, many.accumulate(X, one))


def test_independent_columns_of_one_family_are_learnt_each():
    family = Mixed({("x", "y"): DiagonalGaussian(np.array([1.0, 2.0]), 0.5, 2.0, 1.0)})
    found = family.candidates(np.array([[1.0, NAN], [NAN, 2.0]]))[0]
    assert [block.names for block in found.blocks] == [("x",), ("y",)]
    assert [block.family.mean.tolist() for block in found.blocks] == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ({}, "name every column once"),
        ({"a": Gaussian(), ("a", "b"): Gaussian()}, "name every column once"),
        ({"a": Gaussian(), 1: Gaussian()}, "all by names or all by numbers"),
        ({"a": em.Multinomial()}, "family of dense rows"),
        ({"a": Mixed()}, "family of dense rows"),
        ({("a", "b"): em.LowRankGaussian()}, "not LowRankGaussian"),
        ({"a": "gaussian"}, "family of dense rows"),
        ({"a": (Gaussian(), -1.0)}, "weight of .* positive"),
        ({1.5: Gaussian()}, "named by columns"),
        ({("a", "b"): em.ZeroInflated()}, "for one column"),
        ([(("a",), Bernoulli(), 1.0, "not 0")], "one after the other"),
        ([(("a",), LogNormal(), 1.0, "rest")], "one after the other"),
        ([(("a",), Gaussian(), 1.0, "not 0"), (("a",), LogNormal(), 1.0, "rest")], "Bernoulli"),
        ([(("a",), Bernoulli(), 1.0, "not 0"), (("b",), LogNormal(), 1.0, "rest")], "one after"),
    ],
)
def test_blocks_that_make_no_sense_are_refused(blocks, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        Mixed(blocks)


@pytest.mark.parametrize(
    ("value", "column", "problem"),
    [
        (2.0, 2, r"zeros and ones, got 2.0 in row 1, column 2 \('c'\)"),
        (-1.0, 1, r"whole numbers >= 0, got -1.0 in row 1, column 1 \('b'\)"),
        (np.inf, 0, "infinity"),
    ],
)
def test_values_outside_the_support_of_their_column_are_refused(value, column, problem):
    X = np.array([[1.0, 0.0, 1.0], [NAN, 1.0, 0.0]])
    X[1, column] = value
    family = Mixed({"a": Gaussian(), "b": Categorical(), "c": Bernoulli()})
    with pytest.raises(ValueError, match=problem):
        em.Mixture(family).fit(X)
