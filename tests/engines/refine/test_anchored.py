"""Clusters beside others of which only the sums are left."""

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix._xp import logsumexp
from evermix.engines.refine.anchored import Anchored, beside, drawn
from evermix.engines.refine.merge import merged
from evermix.engines.refine.problem import Problem
from evermix.engines.seeding import Sample
from evermix.model import Model

FAMILY = em.Multinomial(0.5, n_features=4)
MODEL = Model(FAMILY, em.PitmanYor(1.0, 0.2))
EARLY = np.array([[3, 1, 0, 0], [2, 2, 0, 0], [0, 1, 0, 4], [4, 0, 0, 1.0]])
OWNER = np.array([0, 0, 1, 0])
LATE = sparse.csr_matrix(np.array([[0, 0, 3.0, 0], [1, 0, 2, 0], [2, 0, 0, 1], [0, 0, 4, 1]]))


def before():
    own = np.eye(2)[OWNER]
    return sparse.csr_matrix(own.T @ EARLY), own.sum(axis=0)


def anchored(labels):
    sums, mass = before()
    X = sparse.vstack([sparse.diags_array(1 / mass) @ sums, LATE])
    sample = Sample(FAMILY, sparse.csr_matrix(X), np.append(mass, np.ones(LATE.shape[0])))
    problem = Anchored(sample, MODEL, np.random.default_rng(0), 2)
    return problem, problem.start(np.append([0, 1], labels))


def test_a_lap_is_that_of_all_rows_of_which_the_early_ones_stay():
    labels = np.array([2, 2, 0, 2])
    problem, clusters = anchored(labels)
    X = sparse.csr_matrix(sparse.vstack([sparse.csr_matrix(EARLY), LATE]))
    whole = Problem(Sample(FAMILY, X, np.ones(8)), MODEL, np.random.default_rng(0))
    every = whole.start(np.append(OWNER, labels))
    np.testing.assert_allclose(clusters.mass, every.mass)
    np.testing.assert_allclose(clusters.stats, every.stats)
    lap, scores = problem.lap(clusters), whole.scores(every)[4:]
    shares = np.exp(scores - logsumexp(scores, axis=1)[:, None])
    held = whole.summed(MODEL, np.vstack([every.r[:4], shares]))
    np.testing.assert_allclose(lap.r[2:], held.r[4:])
    np.testing.assert_allclose(lap.mass, held.mass)
    np.testing.assert_allclose(lap.stats, held.stats)
    np.testing.assert_allclose(lap.entropy, held.entropy)


def test_anchors_are_never_merged():
    sums, mass = before()
    alike = sparse.csr_matrix(sums[[0, 0]]), mass[[0, 0]]
    X = sparse.csr_matrix(sparse.vstack([sparse.diags_array(1 / alike[1]) @ alike[0], LATE]))
    sample = Sample(FAMILY, X, np.append(alike[1], np.ones(4)))
    problem = Anchored(sample, MODEL, np.random.default_rng(0), 2)
    start = problem.start(np.array([0, 1, 2, 3, 4, 5]))
    after = merged(problem, start)
    assert after.K < start.K
    assert (after.r[:2].sum(axis=0) <= 1).all() and (after.r[:2].sum(axis=1) == 1).all()
    plain = Problem(sample, MODEL, np.random.default_rng(0))
    assert merged(plain, start).r[:2].argmax(axis=1).tolist() == [0, 0]  # it would pay


def partitions(K, n):
    """Yield clusters (n,) of rows beside K others; new ones are numbered as they appear."""
    if n == 0:
        yield []
        return
    for head in partitions(K, n - 1):
        yield from ([*head, k] for k in range(max([K - 1, *head]) + 2))


def test_rows_are_drawn_from_their_law_given_the_clusters_before():
    """Enumeration: the chain rule over rows gives the probability of each partition."""
    (sums, mass), X = before(), LATE[:3]
    law = {}
    for labels in partitions(2, 3):
        m, stats, value = mass.copy(), FAMILY.accumulate(sums, np.eye(2)), 0.0
        for i, k in enumerate(labels):
            row = FAMILY.accumulate(X[i : i + 1], np.ones((1, 1)))
            weights = MODEL.prior.log_weights(m, np.ones(len(m)))
            eta = FAMILY.posterior(np.vstack([stats, 0 * row]), np.append(m, 0.0))
            value += weights[k] + FAMILY.log_predictive(X[i : i + 1], eta)[0, k]
            if k == len(m):
                m, stats = np.append(m, 0.0), np.vstack([stats, 0 * row])
            m[k] += 1
            stats[k] += row[0]
        law[tuple(labels)] = value
    total = logsumexp(np.array(list(law.values())))
    rng, seen, n = np.random.default_rng(0), dict.fromkeys(law, 0), 1500
    for _ in range(n):
        labels, names = drawn(MODEL, (sums, mass), X, rng, sweeps=5), {0: 0, 1: 1}
        seen[tuple(names.setdefault(k, len(names)) for k in labels.tolist())] += 1
    distance = sum(abs(seen[k] / n - np.exp(law[k] - total)) for k in law) / 2
    assert distance < 0.06


def test_a_new_cluster_is_found_beside_those_before():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(200, 0.05), 4)
    sums = sparse.csr_matrix(np.array([rng.multinomial(3000, p) for p in words[:3]]) * 1.0)
    y = rng.integers(0, 4, 300)
    X = sparse.csr_matrix(np.array([rng.multinomial(7, words[k]) for k in y]) * 1.0)
    family = em.Multinomial(0.05, n_features=200)
    model = Model(family, em.PitmanYor(1.0, 0.0), learns=("alpha", "prior"))
    found = beside(model, (sums, np.full(3, 400.0)), X, np.ones(300))
    label = found.r[3:].argmax(axis=1)
    new = np.bincount(label[y == 3]).argmax()
    assert not found.r[:3, new].any()
    assert np.mean(label[y == 3] == new) > 0.9 and np.mean(y[label == new] == 3) > 0.9
    assert found.mass.sum() == pytest.approx(1500)
