"""Priors of every kind and corner, and two normalised random measures made by hand."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from evermix.priors import DP, NGGP, NRM, GeneralizedDirichlet, PitmanYor


@dataclass(frozen=True)
class GeneralizedGamma(NRM):
    """The NGGP, given only by its two functions."""

    a: float = 1.0
    sigma: float = 0.5
    tau: float = 1.0

    def log_moment(self, m, u):
        slope = gammaln(m - self.sigma) - gammaln(1 - self.sigma)
        return np.log(self.a) + slope - (m - self.sigma) * np.log(u + self.tau)

    def laplace_exponent(self, u):
        return self.a / self.sigma * ((u + self.tau) ** self.sigma - self.tau**self.sigma)


@dataclass(frozen=True)
class TwoPowers(NRM):
    """A sum of two generalised gamma processes with different sigma: not of Gibbs type."""

    a: float = 1.0
    b: float = 0.5

    @property
    def parts(self):
        return GeneralizedGamma(self.a, 0.2), GeneralizedGamma(self.b, 0.7)

    def log_moment(self, m, u):
        return np.logaddexp(*(part.log_moment(m, u) for part in self.parts))

    def laplace_exponent(self, u):
        return sum(part.laplace_exponent(u) for part in self.parts)


GIBBS = [
    DP(1.0),
    DP(0.05),
    DP(30.0),
    NGGP(1.0, 0.5, 1.0),
    NGGP(0.1, 0.1, 1.0),
    NGGP(2.0, 0.25, 7.0),
    NGGP(10.0, 0.75, 0.1),
    NGGP(3.0, 0.0, 2.0),
    NGGP(1.5, 0.4, 0.0),
    PitmanYor(1.0, 0.25),
    PitmanYor(-0.3, 0.5),
    PitmanYor(-0.45, 0.5),
    PitmanYor(0.0, 0.7),
    PitmanYor(2.0, 0.0),
]
ARRAYS = [
    GeneralizedDirichlet(1.0, 3),
    GeneralizedDirichlet(0.2, 5),
    TwoPowers(),
    TwoPowers(0.1, 3.0),
]
EVERY = GIBBS + ARRAYS
SIZES = [np.array(s, float) for s in ([1], [1, 1], [3, 1, 1], [5, 3, 2], [6, 4], [1] * 5)]
