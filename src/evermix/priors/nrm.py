r"""Normalised random measures, each given by two functions of its jumps.

With jump intensity :math:`\lambda(w)`, the partition of n observations into blocks of sizes
:math:`n_k` and the auxiliary variable :math:`U` have the joint law (James, Lijoi and Prunster 2009)

.. math::

    p(\Pi, u) = u^{n-1} / \Gamma(n) \; e^{-\phi(u)} \prod_k \kappa_{n_k}(u), \quad
    \phi(u) = \int (1 - e^{-uw}) \lambda(w) dw, \quad
    \kappa_m(u) = \int w^m e^{-uw} \lambda(w) dw,

and everything else follows by one integral over :math:`v = \log u`.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from evermix._xp import Floats, Ints, gammaln, logsumexp
from evermix.priors.base import POSITIVE, HasPredictive, Prior
from evermix.priors.dirichlet_process import DP

DEPTH = 38.0  # how far the log density falls before nodes end: exp(-38) is below rounding
BLOCK = 64  # nodes computed at once
LARGEST_V = 690.0  # beyond it, u = exp(v) leaves the floating-point range


class _Quadrature(NamedTuple):
    """Nodes v = log u (Q,) and the log weights (Q,) whose sum of exponentials is the integral."""

    v: Floats
    log_weight: Floats


class NRM(Prior, HasPredictive):
    r"""A normalised random measure; your own needs :meth:`log_moment` and :meth:`laplace_exponent`.

    It works with every engine that needs a predictive rule, one observation at a time, without the
    compiled path that DP, NGGP and PitmanYor have.

    Examples
    --------
    A gamma process with rate 1, normalised, is the Dirichlet process:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from scipy.special import gammaln
    >>> from evermix.priors import NRM
    >>> @dataclass(frozen=True)
    ... class Gamma(NRM):
    ...     a: float = 1.0
    ...
    ...     def log_moment(self, m, u):
    ...         return np.log(self.a) + gammaln(m) - m * np.log1p(u)
    ...
    ...     def laplace_exponent(self, u):
    ...         return self.a * np.log1p(u)
    >>> np.exp(Gamma(a=1.0).log_weights(np.array([2.0, 1.0]), np.ones(2))).round(6)
    array([0.5 , 0.25, 0.25])
    """

    @abstractmethod
    def log_moment(self, m: Floats, u: Floats) -> Floats:
        """Log kappa_m(u), the log m-th moment of the jumps tilted by exp(-u w), m >= 1 and u > 0.

        ``m`` and ``u`` are arrays that broadcast against each other.
        """

    @abstractmethod
    def laplace_exponent(self, u: Floats) -> Floats:
        """phi(u), elementwise for an array u > 0."""

    def log_eppf(self, sizes: Floats) -> float:
        """Log probability of one partition with these block sizes (K,), each > 0."""
        return self._log_partition(sizes, np.ones(len(sizes)))

    def log_weights(self, mass: Floats, occupied: Floats) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        inhabited = occupied > 0
        result = np.full(len(mass) + 1, -np.inf)
        result[-1] = 0.0
        if not inhabited.any():
            return result
        m, p = _sizes(mass[inhabited], occupied[inhabited])
        v, log_weight = self._quadrature(m, p)
        u = np.exp(v)
        # Weights given u: kappa_{m+1} / kappa_m for a cluster, kappa_1 for a new one; times u / n.
        step = self.log_moment(m[:, None] + 1.0, u) - self.log_moment(m[:, None], u)
        old = np.log(p) + logsumexp(log_weight + v + step, axis=1)
        new = logsumexp(log_weight + v + self.log_moment(np.ones(1), u))
        result[:-1][inhabited] = old
        result[-1] = new
        return result - logsumexp(result)

    def log_merge_odds(self, mass: Floats, occupied: Floats, pairs: Ints) -> Floats:
        """Log EPPF after fusing two clusters minus before, (P,) for pairs (P, 2) of rows."""
        before = self._log_partition(mass, occupied)
        odds = np.empty(len(pairs))
        for row, (a, b) in enumerate(pairs):
            fused_mass = np.append(np.delete(mass, [a, b]), mass[a] + mass[b])
            both = 1.0 - (1.0 - occupied[a]) * (1.0 - occupied[b])
            fused_occupied = np.append(np.delete(occupied, [a, b]), both)
            odds[row] = self._log_partition(fused_mass, fused_occupied) - before
        return odds

    def _log_partition(self, mass: Floats, occupied: Floats) -> float:
        """Log of the integral of the joint law over u, with soft sizes in place of hard ones."""
        inhabited = occupied > 0
        if not inhabited.any():
            return 0.0
        m, p = _sizes(mass[inhabited], occupied[inhabited])
        integral = logsumexp(self._quadrature(m, p).log_weight)
        return float(integral) - math.lgamma(float(m @ p))

    def _log_density(self, v: Floats, m: Floats, p: Floats) -> Floats:
        """Log density of log U up to a constant, (Q,) at v (Q,)."""
        u = np.exp(v)
        blocks = p @ self.log_moment(m[:, None], u)
        return float(m @ p) * v - self.laplace_exponent(u) + blocks

    def _quadrature(self, m: Floats, p: Floats) -> _Quadrature:
        """Trapezoid rule over v = log u, out from the mode until the density has vanished."""
        mode = self._mode(m, p)
        near = self._log_density(mode + np.array([-0.01, 0.0, 0.01]), m, p)
        curvature = max((2 * near[1] - near[0] - near[2]) / 1e-4, 1e-12)
        h = min(0.25, 0.5 / math.sqrt(curvature))
        right = self._walk(mode, h, near[1] - DEPTH, (m, p))
        left = self._walk(mode - h, -h, near[1] - DEPTH, (m, p))
        v = np.concatenate([left.v, right.v])
        return _Quadrature(v, np.concatenate([left.log_weight, right.log_weight]) + np.log(h))

    def _walk(
        self, start: float, step: float, least: float, clusters: tuple[Floats, Floats]
    ) -> _Quadrature:
        """Nodes from ``start`` on, block by block, until the log density falls below ``least``."""
        nodes: list[Floats] = []
        values: list[Floats] = []
        while not values or values[-1][-1] > least:
            v = start + step * (BLOCK * len(nodes) + np.arange(BLOCK, dtype=np.float64))
            if values and abs(v[-1]) > LARGEST_V:
                self._add_the_rest(values[-1])
                break
            nodes.append(v)
            values.append(self._log_density(v, *clusters))
        return _Quadrature(np.concatenate(nodes), np.concatenate(values))

    def _add_the_rest(self, values: Floats) -> None:
        """Add to the last of these nodes all that would follow it, as a geometric series.

        So near u = 0 (for n far below 1) and u = infinity (for a tiny concentration) the log
        density is a straight line.
        """
        slope = (values[0] - values[-1]) / (len(values) - 1)
        if not slope > 0:
            raise ValueError(
                f"{self!r} spreads the auxiliary variable U beyond floating-point range. "
                "Use a larger concentration, or a DP."
            )
        values[-1] -= np.log(-np.expm1(-slope))

    def _mode(self, m: Floats, p: Floats) -> float:
        """Mode of log U: step away from 0 by doubling until it is bracketed, then search."""

        def loss(v: float) -> float:
            return -float(self._log_density(np.array([v]), m, p)[0])

        uphill = 1.0 if loss(1.0) < loss(0.0) else -1.0
        step = 1.0
        while step < LARGEST_V and loss(2 * uphill * step) < loss(uphill * step):
            step *= 2
        ends = -uphill, min(2 * step, LARGEST_V) * uphill
        found = minimize_scalar(loss, bounds=(min(ends), max(ends)), method="bounded")
        return float(found.x)


def _sizes(mass: Floats, occupied: Floats) -> tuple[Floats, Floats]:
    """Mean size given that the cluster is occupied (K,), never below 1, and the occupancy (K,)."""
    return np.maximum(mass / occupied, 1.0), occupied


@dataclass(frozen=True)
class GeneralizedDirichlet(NRM):
    r"""Generalised Dirichlet process: a sum of gamma processes with rates 1, 2, ..., normalised.

    The new cluster's weight depends on how the observations are spread, not on n and K alone
    [lijoi2005]_.

    Parameters
    ----------
    a : float
        Concentration of each gamma process, > 0.
    rates : int
        Number of gamma processes, >= 1; one is the Dirichlet process DP(a).

    References
    ----------
    .. [lijoi2005] A. Lijoi, R. Mena and I. Prunster. Bayesian nonparametric analysis for a
       generalized Dirichlet process prior. Statistical Inference for Stochastic Processes, 2005.
    """

    a: float = 1.0
    rates: int = 3

    tunable: ClassVar = {"a": POSITIVE}

    def __post_init__(self) -> None:
        self._store_numbers("a", "rates")
        self._require(self.a > 0, "a", "must be positive")
        whole = self.rates >= 1 and self.rates == int(self.rates)
        self._require(whole, "rates", "must be a whole number, 1 or more")
        object.__setattr__(self, "rates", int(self.rates))

    def canonical(self) -> Prior:
        """Return the same law in its simplest parameters: DP(a) for one rate."""
        return DP(self.a) if self.rates == 1 else self

    def log_moment(self, m: Floats, u: Floats) -> Floats:
        """Return the log of a Gamma(m) sum_j (u + j)^-m."""
        m, u = np.asarray(m), np.asarray(u)
        powers = -m[..., None] * np.log(u[..., None] + self._rates())
        return np.log(self.a) + gammaln(m) + logsumexp(powers, axis=-1)

    def laplace_exponent(self, u: Floats) -> Floats:
        """Return a sum_j log(1 + u / j)."""
        return self.a * np.log1p(np.asarray(u)[..., None] / self._rates()).sum(axis=-1)

    def _rates(self) -> Floats:
        return np.arange(1.0, self.rates + 1.0)
