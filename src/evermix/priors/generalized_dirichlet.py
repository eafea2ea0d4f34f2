"""The generalised Dirichlet process, a normalised random measure given by its two functions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix._xp import Array, gammaln, logsumexp
from evermix.priors.base import POSITIVE, Prior, finite_number
from evermix.priors.dp import DP
from evermix.priors.nrm import NRM


@dataclass(frozen=True)
class GeneralizedDirichlet(NRM):
    r"""Generalised Dirichlet process: a sum of gamma processes with rates 1, 2, ..., normalised.

    The new cluster's weight depends on how the observations are spread, not on n and K alone
    [lijoi2005]_.

    Parameters
    ----------
    a : float
        Concentration of each gamma process, > 0.
    rates : int
        Number of gamma processes, >= 1; one is the Dirichlet process DP(a).

    References
    ----------
    .. [lijoi2005] A. Lijoi, R. Mena and I. Prunster. Bayesian nonparametric analysis for a
       generalized Dirichlet process prior. Statistical Inference for Stochastic Processes, 2005.
    """

    a: float = 1.0
    rates: int = 3

    tunable: ClassVar = {"a": POSITIVE}

    def __post_init__(self) -> None:
        self._store("a", finite_number("a", self.a))
        if self.a <= 0:
            raise ValueError(f"a must be positive, got {self.a}.")
        rates = finite_number("rates", self.rates)
        if rates < 1 or rates != int(rates):
            raise ValueError(f"rates must be a whole number, 1 or more, got {self.rates}.")
        self._store("rates", int(rates))

    def canonical(self) -> Prior:
        """Return the same law in its simplest parameters: DP(a) for one rate."""
        return DP(self.a) if self.rates == 1 else self

    def log_moment(self, m: Array, u: Array) -> Array:
        """Return the log of a Gamma(m) sum_j (u + j)^-m."""
        m, u = np.asarray(m), np.asarray(u)
        powers = -m[..., None] * np.log(u[..., None] + self._rates())
        return np.log(self.a) + gammaln(m) + logsumexp(powers, axis=-1)

    def laplace_exponent(self, u: Array) -> Array:
        """Return a sum_j log(1 + u / j)."""
        return self.a * np.log1p(np.asarray(u)[..., None] / self._rates()).sum(axis=-1)

    def _rates(self) -> Array:
        return np.arange(1.0, self.rates + 1.0)
