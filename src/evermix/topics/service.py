"""Words and tables that choose dishes one after another, and the buffers that grow with them."""

import numpy as np

from evermix._xp import Array
from evermix.kernels import flat, franchise, indicators
from evermix.kernels.menu import (
    BORN,
    CHUNK,
    DONE,
    MORE_DISHES,
    MORE_TABLES,
    Menu,
    Novelties,
)
from evermix.kernels.stirling import seat_ratios
from evermix.topics.corpus import Corpus
from evermix.topics.franchise import Franchise
from evermix.topics.measures import Occupancy, Offers
from evermix.topics.seating import Seating

__all__ = ["FlatService", "IndicatorService", "SeatedService"]

MOST_TABLES = 16  # tables of a dish in a document that there is room for at first


class _Service:
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
            chain.totals(),
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
        self.chain.settle(region, on)


class IndicatorService(_Service):
    """Words without seats."""

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        chain, seating = self.chain, self._seating
        chain.table[:] = -1
        ratios, card = self._ratios(MOST_TABLES), self._card()
        d, w, why = 0, 0, MORE_DISHES
        while why != DONE:
            d, w, self.K, self.n_holes, why = indicators.indicator_pass(
                self.words, self.novelties, self.menu, card, ratios, seating.u, seating.a,
                seating.sigma, d, w, self.K, self.n_holes, rng,
            )  # fmt: skip
            if why == MORE_DISHES:
                self._grow()
                card = self._card()
            elif why == MORE_TABLES:
                ratios = self._ratios(2 * ratios.shape[1])
            elif why == BORN:
                self._bear(int(chain.dish[w - 1]), d, rng)
        self._settle()

    def _ratios(self, t_max: int) -> Array:
        """Ratios of Stirling numbers, for up to t_max tables of a dish in a document."""
        n_max = int(self.corpus.lengths.max())
        ratios = np.empty((n_max + 1, min(t_max, n_max + 1) + 1, 2))
        seat_ratios(self._seating.sigma, ratios)
        return ratios

    def _card(self) -> indicators.Card:
        C, chain = self.menu.totals.size, self.chain
        n, t = np.empty((2, C), dtype=np.int64)
        return indicators.Card(chain.dish, chain.opens, n, t, *_worth(C))


class SeatedService(_Service):
    """Words that sit at tables."""

    def run(self, rng: np.random.Generator) -> None:
        """Let all words choose tables, then all tables dishes."""
        chain, seating = self.chain, self._seating
        tables, d, w, why = self._tables(), 0, 0, MORE_DISHES
        while why != DONE:
            d, w, self.K, self.n_holes, why = franchise.seat_pass(
                self.words, self.novelties, self.menu, tables, seating.u, seating.a,
                seating.sigma, d, w, self.K, self.n_holes, rng,
            )  # fmt: skip
            if why == MORE_DISHES:
                self._grow()
                tables = self._tables()
            elif why == BORN:
                self._bear(int(chain.dish[w - 1]), d, rng)
        self._reorder(tables, rng)
        self._settle()

    def _reorder(self, tables: franchise.Tables, rng: np.random.Generator) -> None:
        d, table, why = 0, 0, MORE_DISHES
        while why != DONE:
            d, table, self.K, self.n_holes, why, k = franchise.order_pass(
                self.words, self.novelties, self.menu, tables, d, table, self.K, self.n_holes, rng
            )
            if why == MORE_DISHES:
                self._grow()
                tables = self._tables()
            elif why == BORN:
                self._bear(k, d, rng)

    def _tables(self) -> franchise.Tables:
        C, chain, L = self.menu.totals.size, self.chain, int(self.corpus.lengths.max())
        n, order, block = np.empty((3, L + 1), dtype=np.int64)
        member = np.empty(L, dtype=np.int64)
        words, tables = np.empty((2, C), dtype=np.int64)
        return franchise.Tables(
            chain.dish, chain.table, chain.opens, n, order, block, member, words, tables,
            *_worth(C), *np.ones((2, C)),
        )  # fmt: skip


class FlatService(_Service):
    """Words that choose dishes themselves."""

    def run(self, rng: np.random.Generator) -> None:
        """Visit all words."""
        chain = self.chain
        choices, d, w, why = self._choices(), 0, 0, MORE_DISHES
        while why != DONE:
            d, w, self.K, self.n_holes, why = flat.flat_pass(
                self.words, self.novelties, self.menu, choices, d, w, self.K, self.n_holes, rng
            )
            if why == MORE_DISHES:
                self._grow()
                choices = self._choices()
            elif why == BORN:
                self._bear(int(chain.dish[w - 1]), d, rng)
        self._settle()

    def _choices(self) -> flat.Choices:
        return flat.Choices(self.chain.dish, *np.empty((2, self.menu.totals.size)))


def _capacity(K: int) -> int:
    """Number of slots for K dishes and some more, in whole chunks."""
    return CHUNK * (3 * K // (2 * CHUNK) + 1)


def _worth(C: int) -> tuple[Array, Array, Array]:
    """Return room for what dishes are worth in a document, and for sums over chunks of them."""
    return np.zeros(C), np.zeros(C), np.zeros(C // CHUNK)


def _grown(x: Array, shape: tuple[int, ...]) -> Array:
    """Return x in the first places of an array of zeros."""
    if x.shape == shape:
        return x
    grown: Array = np.zeros(shape, dtype=x.dtype)
    grown[tuple(slice(0, n) for n in x.shape)] = x
    return grown
