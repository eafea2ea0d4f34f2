r"""Positive numbers on the log scale: prices, durations, sizes."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, namespace
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

    def inside(self, X: Array) -> Array:
        """Return which values are positive, (N, D)."""
        return X > 0

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families, as for the logarithms."""
        return super().candidates(np.log(np.asarray(X, dtype=np.float64)))

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, as for the logarithms."""
        return super().guess(np.log(np.asarray(X, dtype=np.float64)))

    def log_base(self, X: Array) -> Array:
        """Log base measure of the logarithms, and their derivatives, (N,)."""
        xp = namespace(X)
        return super().log_base(X) - xp.sum(xp.log(X), axis=1)

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw variances and means, then one row (D,)."""
        return np.exp(super().draw(eta, mass, rng))

    def _centred(self, X: Array) -> Array:
        return super()._centred(namespace(X).log(X))
