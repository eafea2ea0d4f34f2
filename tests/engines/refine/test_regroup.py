"""Groups of clusters whose rows are clustered anew: what they are worth, and what they find."""

import numpy as np
import pytest

from evermix.engines.refine.groups import joined, seeded
from evermix.engines.refine.problem import Problem
from evermix.engines.refine.regroup import explored
from evermix.engines.seeding import Sample
from evermix.families import FAMILIES, FixedGaussian
from evermix.model import Model
from evermix.priors import DP
from helpers.engine_cases import model_for
from helpers.oracles import elbo

WEIGHTS = np.resize([1.0, 0.4, 3.0], 60)


def groups_of(model, X, r):
    """Two groups that share the rows of the first two clusters, and of all."""
    sample, every = Sample(model.family, X, WEIGHTS), np.arange(60)
    rest = np.stack([np.append([0.0, 0.0], WEIGHTS @ r[:, 2:]), np.zeros(r.shape[1])])
    return joined(model, sample, [every, every], [r[:, :2], r], rest)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_groups_are_worth_is_their_bound(name):
    """But for the base measure; and neither growth nor merges lower it."""
    model, X = model_for(name, DP(1.5), n=60)
    r = np.random.default_rng(0).dirichlet(np.full(4, 3.0), size=60)
    r = r[:, np.argsort(-(WEIGHTS @ r))]
    now = groups_of(model, X, r)
    base = WEIGHTS @ model.family.log_base(X)
    assert now.values()[1] + base == pytest.approx(elbo(model, X, WEIGHTS, r), rel=1e-10)
    before = now.values()[1]
    now.settle()
    assert now.values()[1] >= before - 1e-9 * abs(before)
    np.testing.assert_allclose(now.part.sum(axis=1), 1.0)


def test_seeds_and_searches_find_groups_that_lie_apart():
    X = np.repeat(100.0 * np.eye(6), 10, axis=0) + np.random.default_rng(0).normal(size=(60, 6))
    model = Model(FixedGaussian(1.0, 1e4, mean=0.0).candidates(X)[0], DP(1.0))
    now = groups_of(model, X, np.full((60, 4), 0.25))
    fresh = seeded(now, np.array([6, 6]), np.random.default_rng(0))
    for rows in fresh.slices:
        assert len(np.unique(fresh.part[rows].argmax(axis=1).reshape(6, 10), axis=1)[0]) == 1
    problem = Problem(Sample(model.family, X, np.ones(60)), model, np.random.default_rng(0))
    np.testing.assert_allclose(explored(problem).mass, 10.0, rtol=1e-6)
