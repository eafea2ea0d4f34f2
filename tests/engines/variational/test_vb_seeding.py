"""Seeds far from each other, and fresh analyses that begin at them."""

import numpy as np
import pytest
from scipy import sparse

from evermix.engines.seeding import Sample, seed
from evermix.engines.variational.moves.analysis import analyse, refine, valued
from evermix.families import (
    FAMILIES,
    Bernoulli,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    Multinomial,
    Poisson,
)
from evermix.model import Model
from evermix.priors import DP
from helpers.engine_cases import model_for
from helpers.oracles import elbo


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


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_analysis_finds_the_groups(kind):
    """From more seeds than there are groups."""
    rng = np.random.default_rng(0)
    family, X, labels = blobs(kind, rng)
    model = Model(family.candidates(X)[0], DP(1.0))
    sample = Sample(model.family, X, np.ones(len(labels)))
    found = analyse(model, sample, 12, rng)
    np.testing.assert_allclose(found.mass, 20.0, rtol=1e-3)


def test_rows_drawn_as_seeds_are_rows_of_weight():
    rng = np.random.default_rng(0)
    family, X, _ = blobs(FixedGaussian, rng)
    weights = np.where(np.arange(100) < 3, 1.0, 0.0)
    sample = Sample(family.candidates(X)[0], X, weights)
    for spread in (True, False):
        assert len(set(seed(sample, 10, rng, spread)[:3].tolist())) == 3
        assert seed(sample, 10, rng, spread).max() < 3


@pytest.mark.parametrize("name", FAMILIES)
def test_what_clusters_of_a_sample_are_worth_is_their_bound(name):
    """But for the base measure; and improving them never lowers it."""
    model, X = model_for(name, DP(1.5), n=60)
    sample = Sample(model.family, X, np.resize([1.0, 0.4, 3.0], 60))
    r = np.random.default_rng(0).dirichlet(np.full(5, 0.3), size=60)
    found, r = valued(model, sample, r)
    base = sample.weights @ model.family.log_base(X)
    assert found.value + base == pytest.approx(elbo(model, X, sample.weights, r), rel=1e-10)
    assert np.all(np.diff(found.mass) <= 0)
    assert refine(model, sample, found, merge=False).value >= found.value
