"""The probability that a row was of a new cluster, before it was learnt."""

import numpy as np
import pytest

import evermix as em
from helpers.engine_cases import Plain

X = np.random.default_rng(0).normal(size=(120, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0]], 60, axis=0)
FILTERS = em.ADF(lookback=0), em.ADF(lookback=0, merge=None), em.SUGS(), em.OnlineCRP()


def mixture(engine: em.ADF | em.SUGS | em.OnlineCRP) -> em.Mixture:
    family = em.Gaussian(mean=0.0, scale=1.0, kappa=0.05, nu=5.0)
    return em.Mixture(family, em.DP(0.5), engine, random_state=0)


@pytest.mark.parametrize("engine", FILTERS, ids=repr)
def test_a_filter_says_it_as_novelty_did_before(engine):
    mix = mixture(engine).partial_fit(X[:1])
    assert mix.learner_.results.novelty == [1.0]
    each = [1.0]
    for x in X[1:]:
        before = mix.novelty(x[None])
        mix.partial_fit(x[None])
        each.append(mix.learner_.results.novelty[0])
        np.testing.assert_allclose(each[-1], before[0], rtol=1e-9)
    assert each[60] > 0.5  # the first of the second cluster


@pytest.mark.parametrize("engine", FILTERS, ids=repr)
def test_it_does_not_depend_on_the_cuts_of_a_stream(engine):
    at_once, in_parts = mixture(engine).partial_fit(X), mixture(engine)
    each = [in_parts.partial_fit(x).learner_.results.novelty for x in np.array_split(X, 7)]
    np.testing.assert_array_equal(np.concatenate(each), at_once.learner_.results.novelty)


def test_array_maths_says_the_same_as_the_kernel():
    fast, slow = (
        mixture(em.ADF(lookback=0)).set_params(prior=prior).partial_fit(X).learner_.results
        for prior in (em.DP(0.5), Plain(em.DP(0.5)))
    )
    np.testing.assert_allclose(slow.novelty, fast.novelty, rtol=1e-8)


def test_it_is_not_saved(tmp_path):
    mix = mixture(em.ADF(lookback=0)).partial_fit(X)
    mix.save(tmp_path / "model.evermix")
    assert np.isnan(em.load(tmp_path / "model.evermix").learner_.results.novelty).all()
