"""The samplers of dependent mixtures draw from the posterior, held against enumeration.

R = T = 2, five documents over two words, fixed hyperparameters. Three times the noise of
independent draws is never met by chance.
"""

import numpy as np
import pytest

from evermix.topics.measures import levels
from evermix.topics.measures.thinned import Factors
from evermix.topics.rows import M1, M2, M3, T1, T2, T3, T4, T5, published
from helpers.dependent_oracles import (
    EMPTY,
    data,
    laplace,
    misfit,
    mixed,
    patterns,
    posterior,
    probability,
    thinned,
    walk_chain,
)

MIXED, THINNED = (M1(), M2(), M3()), (T1(), T2(), T3(), T4(), T5())
QUICK, LONG = 600, 8000


def measure_for(sampler):
    return mixed() if sampler in MIXED else thinned()


@pytest.mark.parametrize("measure", [mixed(), thinned()], ids=["mixed", "thinned"])
def test_the_joint_law_sums_to_one_over_partitions_and_regions(measure):
    log_p = posterior(measure, data(EMPTY))
    assert len(log_p) == 454
    assert np.exp(np.logaddexp.reduce(list(log_p.values()))) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("sampler", [*MIXED, *THINNED], ids=repr)
def test_clusters_and_regions_have_the_posterior_of_the_enumeration(sampler):
    assert misfit(sampler, measure_for(sampler), data(), QUICK) < 3


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [*MIXED, *THINNED], ids=repr)
def test_for_long_clusters_and_regions_have_the_posterior_of_the_enumeration(sampler):
    assert misfit(sampler, measure_for(sampler), data(), LONG) < 3


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [M2(), T2()], ids=repr)
def test_rows_that_rest_leave_the_posterior_as_it_is(sampler, monkeypatch):
    """Where slices would need too many clusters without rows, here more than three."""
    monkeypatch.setattr(levels, "MAX_FRESH", -2)
    assert misfit(sampler, measure_for(sampler), data(), 2500, thin=3) < 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:T[34] would need")
@pytest.mark.parametrize("sampler", [T3(), T4()], ids=repr)
def test_crowded_sweeps_leave_the_posterior_as_it_is(sampler, monkeypatch):
    """They move u as T2 does."""
    monkeypatch.setattr(published, "MAX_ATOMS", 1.0)
    assert misfit(sampler, measure_for(sampler), data(), 2500) < 3


def test_crowded_sweeps_are_reported_once(monkeypatch):
    monkeypatch.setattr(published, "MAX_ATOMS", 1.0)
    with pytest.warns(RuntimeWarning, match="T3 would need more than 1e.00 atoms") as caught:
        list(walk_chain(T3(), thinned(), data(), 5))
    assert len(caught) == 1


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.4, 0.8, 0.97])
@pytest.mark.parametrize(("T", "largest"), [(1, 3.0), (3, 1e-3), (6, 1.0), (10, 1e6)])
def test_the_exponent_is_the_sum_over_all_patterns_of_times(T, largest, sigma):
    """A single integral, on a grid of nodes, to rounding."""
    rng = np.random.default_rng(T)
    q, u = rng.random((2, T)), largest * rng.random(T)
    want = [sum(probability(row, b) * laplace(1.0, sigma, b @ u) for b in patterns(T)) for row in q]
    np.testing.assert_allclose(Factors.of(q, u).exponents(sigma), want, rtol=1e-10)
