r"""Rows of zeros and ones: presence, answers, black-and-white pixels."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Array, Floats, alike, digamma, gammaln, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families.dense import DenseFamily
from evermix.kernels.families.bernoulli import BernoulliWork
from evermix.tally import Tally


@dataclass(frozen=True)
class Bernoulli(DenseFamily):
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

    support: ClassVar[tuple[str, str]] = (
        "Bernoulli needs zeros and ones",
        "Threshold the data, or use another family.",
    )
    tunable: ClassVar[tuple[str, ...]] = ("a", "b")

    a: float | Floats = 1.0
    b: float | Floats = 1.0

    def inside(self, X: Array) -> Array:
        """Return which values are 0 or 1, (N, D)."""
        return (X == 0) | (X == 1)

    def candidates(self, X: Array) -> list[Self]:
        """Return this family for the columns of ``X`` (N, D)."""
        D = int(X.shape[1])
        a, b = hyper.positive_as_given("a", self.a, D), hyper.positive_as_given("b", self.b, D)
        return [replace(self, a=a, b=b, n_features=D)]

    @cached_property
    def eta0(self) -> Floats:
        """Prior [a, a + b], (2 D,)."""
        a, b = self._prior
        return np.concatenate([a, a + b])

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of D Beta distributions, (K,)."""
        ones, total = self._halves(eta)
        each = gammaln(ones) + gammaln(total - ones) - gammaln(total)
        return namespace(eta).sum(each, axis=1)

    def mean_params(self, eta: Array) -> Array:
        """E[log odds, log(1 - p)], (K, 2 D)."""
        ones, total = self._halves(eta)
        zeros = digamma(total - ones)
        return namespace(eta).concat([digamma(ones) - zeros, zeros - digamma(total)], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log probability (N, K) of zeros and ones."""
        xp, x = namespace(eta), self.statistic(X)
        ones, total = self._halves(eta)
        log_odds = xp.log(ones / (total - ones))
        zeros = xp.sum(xp.log((total - ones) / total), axis=1)
        return x @ alike(log_odds, x).T + alike(zeros, x)

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [log odds, log(1 - p)], (K, 2 D)."""
        ones, total = self._halves(eta)
        one, zero = draw_log_gamma(ones, rng), draw_log_gamma(total - ones, rng)
        return np.column_stack([one - zero, zero - np.logaddexp(one, zero)])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw probabilities, then one row (D,)."""
        ones, total = eta[: self._D], eta[self._D :]
        return (rng.random(self._D) < rng.beta(ones, total - ones)).astype(np.float64)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> BernoulliWork:
        a, b = self._prior
        return BernoulliWork(
            stats=tally.stats_buffer,
            log_odds=np.zeros((tally.capacity, self._D)),
            constants=np.zeros(tally.capacity),
            a=a,
            b=b,
        )

    @cached_property
    def _prior(self) -> tuple[Floats, Floats]:
        a, b = (hyper.positive_columns(name, getattr(self, name), self._D) for name in "ab")
        return a, b
