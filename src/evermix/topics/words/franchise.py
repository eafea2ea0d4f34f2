"""A chain of a hierarchical topic model: where every word is, and what is learnt above it."""

from dataclasses import dataclass

import numpy as np

from evermix._xp import Array, gammaln
from evermix.kernels.stirling import log_stirling_sum
from evermix.kernels.topics.dishes import count_tables, count_words
from evermix.kernels.topics.indicators import count_portions
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.seating import Blocks, Seating, Unseated

FEWEST = 16  # tables of one dish in a document that are counted at first


@dataclass
class Franchise:
    """Where a chain stands.

    Attributes
    ----------
    measure : Measure
        The law of dishes; its observations are tables.
    seating : Seating or Unseated
        The law of tables in documents; with none, every word is a table of its own.
    beta : float
        Of the symmetric Dirichlet law of topics.
    dish : int32 array (N,)
        Dish (topic) of each word, 0..K-1; -1 before the first sweep.
    opens : bool array (N,)
        A word of each table: a document has as many tables of a dish as words that open one.
    table : int32 array (N,)
        Number of its table in the document; -1 where words have no seats.
    region : int64 array (K,)
        The region that each dish lies in.
    on : bool array (T, K)
        Whether it is there at each time.
    """

    measure: Measure
    seating: Seating | Unseated
    beta: float
    dish: Array
    opens: Array
    table: Array
    region: Array
    on: Array

    @property
    def K(self) -> int:
        """Number of dishes."""
        return len(self.region)

    @property
    def started(self) -> bool:
        """Whether words have dishes."""
        return len(self.dish) > 0 and bool(self.dish[0] >= 0)

    @property
    def seated(self) -> bool:
        """Whether words have seats."""
        return len(self.table) > 0 and bool(self.table[0] >= 0)

    def occupancy(self, corpus: Corpus) -> Occupancy:
        """Return the dishes as the measure sees them: counts are those of tables."""
        return Occupancy.of(self.tables(corpus)[0], self.region, self.on)

    def tables(self, corpus: Corpus) -> tuple[Array, Array]:
        """Return the number of tables of each dish at each time (T, K), and of documents (D,)."""
        if not self.started:
            shape = corpus.n_times, 0
            return np.zeros(shape, dtype=np.int64), np.zeros(corpus.n_documents, dtype=np.int64)
        by_time = np.zeros((corpus.n_times, self.K), dtype=np.int64)
        by_document = np.zeros(corpus.n_documents, dtype=np.int64)
        count_tables(corpus.words(self.beta), self.dish, self.opens, by_time, by_document)
        return by_time, by_document

    def counts(self, corpus: Corpus, capacity: int | None = None) -> Array:
        """Words of each dish, (V, K), or with some empty slots after them."""
        # Numbers up to 2^24 are exact in single precision, which takes half the memory.
        dtype = np.float32 if len(corpus) <= 2**24 else np.float64
        counts: Array = np.zeros((corpus.size, capacity or self.K), dtype=dtype)
        if self.started:
            count_words(corpus.words(self.beta), self.dish, counts)
        return counts

    def blocks(self, corpus: Corpus) -> Blocks:
        """Return the log of what seats, or sums over them, are worth, for a sigma."""
        if isinstance(self.seating, Unseated):
            return lambda sigma: 0.0
        return _seats(self, corpus) if self.seated else _sums_over_seats(self, corpus)

    def settle(self, totals: Array, region: Array, on: Array) -> None:
        """Take words (C,), regions (C,) and times on (T, C) of slots, and close gaps between."""
        used = totals > 0
        if not used.all():
            self.dish = (np.cumsum(used) - 1).astype(np.int32).take(self.dish)
        self.region, self.on = region[used].astype(np.int64), np.ascontiguousarray(on[:, used])

    def log_joint(self, corpus: Corpus) -> float:
        """Log density of words, dishes, tables and all that is learnt, up to a constant.

        It is that of logs of positive numbers, and of log odds of those below one.
        """
        n, tables = corpus.lengths, self.tables(corpus)[1]
        seating = self.seating.log_joint(n, tables, self.blocks(corpus))
        scales = self.seating.log_jacobian(n) + self.measure.log_jacobian()
        counts, beta = self.counts(corpus).astype(np.float64), self.beta
        used, total = counts[counts > 0], counts.sum(axis=0)
        words = (gammaln(beta + used) - gammaln(beta)).sum()
        words -= (gammaln(corpus.size * beta + total) - gammaln(corpus.size * beta)).sum()
        return float(words) + seating + self.measure.log_joint(self.occupancy(corpus)) + scales


def start(measure: Measure, seating: Seating | Unseated, beta: float, corpus: Corpus) -> Franchise:
    """Return a chain before its first sweep: no word has a dish."""
    N = len(corpus)
    return Franchise(
        measure,
        seating,
        beta,
        np.full(N, -1, dtype=np.int32),
        np.full(N, isinstance(seating, Unseated)),
        np.full(N, -1, dtype=np.int32),
        np.empty(0, dtype=np.int64),
        np.empty((corpus.n_times, 0), dtype=bool),
    )


def _seats(chain: Franchise, corpus: Corpus) -> Blocks:
    place = corpus.start[corpus.document] + chain.table
    sizes, times = np.unique(np.bincount(place), return_counts=True)
    sizes, times = sizes[sizes > 0], times[sizes > 0]
    return lambda sigma: float(times @ (gammaln(sizes - sigma) - gammaln(1.0 - sigma)))


def _sums_over_seats(chain: Franchise, corpus: Corpus) -> Blocks:
    words = corpus.words(chain.beta)
    n_max, most = int(corpus.lengths.max()), FEWEST
    pairs = np.zeros((n_max + 1, 0), dtype=np.int64)
    while pairs.shape[1] <= most:
        pairs = np.zeros((n_max + 1, most + 1), dtype=np.int64)
        n, t = np.zeros((2, chain.K), dtype=np.int64)
        most = count_portions(words, chain.dish, chain.opens, n, t, pairs)
    n_used = np.flatnonzero(pairs.any(axis=1)).max(initial=0)
    pairs = np.ascontiguousarray(pairs[: n_used + 1, : most + 1])
    return lambda sigma: float(log_stirling_sum(sigma, pairs))
