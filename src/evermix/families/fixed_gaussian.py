r"""Clusters with a mean and a known variance: round blobs, a soft k-means."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, alike, doubled, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families.dense import DenseFamily
from evermix.kernels.families.fixed_gaussian import FixedGaussianWork
from evermix.tally import Tally


@dataclass(frozen=True)
class FixedGaussian(DenseFamily):
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

    variance: float | Floats | None = None
    mean_variance: float | Floats | None = None
    mean: float | Floats | None = 0.0
    origin: Floats | None = None

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several variances if it is open."""
        X = np.asarray(X, dtype=np.float64)
        family, D, spread = self._placed(X, self.mean), X.shape[1], hyper.column_variances(X)
        variances: list[float | Floats] = [*hyper.expected_variances(X)]
        if self.variance is not None:
            variances = [hyper.positive_as_given("variance", self.variance, D)]
        if self.mean_variance is None:
            return [
                replace(family, variance=v, mean_variance=np.maximum(spread, v)) for v in variances
            ]
        mean_variance = hyper.positive_as_given("mean_variance", self.mean_variance, D)
        return [replace(family, variance=v, mean_variance=mean_variance) for v in variances]

    @cached_property
    def eta0(self) -> Floats:
        """Prior [kappa m, kappa] about the origin, (2 D,)."""
        mean, kappa, _ = self._prior
        return np.concatenate([kappa * mean, kappa])

    def log_base(self, X: Array) -> Array:
        """Log density of each row under N(origin, variance), (N,)."""
        X = doubled(X)  # large terms of all rows, which the rest of a bound nearly cancels
        x, v = self.statistic(X), alike(self._variance, X)
        xp = namespace(x)
        return -0.5 * xp.sum(x * x / v + xp.log(2 * math.pi * v), axis=1)

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Gaussians, (K,)."""
        xp, v = namespace(eta), alike(self._variance, eta)
        first, kappa = self._halves(eta)
        return 0.5 * xp.sum(first**2 / (v * kappa) + xp.log(2 * math.pi * v / kappa), axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[mu / v, -mu^2 / (2 v)], (K, 2 D)."""
        xp, v = namespace(eta), alike(self._variance, eta)
        first, kappa = self._halves(eta)
        mean = first / kappa
        return xp.concat([mean / v, -0.5 * (mean**2 / v + 1 / kappa)], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log Gaussian density (N, K), base measure left out."""
        xp, x, (first, kappa) = namespace(eta), self.statistic(X), self._halves(eta)
        mean, shrink = alike(first / kappa, x), kappa / (kappa + 1)
        constant = alike(0.5 * xp.sum(xp.log(shrink), axis=1), x)
        xp, shrink, v = namespace(x), alike(shrink, x), alike(self._variance, x)
        distance = [
            xp.sum((x * x - shrink[k, :] * (x - mean[k, :]) ** 2) / v, axis=1)
            for k in range(eta.shape[0])
        ]
        return constant + 0.5 * xp.stack(distance, axis=1)

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [mu / v, -mu^2 / (2 v)], (K, 2 D)."""
        v, (first, kappa) = self._variance, self._halves(eta)
        mean = first / kappa + np.sqrt(v / kappa) * rng.standard_normal(kappa.shape)
        return np.column_stack([mean / v, -0.5 * mean**2 / v])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a mean, then one row (D,)."""
        assert self.origin is not None
        kappa = eta[self._D :]
        deviation = np.sqrt(self._variance * (1 + 1 / kappa))
        return self.origin + eta[: self._D] / kappa + deviation * rng.standard_normal(self._D)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> FixedGaussianWork:
        D, capacity = self._D, tally.capacity
        mean, kappa, variance = self._prior
        return FixedGaussianWork(
            stats=tally.stats_buffer,
            means=np.zeros((capacity, D)),
            weights=np.zeros((capacity, D)),
            constants=np.zeros(capacity),
            prior_mean=mean,
            kappa=kappa,
            half_precision=0.5 / variance,
        )

    @cached_property
    def _variance(self) -> Floats:
        return hyper.positive_columns("variance", self.variance, self._D)

    @cached_property
    def _prior(self) -> tuple[Floats, Floats, Floats]:
        """Mean (about the origin), kappa and variance of each column."""
        mean = self._from_origin(self.mean)
        variance = self._variance
        kappa = variance / hyper.positive_columns("mean_variance", self.mean_variance, self._D)
        return mean, kappa, variance
