"""A chain of a hierarchical topic model: where every word is, and what is learnt above it."""

import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Array, Bools, Ints, gammaln
from evermix.kernels.stirling import log_stirling_sum
from evermix.kernels.topics.dishes import count_tables
from evermix.kernels.topics.indicators import count_portions
from evermix.priors.hyper import Gamma
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.words import dirichlet
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.past import Past
from evermix.topics.words.seating import LogSeats, Seating, Unseated
from evermix.topics.words.slots import Slots

FIRST_TABLES = 16  # tables of one dish in a document that there is room for at first


@dataclass
class Franchise:
    """Where a chain stands: tables of documents order dishes, which are topics."""

    measure: Measure  # the law of dishes; its observations are tables
    seating: Seating | Unseated  # the law of tables; without, every word is a table of its own
    beta: float  # of the symmetric Dirichlet law of topics
    dish: NDArray[np.int32]  # (N,) dish of each word, 0..K-1; -1 before the first sweep
    opens: Bools  # (N,) a word of each table: as many as the document has tables of the dish
    table: NDArray[np.int32]  # (N,) number of its table in the document; -1 without seats
    region: Ints  # (K,) that each dish lies in
    on: Bools  # (T, K) whether it is on at each time
    law: Gamma | None = None  # of beta, if it is learnt
    past: Past | None = None  # of topics 0..; words that were learnt before are counted with ours
    slots: Slots | None = None  # what the last sweep has left of them, where there is a past

    @classmethod
    def start(
        cls, measure: Measure, seating: Seating | Unseated, alpha: float | Gamma, corpus: Corpus
    ) -> Self:
        """Return a chain before its first sweep: no word has a dish.

        ``alpha`` is the number beta, or its law.
        """
        N, (beta, law) = len(corpus), dirichlet.start(alpha, corpus.size)
        return cls(
            measure,
            seating,
            beta,
            np.full(N, -1, dtype=np.int32),
            np.full(N, isinstance(seating, Unseated)),
            np.full(N, -1, dtype=np.int32),
            np.empty(0, dtype=np.int64),
            np.empty((corpus.n_times, 0), dtype=bool),
            law,
        )

    def copy(self) -> Self:
        """Return a chain to move: sweeps write into these arrays, and replace region and on."""
        other = copy.copy(self)
        other.measure, other.seating = self.measure.copy(), self.seating.copy()
        other.dish, other.slots = self.dish.copy(), None
        if isinstance(self.seating, Seating):  # else there are no tables to move
            other.opens, other.table = self.opens.copy(), self.table.copy()
        return other

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

    def tables(self, corpus: Corpus) -> tuple[Ints, Ints]:
        """Return the number of tables of each dish at each time (T, K), and of documents (D,)."""
        return self.count_tables(corpus, self.K)

    def count_tables(self, corpus: Corpus, capacity: int) -> tuple[Ints, Ints]:
        """Return the same for slots (T, C), while dishes move."""
        by_time = np.zeros((corpus.n_times, capacity), dtype=np.int64)
        by_document = np.zeros(corpus.n_documents, dtype=np.int64)
        if self.past is not None:
            by_time[:, : self.past.K] = self.past.tables
        if self.started:
            count_tables(corpus.words(self.beta), self.dish, self.opens, by_time, by_document)
        return by_time, by_document

    def counts(self, corpus: Corpus) -> Array:
        """Words of each dish, a CSR matrix (V, K) of int32 with sorted columns.

        Most dishes have few words: an array (V, K) would be nearly all zeros.
        """
        shape = corpus.size, self.K
        none = np.empty(0, dtype=np.int32)
        counts: Array = sparse.coo_matrix((none, (none, none)), shape=shape).tocsr()
        if self.started:
            ones = np.ones(len(corpus), dtype=np.int32)
            counts = sparse.coo_matrix((ones, (corpus.word, self.dish)), shape=shape).tocsr()
            counts.sort_indices()
        if self.past is not None:
            old = self.past.counts
            counts = counts + sparse.csr_matrix((old.data, old.indices, old.indptr), shape=shape)
        return counts

    def log_seats(self, corpus: Corpus) -> LogSeats:
        """Return the log probability of the seats, or its sum over seatings, for a sigma."""
        if isinstance(self.seating, Unseated):
            return lambda sigma: 0.0
        return _seats(self, corpus) if self.seated else _sums_over_seats(self, corpus)

    def move_beta(self, corpus: Corpus, rng: np.random.Generator) -> None:
        """Move the parameter of the Dirichlet law of topics, if it is learnt."""
        if self.law is not None:
            sizes = dirichlet.TopicSizes.of(self.counts(corpus))
            self.beta = dirichlet.move(self.law, self.beta, sizes, rng)

    def renumber(self, totals: Ints, region: Ints, on: Bools) -> None:
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
        seating = self.seating.log_joint(n, tables, self.log_seats(corpus))
        scales = self.seating.log_jacobian(n) + self.measure.log_jacobian()
        words = dirichlet.TopicSizes.of(self.counts(corpus)).log_probability(self.beta)
        if self.law is not None:
            words += self.law.log_density(self.beta) + self.law.log_jacobian(self.beta)
        return words + seating + self.measure.log_joint(self.occupancy(corpus)) + scales


def _seats(chain: Franchise, corpus: Corpus) -> LogSeats:
    place = corpus.start[corpus.document] + chain.table
    sizes, times = np.unique(np.bincount(place), return_counts=True)
    sizes, times = sizes[sizes > 0], times[sizes > 0]
    return lambda sigma: float(times @ (gammaln(sizes - sigma) - gammaln(1.0 - sigma)))


def _sums_over_seats(chain: Franchise, corpus: Corpus) -> LogSeats:
    words = corpus.words(chain.beta)
    n_max, most = int(corpus.lengths.max()), FIRST_TABLES
    pairs = np.zeros((n_max + 1, 0), dtype=np.int64)
    while pairs.shape[1] <= most:
        pairs = np.zeros((n_max + 1, most + 1), dtype=np.int64)
        n, t = np.zeros((2, chain.K), dtype=np.int64)
        most = count_portions(words, chain.dish, chain.opens, n, t, pairs)
    n_used = np.flatnonzero(pairs.any(axis=1)).max(initial=0)
    pairs = np.ascontiguousarray(pairs[: n_used + 1, : most + 1])
    return lambda sigma: float(log_stirling_sum(sigma, pairs))
