"""Samplers of topic models: words, tables and documents."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from evermix._xp import Floats
from evermix.engines.settings import check_switch
from evermix.topics.measures import Measure, Mixed, Occupancy, Offers, Thinned
from evermix.topics.measures.thinned import MAX_TIMES
from evermix.topics.priors import WEAK_GAMMA, PlainSettings
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.starts import begin
from evermix.topics.words.sweeps import DirectSweep, IndicatorSweep, SeatedSweep
from evermix.topics.words.tables import SlicedSweep, switch_topics

MIXED_SWEEPS = 40  # before the first one of a thinned measure without hierarchy


@dataclass(frozen=True)
class WordSampler(PlainSettings, ABC):
    """One way to move the words of all documents, and everything else that is learnt."""

    jumps: bool | None = None

    def __post_init__(self) -> None:
        if self.jumps is not None:
            check_switch("jumps", self.jumps)

    def sweep(self, corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
        """Move everything once.   Consumes: chain."""
        if chain.started:
            self._go_on(corpus, chain, rng)
        else:
            self._begin(corpus, chain, rng)

    def _go_on(self, corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
        """Make a sweep, where all words have topics."""
        by_time, by_document = chain.tables(corpus)
        atoms = Occupancy.of(by_time, chain.region, chain.on)
        log_seats = partial(chain.log_seats, corpus)
        chain.seating.update(corpus.lengths, by_document, log_seats, rng)
        chain.measure.update(atoms, rng)
        chain.region, chain.on = atoms.region, atoms.on
        chain.move_beta(corpus, rng)
        self.move(corpus, chain, atoms, rng)

    def _begin(self, corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
        """Give all words topics and tables, and make the first sweep.

        Where there is a past, words arrive at its topics, at small ones more readily than in later
        sweeps: from large topics it takes them many sweeps to come there. Otherwise topics of
        thinned measures are on wherever they can be: newborn ones have small jumps, and are off
        nearly everywhere, so that as long as there are no others, words would open thousands that
        never meet.
        """
        if chain.past is not None:
            self.move(corpus, chain, chain.occupancy(corpus), rng)
            return
        begin(corpus, chain, rng)
        self._go_on(corpus, chain, rng)

    def offers(self, chain: Franchise, atoms: Occupancy, rng: np.random.Generator) -> Offers:
        """Return what tables may choose.   Consumes: atoms."""
        offers = chain.measure.offers(atoms, self._has_jumps(chain), rng)
        arrive = chain.past is not None and not chain.started
        return offers.evened(atoms.sizes) if arrive else offers

    def switch(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move where topics of thinned measures are on, with what tables there order.

        Consumes: chain, atoms.
        """
        if chain.started and isinstance(chain.measure, Thinned) and self._has_jumps(chain):
            switch_topics(corpus, chain, atoms, rng)

    def _has_jumps(self, chain: Franchise) -> bool:
        """Whether topics have jumps while words move."""
        return isinstance(chain.measure, Thinned) if self.jumps is None else self.jumps

    def _marginal(self) -> Self:
        """Return the same sampler with all jumps integrated out."""
        return replace(self, jumps=False)

    def check(self, measure: Measure) -> None:
        """Raise if this sampler cannot move the measure."""
        many = measure.n_times > MAX_TIMES
        if self.jumps is False and many and isinstance(measure, Thinned):
            raise ValueError(
                f"{self!r} visits all 2^T sets of times of thinned measures, and is meant for at "
                f"most {MAX_TIMES} times, got {measure.n_times}. Leave out jumps=False."
            )

    @abstractmethod
    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move the words.   Consumes: chain, atoms."""


@dataclass(frozen=True)
class H1(WordSampler):
    """The Chinese restaurant franchise: words sit at tables, and tables order topics. The default.

    Whole tables move too, so that topics can be exchanged at once.

    Parameters
    ----------
    jumps : bool or None
        Whether topics have explicit jumps while words move, or all are integrated out. None: they
        have for thinned measures (HTNGG, HTNGP).
    slices : bool
        Whether tables choose topics by slices: among those whose jumps lie above a random level,
        where topics without tables are drawn too. Words move as they do with ``jumps=True``, which
        this implies.
    """

    slices: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_switch("slices", self.slices)
        if self.slices and self.jumps is False:
            raise ValueError("slices need jumps: leave out jumps=False, or give slices=False.")

    def _has_jumps(self, chain: Franchise) -> bool:
        return self.slices or super()._has_jumps(chain)

    def _marginal(self) -> Self:
        return replace(self, jumps=False, slices=False)

    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move words, then tables."""
        if chain.started and not chain.seated:
            raise ValueError("this chain has no seats: it was moved by H2.")
        self.switch(corpus, chain, atoms, rng)
        words = SlicedSweep if self.slices else SeatedSweep
        words(corpus, chain, atoms, self.offers(chain, atoms, rng)).run(rng)


@dataclass(frozen=True)
class H2(WordSampler):
    """Table indicators: seats are summed over, and only numbers of tables are kept.

    With as many topics a sweep is faster than one of :class:`H1`; tables do not move as a whole, so
    that topics which are the same come together slowly. Topics of thinned measures that are off at
    a time come back slowly too, since only whole tables can bring them.

    Parameters
    ----------
    jumps : bool or None
        See :class:`H1`.
    """

    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move the words."""
        IndicatorSweep(corpus, chain, atoms, self.offers(chain, atoms, rng)).run(rng)


@dataclass(frozen=True)
class Direct(WordSampler):
    """Words choose topics themselves, for models without hierarchy.

    Parameters
    ----------
    jumps : bool or None
        See :class:`H1`.
    """

    def _begin(self, corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
        """Make the first sweep without jumps; that of a thinned measure begins with mixed ones.

        If all topics were on at all times, nothing would distinguish documents, nor topics.
        """
        measure = chain.measure
        if not isinstance(measure, Thinned):
            self._marginal().move(corpus, chain, chain.occupancy(corpus), rng)
            return
        if measure.laws.q is None:
            there: Floats = (measure.q > 0.0).astype(np.float64)
            chain.measure = Mixed(measure.laws, measure.sigma, measure.mass, there, measure.u)
            self._marginal().move(corpus, chain, chain.occupancy(corpus), rng)
            chain.measure, chain.on = measure, np.ascontiguousarray(there[chain.region].T > 0.0)
            return
        laws, weights = measure.laws._replace(q=WEAK_GAMMA), np.ones(measure.q.shape)
        chain.measure = Mixed(laws, measure.sigma, measure.mass, weights, measure.u)
        for _ in range(MIXED_SWEEPS):
            self._marginal().sweep(corpus, chain, rng)
        measure.assign(chain.measure.arrays() | {"q": measure.q})
        chain.measure, chain.on = measure, chain.tables(corpus)[0] > 0

    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move the words."""
        self.switch(corpus, chain, atoms, rng)
        DirectSweep(corpus, chain, atoms, self.offers(chain, atoms, rng)).run(rng)


WORD_SAMPLERS: dict[str, type[WordSampler]] = {cls.__name__: cls for cls in (Direct, H1, H2)}
"""The samplers of topic models, by the name that a file stores."""
