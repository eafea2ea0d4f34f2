"""Hyperpriors: laws of hyperparameters that a sampler learns.

A sampler moves on the whole real line, so a hyperprior also maps its domain to it.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from evermix._registry import registered
from evermix._xp import Floats
from evermix.priors.base import POSITIVE, UNIT, finite_number


@dataclass(frozen=True)
class HyperPrior(ABC):
    """A law of one hyperparameter, given by plain numbers."""

    domain: ClassVar[tuple[float, float]]
    """The open interval of possible values."""

    @abstractmethod
    def log_density(self, x: float) -> float:
        """Log density at x in the domain, up to a constant."""

    @abstractmethod
    def log_densities(self, x: Floats) -> Floats:
        """Log densities at the numbers of an array, up to a constant."""

    @abstractmethod
    def to_real(self, x: float) -> float:
        """Map x in the domain to the real line."""

    @abstractmethod
    def from_real(self, y: float) -> float:
        """Return the inverse of :meth:`to_real`; it may round to an end of the domain."""

    @abstractmethod
    def log_jacobian(self, x: float) -> float:
        """Log of dx / dy at x = from_real(y), x in the domain."""

    @abstractmethod
    def log_jacobians(self, x: Floats) -> Floats:
        """The same for the numbers of an array."""

    def _check(self, *names: str) -> None:
        """Store the named fields as floats, or raise ValueError unless they are positive."""
        for name in names:
            value = finite_number(name, getattr(self, name))
            if value <= 0:
                raise ValueError(f"{name} must be positive, got {value}.")
            object.__setattr__(self, name, value)

    def to_spec(self) -> dict[str, Any]:
        """Return the name and the numbers of the law as a JSON-ready dict."""
        return {"name": type(self).__name__, **asdict(self)}

    @staticmethod
    def from_spec(spec: dict[str, Any]) -> "HyperPrior":
        """Return the hyperprior that :meth:`to_spec` described."""
        known = registered(HyperPrior)
        if spec.get("name") not in known:
            raise ValueError(
                f"a hyperprior must be one of {', '.join(sorted(known))}, got {spec.get('name')!r}."
            )
        made: HyperPrior = known[spec["name"]](**{k: v for k, v in spec.items() if k != "name"})
        return made


@dataclass(frozen=True)
class Gamma(HyperPrior):
    """Gamma law of a positive hyperparameter, with mean ``shape / rate``.

    Parameters
    ----------
    shape : float
        Shape, > 0: the relative standard deviation is ``1 / sqrt(shape)``.
    rate : float
        Rate, > 0.

    Examples
    --------
    >>> from evermix.priors import Gamma
    >>> Gamma(shape=2.0, rate=4.0).log_density(1.0)
    -4.0
    """

    shape: float = 1.0
    rate: float = 1.0

    domain: ClassVar[tuple[float, float]] = POSITIVE

    def __post_init__(self) -> None:
        self._check("shape", "rate")

    def log_density(self, x: float) -> float:
        """Log density at x > 0, up to a constant."""
        return (self.shape - 1.0) * math.log(x) - self.rate * x

    def log_densities(self, x: Floats) -> Floats:
        """Log densities at the numbers of an array, up to a constant."""
        return (self.shape - 1.0) * np.log(x) - self.rate * x

    def to_real(self, x: float) -> float:
        """Map x > 0 to log x."""
        return math.log(x)

    def from_real(self, y: float) -> float:
        """Return exp(y)."""
        return math.exp(y) if y < 709.0 else math.inf

    def log_jacobian(self, x: float) -> float:
        """Return log x."""
        return math.log(x)

    def log_jacobians(self, x: Floats) -> Floats:
        """Return log x."""
        return np.log(x)


@dataclass(frozen=True)
class Beta(HyperPrior):
    """Beta law of a hyperparameter between 0 and 1, with mean ``a / (a + b)``.

    Parameters
    ----------
    a, b : float
        Weights of the ends 1 and 0, > 0; both 1 is uniform.

    Examples
    --------
    >>> from evermix.priors import Beta
    >>> Beta(a=2.0, b=1.0).log_density(0.5)
    -0.6931471805599453
    """

    a: float = 1.0
    b: float = 1.0

    domain: ClassVar[tuple[float, float]] = UNIT

    def __post_init__(self) -> None:
        self._check("a", "b")

    def log_density(self, x: float) -> float:
        """Log density at x in (0, 1), up to a constant."""
        return (self.a - 1.0) * math.log(x) + (self.b - 1.0) * math.log1p(-x)

    def log_densities(self, x: Floats) -> Floats:
        """Log densities at the numbers of an array, up to a constant."""
        return (self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x)

    def to_real(self, x: float) -> float:
        """Map x in (0, 1) to its log odds."""
        return math.log(x) - math.log1p(-x)

    def from_real(self, y: float) -> float:
        """Return 1 / (1 + exp(-y))."""
        e = math.exp(-abs(y))
        return 1.0 / (1.0 + e) if y > 0 else e / (1.0 + e)

    def log_jacobian(self, x: float) -> float:
        """Return log x + log(1 - x)."""
        return math.log(x) + math.log1p(-x)

    def log_jacobians(self, x: Floats) -> Floats:
        """Return log x + log(1 - x)."""
        return np.log(x) + np.log1p(-x)


HYPERPRIORS: dict[str, type[HyperPrior]] = registered(HyperPrior)
"""The hyperpriors of evermix by name."""
