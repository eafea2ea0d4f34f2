"""The probability of a new cluster, from log predictives and log weights."""

import numpy as np
from scipy.special import softmax

from evermix.kernels.scoring import new_shares


def shares(scores: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    new_shares(scores, log_weights, out := np.empty(len(scores)))
    return out


def test_they_are_the_last_column_of_the_softmax() -> None:
    rng = np.random.default_rng(0)
    for scale in 0.1, 3.0, 30.0, 300.0:
        scores = scale * rng.normal(size=(200, 40))
        log_weights = np.log(rng.dirichlet(np.full(40, 0.3)))
        want = softmax(scores + log_weights, axis=1)[:, -1]
        np.testing.assert_allclose(shares(scores, log_weights), want, rtol=1e-12, atol=1e-300)


def test_weights_of_zero() -> None:
    scores = np.array([[0.0, 1.0, 2.0], [-np.inf, 0.0, 0.0], [5000.0, 0.0, 0.0]])
    with_dead = np.array([-np.inf, 0.0, 0.0])
    want = softmax(scores[:, 1:], axis=1)[:, -1]
    np.testing.assert_allclose(shares(scores, with_dead), want, rtol=1e-14)
    assert not shares(scores, np.array([0.0, 0.0, -np.inf])).any()
