"""A cluster that comes late is found, however much was learnt before."""

import numpy as np
import pytest

import evermix as em
from evermix.engines import ENGINES

STREAMING = sorted(name for name, kind in ENGINES.items() if kind.streams)
LATE = 40


def labels_in_order(name, before, distance, seed):
    """Stream rows about the origin, then rows at a distance; return the labels of both."""
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((before, 2)), rng.standard_normal((LATE, 2))
    B[:, 0] += distance
    family = em.FixedGaussian(variance=1.0, mean_variance=100.0)
    mix = em.Mixture(family, em.DP(1.0), ENGINES[name](), random_state=seed)
    first = mix.partial_fit(A).labels_
    return first, mix.partial_fit(B).labels_


@pytest.mark.parametrize("before", [5, 50, 200])
@pytest.mark.parametrize("distance", [8.0, 12.0])
@pytest.mark.parametrize("name", STREAMING)
def test_no_late_row_is_taken_in_by_a_cluster_far_away(name, distance, before):
    """A row that comes halfway from its mean lets this fail: 1e-3 in a run, at 8 deviations."""
    for seed in range(5):
        first, late = labels_in_order(name, before, distance, seed)
        assert not np.isin(late, first).any()


@pytest.mark.parametrize("name", STREAMING)
def test_a_late_cluster_holds_most_of_its_rows(name):
    """At 12 deviations nothing is in doubt but how many clusters B has."""
    for seed in range(5):
        late = labels_in_order(name, 100, 12.0, seed)[1]
        assert np.unique(late, return_counts=True)[1].max() > LATE / 2
