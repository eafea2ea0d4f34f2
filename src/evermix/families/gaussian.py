r"""Clusters with a mean and a full covariance."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, Ints, alike, gammaln, namespace
from evermix.families import _covariance as matrices
from evermix.families import _hyperparameters as hyper
from evermix.families._learning import NormalWishart, WishartHyperprior, wishart_step
from evermix.families.dense import DenseFamily
from evermix.kernels.families.gaussian import GaussianWork
from evermix.tally import Tally

# Rows, in multiples of D, that the expected covariance counts for. With fewer than D, a young
# cluster's covariance is all but singular, and the next row of the same cluster looks impossible.
PRIOR_ROWS = (1.0, 4.0)


@dataclass(frozen=True)
class Gaussian(DenseFamily):
    r"""Rows of a cluster share a mean and a full covariance matrix.

    The prior is Normal-Wishart: precision :math:`\Lambda \sim W(\nu, B^{-1})`, mean
    :math:`\mu \sim N(m, (\kappa\Lambda)^{-1})`. Statistics are kept about an origin, so that an
    offset of the data costs no digits: with x counted from there,
    :math:`\eta = [\kappa m, B + \kappa m m^T, \kappa, \nu]`.

    Parameters
    ----------
    mean : float or array (D,), optional
        Prior mean m of the cluster means. None: the mean of the first rows.
    kappa : float, optional
        How many rows the prior mean is worth. None: so few that cluster means may spread as
        widely as the first rows do.
    nu : float, optional
        Degrees of freedom, > D + 1: how many rows the prior covariance is worth. None:
        2 D + 1, or more if the data say so (where ``scale`` is open too).
    scale : float, array (D,) or array (D, D), optional
        Expected covariance of a cluster (a number or variances stand for a diagonal matrix), so
        that B = (nu - D - 1) * scale. None: from the data.
    n_features : int, optional
        Number of columns D; set from data.
    origin : array (D,), optional
        Point about which statistics are kept; set from data.

    Examples
    --------
    >>> family = Gaussian(0.0, 0.1, 4.0, 1.0).candidates(np.zeros((1, 2)))[0]
    >>> family.log_predictive(np.array([[1.0, 0.0]]), family.eta0[None]).round(3)
    array([[-1.517]])
    """

    log_base_of_column: ClassVar[float] = -0.5 * math.log(2 * math.pi)
    learns: ClassVar[tuple[str, ...]] = ("mean", "kappa", "nu", "scale")
    tunable: ClassVar[tuple[str, ...]] = ("kappa",)

    mean: float | Floats | None = None
    kappa: float | None = None
    nu: float | None = None
    scale: float | Floats | None = None
    origin: Floats | None = None

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several expected covariances if scale is open."""
        X = np.asarray(X, dtype=np.float64)
        family, spread = self._placed(X, self.mean), hyper.column_variances(X)
        scales = hyper.expected_variances(X) if self.scale is None else [hyper.as_given(self.scale)]
        return [
            replace(family, scale=scale, nu=nu, kappa=self._kappa_for(scale, spread))
            for nu in self._degrees(len(spread))
            for scale in scales
        ]

    def _degrees(self, D: int) -> list[float]:
        if self.nu is not None:
            return [hyper.degrees(self.nu, D)]
        strengths = PRIOR_ROWS if self.scale is None else PRIOR_ROWS[:1]
        return [D + 1.0 + rows * D for rows in strengths]

    def _kappa_for(self, scale: float | Floats, spread: Floats) -> float:
        """Return kappa at which the prior variance of cluster means is that of the data."""
        if self.kappa is not None:
            return hyper.positive("kappa", self.kappa)
        return hyper.share_of_spread(np.diag(hyper.covariance(scale, len(spread))), spread)

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, from which what is open is learnt."""
        X = np.asarray(X, dtype=np.float64)
        D, near = int(X.shape[1]), hyper.without_extremes(X)
        scale = hyper.typical_covariance(near) if self.scale is None else hyper.as_given(self.scale)
        nu = D + 1.0 + PRIOR_ROWS[0] * D if self.nu is None else hyper.degrees(self.nu, D)
        kappa = self._kappa_for(scale, hyper.column_variances(near))
        return replace(self._placed(near, self.mean), scale=scale, nu=nu, kappa=kappa)

    def of_columns(self, columns: Ints) -> Self:
        """Return the family of some columns, for clusters that are known."""
        assert self.origin is not None  # the family is resolved
        return replace(self, n_features=len(columns), origin=self.origin[columns])

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the hyperparameters, 0 at those of ``first``."""
        return first._hyperprior.log_density(NormalWishart(*self._prior))

    @cached_property
    def _hyperprior(self) -> WishartHyperprior:
        return WishartHyperprior(NormalWishart(*self._prior))

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        posterior = NormalWishart(*self._standard(self.posterior(stats, mass)))
        now, start = NormalWishart(*self._prior), NormalWishart(*first._prior)
        mean, kappa, nu, B = wishart_step(now, start, posterior, names)
        assert self.origin is not None  # the family is resolved
        values = {"mean": mean + self.origin, "kappa": float(kappa), "nu": float(nu)}
        values["scale"] = B / (nu - self._D - 1)
        changes: dict[str, Any] = {name: values[name] for name in names}
        return replace(self, **changes)

    @property
    def n_stats(self) -> int:
        """D + D D."""
        D = self._D
        return D + D * D

    @property
    def n_slopes(self) -> int:
        """D + D (D + 1) / 2."""
        D = self._D
        return D + D * (D + 1) // 2

    @cached_property
    def eta0(self) -> Floats:
        """Prior [kappa m, B + kappa m m^T, kappa, nu] about the origin, (D + D D + 2,)."""
        mean, kappa, nu, B = self._prior
        second = B + kappa * np.outer(mean, mean)
        return np.concatenate([kappa * mean, second.ravel(), [kappa, nu]])

    def statistic(self, X: Array) -> Array:
        """[x, x x^T] about the origin, (N, D + D D)."""
        x = self._centred(X)
        xp = namespace(x)
        second = x[:, :, None] * x[:, None, :]
        return xp.concat([x, xp.reshape(second, (x.shape[0], self._D * self._D))], axis=1)

    def features(self, X: Array) -> Array:
        """[x, products x_d x_e with d <= e] about the origin, (N, D + D (D + 1) / 2)."""
        return matrices.with_products(self._centred(X))

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, D + D (D + 1) / 2) of the features."""
        D = self._D
        return namespace(params).concat([params[:, :D], matrices.folded(params[:, D:-2])], axis=1)

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, D + D D) from sums of features."""
        D = self._D
        return namespace(sums).concat([sums[:, :D], matrices.unfolded(sums[:, D:], D)], axis=1)

    def moved(self, stats: Floats, mass: Floats, to: Self) -> Floats:
        """Return statistics (K, D + D D) about the origin of another family."""
        D, shift = self._D, self._shift(to)
        first = stats[:, :D] + mass[:, None] * shift
        # sum r (x + d)(x + d)^T = sum r x x^T + d (sum r x)^T + (sum r (x + d)) d^T
        cross = shift[:, None] * stats[:, None, :D] + first[:, :, None] * shift
        return np.column_stack([first, stats[:, D:] + cross.reshape(-1, D * D)])

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of the Normal-Wishart distribution, (K,)."""
        xp = namespace(eta)
        _, kappa, nu, B = self._standard(eta)
        return 0.5 * self._D * xp.log(2 * math.pi / kappa) + matrices.log_normaliser(nu, B)

    def mean_params(self, eta: Array) -> Array:
        """E[Lambda mu, -Lambda / 2, -mu^T Lambda mu / 2, log|Lambda| / 2], (K, E)."""
        xp = namespace(eta)
        mean, kappa, nu, B = self._standard(eta)
        half, log_dets = matrices.mean_params(nu, B)
        first = -2 * (half @ mean[:, :, None])[:, :, 0]
        square = -0.5 * (self._D / kappa + xp.sum(mean * first, axis=1))
        second = xp.reshape(half, (eta.shape[0], self._D * self._D))
        return xp.concat([first, second, square[:, None], log_dets[:, None]], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log Student-t density (N, K), base measure left out."""
        x, D = self._centred(X), self._D
        mean, kappa, nu, B = self._standard(eta)
        W, shrink = matrices.whiteners(B), kappa / (kappa + 1)
        gammas = gammaln((nu + 1) / 2) - gammaln((nu + 1 - D) / 2)
        scale = 0.5 * (D * namespace(eta).log(2 * shrink) - matrices.whitener_log_det(W))
        constant, power = alike(gammas + scale, x), alike(0.5 * (nu + 1), x)
        distance = alike(shrink, x) * matrices.whitened_squares(x, alike(W, x), alike(mean, x))
        return constant - power * namespace(x).log1p(distance)

    def self_log_likelihood(self, X: Array) -> Array:
        """E log p(x | phi) of each row (N,) when its cluster has learnt that row alone."""
        xp, D = namespace(X), self._D
        mean, kappa, nu, B = self._prior
        shrink = kappa / (kappa + 1)
        distance = shrink * matrices.squares(self._centred(X) - alike(mean, X), B)
        first = shrink * (nu + 1) * distance / (1 + distance) + D / (kappa + 1)
        log_det = matrices.expected_log_det(nu + 1, B) - xp.log1p(distance)
        return 0.5 * (log_det - first)

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [Lambda mu, -Lambda / 2, -mu^T Lambda mu / 2, log|Lambda| / 2], (K, E)."""
        D = self._D
        mean, kappa, nu, B = self._standard(eta)
        R = matrices.draw_precision_factors(nu, B, rng)
        noise = rng.standard_normal(mean.shape) / np.sqrt(kappa)[:, None]
        white = (mean[:, None, :] @ R)[:, 0] + noise  # R^T mu
        first = (R @ white[:, :, None])[:, :, 0]
        second = -0.5 * (R @ R.transpose(0, 2, 1)).reshape(len(eta), D * D)
        square = -0.5 * np.sum(white**2, axis=1)
        return np.column_stack([first, second, square, np.linalg.slogdet(R)[1]])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a covariance and a mean, then one row (D,)."""
        (mean,), (kappa,), (nu,), (B,) = self._standard(eta[None, :])
        spread = matrices.draw_covariance_factor(nu, B, rng)
        size = math.sqrt(1 + 1 / kappa)  # the row about its mean, and the mean about m
        return self.origin + mean + size * (spread @ rng.standard_normal(self._D))

    def columns(self, tally: Tally) -> dict[str, Floats]:
        """Return the whitener of every cluster, {"whitener": (capacity, D, D)}."""
        eta = self.posterior(tally.stats, tally.mass)
        return {"whitener": self.whiteners(eta, tally.capacity)}

    def whiteners(self, eta: Floats, capacity: int) -> Floats:
        """Return whiteners of clusters eta (K, E), followed by zeros, (capacity, D, D)."""
        return matrices.whiteners_with_room(self._standard(eta)[3], capacity)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> GaussianWork:
        return self.packed(tally, columns)

    def packed(self, tally: Tally, columns: dict[str, Floats]) -> GaussianWork:
        """Pack a tally whose first statistics are those of this family."""
        D, capacity = self._D, tally.capacity
        mean, kappa, nu, _ = self._prior
        return GaussianWork(
            stats=tally.stats_buffer,
            whiteners=columns["whitener"],
            means=np.zeros((capacity, D)),
            terms=np.zeros((capacity, 3)),
            prior_whitener=self._prior_whitener,
            prior_mean=mean,
            kappa=kappa,
            nu=nu,
            residual=np.zeros(D),
            scratch=np.zeros(D),
        )

    @cached_property
    def _prior_whitener(self) -> Floats:
        return matrices.whiteners(self._prior[3])

    @cached_property
    def _prior(self) -> tuple[Floats, float, float, Floats]:
        """Mean (about the origin), kappa, nu and B of the prior."""
        assert self.kappa is not None and self.nu is not None
        mean = self._from_origin(self.mean)
        B = (self.nu - self._D - 1) * hyper.covariance(self.scale, self._D)
        return mean, self.kappa, self.nu, B

    def _standard(self, eta: Array) -> tuple[Array, Array, Array, Array]:
        """Mean (K, D) about the origin, kappa (K,), nu (K,) and B (K, D, D) of eta (K, E)."""
        xp, D = namespace(eta), self._D
        kappa, nu = eta[:, -2], eta[:, -1]
        mean = eta[:, :D] / kappa[:, None]
        second = xp.reshape(eta[:, D:-2], (-1, D, D))
        return mean, kappa, nu, second - eta[:, :D, None] * mean[:, None, :]
