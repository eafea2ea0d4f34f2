r"""Counts with a size of their own: events, arrivals, clicks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Array, Floats, alike, digamma, doubled, gammaln, namespace, real
from evermix.families import _hyperparameters as hyper
from evermix.families.dense import DenseFamily
from evermix.kernels.families.poisson import PoissonWork
from evermix.kernels.rising import factors
from evermix.tally import Layout, Tally


@dataclass(frozen=True)
class Poisson(DenseFamily):
    r"""Each cluster has its own rate in each column, columns independent.

    The prior of a rate is Gamma(shape, rate); :math:`\eta = [shape, rate]`. Rows may hold any
    numbers >= 0. Unlike in Multinomial, the size of a row tells clusters apart.

    Parameters
    ----------
    shape : float or array (D,), optional
        Shape of the Gamma prior. None: 1.
    rate : float or array (D,), optional
        Rate of the Gamma prior: how many rows it is worth. The expected count is shape / rate.
        None: so that it is the mean of the first rows.
    n_features : int, optional
        Number of columns D; set from data.

    Examples
    --------
    >>> family = Poisson(shape=1.0, rate=1.0, n_features=1)
    >>> np.exp(family.log_predictive(np.array([[0.0]]), family.eta0[None]))
    array([[0.5]])
    """

    layout: ClassVar[Layout] = Layout.STATISTIC_MAJOR
    largest: ClassVar[float] = 1e15  # sums stay below 1e25, where the gamma functions are exact
    support: ClassVar[tuple[str, str]] = (
        "Negative values in data: Poisson needs counts >= 0",
        "Use a Gaussian family for signed data.",
    )
    tunable: ClassVar[tuple[str, ...]] = ("shape", "rate")

    shape: float | Floats | None = None
    rate: float | Floats | None = None

    def inside(self, X: Array) -> Array:
        """Return which values are not negative, (N, D)."""
        return X >= 0

    def candidates(self, X: Array) -> list[Self]:
        """Return this family with the expected counts of ``X`` (N, D), if rate is open."""
        D = int(X.shape[1])
        shape = hyper.positive_as_given("shape", 1.0 if self.shape is None else self.shape, D)
        rate = shape / _column_means(X) if self.rate is None else self.rate
        rate = hyper.positive_as_given("rate", rate, D)
        return [replace(self, shape=shape, rate=rate, n_features=D)]

    @cached_property
    def eta0(self) -> Floats:
        """Prior [shape, rate], (2 D,)."""
        return np.concatenate(self._prior)

    def log_base(self, X: Array) -> Array:
        """-sum log x! of each row, (N,)."""
        X = doubled(X)  # large terms of all rows, which the rest of a bound nearly cancels
        return -namespace(X).sum(gammaln(X + 1.0), axis=1)

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Gamma distributions, (K,)."""
        xp, (shape, rate) = namespace(eta), self._halves(eta)
        return xp.sum(gammaln(shape) - shape * xp.log(rate), axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[log lambda, -lambda], (K, 2 D)."""
        xp, (shape, rate) = namespace(eta), self._halves(eta)
        return xp.concat([digamma(shape) - xp.log(rate), -shape / rate], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log negative binomial probability (N, K), base measure left out."""
        x = doubled(X)  # small differences of large logarithms
        eta = alike(eta, x)
        xp, (shape, rate) = namespace(x), self._halves(eta)
        constant = -xp.sum(shape * xp.log1p(1 / rate), axis=1)
        rising = [
            xp.sum(gammaln(shape[k, :] + x) - gammaln(shape[k, :]), axis=1)
            for k in range(eta.shape[0])
        ]
        return alike(constant - x @ xp.log1p(rate).T + xp.stack(rising, axis=1), real(X))

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [log lambda, -lambda], (K, 2 D)."""
        shape, rate = self._halves(eta)
        logs = draw_log_gamma(shape, rng) - np.log(rate)
        return np.column_stack([logs, -np.exp(logs)])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw rates, then one row (D,)."""
        shape, rate = eta[: self._D], eta[self._D :]
        return rng.poisson(rng.standard_gamma(shape) / rate).astype(np.float64)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> PoissonWork:
        shape, rate = self._prior
        return PoissonWork(
            stats=tally.stats_buffer,
            log_rates=np.zeros((self._D, tally.capacity)),
            constants=np.zeros(tally.capacity),
            shape=shape,
            rate=rate,
            columns=np.arange(self._D),
            waiting=factors(shape, tally.capacity),
        )

    @cached_property
    def _prior(self) -> tuple[Floats, Floats]:
        shape = hyper.positive_columns("shape", self.shape, self._D)
        return shape, hyper.positive_columns("rate", self.rate, self._D)


def _column_means(X: Array) -> Floats:
    """Mean of each column, (D,); columns of zeros get the overall mean, or 1."""
    means = np.mean(np.asarray(X, dtype=np.float64), axis=0)
    overall = means.mean()
    return np.where(means > 0, means, overall if overall > 0 else 1.0)
