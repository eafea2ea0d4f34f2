r"""Clusters with a mean and a variance for each column: embeddings, many measurements."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Array, Floats, alike, digamma, gammaln, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families._learning import NormalGamma, gamma_hyperprior, gamma_step
from evermix.families.dense import DenseFamily
from evermix.kernels.families.diagonal_gaussian import DiagonalGaussianWork
from evermix.tally import Tally

# How sure the prior is of the expected variance: 2 lets every cluster learn its own, 20 holds many
# columns together while a cluster is young.
SHAPES = (2.0, 20.0)


@dataclass(frozen=True)
class DiagonalGaussian(DenseFamily):
    r"""Rows of a cluster share a mean and a variance in each column, columns independent.

    The prior is Normal-Gamma in each column: precision :math:`\lambda_d \sim Ga(a, b_d)`, mean
    :math:`\mu_d \sim N(m_d, 1 / (\kappa\lambda_d))`. Statistics are kept about an origin; with x
    counted from there, :math:`\eta = [\kappa m, 2 b + \kappa m^2, \kappa, 2 a]`.

    Parameters
    ----------
    mean : float or array (D,), optional
        Prior mean m of the cluster means. None: the mean of the first rows.
    kappa : float, optional
        How many rows the prior mean is worth. None: so few that cluster means may spread as
        widely as the first rows do.
    shape : float, optional
        Shape a of the Gamma prior: the prior variance is worth 2 a rows. None: 2, or
        20 if the data say so (where ``rate`` is open too).
    rate : float or array (D,), optional
        Rate b of the Gamma prior. The expected variance of a cluster is rate / (shape - 1).
        None: from the data.
    n_features : int, optional
        Number of columns D; set from data.
    origin : array (D,), optional
        Point about which statistics are kept; set from data.

    Examples
    --------
    >>> family = DiagonalGaussian(0.0, 0.1, 2.0, 1.0).candidates(np.zeros((1, 2)))[0]
    >>> family.log_predictive(np.array([[1.0, 0.0]]), family.eta0[None]).round(3)
    array([[-1.94]])
    """

    log_base_of_column: ClassVar[float] = -0.5 * math.log(2 * math.pi)
    learns: ClassVar[tuple[str, ...]] = ("mean", "kappa", "shape", "rate")
    tunable: ClassVar[tuple[str, ...]] = ("kappa",)

    mean: float | Floats | None = None
    kappa: float | None = None
    shape: float | None = None
    rate: float | Floats | None = None
    origin: Floats | None = None

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several expected variances if rate is open."""
        X = np.asarray(X, dtype=np.float64)
        family, spread = self._placed(X, self.mean), hyper.column_variances(X)
        return [
            replace(family, shape=shape, rate=rate, kappa=self._kappa_for(shape, rate, spread))
            for shape in self._shapes()
            for rate in self._rates(shape, X)
        ]

    def _shapes(self) -> list[float]:
        if self.shape is not None:
            return [hyper.positive("shape", self.shape)]
        return list(SHAPES if self.rate is None else SHAPES[:1])

    def _rates(self, shape: float, X: Floats) -> list[Floats]:
        if self.rate is not None:
            return [hyper.positive_columns("rate", self.rate, X.shape[1])]
        if shape <= 1:
            raise ValueError(
                f"shape must be > 1 for a rate from the data (the expected variance is "
                f"rate / (shape - 1)), got {shape}. Give a rate, or a larger shape."
            )
        return [(shape - 1) * variances for variances in hyper.expected_variances(X)]

    def _kappa_for(self, shape: float, rate: Floats, spread: Floats) -> float:
        """Return kappa at which the prior variance of cluster means is that of the data."""
        if self.kappa is not None:
            return hyper.positive("kappa", self.kappa)
        return hyper.share_of_spread(rate / max(shape - 1, 0.5), spread)

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, from which what is open is learnt."""
        X = hyper.without_extremes(np.asarray(X, dtype=np.float64))
        spread = hyper.column_variances(X)
        shape = self._shapes()[0]
        rate = (shape - 1) * hyper.SHARE * spread if self.rate is None else self._rates(shape, X)[0]
        kappa = self._kappa_for(shape, rate, spread)
        return replace(self._placed(X, self.mean), shape=shape, rate=rate, kappa=kappa)

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the hyperparameters, 0 at those of ``first``."""
        return gamma_hyperprior(NormalGamma(*self._prior), NormalGamma(*first._prior))

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        posterior = NormalGamma(*self._standard(self.posterior(stats, mass)))
        now, start = NormalGamma(*self._prior), NormalGamma(*first._prior)
        mean, kappa, shape, rate = gamma_step(now, start, posterior, names)
        assert self.origin is not None  # the family is resolved
        values = {"mean": mean + self.origin, "kappa": float(kappa), "shape": float(shape)}
        values["rate"] = rate
        changes: dict[str, Any] = {name: values[name] for name in names}
        return replace(self, **changes)

    @property
    def n_stats(self) -> int:
        """2 D."""
        return 2 * self._D

    @cached_property
    def eta0(self) -> Floats:
        """Prior [kappa m, 2 b + kappa m^2, kappa, 2 a] about the origin, (2 D + 2,)."""
        mean, kappa, shape, rate = self._prior
        return np.concatenate([kappa * mean, 2 * rate + kappa * mean**2, [kappa, 2 * shape]])

    def statistic(self, X: Array) -> Array:
        """[x, x^2] about the origin, (N, 2 D)."""
        x = self._centred(X)
        return namespace(x).concat([x, x * x], axis=1)

    def moved(self, stats: Floats, mass: Floats, to: Self) -> Floats:
        """Return statistics (K, 2 D) about the origin of another family."""
        D, shift = self._D, self._shift(to)
        first = stats[:, :D] + mass[:, None] * shift
        return np.column_stack([first, stats[:, D:] + shift * (stats[:, :D] + first)])

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Normal-Gamma distributions, (K,)."""
        xp = namespace(eta)
        _, kappa, shape, rate = self._standard(eta)
        each = 0.5 * xp.log(2 * math.pi / kappa) + gammaln(shape)
        return self._D * each - shape * xp.sum(xp.log(rate), axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[lambda mu, -lambda / 2, -sum lambda mu^2 / 2, sum log lambda / 2], (K, 2 D + 2)."""
        xp = namespace(eta)
        mean, kappa, shape, rate = self._standard(eta)
        precision = shape[:, None] / rate
        square = -0.5 * (self._D / kappa + xp.sum(precision * mean**2, axis=1))
        logs = 0.5 * (self._D * digamma(shape) - xp.sum(xp.log(rate), axis=1))
        return xp.concat(
            [precision * mean, -0.5 * precision, square[:, None], logs[:, None]], axis=1
        )

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log density (N, K) of independent Student-t columns, base measure left out."""
        xp, x = namespace(eta), self._centred(X)
        mean, kappa, shape, rate = self._standard(eta)
        shrink = kappa / (kappa + 1)
        each = gammaln(shape + 0.5) - gammaln(shape) + 0.5 * xp.log(shrink)
        constant = alike(self._D * each - 0.5 * xp.sum(xp.log(rate), axis=1), x)
        weight, mean = alike(0.5 * shrink[:, None] / rate, x), alike(mean, x)
        xp = namespace(x)
        growth = [
            xp.sum(xp.log1p(weight[k, :] * (x - mean[k, :]) ** 2), axis=1)
            for k in range(eta.shape[0])
        ]
        return constant - alike(shape + 0.5, x) * xp.stack(growth, axis=1)

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [lambda mu, -lambda / 2, -sum lambda mu^2 / 2, sum log lambda / 2], (K, E)."""
        mean, kappa, shape, rate = self._standard(eta)
        shape = np.broadcast_to(shape[:, None], rate.shape)
        logs = draw_log_gamma(shape, rng) - np.log(rate)
        root = np.exp(0.5 * logs)
        noise = rng.standard_normal(mean.shape) / np.sqrt(kappa)[:, None]
        white = root * mean + noise  # root * mu: finite also where lambda is zero and mu infinite
        square, half_logs = -0.5 * np.sum(white**2, axis=1), 0.5 * np.sum(logs, axis=1)
        return np.column_stack([root * white, -0.5 * root**2, square, half_logs])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw variances and means, then one row (D,)."""
        (mean,), (kappa,), (shape,), (rate,) = self._standard(eta[None, :])
        deviation = np.sqrt((1 + 1 / kappa) * rate / rng.standard_gamma(shape, self._D))
        return self.origin + mean + deviation * rng.standard_normal(self._D)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> DiagonalGaussianWork:
        D, capacity = self._D, tally.capacity
        mean, kappa, shape, rate = self._prior
        return DiagonalGaussianWork(
            stats=tally.stats_buffer,
            means=np.zeros((capacity, D)),
            inverse_scales=np.zeros((capacity, D)),
            terms=np.zeros((capacity, 2)),
            prior_mean=mean,
            prior_rate=rate,
            kappa=kappa,
            shape=shape,
        )

    @cached_property
    def _prior(self) -> tuple[Floats, float, float, Floats]:
        """Mean (about the origin), kappa, shape and rate of the prior."""
        assert self.kappa is not None and self.shape is not None
        mean = self._from_origin(self.mean)
        return mean, self.kappa, self.shape, hyper.positive_columns("rate", self.rate, self._D)

    def _standard(self, eta: Array) -> tuple[Array, Array, Array, Array]:
        """Mean (K, D) about the origin, kappa (K,), shape (K,) and rate (K, D) of eta (K, E)."""
        D, kappa = self._D, eta[:, -2]
        mean = eta[:, :D] / kappa[:, None]
        return mean, kappa, eta[:, -1] / 2, 0.5 * (eta[:, D:-2] - eta[:, :D] * mean)
