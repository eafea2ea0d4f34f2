r"""Steps of EM for the hyperparameters of clusters' means and precisions.

The parameters of K clusters are hidden, their posteriors known; one more, the *pseudo-cluster*, has
the law of the family as it was before anything was learnt. It stands for the hyperprior: without
it, a single cluster would become its own prior. A step maximises

.. math::

    \sum_{k=0}^{K} E_k \log p(\mu_k, \Lambda_k | m, \kappa, \nu, B)

over what is open, the pseudo-cluster being :math:`k = 0`. The scale has a floor, a small share of
that of the pseudo-cluster: columns that are constant in some clusters would otherwise drive the
scale of all to zero.
"""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma

from evermix._xp import Floats, multidigamma, multigammaln

FLOOR = 0.004  # least scale, as a share of that of the pseudo-cluster
MOST_ROWS = 1e5  # that the prior of a precision may be worth
LOG_2PI = math.log(2 * math.pi)


class NormalWishart(NamedTuple):
    """Laws of means (K, D) and precisions; also of a single one, without the first axis."""

    mean: Floats
    kappa: Floats | float
    nu: Floats | float
    B: Floats


def wishart_step(
    now: NormalWishart, first: NormalWishart, posterior: NormalWishart, names: Collection[str]
) -> NormalWishart:
    """Return the Normal-Wishart prior after a step, given the posteriors of K clusters.

    ``first`` is the law of the pseudo-cluster. Names are "mean", "kappa", "nu" and "scale".
    """
    m, kappa, nu, B = (
        np.concatenate([np.asarray(a, dtype=np.float64)[None], b])
        for a, b in zip(first, posterior, strict=True)
    )
    K, D = m.shape
    precision = nu[:, None, None] * np.linalg.inv(B)
    total = precision.sum(axis=0)
    mean, kappa0, nu0, B0 = now
    if "mean" in names:
        mean = np.linalg.solve(total, np.einsum("kde,ke->d", precision, m))
    if "kappa" in names:
        away = m - mean
        square = np.einsum("kd,kde,ke->k", away, precision, away)
        kappa0 = K * D / float(np.sum(D / kappa + square))
    if "scale" in names:
        typical = total / K
        if "nu" in names:
            log_dets = multidigamma(nu / 2, D) + D * math.log(2) - np.linalg.slogdet(B)[1]
            gap = float(np.linalg.slogdet(typical)[1] - log_dets.mean())
            nu0 = _degrees(gap, D)
        least = FLOOR * np.diagonal(first.B) / first.nu
        B0 = nu0 * _at_least(np.linalg.inv(typical), least)
    return NormalWishart(mean, kappa0, nu0, B0)


class WishartHyperprior:
    """The hyperprior of Normal-Wishart laws: that of a pseudo-cluster with the law ``first``."""

    def __init__(self, first: NormalWishart) -> None:
        D = len(first.mean)
        self._first, self._precision = first, first.nu * np.linalg.inv(first.B)
        self._log_det = multidigamma(np.array(first.nu / 2), D) + D * math.log(2)
        self._log_det -= np.linalg.slogdet(first.B)[1]
        self._own = self._density(first)

    def log_density(self, now: NormalWishart) -> float:
        """Expected log density of the pseudo-cluster's parameters, minus that under its own law."""
        return self._density(now) - self._own

    def _density(self, law: NormalWishart) -> float:
        mean, kappa, nu, B = law
        away, D = self._first.mean - mean, len(mean)
        square = kappa * (D / self._first.kappa + away @ self._precision @ away)
        normal = 0.5 * (D * (math.log(kappa) - LOG_2PI) + self._log_det - square)
        wishart = 0.5 * ((nu - D - 1) * self._log_det - np.sum(B * self._precision))
        log_norm = 0.5 * nu * (D * math.log(2) - np.linalg.slogdet(B)[1])
        return float(normal + wishart - log_norm - multigammaln(np.array(nu / 2), D))


def _degrees(gap: float, D: int) -> float:
    """Solve E log|Lambda| = log|E Lambda| - gap for the degrees of freedom, at least D + 2."""
    halves = np.arange(D) / 2

    def excess(nu: float) -> float:
        return float(digamma(nu / 2 - halves).sum()) + D * math.log(2 / nu) + gap

    return _root(excess, D + 2.0)


def _at_least(covariance: Floats, variances: Floats) -> Floats:
    """Raise a covariance (D, D) to the variances (D,) wherever it is smaller, in any direction."""
    unit = np.sqrt(variances)
    scaled = covariance / unit / unit[:, None]
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    raised = (vectors * np.maximum(values, 1.0)) @ vectors.T
    return 0.5 * (raised + raised.T) * unit * unit[:, None]


class NormalGamma(NamedTuple):
    """Laws of means (K, D) and precisions (K, D), columns independent; or of a single one."""

    mean: Floats
    kappa: Floats | float
    shape: Floats | float
    rate: Floats


def gamma_step(
    now: NormalGamma, first: NormalGamma, posterior: NormalGamma, names: Collection[str]
) -> NormalGamma:
    """Return the Normal-Gamma prior after a step, given the posteriors of K clusters.

    ``first`` is the law of the pseudo-cluster. Names are "mean", "kappa", "shape" and "rate".
    """
    m, kappa, shape, rate = (
        np.concatenate([np.asarray(a, dtype=np.float64)[None], b])
        for a, b in zip(first, posterior, strict=True)
    )
    K, D = m.shape
    precision = shape[:, None] / rate
    total = precision.sum(axis=0)
    mean, kappa0, shape0, rate0 = now
    if "mean" in names:
        mean = np.sum(precision * m, axis=0) / total
    if "kappa" in names:
        square = np.sum(precision * (m - mean) ** 2, axis=1)
        kappa0 = K * D / float(np.sum(D / kappa + square))
    if "rate" in names:
        typical = total / K
        if "shape" in names:
            logs = (digamma(shape)[:, None] - np.log(rate)).mean(axis=0)
            gap = float(np.mean(np.log(typical) - logs))
            shape0 = _root(lambda a: float(digamma(a) - math.log(a) + gap), 1.5)
        rate0 = shape0 * np.maximum(1 / typical, FLOOR * first.rate / first.shape)
    return NormalGamma(mean, kappa0, shape0, rate0)


def gamma_hyperprior(now: NormalGamma, first: NormalGamma) -> float:
    """Expected log density of the pseudo-cluster's parameters, minus that under its own law."""
    return _gamma_density(now, first) - _gamma_density(first, first)


def _gamma_density(now: NormalGamma, first: NormalGamma) -> float:
    mean, kappa, shape, rate = now
    precision = first.shape / first.rate
    logs = digamma(first.shape) - np.log(first.rate)
    square = kappa * (1 / first.kappa + precision * (first.mean - mean) ** 2)
    normal = 0.5 * (math.log(kappa) - LOG_2PI + logs - square)
    gamma = shape * np.log(rate) - math.lgamma(shape) + (shape - 1) * logs - rate * precision
    return float(np.sum(normal + gamma))


def _root(excess: Callable[[float], float], least: float) -> float:
    """Return where an increasing function is zero, between ``least`` and MOST_ROWS."""
    if excess(least) > 0:
        return least
    if excess(MOST_ROWS) < 0:
        return MOST_ROWS
    return float(brentq(excess, least, MOST_ROWS, rtol=1e-9))
