"""Directions: a von Mises-Fisher family with known concentration, from the skeleton of a family."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, ive
from scipy.stats import uniform_direction, vonmises_fisher

from evermix.families import Family


def log_area(z, D):
    """Log of the integral of exp(z mu_1) over all unit vectors mu of D columns."""
    v = D / 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        bessel = np.log(ive(v, z)) + z - v * np.log(z)
    near_zero = z**2 / (4 * (v + 1)) - v * np.log(2) - gammaln(v + 1)  # where ive underflows
    return (v + 1) * np.log(2 * np.pi) + np.where(np.isfinite(bessel), bessel, near_zero)


def mean_length(z, D):
    """E mu_1 under that density: the derivative of :func:`log_area`."""
    v = D / 2 - 1
    top, bottom = ive(v + 1, z), ive(v, z)
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), z / (2 * (v + 1)))


@dataclass(frozen=True)
class Directions(Family):
    """Unit vectors about a mean direction, whose prior is von Mises-Fisher too.

    Parameters
    ----------
    concentration : float
        How close rows are to the mean direction of their cluster.
    prior : float or array (D,)
        Sum of unit vectors that the prior is worth; 0 is uniform.
    """

    concentration: float = 10.0
    prior: float | np.ndarray = 0.0

    support = "Directions needs rows of length 1", "Use sklearn.preprocessing.normalize."

    def inside(self, X):
        return np.abs(np.sum(X * X, axis=1) - 1) < 1e-6

    @property
    def n_stats(self):  # no count: A(phi) is the same for all mean directions
        return self.n_features

    @cached_property
    def eta0(self):
        return np.broadcast_to(np.asarray(self.prior, dtype=float), (self.n_features,)).copy()

    def statistic(self, X):
        return X

    def log_base(self, X):
        return np.full(len(X), -log_area(self.concentration, self.n_features))

    def log_partition(self, eta):
        return log_area(self.concentration * np.linalg.norm(eta, axis=1), self.n_features)

    def mean_params(self, eta):
        r = np.linalg.norm(eta, axis=1, keepdims=True)
        length = mean_length(self.concentration * r, self.n_features)
        return self.concentration * length * eta / np.where(r > 0, r, 1)

    def draw_params(self, eta, rng):
        return self.concentration * np.array([self._direction(each, rng) for each in eta])

    def draw(self, eta, mass, rng):
        return self._direction(self._direction(eta, rng), rng)

    def _direction(self, eta, rng):
        r = np.linalg.norm(eta)
        law = vonmises_fisher(eta / r, self.concentration * r) if r > 0 else None
        return (law or uniform_direction(self.n_features)).rvs(1, random_state=rng)[0]
