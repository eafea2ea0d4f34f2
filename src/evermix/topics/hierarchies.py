"""Priors of hierarchical topic models, as plain values.

Every document has a normalised generalised gamma process of its own, whose base measure is that of
its time. The numbers of the processes of documents are ``sigma``, ``M`` and ``a``; those of the
measures above them are ``sigma0``, ``M0`` and ``a0``. Each is fixed (a float) or learnt (a law,
``Gamma`` or ``Beta``); the paper's weak laws are the defaults.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from evermix._xp import Array
from evermix.priors.hyper import Beta, Gamma
from evermix.topics.measures import Measure
from evermix.topics.priors import MNGG, SNGG, TNGG, WEAK_BETA, WEAK_GAMMA, DependentPrior, Spec
from evermix.topics.words.seating import Seating, Unseated

REGIONS = 20  # of models without hierarchy, as in the paper

Made = TypeVar("Made")


class Hierarchy(ABC):
    """A law of the topics of documents with plain hyperparameters."""

    timed: ClassVar[bool] = True
    """Whether documents need times."""

    flat: ClassVar[bool] = False
    """Whether documents are times themselves, and their words choose topics."""

    @property
    @abstractmethod
    def top(self) -> DependentPrior:
        """The law of the measures of times."""

    def measure(self, n: Array) -> Measure:
        """Return a measure of dishes to start from, for times of n (T,) tables."""
        return self.top.measure(n)

    @abstractmethod
    def seating(self, n: Array) -> Seating | Unseated:
        """Return a law of tables to start from, for documents of n (D,) words."""


def _process(sigma: float | Beta, M: Any, a: Any) -> MNGG:
    """Return the law of a single process."""
    return MNGG(regions=1, sigma=sigma, M=M, a=a, q=1.0)


class _Levels(Spec, Hierarchy):
    """Two levels, each a choice of its own: processes of documents, and measures of times.

    Fields of the measures come first, as those of the second base class of a dataclass do.
    """

    def __post_init__(self) -> None:
        _ = self.top, self.below  # which check their numbers

    @property
    def top(self) -> DependentPrior:
        """The law of the measures of times."""
        return self._checked("topics", self._top)

    @property
    def below(self) -> DependentPrior:
        """The law of the process of a document."""
        return self._checked("documents", self._below)

    @abstractmethod
    def _top(self) -> DependentPrior:
        """Build the law of the measures of times."""

    @abstractmethod
    def _below(self) -> DependentPrior:
        """Build the law of the process of a document."""

    @property
    @abstractmethod
    def _above(self) -> tuple[float | Beta, float | Gamma | None, float | Gamma | None]:
        """Index sigma0 and masses M0 and a0 of the measures of times."""

    def seating(self, n: Array) -> Seating | Unseated:
        """Return a law of tables to start from, for documents of n (D,) words."""
        one = self.below.measure(np.ones(1))
        a = float(one.a[0])
        u = (np.maximum(n, 1) / a) ** (1.0 / (1.0 + one.sigma))  # near the mode for few tables
        return Seating(one.laws, one.sigma, float(one.mass[0]), u)

    def _checked(self, level: str, make: Callable[[], Made]) -> Made:
        """Build a level, and say which one it is if its numbers cannot be."""
        try:
            return make()
        except (TypeError, ValueError) as error:
            name = type(self).__name__
            raise type(error)(f"{name}, the process of {level}: {error}") from None


# ---- processes of documents --------------------------------------------------------------------


@dataclass(frozen=True)
class _GammaProcesses(_Levels):
    """Gamma processes, on both levels."""

    a: float | Gamma = WEAK_GAMMA
    a0: float | Gamma = WEAK_GAMMA

    def __post_init__(self) -> None:
        if self.a is None or self.a0 is None:
            name = type(self).__name__
            raise TypeError(f"{name} needs numbers or em.Gamma for a and a0, got None.")
        super().__post_init__()

    @property
    def _above(self) -> tuple[float, None, float | Gamma]:
        return 0.0, None, self.a0

    def _below(self) -> DependentPrior:
        return _process(0.0, None, self.a)


@dataclass(frozen=True)
class _GeneralisedProcesses(_Levels):
    """Generalised gamma processes, on both levels."""

    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    sigma0: float | Beta = WEAK_BETA
    M0: float | Gamma | None = None
    a0: float | Gamma | None = None

    @property
    def _above(self) -> tuple[float | Beta, float | Gamma | None, float | Gamma | None]:
        return self.sigma0, self.M0, self.a0

    def _below(self) -> DependentPrior:
        return _process(self.sigma, self.M, self.a)


# ---- measures of times -------------------------------------------------------------------------


class _Single(_Levels):
    """One measure, and no times."""

    timed: ClassVar[bool] = False

    def _top(self) -> DependentPrior:
        return _process(*self._above)


@dataclass(frozen=True)
class _Spatial(_Levels):
    """Times see the regions around them."""

    window: int = 1

    def _top(self) -> DependentPrior:
        return SNGG(self.window, *self._above)


@dataclass(frozen=True)
class _Mixed(_Levels):
    """Times mix regions."""

    regions: int | None = None
    q: float | Gamma = WEAK_GAMMA

    def _top(self) -> DependentPrior:
        return MNGG(self.regions, *self._above, self.q)


@dataclass(frozen=True)
class _Thinned(_Levels):
    """Times see some of the topics."""

    regions: int | None = None
    q: float | Beta = WEAK_BETA

    def _top(self) -> DependentPrior:
        return TNGG(self.regions, *self._above, self.q)


# ---- the priors --------------------------------------------------------------------------------


@dataclass(frozen=True)
class HDP(_GammaProcesses, _Single):
    """The hierarchical Dirichlet process: topics are shared by documents, without times.

    Parameters
    ----------
    a : float or Gamma
        Concentration of documents: the larger, the more a document's topics are those of all.
    a0 : float or Gamma
        Concentration of topics: the larger, the more topics.

    Examples
    --------
    >>> from evermix.topics.hierarchies import HDP
    >>> HDP(a=1.0, a0=0.5).timed
    False
    """


@dataclass(frozen=True)
class HNGG(_GeneralisedProcesses, _Single):
    """Two levels of normalised generalised gamma processes, without times.

    Parameters
    ----------
    sigma, sigma0 : float or Beta
        Index of the processes of documents and of topics, in [0, 1): larger ones have more small
        topics. 0 are gamma processes.
    M, M0 : float, Gamma or None
        Masses; the paper's parameter.
    a, a0 : float, Gamma or None
        The same as a = sigma M, which is the one that gamma processes have. None for both is
        ``Gamma(0.1, 0.1)`` for M, or for a if sigma is 0.
    """


@dataclass(frozen=True)
class HSNGG(_GeneralisedProcesses, _Spatial):
    """Topics over time: a time sees the regions of the times around it.

    Parameters
    ----------
    window : int
        How many regions before and after its own a time sees.
    sigma, M, a, sigma0, M0, a0
        See :class:`HNGG`.
    """


@dataclass(frozen=True)
class HMNGG(_GeneralisedProcesses, _Mixed):
    """Topics over time: times mix the processes of regions with weights of their own.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    q : float or Gamma
        Weight of each region at each time.
    sigma, M, a, sigma0, M0, a0
        See :class:`HNGG`.
    """


@dataclass(frozen=True)
class HMNGP(_GammaProcesses, _Mixed):
    """Topics over time: times mix gamma processes; :class:`HMNGG` with both indices 0.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    q : float or Gamma
        Weight of each region at each time.
    a, a0 : float or Gamma
        Masses of the processes of documents and of regions.
    """


@dataclass(frozen=True)
class HTNGG(_GeneralisedProcesses, _Thinned):
    """Topics over time: each topic is there at some times and not at others.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    q : float or Beta
        Probability, for each region and time, that a topic is there.
    sigma, M, a, sigma0, M0, a0
        See :class:`HNGG`.
    """


@dataclass(frozen=True)
class HTNGP(_GammaProcesses, _Thinned):
    """Topics over time: topics of gamma processes come and go; :class:`HTNGG` with both indices 0.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    q : float or Beta
        Probability, for each region and time, that a topic is there.
    a, a0 : float or Gamma
        Masses of the processes of documents and of regions.
    """


@dataclass(frozen=True)
class Flat(Hierarchy):
    """No hierarchy: every document is a time of a dependent measure, and its words choose topics.

    Parameters
    ----------
    prior : MNGG or TNGG
        With 20 regions if it does not say how many.
    """

    prior: MNGG | TNGG

    timed: ClassVar[bool] = False
    flat: ClassVar[bool] = True

    @property
    def top(self) -> DependentPrior:
        """The law of the measures of documents."""
        return replace(self.prior, regions=self.prior.regions or REGIONS)

    def seating(self, n: Array) -> Seating | Unseated:
        """Return no law of tables."""
        del n
        return Unseated()


HIERARCHIES: dict[str, type[_Levels]] = {
    cls.__name__: cls for cls in (HDP, HMNGG, HMNGP, HNGG, HSNGG, HTNGG, HTNGP)
}
"""The priors of hierarchical topic models, by the name that a file stores."""
