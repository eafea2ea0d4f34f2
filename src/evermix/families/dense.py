"""The shared base of families of dense rows with compiled verbs."""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from evermix._xp import Array, Floats, alike, real
from evermix.families import _hyperparameters as hyper
from evermix.families.base import Family
from evermix.kernels.base import refresh_all
from evermix.kernels.rows import DenseRows, plain
from evermix.tally import Tally

FULL_ONLY = 4  # columns up to which full covariances cost no more than variances
MAX_FULL_COVARIANCE = 32  # columns up to which full covariances are worth their cost


class DenseFamily(Family):
    """A family of dense rows with compiled verbs; by default with one statistic for each column.

    Families with an ``origin`` keep their statistics about it, so that an offset of the data costs
    no digits. (A third level of inheritance: all six families would repeat this otherwise.)
    """

    origin: Floats | None = None  # a field of those that have one

    @property
    def n_stats(self) -> int:
        """D."""
        return self._D

    def statistic(self, X: Array) -> Array:
        """The rows about the origin, (N, D)."""
        return self._centred(X)

    def moved(self, stats: Floats, mass: Floats, to: Self) -> Floats:
        """Return statistics (K, D) about the origin of another family."""
        return stats if self.origin is None else stats + mass[:, None] * self._shift(to)

    def means(self, stats: Floats, mass: Floats) -> Floats:
        """Return the mean row (K, D) of clusters, whose first statistics are sums of rows."""
        means = stats[:, : self._D] / mass[:, None]
        return means if self.origin is None else means + self.origin

    def rows(self, X: Array) -> DenseRows:
        """Pack rows X (N, D) about the origin."""
        x = self._centred(X)
        ready = x.flags.carray and x.dtype == np.float64
        return DenseRows(x if ready else plain(x))

    def workspace(self, tally: Tally, columns: dict[str, Floats]) -> Any:
        """Pack the tally's buffers and what is derived from them."""
        work = self._work(tally, columns)
        refresh_all(work, tally.mass_buffer, tally.K)
        return work

    @abstractmethod
    def _work(self, tally: Tally, columns: dict[str, Floats]) -> Any:
        """Return the work before anything is derived."""

    def _placed(self, X: Floats, mean: float | Floats | None) -> Self:
        """Return the family with its width, the origin at the first row, and a mean (D,)."""
        D = int(X.shape[1])
        mean = X.mean(axis=0) if mean is None else hyper.column("mean", mean, D)
        values: dict[str, Any] = {"mean": mean, "n_features": D, "origin": X[0].copy()}
        return replace(self, **values)

    def _centred(self, X: Array) -> Array:
        """Return rows (N, D) about the origin."""
        if self.origin is None:
            return real(X)
        # NumPy takes less time for one row if it finds the same shape.
        return X - (self._origin_row if type(X) is np.ndarray else alike(self.origin, X))

    @cached_property
    def _origin_row(self) -> Floats:
        """The origin as a row, (1, D)."""
        return np.atleast_2d(np.asarray(self.origin))

    def _from_origin(self, mean: float | Floats | None) -> Floats:
        """Return a mean, one number or (D,), about the origin, (D,)."""
        assert self.origin is not None
        return hyper.column("mean", mean, self._D) - self.origin

    def _shift(self, to: Self) -> Floats:
        """What must be added to rows about this origin to get those about another one, (D,)."""
        assert self.origin is not None and to.origin is not None
        return np.subtract(self.origin, to.origin)

    def _halves(self, eta: Array) -> tuple[Array, Array]:
        """Return the first D columns of eta (K, 2 D), and the others."""
        return eta[:, : self._D], eta[:, self._D :]
