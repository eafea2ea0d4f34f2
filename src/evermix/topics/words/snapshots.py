"""Draws of topic models that were kept: what is needed to tell of topics and to predict."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.seating import Seating

_PLAIN = ("words", "tables", "region", "on")
_CSR = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A draw of everything but the topics of single words.

    Attributes
    ----------
    counts : CSR matrix (V, K) of int32
        Words of each topic.
    words, tables : int64 arrays (T, K)
        Words and tables of each topic at each time.
    region : int64 array (K,)
    on : bool array (T, K)
    measure : dict of arrays
        See :meth:`Measure.arrays`. Where documents are times: the expected ``jump`` (K,) of each
        topic, and the expected mass ``fresh`` (R,) of all others in each region.
    sigma, a : float
        Of the processes of documents; zero where there are none.
    chain : int
        Number of the chain.
    draw : int
        Number of the draw.
    log_joint : float
    """

    counts: Array
    words: Array
    tables: Array
    region: Array
    on: Array
    measure: dict[str, Array]
    sigma: float
    a: float
    chain: int
    draw: int
    log_joint: float

    @property
    def K(self) -> int:
        """Number of topics."""
        return len(self.region)

    @classmethod
    def of(
        cls, chain: Franchise, corpus: Corpus, number: int, draw: int, log_joint: float
    ) -> "Snapshot":
        """Return what a chain is now, its topics by size."""
        counts = chain.counts(corpus)
        order = np.argsort(-counts.sum(axis=0, dtype=np.float64), kind="stable")
        T = int(corpus.told.max()) + 1
        place = np.repeat(corpus.told, corpus.lengths) * chain.K + chain.dish
        words = np.bincount(place, minlength=T * chain.K).reshape(T, chain.K)
        seating, tables, on = chain.seating, chain.tables(corpus)[0], chain.on
        measure, numbers = chain.measure.arrays(), (0.0, 0.0)
        if isinstance(seating, Seating):
            numbers = seating.sigma, seating.a
        else:  # of the many times, only jumps and the mass of new topics are needed
            jump, fresh = chain.measure.expected(chain.occupancy(corpus))
            measure = {"jump": jump[order], "fresh": fresh}
            tables, on = tables.sum(axis=0, keepdims=True), np.ones((1, chain.K), dtype=bool)
        return cls(
            sparse.csr_matrix(counts[:, order].astype(np.int32)),
            words[:, order],
            tables[:, order],
            chain.region[order],
            on[:, order],
            measure,
            *numbers,
            number,
            draw,
            log_joint,
        )

    def atoms(self) -> Occupancy:
        """Return the topics as a measure sees them."""
        return Occupancy.of(self.tables, self.region, self.on)

    def log_weights(self, measure: Measure) -> Array:
        """Log weights (T, K + 1) of topics and of a new one at each time.   Consumes: measure."""
        measure.assign(self.measure)
        log_weights = measure.predictive(self.atoms())
        return log_weights - np.logaddexp.reduce(log_weights, axis=1)[:, None]

    def components(self, beta: float) -> Array:
        """Probabilities (K, V) of the words of each topic."""
        counts = self.counts.toarray().T + beta
        return counts / counts.sum(axis=1, keepdims=True)

    def arrays(self) -> dict[str, Array]:
        """Return everything as named arrays."""
        numbers = np.array([self.sigma, self.a, self.chain, self.draw, self.log_joint])
        return {
            "numbers": numbers,
            **{name: getattr(self, name) for name in _PLAIN},
            **{f"counts.{name}": getattr(self.counts, name) for name in _CSR},
            **{f"measure.{name}": values for name, values in self.measure.items()},
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], size: int) -> "Snapshot":
        """Return the draw that :meth:`arrays` described, of a vocabulary of this size."""
        words, tables, region, on = (arrays[name] for name in _PLAIN)
        counts = sparse.csr_matrix(
            tuple(arrays[f"counts.{name}"] for name in _CSR), shape=(size, len(region))
        )
        prefix = "measure."
        measure = {k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)}
        sigma, a, chain, draw, log_joint = arrays["numbers"].tolist()
        return cls(
            counts, words, tables, region, on, measure, sigma, a, int(chain), int(draw), log_joint
        )
