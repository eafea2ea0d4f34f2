"""A stream in which rows open clusters without end says so, once."""

import warnings

import numpy as np
import pytest

import evermix as em

X = 1e3 * np.random.default_rng(0).normal(size=(3000, 2))
FAMILY = em.FixedGaussian(variance=1e-3, mean_variance=1e6)


def _warnings(mix, X, size=500):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for start in range(0, len(X), size):
            mix.partial_fit(X[start : start + size])
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("engine", [em.ADF(lookback=0), em.SUGS()])
def test_a_cluster_for_every_row_is_warned_of_once(tmp_path, engine):
    mix = em.Mixture(FAMILY, em.DP(1.0), engine)
    (said,) = _warnings(mix, X[:2500])
    assert "clusters after 1,000 rows" in said and "Set max_clusters" in said
    mix.save(tmp_path / "m.evermix")
    assert not _warnings(em.load(tmp_path / "m.evermix"), X[2500:])


def test_a_bound_is_described_in_its_own_words():
    """With max_clusters there is only the warning that it was reached."""
    mix = em.Mixture(FAMILY, em.DP(1.0), em.SUGS(), max_clusters=600)
    (said,) = _warnings(mix, X)
    assert "reached max_clusters=600" in said


def test_few_clusters_are_nothing_to_warn_of():
    assert not _warnings(em.Mixture(engine=em.ADF()), X[:1500])
