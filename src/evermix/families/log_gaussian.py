r"""Clusters with a full covariance of columns of which some, or all, are on the log scale."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, Bools, Floats, Ints, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families import _log_scale as log_scale
from evermix.families.gaussian import Gaussian


@dataclass(frozen=True)
class LogGaussian(Gaussian):
    r"""The logarithms of a cluster's rows share a mean and a full covariance matrix.

    Incomes, prices and sizes mostly rise together: where :class:`LogNormal`, whose columns are
    independent, needs many clusters, this family needs one. All hyperparameters are those of
    :class:`Gaussian` for the logarithms. (It is that family of the logarithms, hence the further
    level of inheritance.)

    Parameters
    ----------
    mean, kappa, nu, scale, n_features, origin
        See Gaussian.
    knees : array (D,), optional
        With a knee, numbers of a column may be zero or negative: the scale is asinh(x / (2 knee)),
        which is nearly linear for numbers smaller than the knee, and log(x / knee) for those that
        are much larger. A column with the knee 0 stays as it is. None: logarithms in all columns.

    Examples
    --------
    >>> family = LogGaussian(0.0, 0.1, 4.0, 1.0, knees=[0.0, 0.5]).candidates(np.zeros((1, 2)))[0]
    >>> family.scaled(np.array([[100.0, 100.0]])).round(3)
    array([[100.   ,   5.298]])
    """

    support: ClassVar[tuple[str, str]] = (
        "LogGaussian needs numbers > 0",
        "Give knees, add a constant, or use a Gaussian family.",
    )

    knees: Floats | None = None

    @property
    def resolved(self) -> bool:
        """Whether everything is set but for the knees, which need not be."""
        return all(getattr(self, f.name) is not None for f in fields(self) if f.name != "knees")

    @property
    def open(self) -> bool:
        """Whether hyperparameters must come from data."""
        return any(getattr(self, name) is None for name in self.learns)

    def scaled(self, X: Array) -> Array:
        """Return the logarithms of X (N, D), or what the knees make of them."""
        return log_scale.scaled(X, self.knees)

    def unscaled(self, logs: Floats) -> Floats:
        """Return the numbers that have these logarithms (N, D)."""
        return log_scale.unscaled(logs, self.knees)

    @property
    def on_log_scale(self) -> Bools:
        """Which columns are on the log scale, (D,)."""
        return np.ones(self._D, dtype=bool) if self.knees is None else np.asarray(self.knees) > 0

    def of_columns(self, columns: Ints) -> Self:
        """Return the family of some columns, for clusters that are known."""
        knees = None if self.knees is None else np.asarray(self.knees)[columns]
        return replace(super().of_columns(columns), knees=knees)

    @property
    def has_knees(self) -> bool:
        """Whether numbers may be zero or negative."""
        return self.knees is not None

    def inside(self, X: Array) -> Array:
        """Return which values are positive, (N, D); with knees they need not be."""
        return X > 0 if self.knees is None else X == X

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families, as for the logarithms."""
        family = self._with_knees(int(X.shape[1]))
        logs = family.scaled(np.asarray(X, dtype=np.float64))
        return super(LogGaussian, family).candidates(logs)

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, as for the logarithms."""
        family = self._with_knees(int(X.shape[1]))
        return super(LogGaussian, family).guess(family.scaled(np.asarray(X, dtype=np.float64)))

    def _with_knees(self, D: int) -> Self:
        """Return the family with a knee for each of D columns, or raise ValueError."""
        if self.knees is None:
            return self
        knees = hyper.column("knees", self.knees, D)
        if knees.min() < 0:
            raise ValueError(f"knees must be >= 0, got {knees.tolist()}.")
        return replace(self, knees=knees)

    def log_base(self, X: Array) -> Array:
        """Log base measure of the logarithms, and their derivatives, (N,)."""
        slopes = log_scale.log_slopes(X, self.knees)
        return super().log_base(X) + namespace(X).sum(slopes, axis=1)

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a covariance and a mean, then one row (D,)."""
        return self.unscaled(super().draw(eta, mass, rng))

    def _centred(self, X: Array) -> Array:
        return super()._centred(self.scaled(X))
