"""Words and tables that choose dishes one after another, and the buffers that grow with them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.kernels.stirling import seat_ratios
from evermix.kernels.topics import flat, franchise, indicators
from evermix.kernels.topics.dishes import (
    BORN,
    CHUNK,
    DONE,
    MORE_DISHES,
    MORE_TABLES,
    Menu,
    Novelties,
    Place,
    Worth,
)
from evermix.topics.measures import Occupancy, Offers
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.seating import Seating

Step = Callable[[Place, np.random.Generator], Place]

MOST_TABLES = 16  # tables of a dish in a document that there is room for at first


class _Service(ABC):
    """Buffers of a sweep over all words.

    Parameters
    ----------
    corpus : Corpus
    chain : Franchise
    atoms : Occupancy
        The dishes of the chain, with jumps where the offers say so.
    offers : Offers
    """

    def __init__(self, corpus: Corpus, chain: Franchise, atoms: Occupancy, offers: Offers) -> None:
        self.corpus, self.chain = corpus, chain
        self.words = corpus.words(chain.beta)
        # One more table at time t: u_t, over the number of tables there, which the loops know.
        self.log_u = np.log(chain.measure.u)[:, None]
        new = np.exp(offers.new + self.log_u)
        self.novelties = Novelties(new, new.sum(axis=1), np.exp(offers.newborn + self.log_u))
        self.K, self.n_holes = chain.K, 0
        self.on = atoms.on
        counts = chain.counts(corpus, _capacity(chain.K))
        self.menu = Menu(
            counts,
            counts.sum(axis=0).astype(np.int64),
            atoms.sizes.astype(np.int64),
            np.exp(offers.atoms + self.log_u),
            offers.kind.astype(np.int64),
            np.zeros(0, dtype=np.int64),
            atoms.n.astype(np.int64),
            float(offers.discount),
        )
        self._grow()

    @property
    def hybrid(self) -> bool:
        """Whether dishes have jumps."""
        return self.menu.discount < 0.0

    @property
    def _seating(self) -> Seating:
        seating = self.chain.seating
        assert isinstance(seating, Seating)
        return seating

    def _grow(self) -> None:
        """Make room for more dishes."""
        C, menu = _capacity(self.K), self.menu
        T, V = self.corpus.n_times, self.corpus.size
        self.menu = Menu(
            _grown(menu.counts, (V, C)),
            _grown(menu.totals, (C,)),
            _grown(menu.tables, (C,)),
            _grown(menu.share, (T, C)),
            _grown(menu.kind, (C,)),
            _grown(menu.holes, (C,)),
            menu.open,
            menu.discount,
        )
        self.on = _grown(self.on, (T, C))
        self.scratch = self._room()

    @abstractmethod
    def _room(self) -> Any:
        """Return scratch for one document, for as many dishes as the menu has slots."""

    def _visit(self, step: Step, rng: np.random.Generator) -> None:
        """Go on with a loop that stops where dishes need room, or a newborn one its jump."""
        at = Place(0, 0, self.K, self.n_holes, MORE_DISHES)
        while at.why != DONE:
            at = step(at, rng)
            self.K, self.n_holes = at.K, at.n_holes
            if at.why == MORE_DISHES:
                self._grow()
            elif at.why == BORN:
                self._bear(at.born, at.d, rng)

    def _bear(self, k: int, d: int, rng: np.random.Generator) -> None:
        """Give a newborn dish of document d its jump."""
        t = int(self.corpus.time[d])
        born = self.chain.measure.newborn(int(self.menu.kind[k]), t, rng)
        self.menu.share[:, k] = np.exp(born.log_weight + self.log_u[:, 0])
        self.on[:, k] = born.on

    def _settle(self) -> None:
        """Leave the chain where the words are."""
        kind, on = self.menu.kind[: self.K], self.on[:, : self.K]
        if not self.hybrid:
            region, on = self.chain.measure.unfold(kind)
        else:
            region = kind
        self.chain.settle(self.menu.totals[: self.K], region, on)


class IndicatorService(_Service):
    """Words without seats."""

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        self.chain.table[:] = -1
        self.ratios = self._ratios(MOST_TABLES)
        self._visit(self._step, rng)
        self._settle()

    def _step(self, at: Place, rng: np.random.Generator) -> Place:
        seating = self._seating
        at = indicators.indicator_pass(
            self.words, self.novelties, self.menu, self.scratch, self.ratios,
            seating.u, seating.a, seating.sigma, at, rng,
        )  # fmt: skip
        if at.why == MORE_TABLES:
            self.ratios = self._ratios(2 * self.ratios.shape[1])
        return at

    def _ratios(self, t_max: int) -> Array:
        """Ratios of Stirling numbers, for up to t_max tables of a dish in a document."""
        n_max = int(self.corpus.lengths.max())
        ratios = np.empty((n_max + 1, min(t_max, n_max + 1) + 1, 2))
        seat_ratios(self._seating.sigma, ratios)
        return ratios

    def _room(self) -> indicators.Card:
        C, chain = self.menu.totals.size, self.chain
        n, t = np.empty((2, C), dtype=np.int64)
        return indicators.Card(chain.dish, chain.opens, n, t, _worth(C))


class SeatedService(_Service):
    """Words that sit at tables."""

    def run(self, rng: np.random.Generator) -> None:
        """Let all words choose tables, then all tables dishes."""
        self._visit(self._seat, rng)
        self._reorder(rng)
        self._settle()

    def _seat(self, at: Place, rng: np.random.Generator) -> Place:
        seating = self._seating
        return franchise.seat_pass(
            self.words, self.novelties, self.menu, self.scratch,
            seating.u, seating.a, seating.sigma, at, rng,
        )  # fmt: skip

    def _reorder(self, rng: np.random.Generator) -> None:
        self._visit(self._order, rng)

    def _order(self, at: Place, rng: np.random.Generator) -> Place:
        return franchise.order_pass(self.words, self.novelties, self.menu, self.scratch, at, rng)

    def _room(self) -> franchise.Tables:
        C, chain, L = self.menu.totals.size, self.chain, int(self.corpus.lengths.max())
        n, order, block = np.empty((3, L + 1), dtype=np.int64)
        member = np.empty(L, dtype=np.int64)
        words, tables = np.empty((2, C), dtype=np.int64)
        return franchise.Tables(
            chain.dish, chain.table, chain.opens, n, order, block, member, words, tables,
            _worth(C), np.ones(C),
        )  # fmt: skip


class FlatService(_Service):
    """Words that choose dishes themselves."""

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        self._visit(self._step, rng)
        self._settle()

    def _step(self, at: Place, rng: np.random.Generator) -> Place:
        return flat.flat_pass(self.words, self.novelties, self.menu, self.scratch, at, rng)

    def _room(self) -> flat.Choices:
        return flat.Choices(self.chain.dish, _worth(self.menu.totals.size))


def _capacity(K: int) -> int:
    """Number of slots for K dishes and some more, in whole chunks."""
    return CHUNK * (3 * K // (2 * CHUNK) + 1)


def _worth(C: int) -> Worth:
    """Return room for what C dishes are worth in a document."""
    return Worth(*np.zeros((3, C)))


def _grown(x: Array, shape: tuple[int, ...]) -> Array:
    """Return x in the first places of an array of zeros."""
    if x.shape == shape:
        return x
    grown: Array = np.zeros(shape, dtype=x.dtype)
    grown[tuple(slice(0, n) for n in x.shape)] = x
    return grown
