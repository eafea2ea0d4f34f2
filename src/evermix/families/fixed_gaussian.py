r"""Clusters with a mean and a known variance: round blobs, a soft k-means."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, alike, doubled, namespace
from evermix.families._hyper import column, positive_as_given, positive_columns
from evermix.families._scale import column_variances, expected_variances
from evermix.families.base import Family
from evermix.kernels.base import refresh_all
from evermix.kernels.families.fixed_gaussian import FixedGaussianWork
from evermix.kernels.rows import DenseRows, plain
from evermix.tally import Tally


@dataclass(frozen=True, eq=False, repr=False)
class FixedGaussian(Family):
    r"""Rows of a cluster share a mean; the variance within a cluster is known.

    Each column has :math:`x_d \sim N(\mu_d, v_d)` and :math:`\mu_d \sim N(m_d, v_d / \kappa_d)`,
    where :math:`\kappa_d` is the variance over the mean variance. Statistics are kept about an
    origin; with x counted from there, :math:`\eta = [\kappa m, \kappa]`.

    Parameters
    ----------
    variance : float or array (D,), optional
        Variance v of the rows of a cluster. None: from the data.
    mean_variance : float or array (D,), optional
        Variance of the cluster means. None: the variance of the first rows, at least ``variance``.
    mean : float or array (D,), default=0.0
        Mean m of the cluster means. None: the mean of the first rows.
    n_features : int, optional
        Number of columns D; set from data.
    origin : array (D,), optional
        Point about which statistics are kept; set from data.

    Examples
    --------
    >>> family = FixedGaussian(variance=1.0, mean_variance=9.0).candidates(np.zeros((1, 1)))[0]
    >>> x = np.array([[1.0]])
    >>> (family.log_predictive(x, family.eta0[None]) + family.log_base(x)).round(3)
    array([[-2.12]])
    """

    tunable: ClassVar[tuple[str, ...]] = ("mean_variance",)

    variance: float | Array | None = None
    mean_variance: float | Array | None = None
    mean: float | Array | None = 0.0
    origin: Array | None = None

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several variances if it is open."""
        X = np.asarray(X, dtype=np.float64)
        D = int(X.shape[1])
        mean = X.mean(axis=0) if self.mean is None else column("mean", self.mean, D)
        filled = self._with(mean=mean, n_features=D, origin=X[0].copy())
        variances = expected_variances(X)
        if self.variance is not None:
            variances = [positive_as_given("variance", self.variance, D)]
        spread = column_variances(X)
        return [
            filled._with(
                variance=v,
                mean_variance=np.maximum(spread, v)
                if self.mean_variance is None
                else positive_as_given("mean_variance", self.mean_variance, D),
            )
            for v in variances
        ]

    # ---- the exponential family ------------------------------------------------------------

    @property
    def n_stats(self) -> int:
        """D."""
        return self._D

    @cached_property
    def eta0(self) -> Array:
        """Prior [kappa m, kappa] about the origin, (2 D,)."""
        mean, kappa, _ = self._prior
        return np.concatenate([kappa * mean, kappa])

    def statistic(self, X: Array) -> Array:
        """Rows about the origin, (N, D)."""
        return X - alike(self.origin, X)

    def moved(self, stats: Array, mass: Array, to: Self) -> Array:
        """Return statistics (K, D) about the origin of another family."""
        assert self.origin is not None and to.origin is not None
        return stats + mass[:, None] * (self.origin - to.origin)

    def log_base(self, X: Array) -> Array:
        """Log density of each row under N(origin, variance), (N,)."""
        X = doubled(X)  # large terms of all rows, which the rest of a bound nearly cancels
        x, v = self.statistic(X), alike(self._variance, X)
        xp = namespace(x)
        return -0.5 * xp.sum(x * x / v + xp.log(2 * math.pi * v), axis=1)

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Gaussians, (K,)."""
        xp, v = namespace(eta), alike(self._variance, eta)
        first, kappa = eta[:, : self._D], eta[:, self._D :]
        return 0.5 * xp.sum(first**2 / (v * kappa) + xp.log(2 * math.pi * v / kappa), axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[mu / v, -mu^2 / (2 v)], (K, 2 D)."""
        xp, v = namespace(eta), alike(self._variance, eta)
        first, kappa = eta[:, : self._D], eta[:, self._D :]
        mean = first / kappa
        return xp.concat([mean / v, -0.5 * (mean**2 / v + 1 / kappa)], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log Gaussian density (N, K), base measure left out."""
        xp, x, kappa = namespace(eta), self.statistic(X), eta[:, self._D :]
        mean, shrink = alike(eta[:, : self._D] / kappa, x), kappa / (kappa + 1)
        constant = alike(0.5 * xp.sum(xp.log(shrink), axis=1), x)
        xp, shrink, v = namespace(x), alike(shrink, x), alike(self._variance, x)
        distance = [
            xp.sum((x * x - shrink[k, :] * (x - mean[k, :]) ** 2) / v, axis=1)
            for k in range(eta.shape[0])
        ]
        return constant + 0.5 * xp.stack(distance, axis=1)

    def draw_params(self, eta: Array, rng: np.random.Generator) -> Array:
        """Draw [mu / v, -mu^2 / (2 v)], (K, 2 D)."""
        v, kappa = self._variance, eta[:, self._D :]
        noise = np.sqrt(v / kappa) * rng.standard_normal(kappa.shape)
        mean = eta[:, : self._D] / kappa + noise
        return np.column_stack([mean / v, -0.5 * mean**2 / v])

    def draw(self, eta: Array, mass: float, rng: np.random.Generator) -> Array:
        """Draw a mean, then one row (D,)."""
        kappa = eta[self._D :]
        deviation = np.sqrt(self._variance * (1 + 1 / kappa))
        return self.origin + eta[: self._D] / kappa + deviation * rng.standard_normal(self._D)

    # ---- kernels ---------------------------------------------------------------------------

    def rows(self, X: Array) -> DenseRows:
        """Pack rows X (N, D), counted from the origin."""
        return DenseRows(plain(X - self.origin))

    def workspace(self, tally: Tally, columns: dict[str, Array]) -> FixedGaussianWork:
        """Pack the tally's buffers and what is derived from them."""
        D, capacity = self._D, tally.capacity
        mean, kappa, variance = self._prior
        work = FixedGaussianWork(
            stats=tally.stats_buffer,
            means=np.zeros((capacity, D)),
            weights=np.zeros((capacity, D)),
            constants=np.zeros(capacity),
            prior_mean=mean,
            kappa=kappa,
            half_precision=0.5 / variance,
        )
        refresh_all(work, tally.mass_buffer, tally.K)
        return work

    # ---- inside ----------------------------------------------------------------------------

    @property
    def _D(self) -> int:
        assert self.n_features is not None
        return self.n_features

    @cached_property
    def _variance(self) -> Array:
        return positive_columns("variance", self.variance, self._D)

    @cached_property
    def _prior(self) -> tuple[Array, Array, Array]:
        """Mean (about the origin), kappa and variance of each column."""
        mean = column("mean", self.mean, self._D) - self.origin
        variance = self._variance
        kappa = variance / positive_columns("mean_variance", self.mean_variance, self._D)
        return mean, kappa, variance
