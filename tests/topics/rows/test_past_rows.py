"""New rows among clusters of the past have the posterior given what the past chose.

It is held against enumeration: of all partitions and regions of five rows, those where the first
ones have chosen as the past has.
"""

from collections import Counter

import numpy as np
import pytest

from evermix.topics.measures.opening import NEW_REGION, open_times
from evermix.topics.priors import MNGG, SNGG, TNGG
from evermix.topics.rows import M1, M2, M3, T1, T2, T3, T4, T5
from evermix.topics.rows.chain import Past, RowChain, RowData
from evermix.topics.rows.draws import Clusters, RowDraw
from evermix.topics.rows.live import opened
from helpers.dependent_oracles import (
    DOCUMENTS,
    TIMES,
    WORDS,
    _distance,
    coarse,
    data,
    everything,
    mixed,
    normalised,
    posterior,
    thinned,
)
from helpers.variants import slow_but

MIXED, THINNED = (M1(), M2(), M3()), (T1(), T2(), T3(), T4(), T5())
CHOSEN = {"a time": (0, 1), "both times": (0, 1, 0)}  # by the rows of the past
QUICK, LONG = 600, 8000


def measure_for(sampler):
    return mixed() if sampler in MIXED else thinned()


def new_rows(chosen, times=1):
    """Rows that come after those of the past, each of which may have chosen several times."""
    n, labels = len(chosen), np.array(chosen)
    before = RowData(WORDS, DOCUMENTS[:n], TIMES[:n], 2)
    K = max(chosen) + 1
    stats = times * before.state(labels, K).tally.stats
    past = Past(times * before.counts(labels, K), stats)
    return RowData(WORDS, DOCUMENTS[n:], TIMES[n:], 2, past)


def chain_of(sampler, rows):
    K = rows.past.K
    labels, region = np.full(len(rows), -1), np.zeros(K, dtype=np.int64)
    return RowChain(measure_for(sampler), labels, region, np.ones((2, K), dtype=bool), kept=K)


def misfit(sampler, chosen, sweeps, times=1, skip=20):
    whole = posterior(measure_for(sampler), data())
    exact = normalised({k: v for k, v in whole.items() if k[0][: len(chosen)] == chosen})
    rows, seen, rng = new_rows(chosen, times), Counter(), np.random.default_rng(0)
    chain = chain_of(sampler, rows)
    for sweep in range(skip + sweeps):
        sampler.sweep(rows, chain, rng)
        if sweep >= skip:
            seen[(*chosen, *chain.labels.tolist()), tuple(chain.region.tolist())] += 1
    return max(_distance(exact, seen, sweeps, view) for view in (everything, coarse))


@pytest.mark.parametrize(
    "sampler", slow_but([M1(), M3(), T1(), T5()], [*MIXED, *THINNED]), ids=repr
)
def test_given_the_past_new_rows_have_the_posterior_of_the_enumeration(sampler):
    assert misfit(sampler, CHOSEN["both times"], QUICK) < 3


@pytest.mark.slow
@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize("sampler", [*MIXED, *THINNED], ids=repr)
def test_for_long_new_rows_have_the_posterior_of_the_enumeration(sampler, chosen):
    assert misfit(sampler, CHOSEN[chosen], LONG) < 3


@pytest.mark.parametrize("sampler", [M1(), T1()], ids=repr)
def test_with_a_past_counted_twice_the_law_is_another(sampler):
    assert misfit(sampler, CHOSEN["both times"], 1500, times=2) > 3


@pytest.mark.parametrize("sampler", [*MIXED, *THINNED], ids=repr)
def test_rows_of_the_past_stay_where_they_are(sampler):
    """Every draw counts them, and new rows, each once."""
    rows, rng = new_rows((0, 1)), np.random.default_rng(0)
    chain, past = chain_of(sampler, rows), rows.past
    total = WORDS.accumulate(DOCUMENTS, np.ones((5, 1)))[0]
    for _ in range(20):
        sampler.sweep(rows, chain, rng)
        found = Clusters.of(RowDraw.of(chain, rows), rows)
        assert np.all(found.counts[:, :2] >= past.counts)
        np.testing.assert_array_equal(found.counts.sum(axis=1), np.bincount(TIMES))
        np.testing.assert_allclose(found.stats.sum(axis=0), total)
        assert np.all(found.counts.sum(axis=0) > 0)
        assert chain.on.shape == (2, chain.K) and np.all(chain.on | (found.counts == 0))


@pytest.mark.parametrize("prior", [MNGG(), SNGG(), TNGG(), MNGG(2), TNGG(2, q=0.5)], ids=repr)
def test_a_new_time_begins_near_the_last_one(prior):
    """With as much of u for a row, and its weights between the last one's and the mean."""
    rng, old = np.random.default_rng(0), prior.measure(np.array([5.0, 10.0]))
    if old.laws.q is not None:
        old.q = rng.random(old.q.shape)
    measure, R = prior.measure(np.ones(3)), old.n_regions
    open_times(measure, old.arrays(), np.array([20.0]), 10.0)
    np.testing.assert_array_equal(measure.u, [*old.u, 2 * old.u[1]])
    np.testing.assert_array_equal(measure.mass[:R], old.mass)
    assert measure.sigma == old.sigma
    if old.laws.q is None:
        np.testing.assert_array_equal(measure.q, prior.measure(np.ones(3)).q)
        return
    np.testing.assert_array_equal(measure.q[:R, :2], old.q)
    length = old.mass @ old.q if isinstance(prior, MNGG) else np.ones(2)
    shares = measure.q[:R, 2] / length[-1]
    low, high = (f(old.q / length, axis=1) for f in (np.min, np.max))
    assert np.all((low <= shares) & (shares <= high))
    new = prior.measure(np.ones(3)).q[R:]
    if isinstance(prior, MNGG):
        new = np.tile(length[[0, 1, 1]] / old.mass.sum(), (len(new), 1))
    np.testing.assert_allclose(measure.q[R:], NEW_REGION * new)


@pytest.mark.parametrize("prior", [MNGG(), MNGG(2)], ids=repr)
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_weights_of_regions_without_mass_and_lengths_of_times_change_no_new_time(prior, scale):
    """Only q times u means something, and a region without atoms may have any weight."""
    rng, old = np.random.default_rng(0), prior.measure(np.array([5.0, 10.0]))
    old.q, old.mass = rng.random(old.q.shape), np.array([50.0, 1e-30])

    def opened_at(arrays):
        measure = prior.measure(np.ones(3))
        open_times(measure, arrays, np.array([20.0]), 10.0)
        seen = [0, *range(2, measure.n_regions)]
        return (measure.q * measure.u)[seen]

    plain, numbers = opened_at(old.arrays()), old.arrays()
    numbers["q"][1] *= scale
    np.testing.assert_allclose(opened_at(numbers), plain)
    numbers["q"][:, 1] *= scale
    numbers["u"][1] /= scale
    np.testing.assert_allclose(opened_at(numbers), plain)


def test_new_times_have_no_rows_of_the_past():
    rows = new_rows((0, 1))
    region, on = np.zeros(2, dtype=np.int64), np.ones((1, 2), dtype=bool)
    numbers = MNGG(2).measure(np.array([2.0])).arrays()
    past = Clusters(rows.past.counts[:1], rows.past.stats, region, on, numbers, 0.0)
    chain = opened(past, MNGG(2), rows)
    assert chain.kept == chain.K == 2 and chain.on.shape == (2, 2)
    np.testing.assert_array_equal(chain.occupancy(rows).counts, rows.past.counts)
