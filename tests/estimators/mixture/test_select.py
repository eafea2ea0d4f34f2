"""Priors are chosen by what they predict, and not by luck."""

import numpy as np
import pytest

import evermix as em

FAMILY = em.FixedGaussian(variance=1.0, mean_variance=25.0)
GRID = [em.DP(0.5), em.DP(2.0), em.NGGP(1.0, 0.5, 1.0)]


def numbers(n=100):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 1)) + 3.0 * rng.integers(-1, 2, size=(n, 1))


def scores(priors, random_state=None):
    found = em.score_priors(
        numbers(), priors, family=FAMILY, engine=em.OnlineCRP(), random_state=random_state
    )
    return [score.log_likelihood for score in found]


@pytest.mark.parametrize(
    "seed",
    [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)],
    ids=["int", "RandomState", "Generator"],
)
def test_a_seed_decides_the_scores_of_engines_that_draw(seed):
    assert scores(GRID, seed()) == scores(GRID, seed())
    assert scores(GRID, seed()) != scores(GRID, 4)
    chosen = em.select_prior(
        numbers(), GRID, family=FAMILY, engine=em.OnlineCRP(), random_state=seed()
    )
    assert chosen == GRID[int(np.argmax(scores(GRID, seed())))]


def test_a_score_is_that_of_a_mixture_with_the_same_seed_whatever_else_is_tried():
    X, want = numbers(), []
    for prior in GRID:
        mix = em.Mixture(FAMILY, prior, em.OnlineCRP(), random_state=3).fit(X[:80])
        want.append(mix.score_samples(X[80:]).sum())
    assert scores(GRID, 3) == want
    assert scores(GRID[::-1], 3) == want[::-1]


@pytest.mark.parametrize("random_state", [None, 3, np.random.default_rng(3)])
def test_priors_are_compared_on_the_same_random_numbers(random_state):
    one, two = scores([em.DP(1.0), em.DP(1.0 + 1e-12)], random_state)
    assert one == pytest.approx(two, rel=1e-9)
