r"""Clusters about zero that differ in their covariance: image patches, increments."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, alike, gammaln, namespace, real
from evermix.families import _covariance as matrices
from evermix.families import _hyperparameters as hyper
from evermix.families.dense import DenseFamily
from evermix.kernels.families.zero_mean_gaussian import ZeroMeanGaussianWork
from evermix.tally import Tally


@dataclass(frozen=True)
class ZeroMeanGaussian(DenseFamily):
    r"""Rows of a cluster share a full covariance matrix; every mean is zero.

    The prior is Wishart: precision :math:`\Lambda \sim W(\nu, B^{-1})`, so that
    :math:`\eta = [B, \nu]`.

    Parameters
    ----------
    nu : float, optional
        Degrees of freedom, > D + 1: how many rows the prior covariance is worth. None: D + 2.
    scale : float, array (D,) or array (D, D), optional
        Expected covariance of a cluster (a number or variances stand for a diagonal matrix), so
        that B = (nu - D - 1) * scale. None: from the data.
    n_features : int, optional
        Number of columns D; set from data.

    Examples
    --------
    >>> family = ZeroMeanGaussian(nu=4.0, scale=1.0, n_features=2)
    >>> family.log_predictive(np.array([[1.0, 0.0]]), family.eta0[None]).round(3)
    array([[-0.634]])
    """

    log_base_of_column: ClassVar[float] = -0.5 * math.log(2 * math.pi)
    tunable: ClassVar[tuple[str, ...]] = ("scale",)

    nu: float | None = None
    scale: float | Floats | None = None

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several expected covariances if scale is open."""
        X = np.asarray(X, dtype=np.float64)
        D = int(X.shape[1])
        nu = D + 2.0 if self.nu is None else hyper.degrees(self.nu, D)
        family = replace(self, nu=nu, n_features=D)
        if self.scale is None:
            return [replace(family, scale=variances) for variances in hyper.expected_variances(X)]
        hyper.covariance(self.scale, D)
        return [replace(family, scale=hyper.as_given(self.scale))]

    @property
    def n_stats(self) -> int:
        """D D."""
        return self._D * self._D

    @property
    def n_slopes(self) -> int:
        """D (D + 1) / 2."""
        return self._D * (self._D + 1) // 2

    @cached_property
    def eta0(self) -> Floats:
        """Prior [B, nu], (D D + 1,)."""
        return np.concatenate([self._prior_B.ravel(), [self.nu]])

    def statistic(self, X: Array) -> Array:
        """Products x x^T of each row, (N, D D)."""
        xp, x = namespace(X), real(X)
        return xp.reshape(x[:, :, None] * x[:, None, :], (x.shape[0], -1))

    def features(self, X: Array) -> Array:
        """Products x_d x_e with d <= e, (N, D (D + 1) / 2)."""
        return matrices.products(X)

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, D (D + 1) / 2) of the features."""
        return matrices.folded(params[:, :-1])

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, D D) from sums of features."""
        return matrices.unfolded(sums, self._D)

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of the Wishart distribution, (K,)."""
        return matrices.log_normaliser(*self._standard(eta))

    def mean_params(self, eta: Array) -> Array:
        """E[-Lambda / 2, log|Lambda| / 2], (K, D D + 1)."""
        xp, (nu, B) = namespace(eta), self._standard(eta)
        half, log_dets = matrices.mean_params(nu, B)
        return xp.concat([xp.reshape(half, (eta.shape[0], -1)), log_dets[:, None]], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log Student-t density (N, K), base measure left out."""
        x, D = real(X), self._D
        nu, B = self._standard(eta)
        W = matrices.whiteners(B)
        gammas = gammaln((nu + 1) / 2) - gammaln((nu + 1 - D) / 2)
        scale = 0.5 * (D * math.log(2) - matrices.whitener_log_det(W))
        constant, power = alike(gammas + scale, x), alike(0.5 * (nu + 1), x)
        return constant - power * namespace(x).log1p(matrices.whitened_squares(x, alike(W, x)))

    def self_log_likelihood(self, X: Array) -> Array:
        """E log p(x | phi) of each row (N,) when its cluster has learnt that row alone."""
        assert self.nu is not None
        B, nu = self._prior_B, self.nu + 1
        distance = matrices.squares(X, B)
        log_det = matrices.expected_log_det(nu, B) - namespace(X).log1p(distance)
        return 0.5 * (log_det - nu * distance / (1 + distance))

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [-Lambda / 2, log|Lambda| / 2], (K, D D + 1)."""
        D = self._D
        R = matrices.draw_precision_factors(*self._standard(eta), rng)
        second = -0.5 * (R @ R.transpose(0, 2, 1)).reshape(len(eta), D * D)
        return np.column_stack([second, np.linalg.slogdet(R)[1]])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a covariance, then one row (D,)."""
        (nu,), (B,) = self._standard(eta[None, :])
        return matrices.draw_covariance_factor(nu, B, rng) @ rng.standard_normal(self._D)

    def columns(self, tally: Tally) -> dict[str, Floats]:
        """Return the whitener of every cluster, {"whitener": (capacity, D, D)}."""
        B = self._standard(self.posterior(tally.stats, tally.mass))[1]
        return {"whitener": matrices.whiteners_with_room(B, tally.capacity)}

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> ZeroMeanGaussianWork:
        assert self.nu is not None
        return ZeroMeanGaussianWork(
            stats=tally.stats_buffer,
            whiteners=columns["whitener"],
            terms=np.zeros((tally.capacity, 2)),
            prior_whitener=matrices.whiteners(self._prior_B),
            nu=self.nu,
            scratch=np.zeros(self._D),
        )

    @cached_property
    def _prior_B(self) -> Floats:
        assert self.nu is not None
        return (self.nu - self._D - 1) * hyper.covariance(self.scale, self._D)

    def _standard(self, eta: Array) -> tuple[Array, Array]:
        """Degrees nu (K,) and B (K, D, D) of eta (K, E)."""
        return eta[:, -1], namespace(eta).reshape(eta[:, :-1], (-1, self._D, self._D))
