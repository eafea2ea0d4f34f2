"""Priors of hierarchical topic models, as plain values.

Every document has a normalised generalised gamma process of its own, whose base measure is that of
its time. The numbers of the processes of documents are ``sigma``, ``M`` and ``a``; those of the
measures above them are ``sigma0``, ``M0`` and ``a0``. Each is fixed (a float) or learnt (a law,
``Gamma`` or ``Beta``); the paper's weak laws are the defaults, but for the
weights of mixed regions.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from evermix._xp import Floats, Ints
from evermix.priors.hyper import Beta, Gamma
from evermix.topics.measures import Measure
from evermix.topics.priors import (
    MNGG,
    SNGG,
    TNGG,
    WEAK_BETA,
    WEAK_GAMMA,
    DependentPrior,
    PlainSettings,
)
from evermix.topics.words.seating import Seating, Unseated, mode_of_u

FLAT_REGIONS = 20  # of models without hierarchy, as in the paper
FIRST_SIGMA = 0.1  # of documents, at most, where it is learnt; see HELD_SWEEPS
# The shape counts as so many tables of each region at each time. With the paper's 0.1 a time of few
# documents mixes few regions, and a subject that is always there is cut into topics of several
# regions, which take turns. Times of many documents outweigh either.
EVEN_GAMMA = Gamma(1.0, 1.0)


class Hierarchy(ABC):
    """A prior of the topics of documents."""

    timed: ClassVar[bool] = True
    """Whether documents need times."""

    flat: ClassVar[bool] = False
    """Whether every document is a time of its own, and words choose topics themselves."""

    @property
    @abstractmethod
    def top(self) -> DependentPrior:
        """The prior of the measures of times."""

    @abstractmethod
    def seating(self, n: Ints) -> Seating | Unseated:
        """Return a law of tables to start from, for documents of n (D,) words."""

    def measure(self, n: Floats) -> Measure:
        """Return a measure of dishes to start from, for times of n (T,) tables."""
        return self.top.measure(n)


class TwoLevels(PlainSettings, Hierarchy):
    """Processes of documents below the measures of times, each with numbers of its own."""

    def __post_init__(self) -> None:
        _ = self.top, self.below  # building them checks their numbers

    @property
    def top(self) -> DependentPrior:
        """The prior of the measures of times."""
        return self._checked("topics", self._top)

    @property
    def below(self) -> DependentPrior:
        """The prior of the process of a document."""
        return self._checked("documents", self._below)

    def _top(self) -> DependentPrior:
        return MNGG(1, *self._numbers("0"), q=1.0)

    def _below(self) -> DependentPrior:
        return MNGG(1, *self._numbers(""), q=1.0)

    def _numbers(self, level: str) -> tuple[Any, Any, Any]:
        """Return sigma, M and a of a level; gamma processes have a alone."""
        values = vars(self)
        a = values[f"a{level}"]
        if "sigma" not in values and a is None:
            raise TypeError(f"a{level} must be a number or em.Gamma, got None.")
        return values.get(f"sigma{level}", 0.0), values.get(f"M{level}"), a

    def seating(self, n: Ints) -> Seating | Unseated:
        """Return a law of tables to start from, for documents of n (D,) words."""
        one = self.below.measure(np.ones(1))
        sigma = one.sigma if one.laws.sigma is None else min(one.sigma, FIRST_SIGMA)
        seating = Seating(one.laws, sigma, float(one.mass[0]), np.empty(0))
        seating.u = mode_of_u(n, seating.a, sigma)
        return seating

    def _checked(self, level: str, build: Callable[[], DependentPrior]) -> DependentPrior:
        """Build a level; errors name it."""
        try:
            return build()
        except (TypeError, ValueError) as error:
            name = type(self).__name__
            raise type(error)(f"{name}, the process of {level}: {error}") from None


# ---- without times -------------------------------------------------------------------------


@dataclass(frozen=True)
class HDP(TwoLevels):
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

    a: float | Gamma = WEAK_GAMMA
    a0: float | Gamma = WEAK_GAMMA

    timed: ClassVar[bool] = False


@dataclass(frozen=True)
class HNGG(TwoLevels):
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

    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    sigma0: float | Beta = WEAK_BETA
    M0: float | Gamma | None = None
    a0: float | Gamma | None = None

    timed: ClassVar[bool] = False


# ---- over time -----------------------------------------------------------------------------


@dataclass(frozen=True)
class HSNGG(TwoLevels):
    """Topics over time: a time sees the regions of the times around it.

    Parameters
    ----------
    window : int
        How many regions before and after its own a time sees.
    sigma, M, a, sigma0, M0, a0
        See :class:`HNGG`.
    """

    window: int = 1
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    sigma0: float | Beta = WEAK_BETA
    M0: float | Gamma | None = None
    a0: float | Gamma | None = None

    def _top(self) -> DependentPrior:
        return SNGG(self.window, *self._numbers("0"))


@dataclass(frozen=True)
class HMNGG(TwoLevels):
    """Topics over time: times mix the processes of regions with weights of their own.

    Parameters
    ----------
    regions : int or None
        Number of regions; None for that of times.
    q : float or Gamma
        Weight of each region at each time. The smaller the shape of its law, the fewer regions a
        time mixes; the paper has ``Gamma(0.1, 0.1)``.
    sigma, M, a, sigma0, M0, a0
        See :class:`HNGG`.
    """

    regions: int | None = None
    q: float | Gamma = EVEN_GAMMA
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    sigma0: float | Beta = WEAK_BETA
    M0: float | Gamma | None = None
    a0: float | Gamma | None = None

    def _top(self) -> DependentPrior:
        return MNGG(self.regions, *self._numbers("0"), self.q)


@dataclass(frozen=True)
class HMNGP(TwoLevels):
    """Topics over time: times mix gamma processes; :class:`HMNGG` with both indices 0.

    Parameters
    ----------
    regions, q
        See :class:`HMNGG`.
    a, a0 : float or Gamma
        Masses of the processes of documents and of regions.
    """

    regions: int | None = None
    q: float | Gamma = EVEN_GAMMA
    a: float | Gamma = WEAK_GAMMA
    a0: float | Gamma = WEAK_GAMMA

    def _top(self) -> DependentPrior:
        return MNGG(self.regions, *self._numbers("0"), self.q)


@dataclass(frozen=True)
class HTNGG(TwoLevels):
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

    regions: int | None = None
    q: float | Beta = WEAK_BETA
    sigma: float | Beta = WEAK_BETA
    M: float | Gamma | None = None
    a: float | Gamma | None = None
    sigma0: float | Beta = WEAK_BETA
    M0: float | Gamma | None = None
    a0: float | Gamma | None = None

    def _top(self) -> DependentPrior:
        return TNGG(self.regions, *self._numbers("0"), self.q)


@dataclass(frozen=True)
class HTNGP(TwoLevels):
    """Topics over time: topics of gamma processes come and go; :class:`HTNGG` with both indices 0.

    Parameters
    ----------
    regions, q
        See :class:`HTNGG`.
    a, a0 : float or Gamma
        Masses of the processes of documents and of regions.
    """

    regions: int | None = None
    q: float | Beta = WEAK_BETA
    a: float | Gamma = WEAK_GAMMA
    a0: float | Gamma = WEAK_GAMMA

    def _top(self) -> DependentPrior:
        return TNGG(self.regions, *self._numbers("0"), self.q)


# ---- without hierarchy ---------------------------------------------------------------------


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
        """The prior of the measures of documents."""
        return replace(self.prior, regions=self.prior.regions or FLAT_REGIONS)

    def seating(self, n: Ints) -> Seating | Unseated:
        """Return no law of tables."""
        del n
        return Unseated()


TOPIC_PRIORS: dict[str, type[TwoLevels] | type[MNGG] | type[TNGG]] = {
    cls.__name__: cls for cls in (HDP, HMNGG, HMNGP, HNGG, HSNGG, HTNGG, HTNGP, MNGG, TNGG)
}
"""The priors of topic models, by the name that a file stores."""
