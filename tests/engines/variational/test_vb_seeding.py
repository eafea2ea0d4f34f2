"""Seeds far from each other."""

import numpy as np
import pytest
from scipy import sparse

from evermix.engines.seeding import Sample, seed
from evermix.families import (
    Bernoulli,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    Multinomial,
    Poisson,
)


def blobs(kind, rng, groups=5, each=20):
    """Rows of groups that are far from each other, a family for them, and which row is where."""
    labels = np.repeat(np.arange(groups), each)
    centre = np.eye(groups)[labels]
    if kind is Multinomial:
        X = sparse.csr_matrix(rng.poisson(100 * centre + 0.1).astype(float))
        return Multinomial(0.1), X, labels
    if kind is Bernoulli:
        return Bernoulli(), (np.repeat(centre, 8, axis=1) > 0.5).astype(float), labels
    if kind is Poisson:
        return Poisson(), rng.poisson(1.0 + 300 * centre).astype(float), labels
    families = {
        Gaussian: Gaussian(0.0, 0.01, groups + 2.0, 1.0),
        DiagonalGaussian: DiagonalGaussian(0.0, 0.01, 2.0, 1.0),
        FixedGaussian: FixedGaussian(1.0, 1e4, mean=0.0),
    }
    return families[kind], 300 * centre + rng.normal(size=centre.shape), labels


KINDS = [Gaussian, DiagonalGaussian, FixedGaussian, Multinomial, Bernoulli, Poisson]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_group_gets_a_seed(kind):
    """Seeds are far from each other, so as many as there are groups find them all."""
    rng = np.random.default_rng(0)
    family, X, labels = blobs(kind, rng)
    sample = Sample(family.candidates(X)[0], X, np.resize([1.0, 0.5], len(labels)))
    for _ in range(10):
        nearest = seed(sample, 5, rng)
        assert len(set(zip(nearest.tolist(), labels.tolist(), strict=True))) == 5
    assert len(set(seed(sample, 3, rng).tolist())) == 3


def test_rows_drawn_as_seeds_are_rows_of_weight():
    rng = np.random.default_rng(0)
    family, X, _ = blobs(FixedGaussian, rng)
    weights = np.where(np.arange(100) < 3, 1.0, 0.0)
    sample = Sample(family.candidates(X)[0], X, weights)
    for spread in (True, False):
        assert len(set(seed(sample, 10, rng, spread)[:3].tolist())) == 3
        assert seed(sample, 10, rng, spread).max() < 3
