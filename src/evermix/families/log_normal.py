r"""Positive numbers on the log scale: prices, durations, sizes."""

from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, Bools, Floats, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families import _log_scale as log_scale
from evermix.families.diagonal_gaussian import DiagonalGaussian


@dataclass(frozen=True)
class LogNormal(DiagonalGaussian):
    r"""The logarithms of a cluster's rows share a mean and a variance in each column.

    All hyperparameters are those of :class:`DiagonalGaussian` for the logarithms. (It is that
    family of the logarithms, hence the further level of inheritance.)

    Parameters
    ----------
    mean, kappa, shape, rate, n_features, origin
        See DiagonalGaussian.
    knee : float, optional
        With it numbers may be zero or negative: the scale is asinh(x / (2 knee)), which is nearly
        linear for numbers smaller than ``knee``, and log(x / knee) for those that are much larger.

    Examples
    --------
    >>> family = LogNormal(0.0, 0.1, 2.0, 1.0).candidates(np.ones((1, 1)))[0]
    >>> x = np.array([[1.0]])
    >>> (family.log_predictive(x, family.eta0[None])[:, 0] + family.log_base(x)).round(3)
    array([-1.833])
    """

    support: ClassVar[tuple[str, str]] = (
        "LogNormal needs numbers > 0",
        "Add a constant, or use a Gaussian family.",
    )

    knee: float | None = None

    @property
    def resolved(self) -> bool:
        """Whether everything is set but for the knee, which need not be."""
        return all(getattr(self, f.name) is not None for f in fields(self) if f.name != "knee")

    @property
    def open(self) -> bool:
        """Whether hyperparameters must come from data."""
        return any(getattr(self, name) is None for name in ("mean", "kappa", "shape", "rate"))

    def scaled(self, X: Array) -> Array:
        """Return the logarithms of X, or what ``knee`` makes of them."""
        return log_scale.scaled(X, self.knee)

    def unscaled(self, logs: Floats) -> Floats:
        """Return the numbers that have these logarithms."""
        return log_scale.unscaled(logs, self.knee)

    @property
    def on_log_scale(self) -> Bools:
        """Which columns are on the log scale: all, (D,)."""
        return np.ones(self._D, dtype=bool)

    @property
    def has_knees(self) -> bool:
        """Whether numbers may be zero or negative."""
        return self.knee is not None

    def inside(self, X: Array) -> Array:
        """Return which values are positive, (N, D); with a knee they need not be."""
        return X > 0 if self.knee is None else X == X

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families, as for the logarithms."""
        family = self._with_knee()
        return super(LogNormal, family).candidates(family.scaled(np.asarray(X, dtype=np.float64)))

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, as for the logarithms."""
        family = self._with_knee()
        return super(LogNormal, family).guess(family.scaled(np.asarray(X, dtype=np.float64)))

    def _with_knee(self) -> Self:
        """Return the family with a valid knee, or raise ValueError."""
        return self if self.knee is None else replace(self, knee=hyper.positive("knee", self.knee))

    def log_base(self, X: Array) -> Array:
        """Log base measure of the logarithms, and their derivatives, (N,)."""
        slopes = log_scale.log_slopes(X, self.knee)
        return super().log_base(X) + namespace(X).sum(slopes, axis=1)

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw variances and means, then one row (D,)."""
        return self.unscaled(super().draw(eta, mass, rng))

    def _centred(self, X: Array) -> Array:
        return super()._centred(self.scaled(X))
