"""Coarse evidence: where a family is learnt, rows count as fewer when clusters are looked for."""

import numpy as np
import pytest
from scipy.special import digamma, logsumexp

import evermix as em
from evermix.engines.refine.coarse import ENOUGH, coarsened, counted
from evermix.engines.refine.find import find
from evermix.engines.refine.problem import Problem
from evermix.engines.seeding import Sample
from evermix.model import Model

PRIOR = em.PitmanYor(1.0, 0.0)


def learner(X, family=None):
    family = (em.Gaussian() if family is None else family).guess(X)
    return Model(family, PRIOR, learns=(*family.learns, "prior"))


def rows(n=400, gap=6.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + gap * y[:, None], y


def test_four_times_as_many_rows_are_twice_the_evidence():
    X, _ = rows()
    model = learner(X)

    def worth(weight):
        sample = coarsened(model, Sample(model.family, X, np.full(len(X), weight)))
        return float(sample.weights.sum())

    assert worth(ENOUGH / len(X)) == pytest.approx(ENOUGH / np.sqrt(2))
    assert worth(1e-6) == pytest.approx(1e-6 * len(X))
    assert worth(4e6) / worth(1e6) == pytest.approx(2.0, rel=1e-4)


def test_rows_given_twice_are_rows_of_weight_two():
    X, _ = rows()
    model = learner(X)
    twice = coarsened(model, Sample(model.family, np.repeat(X, 2, axis=0), np.ones(2 * len(X))))
    heavy = coarsened(model, Sample(model.family, X, np.full(len(X), 2.0)))
    np.testing.assert_allclose(twice.weights[::2] + twice.weights[1::2], heavy.weights)


def test_the_objective_is_the_bound_of_the_likelihood_to_a_power():
    """Power times the expected log joint density and entropy, less the divergence of q."""
    X, y = rows(60, gap=2.0)
    model = learner(X)
    sample = coarsened(model, Sample(model.family, X, np.ones(len(X))))
    (power,) = set(sample.weights)
    assert power < 1.0
    case = Problem(sample, model, np.random.default_rng(0))
    clusters = case.lap(case.start(y))
    family, prior, mass, r = model.family, model.prior, clusters.mass, clusters.r
    eta = family.posterior(clusters.stats, mass)
    mean = family.mean_params(eta)
    a, b = prior.broken(mass)
    a0, b0 = prior.sticks(len(mass))
    log_v, log_rest = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    joint = family.log_likelihood(X, mean) + log_v + np.append(0.0, np.cumsum(log_rest)[:-1])
    moved = np.sum((eta - family.eta0) * mean) + np.sum((a - a0) * log_v + (b - b0) * log_rest)
    evidence = family.log_marginal(clusters.stats, mass).sum() + prior.log_stick_evidence(mass)
    bound = power * np.sum(r * (joint - np.log(r))) - (moved - evidence) + case.base
    assert case.objective(clusters) == pytest.approx(bound + prior.log_hyperprior(), rel=1e-9)
    again = case.lap(clusters)  # the power does not change responsibilities
    np.testing.assert_allclose(again.r, np.exp(joint - logsumexp(joint, axis=1)[:, None]))


def test_clusters_that_were_found_own_all_rows():
    X, y = rows(1000)
    model = learner(X)
    sample = Sample(model.family, X, np.random.default_rng(1).uniform(0.5, 2.0, len(X)))
    found = find(model, X, sample.weights)
    assert found.K == 2
    assert found.mass.sum() == pytest.approx(sample.weights.sum())
    weighted = sample.weights[:, None] * found.r
    np.testing.assert_allclose(found.stats, found.model.family.accumulate(X, weighted), rtol=1e-9)
    np.testing.assert_allclose(counted(found, sample).mass, found.mass)


def test_a_given_family_takes_all_evidence():
    X, _ = rows()
    family = em.Gaussian().guess(X)
    sample = Sample(family, X, np.ones(len(X)))
    assert coarsened(Model(family, PRIOR, learns=("prior",)), sample) is sample
    assert coarsened(Model(family, PRIOR, learns=("scale",)), sample) is not sample


def test_directions_and_counts_have_ways_of_their_own():
    X = np.random.default_rng(0).normal(size=(40, 50))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model = learner(X, em.VonMisesFisher())
    sample = Sample(model.family, X, np.ones(len(X)))
    assert coarsened(model, sample) is sample


def test_heavy_tails_do_not_bring_ever_more_clusters():
    """With all evidence these have 3 to 6 clusters."""
    for seed in range(3):
        X = np.random.default_rng(seed).standard_t(3, size=(3000, 2))
        assert em.Mixture().fit(X).n_clusters_ <= 3
