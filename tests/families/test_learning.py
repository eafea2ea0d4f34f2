"""Hyperparameters that are learnt from the statistics of clusters."""

import numpy as np
import pytest
from scipy import sparse

import evermix as em

NAMES = {
    em.Gaussian: ("mean", "kappa", "nu", "scale"),
    em.DiagonalGaussian: ("mean", "kappa", "shape", "rate"),
}


def clusters(family, K=40, n=50, D=2, seed=0):
    """A family about the rows of K unit Gaussians, and the statistics and masses of these."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(K, D)) * 5
    y = np.repeat(np.arange(K), n)
    X = means[y] + rng.normal(size=(K * n, D))
    first = family.guess(X)
    return first, first.accumulate(X, np.eye(K)[y]), np.full(K, float(n))


def counts(K=30, V=50, alpha=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = np.stack([rng.multinomial(400, rng.dirichlet(np.full(V, alpha))) for _ in range(K)])
    first = em.Multinomial().candidates(sparse.csr_array(X))[0]
    return first, np.column_stack([X, X.sum(axis=1)]).astype(float), np.ones(K)


def objective(family, first, stats, mass):
    return family.log_marginal(stats, mass).sum() + family.log_hyperprior(first)


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("K", [1, 2, 40])
@pytest.mark.parametrize("D", [1, 2, 5])
def test_learning_never_lowers_the_evidence_and_its_hyperprior(family, K, D):
    first, stats, mass = clusters(family(), K, D=D)
    now, before = first, objective(first, first, stats, mass)
    for _ in range(5):
        now = now.learnt(first, NAMES[family], stats, mass)
        after = objective(now, first, stats, mass)
        assert after >= before
        before = after
    assert objective(first, first, stats, mass) < before


@pytest.mark.parametrize("family", NAMES)
def test_many_clusters_say_what_a_cluster_looks_like(family):
    """The expected variance, and how far means are apart: 5 times a standard deviation."""
    first, stats, mass = clusters(family(), K=200)
    now = first
    for _ in range(20):
        now = now.learnt(first, NAMES[family], stats, mass)
    variance = now.scale if family is em.Gaussian else np.diag(now.rate / (now.shape - 1))
    np.testing.assert_allclose(variance, np.eye(2), atol=0.15)
    assert now.kappa == pytest.approx(1 / 25, rel=0.3)


@pytest.mark.parametrize("family", NAMES)
def test_one_cluster_does_not_become_its_own_prior(family):
    """Without the pseudo-cluster the prior would be worth as many rows as there may be."""
    first, stats, mass = clusters(family(), K=1, n=5000)
    now = first
    for _ in range(50):
        now = now.learnt(first, NAMES[family], stats, mass)
    worth = now.nu if family is em.Gaussian else 2 * now.shape
    assert worth < 100 and now.kappa < 10


@pytest.mark.parametrize("family", NAMES)
def test_a_constant_column_does_not_drive_the_scale_to_zero(family):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), rng.integers(0, 2, 600)])
    first = family().guess(X)
    r = np.eye(4)[(2 * X[:, 1] + (X[:, 0] > 0)).astype(int)]
    stats, mass = first.accumulate(X, r), r.sum(axis=0)
    now = first
    for _ in range(50):
        now = now.learnt(first, NAMES[family], stats, mass)
    variance = now.scale[1, 1] if family is em.Gaussian else now.rate[1] / (now.shape - 1)
    assert variance > 5e-4 * np.var(X[:, 1])


@pytest.mark.parametrize("family", NAMES)
def test_only_what_is_open_is_learnt(family):
    first, stats, mass = clusters(family())
    for name in NAMES[family]:
        now = first.learnt(first, [name], stats, mass)
        for other in NAMES[family]:
            same = np.array_equal(getattr(now, other), getattr(first, other))
            assert same == (other != name or name in ("nu", "shape"))
    assert first.learnt(first, [], stats, mass) is first


def test_the_concentration_of_words_is_found():
    first, stats, mass = counts()
    now, before = first, objective(first, first, stats, mass)
    for _ in range(30):
        now = now.learnt(first, ["alpha"], stats, mass)
        after = objective(now, first, stats, mass)
        assert after >= before
        before = after
    assert now.alpha == pytest.approx(0.05, rel=0.15)


@pytest.mark.parametrize(("alpha", "discount"), [(1.0, 0.0), (20.0, 0.0), (1.0, 0.6)])
def test_a_prior_is_learnt_from_masses(alpha, discount):
    rng, truth = np.random.default_rng(1), em.PitmanYor(alpha, discount)
    sizes = [1]
    for n in range(1, 5000):
        weights = np.append(np.array(sizes) - discount, alpha + discount * len(sizes))
        k = rng.choice(len(weights), p=weights / (n + alpha))
        sizes[k : k + 1] = [sizes[k] + 1] if k < len(sizes) else [1]
    mass = -np.sort(-np.array(sizes, dtype=float))
    first = em.PitmanYor(1.0, 0.0)
    found = first.learnt(mass)

    def value(prior):
        return prior.log_stick_evidence(mass) + prior.log_hyperprior()

    assert value(found) >= max(value(first), value(truth)) - 0.5
    assert found.learnt(mass) == found
    assert (found.discount > 0) == (discount > 0)
