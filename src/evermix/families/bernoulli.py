r"""Rows of zeros and ones: presence, answers, black-and-white pixels."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, alike, digamma, filled, gammaln, namespace, real
from evermix.families._gamma import draw_log_gamma
from evermix.families._hyper import positive_as_given, positive_columns
from evermix.families.base import Family
from evermix.kernels.base import refresh_all
from evermix.kernels.families.bernoulli import BernoulliWork
from evermix.kernels.rows import DenseRows, plain
from evermix.tally import Tally


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Family):
    r"""Each cluster has its own probability of a one in each column, columns independent.

    The prior is Beta(a, b) in each column; :math:`\eta = [a, a + b]`.

    Parameters
    ----------
    a : float or array (D,), default=1.0
        Ones that the prior is worth.
    b : float or array (D,), default=1.0
        Zeros that the prior is worth.
    n_features : int, optional
        Number of columns D; set from data.

    Examples
    --------
    >>> family = Bernoulli(a=1.0, b=3.0, n_features=2)
    >>> np.exp(family.log_predictive(np.array([[1.0, 0.0]]), family.eta0[None])).round(4)
    array([[0.1875]])
    """

    tunable: ClassVar[tuple[str, ...]] = ("a", "b")

    a: float | Array = 1.0
    b: float | Array = 1.0

    def check(self, X: Array) -> None:
        """Raise ValueError if a value is neither 0 nor 1."""
        other = (X != 0) & (X != 1)
        if np.any(other):
            row, d = np.argwhere(other)[0]
            raise ValueError(
                f"Bernoulli needs zeros and ones, got {X[row, d]} in row {row}, column {d}. "
                "Threshold the data, or use another family."
            )

    def supports(self, X: Array) -> bool:
        """Whether all values are 0 or 1."""
        return bool(namespace(X).all((X == 0) | (X == 1)))

    def candidates(self, X: Array) -> list[Self]:
        """Return this family for the columns of ``X`` (N, D)."""
        D = int(X.shape[1])
        a, b = positive_as_given("a", self.a, D), positive_as_given("b", self.b, D)
        return [self._with(a=a, b=b, n_features=D)]

    @property
    def n_stats(self) -> int:
        """D."""
        return self._D

    @cached_property
    def eta0(self) -> Array:
        """Prior [a, a + b], (2 D,)."""
        a, b = self._prior
        return np.concatenate([a, a + b])

    def statistic(self, X: Array) -> Array:
        """The rows themselves, (N, D)."""
        return real(X)

    def log_base(self, X: Array) -> Array:
        """Zero for each row, (N,)."""
        return filled(0.0, X, X.shape[0])

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Beta distributions, (K,)."""
        ones, total = eta[:, : self._D], eta[:, self._D :]
        each = gammaln(ones) + gammaln(total - ones) - gammaln(total)
        return namespace(eta).sum(each, axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[log odds, log(1 - p)], (K, 2 D)."""
        ones, total = eta[:, : self._D], eta[:, self._D :]
        zeros = digamma(total - ones)
        return namespace(eta).concat([digamma(ones) - zeros, zeros - digamma(total)], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log probability (N, K) of zeros and ones."""
        xp, x = namespace(eta), self.statistic(X)
        ones, total = eta[:, : self._D], eta[:, self._D :]
        log_odds = xp.log(ones / (total - ones))
        zeros = xp.sum(xp.log((total - ones) / total), axis=1)
        return x @ alike(log_odds, x).T + alike(zeros, x)

    def draw_params(self, eta: Array, rng: np.random.Generator) -> Array:
        """Draw [log odds, log(1 - p)], (K, 2 D)."""
        ones, total = eta[:, : self._D], eta[:, self._D :]
        one, zero = draw_log_gamma(ones, rng), draw_log_gamma(total - ones, rng)
        return np.column_stack([one - zero, zero - np.logaddexp(one, zero)])

    def draw(self, eta: Array, mass: float, rng: np.random.Generator) -> Array:
        """Draw probabilities, then one row (D,)."""
        ones, total = eta[: self._D], eta[self._D :]
        return (rng.random(self._D) < rng.beta(ones, total - ones)).astype(np.float64)

    def rows(self, X: Array) -> DenseRows:
        """Pack rows X (N, D)."""
        return DenseRows(plain(X))

    def workspace(self, tally: Tally, columns: dict[str, Array]) -> BernoulliWork:
        """Pack the tally's buffers and what is derived from them."""
        a, b = self._prior
        work = BernoulliWork(
            stats=tally.stats_buffer,
            log_odds=np.zeros((tally.capacity, self._D)),
            constants=np.zeros(tally.capacity),
            a=a,
            b=b,
        )
        refresh_all(work, tally.mass_buffer, tally.K)
        return work

    @property
    def _D(self) -> int:
        assert self.n_features is not None
        return self.n_features

    @cached_property
    def _prior(self) -> tuple[Array, Array]:
        return positive_columns("a", self.a, self._D), positive_columns("b", self.b, self._D)
