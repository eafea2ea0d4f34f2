"""A chain of a hierarchical topic model: where every word is, and what is learnt above it."""

from dataclasses import dataclass

import numpy as np

from evermix._xp import Array, gammaln
from evermix.kernels.stirling import log_stirling_sum
from evermix.topics.corpus import Corpus
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.seating import Blocks, Seating

__all__ = ["Franchise", "start"]


@dataclass
class Franchise:
    """Where a chain stands.

    Attributes
    ----------
    measure : Measure
        The law of dishes; its observations are tables.
    seating : Seating
        The law of tables in documents.
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
    seating: Seating
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
        if not self.started:
            none = np.zeros((corpus.n_times, 0), dtype=np.int64)
            return Occupancy.of(none, self.region, self.on)
        place = corpus.word_time[self.opens] * self.K + self.dish[self.opens]
        counts = np.bincount(place, minlength=corpus.n_times * self.K)
        return Occupancy.of(counts.reshape(corpus.n_times, self.K), self.region, self.on)

    def counts(self, corpus: Corpus) -> Array:
        """Words of each dish, (V, K)."""
        place = corpus.word.astype(np.int64) * self.K + self.dish
        return np.bincount(place, minlength=corpus.size * self.K).reshape(corpus.size, self.K)

    def n_tables(self, corpus: Corpus) -> Array:
        """Number of tables of each document, (D,)."""
        return np.bincount(corpus.document[self.opens], minlength=corpus.n_documents)

    def portions(self, corpus: Corpus) -> tuple[Array, Array, Array, Array]:
        """Return documents, dishes, words and tables of all pairs that have words, (P,) each."""
        place = corpus.document * self.K + self.dish
        pairs, inverse, words = np.unique(place, return_inverse=True, return_counts=True)
        tables = np.bincount(inverse[self.opens], minlength=len(pairs))
        return *np.divmod(pairs, self.K), words, tables

    def blocks(self, corpus: Corpus) -> Blocks:
        """Return the log of what seats, or sums over them, are worth, for a sigma."""
        if self.seated:
            place = corpus.start[corpus.document] + self.table
            sizes, times = np.unique(np.bincount(place), return_counts=True)
            sizes, times = sizes[sizes > 0], times[sizes > 0]
            return lambda sigma: float(times @ (gammaln(sizes - sigma) - gammaln(1.0 - sigma)))
        _, _, n, t = self.portions(corpus)
        pairs = np.zeros((n.max(initial=0) + 1, t.max(initial=0) + 1), dtype=np.int64)
        np.add.at(pairs, (n, t), 1)
        return lambda sigma: float(log_stirling_sum(sigma, pairs))

    def settle(self, region: Array, on: Array) -> None:
        """Take regions (C,) and times on (T, C) of any slots, and close the gaps between slots."""
        used, inverse = np.unique(self.dish, return_inverse=True)
        self.dish = inverse.astype(np.int32)
        self.region, self.on = region[used].astype(np.int64), on[:, used]

    def log_joint(self, corpus: Corpus) -> float:
        """Log density of words, dishes, tables and all that is learnt, up to a constant."""
        seating = self.seating.log_joint(corpus.lengths, self.n_tables(corpus), self.blocks(corpus))
        counts, beta = self.counts(corpus), self.beta
        used, total = counts[counts > 0], counts.sum(axis=0)
        words = (gammaln(beta + used) - gammaln(beta)).sum()
        words -= (gammaln(corpus.size * beta + total) - gammaln(corpus.size * beta)).sum()
        return float(words) + seating + self.measure.log_joint(self.occupancy(corpus))


def start(measure: Measure, seating: Seating, beta: float, corpus: Corpus) -> Franchise:
    """Return a chain before its first sweep: no word has a dish."""
    N = len(corpus)
    return Franchise(
        measure,
        seating,
        beta,
        np.full(N, -1, dtype=np.int32),
        np.zeros(N, dtype=bool),
        np.full(N, -1, dtype=np.int32),
        np.empty(0, dtype=np.int64),
        np.empty((corpus.n_times, 0), dtype=bool),
    )
