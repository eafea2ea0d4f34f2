"""Samplers of hierarchical topic models: words, tables and documents."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from evermix.topics.corpus import Corpus
from evermix.topics.franchise import Franchise
from evermix.topics.measures import Mixed, Occupancy, Offers
from evermix.topics.service import IndicatorService, SeatedService

__all__ = ["H1", "H2", "WordSampler"]


@dataclass(frozen=True)
class WordSampler(ABC):
    """One way to move the words of all documents, and everything else that is learnt."""

    def sweep(self, corpus: Corpus, chain: Franchise, rng: np.random.Generator) -> None:
        """Move everything once.   Consumes: chain."""
        by_time, by_document = chain.tables(corpus)
        atoms = Occupancy.of(by_time, chain.region, chain.on)
        if chain.started:
            blocks = partial(chain.blocks, corpus)
            chain.seating.update(corpus.lengths, by_document, blocks, rng)
            chain.measure.update(atoms, rng)
            chain.region, chain.on = atoms.region, atoms.on
        self.move(corpus, chain, atoms, rng)

    def offers(self, chain: Franchise, atoms: Occupancy, rng: np.random.Generator) -> Offers:
        """Return what tables may choose: jumps are integrated out where that is cheap."""
        if isinstance(chain.measure, Mixed):
            return chain.measure.marginal(atoms)
        chain.measure.draw_jumps(atoms, rng)
        return chain.measure.hybrid(atoms)

    @abstractmethod
    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move the words.   Consumes: chain, atoms."""

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the sampler that :meth:`to_spec` described."""
        return cls(**spec)


@dataclass(frozen=True)
class H1(WordSampler):
    """The Chinese restaurant franchise: words sit at tables, and tables order topics.

    Whole tables move too, so that topics can be exchanged at once.
    """

    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move words, then tables."""
        if chain.started and not chain.seated:
            raise ValueError("this chain has no seats: it was moved by H2.")
        SeatedService(corpus, chain, atoms, self.offers(chain, atoms, rng)).run(rng)


@dataclass(frozen=True)
class H2(WordSampler):
    """Table indicators: seats are summed over, and only numbers of tables are kept. The default.

    Faster than :class:`H1`, and words move more freely; tables do not move as a whole.
    """

    def move(
        self, corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
    ) -> None:
        """Move the words."""
        IndicatorService(corpus, chain, atoms, self.offers(chain, atoms, rng)).run(rng)
