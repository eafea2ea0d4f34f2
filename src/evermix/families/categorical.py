r"""One column of categories: countries, colours, answers."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Array, Floats, alike, digamma, gammaln, logsumexp, namespace, real
from evermix.families import _hyperparameters as hyper
from evermix.families._table_work import Part, table_rows, table_work
from evermix.families.base import Family
from evermix.kernels.families.mixed import LEVELS, MixedWork, TableRows
from evermix.tally import Tally

ALPHA = 0.5  # of each level, where nothing is given
ALPHAS = 1e-3, 1e3  # between which it is learnt
LOG_SPREAD = 1.0  # of the hyperprior of log alpha
MOST_LEVELS = 2**20


@dataclass(frozen=True)
class Categorical(Family):
    r"""Each cluster has its own probability of each level of one column.

    Rows (N, 1) hold codes of levels: 0, 1, 2, ... The prior is a symmetric Dirichlet distribution;
    :math:`\eta` are its parameters. A level that nobody has counted has the same alpha as any
    other, so levels may appear later: from then on the prior is that over more levels.

    Parameters
    ----------
    alpha : float, optional
        Rows that the prior of each level is worth. None: 0.5, or learnt from the clusters.
    n_levels : int, optional
        Number of levels that are known from the start. More may appear; None: those of the data.
    n_features : int, optional
        Number of columns, which is one.

    Examples
    --------
    >>> family = Categorical(alpha=1.0, n_levels=3).candidates(np.zeros((1, 1)))[0]
    >>> eta = family.posterior(family.statistic(np.array([[2.0]])), np.ones(1))
    >>> np.exp(family.log_predictive(np.array([[0.0], [2.0]]), eta)).round(2).tolist()
    [[0.25], [0.5]]
    """

    largest: ClassVar[float] = MOST_LEVELS - 1.0
    support: ClassVar[tuple[str, str]] = (
        "Categorical needs codes of levels, whole numbers >= 0",
        "Give a table (pandas, polars or Arrow), whose levels get codes, to em.Mixed().",
    )
    learns: ClassVar[tuple[str, ...]] = ("alpha",)
    tunable: ClassVar[tuple[str, ...]] = ("alpha",)

    alpha: float | None = None
    n_levels: int | None = None

    def inside(self, X: Array) -> Array:
        """Return which values are whole numbers >= 0, (N, 1)."""
        return (X >= 0) & (X == namespace(X).round(X))

    @property
    def open(self) -> bool:
        """Whether hyperparameters must come from data before anything is learnt: none must."""
        return False

    def candidates(self, X: Array) -> list[Self]:
        """Return this family for the levels of ``X`` (N, 1)."""
        if X.shape[1] != 1:
            raise ValueError(
                f"Categorical is a family of one column, got {X.shape[1]}. Give each column its "
                "own: em.Mixed({0: em.Categorical(), 1: em.Categorical()})."
            )
        alpha = hyper.positive("alpha", ALPHA if self.alpha is None else self.alpha)
        n_levels = max(self._given_levels, levels_in(X), 2)
        return [replace(self, alpha=alpha, n_levels=n_levels, n_features=1)]

    @property
    def _given_levels(self) -> int:
        n = 0 if self.n_levels is None else self.n_levels
        if isinstance(n, bool) or n != int(n) or not 0 <= n <= MOST_LEVELS:
            raise ValueError(f"n_levels must be a whole number up to {MOST_LEVELS:,}, got {n!r}.")
        return int(n)

    def log_hyperprior(self, first: Self) -> float:
        """Log density of alpha, normal in its logarithm, 0 at that of ``first``."""
        return -0.5 * (math.log(self._alpha / first._alpha) / LOG_SPREAD) ** 2

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        """Return the family after a fixed-point step for alpha (Minka 2000)."""
        del first, mass
        alpha, L = self._alpha, self.n_stats
        if "alpha" not in names:
            return self
        levels = np.sum(digamma(stats + alpha)) - stats.size * digamma(alpha)
        totals = np.sum(digamma(stats.sum(axis=1) + L * alpha) - digamma(L * alpha))
        step = levels / (L * totals) if totals > 0 else 1.0
        return replace(self, alpha=float(np.clip(alpha * step, *ALPHAS)))

    @property
    def n_stats(self) -> int:
        """The number of levels, L."""
        assert self.n_levels is not None  # the family is resolved
        return self.n_levels

    @cached_property
    def eta0(self) -> Floats:
        """The parameters of the Dirichlet distribution, (L,)."""
        return np.full(self.n_stats, self._alpha)

    def statistic(self, X: Array) -> Array:
        """A one at the level of each row, (N, L)."""
        x = real(X)
        hit = x == alike(np.arange(self.n_stats, dtype=np.float64), x)
        return namespace(x).astype(hit, x.dtype)

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of the Dirichlet distribution, (K,)."""
        xp = namespace(eta)
        return xp.sum(gammaln(eta), axis=1) - gammaln(xp.sum(eta, axis=1))

    def mean_params(self, eta: Array) -> Array:
        """E log of the probabilities of levels, (K, L)."""
        return digamma(eta) - digamma(namespace(eta).sum(eta, axis=1))[:, None]

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log probability (N, K) of the level of each row."""
        x = real(X)
        eta, xp = alike(eta, x), namespace(x)
        logs = xp.log(eta / xp.sum(eta, axis=1)[:, None])
        return xp.take(logs, xp.astype(x[:, 0], xp.int64), axis=1).T

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw logs of the probabilities of levels, (K, L)."""
        logs = draw_log_gamma(eta, rng)
        return logs - logsumexp(logs, axis=1)[:, None]

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw probabilities, then the code of a level, (1,)."""
        logs = self.draw_params(eta[None, :], rng)[0]
        return np.array([float(rng.choice(len(logs), p=np.exp(logs) / np.exp(logs).sum()))])

    def rows(self, X: Array) -> TableRows:
        """Pack rows X (N, 1)."""
        return table_rows([self._part], X)

    def workspace(self, tally: Tally, columns: dict[str, Floats]) -> MixedWork:
        """Pack the tally's buffers and what is derived from them."""
        return table_work([self._part], tally)

    @property
    def _part(self) -> Part:
        return Part(LEVELS, self, np.zeros(1, dtype=np.int64))

    @property
    def _alpha(self) -> float:
        assert self.alpha is not None  # the family is resolved
        return self.alpha


def levels_in(X: Array) -> int:
    """Return how many levels codes X (N, 1) need; those that are missing (NaN) need none."""
    codes = np.asarray(X, dtype=np.float64)
    known = codes[np.isfinite(codes)]
    return int(known.max()) + 1 if known.size else 0
