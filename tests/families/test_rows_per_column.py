"""Rows that are too few for full covariances."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix.engines.filters.review import _in_place
from evermix.families.kinds import FULL_ROWS, kinds
from helpers.variants import slow_but

D = 20


def _correlated(n: int, clusters: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters of rows whose columns have two causes in common."""
    rng = np.random.default_rng(seed)
    causes, y = rng.normal(size=(2, D)), rng.integers(0, clusters, n)
    X = rng.normal(size=(n, 2)) @ causes + 0.5 * rng.normal(size=(n, D))
    return X + 3.0 * rng.normal(size=(clusters, D))[y], y


@pytest.mark.parametrize("rows", slow_but([4], [2, 3, 4, 5]))
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_of_one_cluster_stay_one(rows, seed):
    X, _ = _correlated(rows * D, 1, seed)
    assert len(em.Mixture().fit(X).cluster_ids_) == 1


@pytest.mark.parametrize("rows", slow_but([3], [2, 3, 4, 5]))
def test_clusters_of_few_rows_are_found(rows):
    agreement = list[float]()
    for seed in range(4):
        X, y = _correlated(rows * D, 3, seed)
        agreement.append(adjusted_mutual_info_score(y, em.Mixture().fit(X).labels_))
    assert np.mean(agreement) > 0.85


def test_a_stream_takes_full_covariances_once_it_has_the_rows():
    X, _ = _correlated(300, 1, 0)
    mix = em.Mixture()
    families = []
    for some in np.array_split(X, 10):
        families.append(type(mix.partial_fit(some).model_.family))
        assert len(mix.cluster_ids_) == 1
    assert em.LowRankGaussian in families and families[-1] is em.Gaussian


def test_rows_of_pinned_clusters_choose_the_family_too():
    X, _ = _correlated(700, 3, 0)
    X[300:][np.random.default_rng(0).random(400) < 0.1] += 25.0  # fewer than the family needs
    mix, free = em.Mixture(), em.Mixture()
    for i, some in enumerate(np.array_split(X, 70)):
        mix.partial_fit(some)
        free.partial_fit(some)
        if i == 8:
            assert isinstance(mix.model_.family, em.LowRankGaussian)
            for id in mix.cluster_ids_:
                mix.pin(id)
    assert isinstance(free.model_.family, em.Gaussian)
    assert isinstance(mix.model_.family, em.Gaussian)
    assert mix.state_.tally.mass.sum() == pytest.approx(700, rel=0.01)
    assert mix.score(X) > free.score(X) - 0.5


def test_rows_that_are_not_all_kept_leave_the_family_as_it_is():
    model = em.Mixture().partial_fit(_correlated(90, 1, 0)[0]).model_
    assert "family" in model.learns
    assert "family" not in _in_place(model).learns


def test_the_number_of_rows_and_columns_decides():
    enough, few = np.zeros((FULL_ROWS * D, D)), np.zeros((FULL_ROWS * D - 1, D))
    for family in (em.Gaussian(), em.DiagonalGaussian(), em.LowRankGaussian()):
        assert kinds(family, few) == [em.LowRankGaussian(), em.DiagonalGaussian()]
        assert kinds(family, enough) == [em.Gaussian(), em.DiagonalGaussian()]
    assert kinds(em.Gaussian(), few[:10, :4]) == [em.Gaussian()]
    wide = em.LowRankGaussian()
    assert kinds(wide) == kinds(wide, np.zeros((10, 40))) == [wide]
