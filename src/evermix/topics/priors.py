"""Priors of measures that depend on each other, as plain values.

Each number of a measure is either fixed (a float) or learnt (a law, ``Gamma`` or ``Beta``). The
paper's weak laws are the defaults.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from evermix._xp import Floats
from evermix.engines.settings import check_whole
from evermix.priors.base import finite_number
from evermix.priors.hyper import Beta, Gamma, HyperPrior
from evermix.topics.measures import Laws, Measure, Mixed, Thinned

WEAK_GAMMA, WEAK_BETA = Gamma(0.1, 0.1), Beta(0.5, 0.5)


class PlainSettings:
    """A dataclass of plain values and laws of numbers, which a file stores as JSON."""

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        return {k: v.to_spec() if isinstance(v, HyperPrior) else v for k, v in values.items()}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return what :meth:`to_spec` described."""
        laws = {k: HyperPrior.from_spec(v) for k, v in spec.items() if isinstance(v, dict)}
        return cls(**{**spec, **laws})


class DependentPrior(PlainSettings, ABC):
    """A law of dependent random measures with plain hyperparameters."""

    sigma: float | Beta
    M: float | Gamma | None
    a: float | Gamma | None

    def __post_init__(self) -> None:
        self._check_value("sigma", Beta, least=0.0, below=1.0)
        for name in ("M", "a"):
            if getattr(self, name) is not None:
                self._check_value(name, Gamma, least=0.0, strict=True)
        if self.M is not None and self.a is not None:
            raise ValueError(
                f"{self._name} takes M or a = sigma M, not both, got M={self.M!r}, a={self.a!r}."
            )
        if self.M is not None and self.sigma == 0.0:
            raise ValueError(
                f"{self._name}(sigma=0.0, M={self.M!r}) is invalid: with sigma = 0 there are gamma "
                "processes, whose mass a = sigma M would be zero. Give a instead of M."
            )

    @abstractmethod
    def measure(self, n: Floats) -> Measure:
        """Return a measure to start from, for times of n (T,) observations."""

    @property
    def relative(self) -> bool:
        """Whether masses are given as M, with a = sigma M: not so for gamma processes."""
        return self.a is None and self.sigma != 0.0

    @property
    def mass(self) -> float | Gamma:
        """Value or law of M, or of a if not ``relative``."""
        given = self.M if self.relative else self.a
        return WEAK_GAMMA if given is None else given

    # ---- inside ------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return type(self).__name__

    def _check_value(
        self,
        name: str,
        law: type[HyperPrior],
        least: float,
        below: float = np.inf,
        strict: bool = False,
    ) -> None:
        """Raise unless a hyperparameter is a law of this kind, or a number in its domain."""
        value = getattr(self, name)
        if isinstance(value, law):
            return
        if isinstance(value, HyperPrior):
            raise TypeError(f"{self._name} needs em.{law.__name__} for {name}, got {value!r}.")
        number = finite_number(name, value)
        if not least <= number < below or (strict and number == least):
            domain = f"{'(' if strict else '['}{least:g}, {below:g})"
            raise ValueError(f"{name} of {self._name} must lie in {domain}, got {value}.")

    def _laws(self, q: Gamma | Beta | None) -> Laws:
        sigma, mass = self.sigma, self.mass
        return Laws(
            sigma if isinstance(sigma, Beta) else None,
            mass if isinstance(mass, Gamma) else None,
            q,
            self.relative,
        )

    def _start(self, cls: type[Measure], q: Floats, law: Gamma | Beta | None, n: Floats) -> Measure:
        """Return a measure whose numbers are the means of their laws."""
        sigma, mass = _mean(self.sigma), np.full(len(q), _mean(self.mass))
        a = sigma * mass if self.relative else mass
        return cls(self._laws(law), sigma, mass, q, n / (a @ q))


@dataclass(frozen=True)
class MNGG(DependentPrior):
    r"""Mixed normalised generalised gamma processes: times mix the processes of regions.

    Time t sees :math:`\sum_r q_{rt} \mu_r`, normalised, where the :math:`\mu_r` are independent.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    sigma : float or Beta
        Index of the processes, in [0, 1): larger ones have more small clusters. 0 are gamma
        processes.
    M : float, Gamma or None
        Mass of the process of each region; the paper's parameter.
    a : float, Gamma or None
        The same as a = sigma M, which is the one that gamma processes have. None for both is
        ``M=Gamma(0.1, 0.1)``, or ``a=Gamma(0.1, 0.1)`` if sigma is 0.
    q : float or Gamma
        Weight of each region at each time.

    Examples
    --------
    >>> from evermix.topics.priors import MNGG
    >>> MNGG(regions=3, sigma=0.0).relative
    False
    """

    regions: int | None = None
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    q: float | Gamma = WEAK_GAMMA

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_regions(self.regions)
        self._check_value("q", Gamma, least=0.0, strict=True)

    def measure(self, n: Floats) -> Measure:
        """Return a measure to start from, for times of n (T,) observations."""
        q = np.full((self.regions or len(n), len(n)), _mean(self.q))
        return self._start(Mixed, q, self.q if isinstance(self.q, Gamma) else None, n)


@dataclass(frozen=True)
class TNGG(DependentPrior):
    r"""Thinned normalised generalised gamma processes: clusters are there at some times only.

    Each atom of region r is there at time t with probability :math:`q_{rt}`.

    Parameters
    ----------
    regions, sigma, M, a
        See :class:`MNGG`.
    q : float or Beta
        Probability, for each region and time, that an atom is there.
    """

    regions: int | None = None
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    q: float | Beta = WEAK_BETA

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_regions(self.regions)
        self._check_value("q", Beta, least=0.0, below=np.nextafter(1.0, 2.0), strict=True)

    def measure(self, n: Floats) -> Measure:
        """Return a measure to start from, for times of n (T,) observations."""
        q = np.full((self.regions or len(n), len(n)), _mean(self.q))
        return self._start(Thinned, q, self.q if isinstance(self.q, Beta) else None, n)


@dataclass(frozen=True)
class SNGG(DependentPrior):
    """Spatial normalised generalised gamma processes: each time sees the regions around it.

    There is a region for each time, and time t sees those up to ``window`` away, in the order of
    times.

    Parameters
    ----------
    window : int
        How many regions before and after its own a time sees.
    sigma, M, a
        See :class:`MNGG`.
    """

    window: int = 1
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("window", self.window, least=0)

    def measure(self, n: Floats) -> Measure:
        """Return a measure to start from, for times of n (T,) observations."""
        t = np.arange(len(n))
        near = np.abs(t[:, None] - t) <= self.window
        return self._start(Mixed, near.astype(np.float64), None, n)


DEPENDENT_PRIORS: dict[str, type[DependentPrior]] = {
    cls.__name__: cls for cls in (MNGG, SNGG, TNGG)
}
"""The priors of dependent measures, by the name that a file stores."""


def _mean(value: float | HyperPrior) -> float:
    if isinstance(value, Gamma):
        return value.shape / value.rate
    if isinstance(value, Beta):
        return value.a / (value.a + value.b)
    assert not isinstance(value, HyperPrior)
    return float(value)


def _check_regions(regions: object) -> None:
    if regions is not None:
        check_whole("regions", regions, least=1)
