"""How many clusters there are and how big: random partitions, by what they can do.

An engine names the capabilities that it needs; a prior has the ones that it inherits.

A prior reads only the clusters' mass and two additive extras, from which the probability that a
cluster is occupied follows: with soft assignments q_ik,

- ``log_empty``: sum of log(1 - q_ik), the log probability that no observation is in k;
- ``hard``: the weight of observations with q_ik >= 1 - 1e-12 (left out of ``log_empty``).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from evermix._xp import Array

__all__ = ["EXTRAS", "GibbsScalars", "GibbsType", "HasPartition", "HasPredictive", "Prior", "occupancy"]

EXTRAS = ("log_empty", "hard")


def occupancy(mass: Array, extras: Mapping[str, Array]) -> Array:
    """Probability that each cluster is occupied, (K,), never above its mass."""
    some = np.where(extras["hard"] > 0, 1.0, -np.expm1(extras["log_empty"]))
    return np.minimum(mass, some)


@dataclass(frozen=True)
class Prior(ABC):
    """A law of random partitions with plain hyperparameters."""

    def canonical(self) -> "Prior":
        """Return the same law in its simplest parameters, to tell equal priors apart."""
        return self

    def to_spec(self) -> dict[str, Any]:
        """Return the hyperparameters as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the prior that :meth:`to_spec` described."""
        return cls(**spec)


class HasPartition(Prior):
    """A prior with an exchangeable partition probability function (EPPF)."""

    @abstractmethod
    def log_eppf(self, sizes: Array) -> float:
        """Log probability of one partition with these block sizes (K,), each > 0."""

    @abstractmethod
    def log_merge_odds(self, mass: Array, occupied: Array, pairs: Array) -> Array:
        """Log EPPF after fusing two clusters minus before, (P,) for pairs (P, 2) of rows.

        Sizes may be soft; each cluster of a pair must have mass >= 1 (maths: merge move).
        """


class HasPredictive(HasPartition):
    """A prior with a one-step predictive rule, also for soft assignments."""

    extras: ClassVar[tuple[str, ...]] = EXTRAS

    @abstractmethod
    def log_weights(self, mass: Array, occupied: Array) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one.

        They are normalised. ``mass`` (K,) and ``occupied`` (K,) may be soft.
        """


class GibbsScalars(NamedTuple):
    """A Gibbs-type prior as plain scalars for the kernels (see ``kernels.weights``).

    A cluster weighs mass - sigma * occupied; a new one weighs ``new_weight`` by the rule ``kind``.
    """

    kind: int
    a: float
    sigma: float
    tau: float


class GibbsType(HasPredictive):
    """A prior whose predictive depends on n and K only through one number: the fast path."""

    @abstractmethod
    def scalars(self) -> GibbsScalars:
        """Return the prior as scalars for the kernels."""

    @abstractmethod
    def log_v(self, n: float, K: float) -> float:
        """Log V(n, K): the EPPF is V(n, K) times the product of Gamma(n_k - sigma)/Gamma(1 - sigma)."""
