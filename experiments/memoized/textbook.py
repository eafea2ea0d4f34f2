"""Variational Bayes for a DP mixture as its formulas stand, to check and to compare engines with.

Everything is made of responsibilities r (N, K); nothing is remembered, shared or skipped.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, softmax, xlogy

from evermix.families.base import Family

__all__ = ["Summary", "bound", "fit_from", "fixed_point", "one_hot", "summary"]


class Summary(NamedTuple):
    """What rows say about K clusters.

    Attributes
    ----------
    mass : array (K,)
    stats : array (K, S)
    entropy : array (K,)
    log_base : float
    """

    mass: np.ndarray
    stats: np.ndarray
    entropy: np.ndarray
    log_base: float

    @property
    def K(self) -> int:
        """Number of clusters."""
        return len(self.mass)


def one_hot(labels: np.ndarray) -> np.ndarray:
    """Return labels (N,) as responsibilities (N, K)."""
    return np.eye(labels.max() + 1)[labels]


def summary(family: Family, X: np.ndarray, r: np.ndarray) -> Summary:
    """Return what rows X (N, D) with responsibilities r (N, K) say."""
    entropy = -xlogy(r, r).sum(axis=0)
    return Summary(r.sum(axis=0), family.accumulate(X, r), entropy, family.log_base(X).sum())


def bound(family: Family, alpha: float, s: Summary) -> float:
    """Return the lower bound on log p(X) of the best clusters and sticks for a summary."""
    one, zero = _sticks(alpha, s.mass)
    sticks = betaln(one, zero) - betaln(1.0, alpha)
    return float(s.log_base + (family.log_marginal(s.stats, s.mass) + sticks + s.entropy).sum())


def fixed_point(family: Family, alpha: float, s: Summary, X: np.ndarray) -> np.ndarray:
    """Return the responsibilities (N, K) that rows X (N, D) have given a summary: Equation (9)."""
    one, zero = _sticks(alpha, s.mass)
    v, rest = digamma(one) - digamma(one + zero), digamma(zero) - digamma(one + zero)
    log_weights = v + np.cumsum(rest) - rest
    eta = family.posterior(s.stats, s.mass)
    return softmax(log_weights + family.expected_log_likelihood(X, eta), axis=1)


def fit_from(
    family: Family, alpha: float, X: np.ndarray, labels: np.ndarray, laps: int = 20
) -> float:
    """Return the bound after some laps of full updates from labels (N,), heaviest cluster first."""
    r = one_hot(labels)
    r = r[:, np.argsort(-r.sum(axis=0))]
    s = summary(family, X, r)
    for _ in range(laps):
        s = summary(family, X, fixed_point(family, alpha, s, X))
    return bound(family, alpha, s)


def _sticks(alpha: float, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters (K,), (K,) of the Beta law of each stick: Equation (10)."""
    after = mass.sum() - np.cumsum(mass)
    return 1.0 + mass, alpha + np.maximum(after, 0.0)
