"""Sweeps over all words, which choose dishes one after another, and buffers that grow with them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Array, Floats, Ints
from evermix.kernels.stirling import seat_ratios
from evermix.kernels.topics.dishes import (
    BORN,
    CHUNK,
    DONE,
    MORE_DISHES,
    MORE_TABLES,
    Dishes,
    NewDishes,
    Position,
    WordTopics,
    room_for_weights,
)
from evermix.kernels.topics.franchise import DocumentTables, seat_pass
from evermix.kernels.topics.indicators import (
    DirectChoices,
    DocumentCounts,
    direct_pass,
    indicator_pass,
)
from evermix.kernels.topics.orders import order_pass
from evermix.topics.measures import Occupancy, Offers
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.seating import Seating
from evermix.topics.words.slots import Slots

Step = Callable[[Position, np.random.Generator], Position]
"""A pass over words or tables, from where it stopped."""

FIRST_TABLES = 16  # tables of a dish in a document that there is room for at first


class WordSweep(ABC):
    """A sweep over all words, and its buffers; dishes have jumps where the offers need them."""

    dense: ClassVar[bool] = False  # whether an array of words by dishes is needed beside lists

    def __init__(self, corpus: Corpus, chain: Franchise, atoms: Occupancy, offers: Offers) -> None:
        self.corpus, self.chain = corpus, chain
        # Words that are not there cost nothing: a row for each word that is.
        kinds, which = corpus.kinds
        self.words = corpus.words(chain.beta)._replace(word=which)
        # One more table at time t: u_t, over the number of tables there, which the loops know.
        self.log_u = np.log(chain.measure.u)[:, None]
        new = np.exp(offers.new + self.log_u)
        self.new_dishes = NewDishes(new, new.sum(axis=1), np.exp(offers.newborn + self.log_u))
        slots = chain.slots or self._filled(kinds)
        chain.slots = None  # they are this sweep's
        self.K, empty = slots.used, slots.empty
        self.n_holes = len(empty)
        if len(empty):
            chain.dish = slots.place.astype(np.int32).take(chain.dish)
        self.on = slots.spread(atoms.on)
        self.dishes = Dishes(
            slots.counts,
            slots.lists,
            slots.totals,
            slots.spread(atoms.sizes.astype(np.int64)),
            slots.spread(np.exp(offers.atoms + self.log_u)),
            slots.spread(offers.kind.astype(np.int64)),
            empty,
            atoms.n.astype(np.int64),
            float(offers.discount),
        )
        self._make_room(slots.totals.size)

    def _filled(self, kinds: Ints) -> Slots:
        """Return slots that hold the words of all dishes."""
        K, counts = self.chain.K, self.chain.counts(self.corpus)
        sizes = np.bincount(counts.indices, counts.data, minlength=_capacity(K))
        some = counts[kinds]
        entries = _slots(some, len(sizes) if self.dense else 0, sizes.sum())
        return Slots(entries, self._lists(some), sizes.astype(np.int64), np.arange(K), K)

    def _lists(self, counts: Array) -> WordTopics:
        """Return the topics of each word, from a CSR matrix (U, K) with sorted columns."""
        n = np.bincount(self.words.word, minlength=counts.shape[0])
        if self.chain.past is not None:
            n += np.diff(self.chain.past.counts.indptr)[self.corpus.kinds[0]]
        return topics_of_words(counts, np.append(0, np.cumsum(n)))

    @property
    def hybrid(self) -> bool:
        """Whether dishes have jumps."""
        return self.dishes.discount < 0.0

    @property
    def _seating(self) -> Seating:
        seating = self.chain.seating
        assert isinstance(seating, Seating)
        return seating

    def _grow(self) -> None:
        """Make room for more dishes."""
        self._make_room(_capacity(self.K))

    def _make_room(self, C: int) -> None:
        """Make room for so many dishes, at least as many as there is room for."""
        old = self.dishes
        T, U = self.corpus.n_times, len(old.counts)
        self.dishes = Dishes(
            _grown(old.counts, (U, C if self.dense else 0)),
            old.lists,
            _grown(old.totals, (C,)),
            _grown(old.tables, (C,)),
            _grown(old.share, (T, C)),
            _grown(old.kind, (C,)),
            _grown(old.holes, (C,)),
            old.open,
            old.discount,
        )
        self.on = _grown(self.on, (T, C))
        self.scratch = self._scratch()

    @abstractmethod
    def _scratch(self) -> Any:
        """Return scratch for one document, for as many dishes as there are slots."""

    def _visit(self, step: Step, rng: np.random.Generator) -> None:
        """Go on with a loop that stops where dishes need room, or a newborn one its jump."""
        at = Position(0, 0, self.K, self.n_holes, MORE_DISHES)
        while at.why != DONE:
            at = step(at, rng)
            self.K, self.n_holes = at.K, at.n_holes
            if at.why == MORE_DISHES:
                self._grow()
            elif at.why == BORN:
                self._give_jump(at.born, int(self.corpus.order[at.d]), rng)

    def _give_jump(self, k: int, d: int, rng: np.random.Generator) -> None:
        """Give a newborn dish of document d its jump."""
        t = int(self.corpus.time[d])
        born = self.chain.measure.newborn(int(self.dishes.kind[k]), t, rng)
        self.dishes.share[:, k] = np.exp(born.log_weight + self.log_u[:, 0])
        self.on[:, k] = born.on

    def _finish(self) -> None:
        """Put regions and times on of the dishes into the chain."""
        kind, on = self.dishes.kind[: self.K], self.on[:, : self.K]
        if not self.hybrid:
            region, on = self.chain.measure.unfold(kind)
        else:
            region = kind
        totals, old = self.dishes.totals[: self.K], self.dishes
        self.chain.renumber(totals, region, on)
        if self.chain.past is not None:
            place = np.flatnonzero(totals)
            self.chain.slots = Slots(old.counts, old.lists, old.totals, place, self.K)


class IndicatorSweep(WordSweep):
    """Words without seats."""

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        if self.chain.seated:
            self.chain.table = np.full_like(self.chain.table, -1)
        self.ratios = self._ratios(FIRST_TABLES)
        self._visit(self._step, rng)
        self._finish()

    def _step(self, at: Position, rng: np.random.Generator) -> Position:
        seating = self._seating
        at = indicator_pass(
            self.words, self.new_dishes, self.dishes, self.scratch, self.ratios,
            seating.u, seating.a, seating.sigma, at, rng,
        )  # fmt: skip
        if at.why == MORE_TABLES:
            self.ratios = self._ratios(2 * self.ratios.shape[1])
        return at

    def _ratios(self, t_max: int) -> Floats:
        """Ratios of Stirling numbers, for up to t_max tables of a dish in a document."""
        n_max = int(self.corpus.lengths.max())
        ratios = np.empty((n_max + 1, min(t_max, n_max + 1) + 1, 2))
        seat_ratios(self._seating.sigma, ratios)
        return ratios

    def _scratch(self) -> DocumentCounts:
        C, chain = self.dishes.totals.size, self.chain
        n, t = np.empty((2, C), dtype=np.int64)
        return DocumentCounts(chain.dish, chain.opens, n, t, room_for_weights(C))


class SeatedSweep(WordSweep):
    """Words that sit at tables."""

    def run(self, rng: np.random.Generator) -> None:
        """Let all words choose tables, then all tables dishes."""
        self._visit(self._seat, rng)
        self._move_tables(rng)
        self._finish()

    def _seat(self, at: Position, rng: np.random.Generator) -> Position:
        seating = self._seating
        return seat_pass(
            self.words, self.new_dishes, self.dishes, self.scratch,
            seating.u, seating.a, seating.sigma, at, rng,
        )  # fmt: skip

    def _move_tables(self, rng: np.random.Generator) -> None:
        self._visit(self._order, rng)

    def _order(self, at: Position, rng: np.random.Generator) -> Position:
        return order_pass(self.words, self.new_dishes, self.dishes, self.scratch, at, rng)

    def _scratch(self) -> DocumentTables:
        C, chain, L = self.dishes.totals.size, self.chain, int(self.corpus.lengths.max())
        n, order, block = np.empty((3, L + 1), dtype=np.int64)
        member = np.empty(L, dtype=np.int64)
        words, tables = np.empty((2, C), dtype=np.int64)
        return DocumentTables(
            chain.dish, chain.table, chain.opens, n, order, block, member, words, tables,
            room_for_weights(C), np.ones(C),
        )  # fmt: skip


class DirectSweep(WordSweep):
    """Words that choose dishes themselves."""

    dense = True

    def _lists(self, counts: Array) -> WordTopics:
        """Return no lists: words look at all topics."""
        none = np.empty(0, dtype=np.int32)
        return WordTopics(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), none, none)

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        self._visit(self._step, rng)
        self._finish()

    def _step(self, at: Position, rng: np.random.Generator) -> Position:
        return direct_pass(self.words, self.new_dishes, self.dishes, self.scratch, at, rng)

    def _scratch(self) -> DirectChoices:
        return DirectChoices(self.chain.dish, room_for_weights(self.dishes.totals.size))


def _slots(counts: Array, capacity: int, n_words: float) -> NDArray[Any]:
    """Return counts (U, K) as an array, with some empty slots after them; none for no slots."""
    if capacity == 0:
        return np.empty((counts.shape[0], 0), dtype=np.float32)
    # Numbers up to 2^24 are exact in single precision, which takes half the memory.
    dtype = np.float32 if n_words <= 2**24 else np.float64
    entries = counts.data.astype(dtype), counts.indices, counts.indptr
    slots: NDArray[Any] = sparse.csr_matrix(entries, shape=(counts.shape[0], capacity)).toarray()
    return slots


def topics_of_words(counts: Array, start: Ints) -> WordTopics:
    """Return the topics of each word, those with most words first.

    ``counts`` is a CSR matrix (U, K) of int32 with sorted columns, ``start`` (U + 1,) where lists
    begin, with room for the topics of the word at least.
    """
    n = np.diff(counts.indptr)
    topic, often = np.zeros((2, start[-1]), dtype=np.int32)
    most = int(counts.data.max(initial=0)) + 1
    order = np.argsort(np.repeat(np.arange(len(n)) * most, n) - counts.data, kind="stable")
    place = np.arange(len(order)) + np.repeat(start[:-1] - counts.indptr[:-1], n)
    topic[place], often[place] = counts.indices[order], counts.data[order]
    return WordTopics(start, start[:-1] + n, topic, often)


def _capacity(K: int) -> int:
    """Number of slots for K dishes and some more, in whole chunks."""
    return CHUNK * (3 * K // (2 * CHUNK) + 1)


def _grown(x: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return x in the first places of an array of zeros."""
    if x.shape == shape:
        return x
    grown: NDArray[Any] = np.zeros(shape, dtype=x.dtype)
    grown[tuple(slice(0, n) for n in x.shape)] = x
    return grown
