"""How many clusters there are and how big: random partitions, by what they can do.

A prior derives from :class:`Prior` and from its capabilities, each an abstract class of its own
(:class:`HasPredictive`, :class:`HasSticks`). An engine names those that it needs.

A prior reads only the clusters' mass and two additive extras, from which the probability that a
cluster is occupied follows: with soft assignments q_ik,

- ``log_empty``: sum of log(1 - q_ik), the log probability that no observation is in k;
- ``hard``: the weight of observations with q_ik >= 1 - 1e-12 (left out of ``log_empty``).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from evermix._xp import Floats, Ints, digamma, gammaln
from evermix.kernels.weights import new_weight

EXTRAS = ("log_empty", "hard")
POSITIVE, UNIT = (0.0, math.inf), (0.0, 1.0)
"""Domains of hyperparameters, as open intervals."""


def occupancy(mass: Floats, extras: Mapping[str, Floats]) -> Floats:
    """Probability that each cluster is occupied, (K,), never above its mass."""
    some = np.where(extras["hard"] > 0, 1.0, -np.expm1(extras["log_empty"]))
    return np.minimum(mass, some)


def finite_number(name: str, value: object) -> float:
    """Return a hyperparameter as a float, or raise ValueError unless it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return float(value)


@dataclass(frozen=True)
class Prior:
    """A law of random partitions with plain hyperparameters."""

    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Hyperparameters that a sampler may learn, and the open interval that each lives in."""

    def _store_numbers(self, *names: str) -> None:
        """Store fields as floats while the prior is being made; raise ValueError for others."""
        for name in names:
            object.__setattr__(self, name, finite_number(name, getattr(self, name)))

    def _require(self, holds: bool, name: str, wanted: str) -> None:
        """Raise ValueError unless a condition on a field holds."""
        if not holds:
            raise ValueError(f"{name} {wanted}, got {getattr(self, name)!r}.")

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


class HasPredictive(ABC):
    """The capability of priors with a partition probability and a one-step predictive rule."""

    extras: ClassVar[tuple[str, ...]] = EXTRAS

    @abstractmethod
    def log_eppf(self, sizes: Floats) -> float:
        """Log probability of one partition with these block sizes (K,), each > 0."""

    @abstractmethod
    def log_weights(self, mass: Floats, occupied: Floats) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one.

        They are normalised. ``mass`` (K,) and ``occupied`` (K,) may be soft.
        """

    @abstractmethod
    def log_merge_odds(self, mass: Floats, occupied: Floats, pairs: Ints) -> Floats:
        """Log partition probability after fusing two clusters minus before, (P,).

        ``pairs`` (P, 2) are rows. Sizes may be soft; each cluster of a pair must have mass >= 1.
        """


class GibbsScalars(NamedTuple):
    """A Gibbs-type prior as plain scalars for the kernels (see ``kernels.weights``).

    A cluster weighs mass - sigma * occupied; a new one weighs ``new_weight`` by the rule ``kind``.
    """

    kind: int
    a: float
    sigma: float
    tau: float


class GibbsType(Prior, HasPredictive):
    r"""A prior whose predictive depends on n and K only through one number: the fast path.

    A partition has probability :math:`V(n, K) \prod_k \Gamma(n_k - \sigma) / \Gamma(1 - \sigma)`.
    """

    @abstractmethod
    def scalars(self) -> GibbsScalars:
        """Return the prior as scalars for the kernels."""

    @abstractmethod
    def log_v(self, n: float, K: float) -> float:
        """Log V(n, K) for real n > 0 and K > 0."""

    def log_eppf(self, sizes: Floats) -> float:
        """Log probability of one partition with these block sizes (K,), each > 0."""
        if not len(sizes):
            return 0.0
        sigma = self.scalars().sigma
        blocks = gammaln(sizes - sigma) - gammaln(1.0 - sigma)
        return self.log_v(float(sizes.sum()), float(len(sizes))) + float(blocks.sum())

    def log_weights(self, mass: Floats, occupied: Floats) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        prior = self.scalars()
        new = new_weight(*prior, float(mass.sum()), float(occupied.sum()))
        weights = np.empty(len(mass) + 1)
        weights[:-1], weights[-1] = mass - prior.sigma * occupied, new
        with np.errstate(divide="ignore"):  # an empty cluster has weight 0
            return np.log(weights / weights.sum())

    def log_merge_odds(self, mass: Floats, occupied: Floats, pairs: Ints) -> Floats:
        """Log EPPF after fusing two clusters minus before, (P,) for pairs (P, 2) of rows."""
        sigma, n, K = self.scalars().sigma, float(mass.sum()), float(occupied.sum())
        a, b = mass[pairs[:, 0]], mass[pairs[:, 1]]
        fused = gammaln(a + b - sigma) + gammaln(1.0 - sigma)
        blocks = fused - gammaln(a - sigma) - gammaln(b - sigma)
        # Soft K may be below 2, but a fused partition has a cluster.
        return blocks + self.log_v(n, max(K - 1.0, 1.0)) - self.log_v(n, K)


class HasSticks(ABC):
    r"""The capability of priors whose weights are broken off a stick.

    The weights are :math:`w_k = v_k \prod_{l<k} (1 - v_l)`.

    The fractions :math:`v_k` are independent Beta variables, and stay so given soft counts of the
    clusters. Clusters behind those counted keep the prior's fractions and change nothing, so that
    truncations are nested.
    """

    @abstractmethod
    def sticks(self, K: int) -> tuple[Floats, Floats]:
        """Beta parameters (K,) and (K,) of the first K fractions."""

    def broken(self, mass: Floats) -> tuple[Floats, Floats]:
        """Beta parameters (..., K), (..., K) of the fractions given the clusters' mass (..., K)."""
        a, b = self.sticks(mass.shape[-1])
        later = np.zeros(mass.shape)
        later[..., :-1] = np.cumsum(mass[..., :0:-1], axis=-1)[..., ::-1]
        return a + mass, b + later

    def expected_log_weights(self, mass: Floats) -> Floats:
        """E log w_k (K,) given the clusters' mass (K,)."""
        a, b = self.broken(mass)
        total = digamma(a + b)
        rest = np.cumsum(digamma(b) - total)
        return digamma(a) - total + np.append(0.0, rest[:-1])

    def log_stick_weights(self, mass: Floats) -> Floats:
        """Log E w_k of the clusters and, last, of all behind them, (K + 1,)."""
        a, b = self.broken(mass)
        total = np.log(a + b)
        rest = np.append(0.0, np.cumsum(np.log(b) - total))
        return np.append(np.log(a) - total, 0.0) + rest

    def log_stick_evidence(self, mass: Floats) -> Floats:
        """Log evidence (...) of soft counts (..., K) in this order, fractions integrated out."""
        a, b = self.sticks(mass.shape[-1])
        return np.sum(_log_beta(*self.broken(mass)) - _log_beta(a, b), axis=-1)


def _log_beta(a: Floats, b: Floats) -> Floats:
    return gammaln(a) + gammaln(b) - gammaln(a + b)
