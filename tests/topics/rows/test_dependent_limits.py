"""Where dependent measures are something simpler."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import gammaln

from evermix.priors import DP, NGGP
from evermix.topics.priors import SNGG
from evermix.topics.rows.samplers import M1, M2, M3, T1, T2, T5
from helpers.dependent_oracles import (
    EMPTY,
    TIMES,
    data,
    misfit,
    mixed,
    normalised,
    posterior,
    thinned,
)

ONE_TIME = np.zeros(5, dtype=np.int64)
SWEEPS = 400


def partitions_only(labels, region):
    return labels


def law(measure, rows):
    """Probability of each partition."""
    out = Counter()
    for (labels, _), p in normalised(posterior(measure, rows)).items():
        out[labels] += p
    return out


def check_partitions(measure, rows, log_p, samplers):
    """Partitions have this law in the enumeration, and in the chains of samplers."""
    for labels, p in law(measure, rows).items():
        assert p == pytest.approx(math.exp(log_p(np.array(labels))), rel=1e-8)
    for sampler in samplers:
        assert misfit(sampler, measure, rows, SWEEPS, views=[partitions_only]) < 3


def sizes_of(labels):
    return np.bincount(labels)[np.bincount(labels) > 0].astype(float)


def test_one_region_and_one_time_are_the_nggp():
    prior, rows = NGGP(1.3, 0.4), data(EMPTY, ONE_TIME)
    check_partitions(
        mixed(q=((0.7,),), a=(1.3,)), rows, lambda z: prior.log_eppf(sizes_of(z)), (M1(), M3())
    )
    measure = thinned(q=((1.0,),), a=(1.3,))
    check_partitions(measure, rows, lambda z: prior.log_eppf(sizes_of(z)), (T1(), T5()))


def test_thinning_at_one_time_is_a_smaller_mass():
    prior, rows = NGGP(0.3 * 1.3, 0.4), data(EMPTY, ONE_TIME)
    measure = thinned(q=((0.3,),), a=(1.3,))
    check_partitions(measure, rows, lambda z: prior.log_eppf(sizes_of(z)), (T1(),))


def test_thinned_measures_with_q_one_share_one_nggp():
    prior = NGGP(1.3, 0.4)
    measure = thinned(q=((1.0, 1.0),), a=(1.3,))
    check_partitions(measure, data(EMPTY), lambda z: prior.log_eppf(sizes_of(z)), (T1(), T5()))


def test_without_sigma_the_measure_is_a_dirichlet_process():
    """In closed form: alpha^K Gamma(alpha) / Gamma(alpha + n) times factorials."""

    def log_p(labels):
        n, a = sizes_of(labels), 1.3
        return len(n) * math.log(a) + gammaln(a) - gammaln(a + n.sum()) + gammaln(n).sum()

    check_partitions(mixed(q=((1.0, 1.0),), a=(1.3,), sigma=0.0), data(EMPTY), log_p, (M1(), M2()))
    measure = thinned(q=((1.0, 1.0),), a=(1.3,), sigma=0.0)
    check_partitions(measure, data(EMPTY), log_p, (T1(), T2()))
    rows = data(EMPTY, ONE_TIME)
    assert law(mixed(q=((1.0,),), a=(1.3,), sigma=0.0), rows) == pytest.approx(
        {z: math.exp(DP(1.3).log_eppf(sizes_of(np.array(z)))) for z in law(mixed(), data(EMPTY))}
    )


def test_windows_of_no_width_are_independent_processes():
    """Binary q: times that share no region share no cluster."""
    measure = SNGG(window=0, sigma=0.4, a=1.3).measure(np.bincount(TIMES))
    prior = NGGP(1.3, 0.4)

    def log_p(labels):
        first, second = labels[TIMES == 0], labels[TIMES == 1]
        assert not set(first) & set(second)
        return prior.log_eppf(sizes_of(first)) + prior.log_eppf(sizes_of(second))

    check_partitions(measure, data(EMPTY), log_p, (M1(), M2(), M3()))


def test_windows_are_mixed_measures_with_binary_q():
    measure = SNGG(window=1, sigma=0.4, a=1.3).measure(np.array([2, 1, 1, 3]))
    want = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(measure.q, want)


@pytest.mark.parametrize("q", [((1.0, 1.0), (1.0, 1.0)), ((1.0, 0.0), (0.0, 1.0))])
def test_thinning_with_certainty_is_mixing(q):
    """Of atoms that are there for sure, or surely not."""
    one, other = (normalised(posterior(f(q=q), data())) for f in (mixed, thinned))
    assert one == pytest.approx(other, abs=1e-9)
    assert misfit(T1(), thinned(q=q), data(), SWEEPS) < 3
