"""Chains of a topic model that are swept together, and what is kept of their draws."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Array, Bools, Floats, Ints
from evermix.topics.chains import ChainRun
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WordSampler
from evermix.topics.words.seating import Seating, Unseated
from evermix.topics.words.starts import HELD_SWEEPS

MAX_SNAPSHOTS = 40  # of each chain; then every second one goes
_PLAIN = ("words", "tables", "region", "on")
_CSR = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A draw of everything but the topics of single words.

    Where documents are times, ``measure`` has the expected ``jump`` (K,) of each topic, and the
    expected mass ``fresh`` (R,) of all others in each region.
    """

    counts: Array  # CSR matrix (V, K) of int32, words of each topic
    words: Ints  # (T, K) words of each topic at each time
    tables: Ints  # (T, K)
    region: Ints  # (K,)
    on: Bools  # (T, K)
    measure: dict[str, Floats]  # see Measure.arrays
    sigma: float  # of the processes of documents, as a; zero where there are none
    a: float
    chain: int  # its number
    draw: int  # its number; -1 in the burn-in
    log_joint: float
    beta: float  # of the Dirichlet law of topics
    documents: Array | None = None  # CSR matrix (D, K) of int32, words of each topic; of the best

    @property
    def K(self) -> int:
        """Number of topics."""
        return len(self.region)

    @classmethod
    def of(
        cls, chain: Franchise, corpus: Corpus, number: int, draw: int, log_joint: float
    ) -> "Snapshot":
        """Return where a chain stands, its topics by size; with a past, in the order of births."""
        counts, words = chain.counts(corpus), _words_of_times(chain, corpus)
        order = np.arange(chain.K)
        if chain.past is None:
            order = np.argsort(-words.sum(axis=0), kind="stable")
        seating, tables, on = chain.seating, chain.tables(corpus)[0], chain.on
        measure, numbers = chain.measure.arrays(), (0.0, 0.0)
        if isinstance(seating, Seating):
            numbers = seating.sigma, seating.a
        else:  # of the many times, only jumps and the mass of new topics are needed
            jump, fresh = chain.measure.expected(chain.occupancy(corpus))
            measure = {"jump": jump[order], "fresh": fresh}
            tables, on = tables.sum(axis=0, keepdims=True), np.ones((1, chain.K), dtype=bool)
        return cls(
            _in_order(counts, order),
            words[:, order],
            tables[:, order],
            chain.region[order],
            on[:, order],
            measure,
            *numbers,
            number,
            draw,
            log_joint,
            chain.beta,
        )

    def with_documents(self, chain: Franchise, corpus: Corpus) -> "Snapshot":
        """Return the same draw with the words of each topic in each document."""
        shape = corpus.n_documents, chain.K
        place, words = np.unique(corpus.document * chain.K + chain.dish, return_counts=True)
        row, column = np.divmod(place, chain.K)
        # The order of topics is that of Snapshot.of.
        order = np.argsort(-np.bincount(chain.dish, minlength=chain.K), kind="stable")
        column = np.argsort(order)[column]
        counts = sparse.csr_matrix((words.astype(np.int32), (row, column)), shape=shape)
        counts.sort_indices()
        return replace(self, documents=counts)

    def atoms(self) -> Occupancy:
        """Return the topics as a measure sees them."""
        return Occupancy.of(self.tables, self.region, self.on)

    def log_weights(self, measure: Measure) -> Floats:
        """Log weights (T, K + 1) of topics and of a new one at each time.   Consumes: measure."""
        measure.assign(self.measure)
        log_weights = measure.predictive(self.atoms())
        return log_weights - np.logaddexp.reduce(log_weights, axis=1)[:, None]

    def components(self) -> Floats:
        """Probabilities (K, V) of the words of each topic."""
        counts = self.counts.toarray().T + self.beta
        return counts / counts.sum(axis=1, keepdims=True)

    def arrays(self) -> dict[str, Array]:
        """Return everything as named arrays."""
        numbers = self.sigma, self.a, self.chain, self.draw, self.log_joint, self.beta
        extra = {}
        if self.documents is not None:
            extra = {f"documents.{name}": getattr(self.documents, name) for name in _CSR}
        return {
            **extra,
            "numbers": np.array(numbers),
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
        sigma, a, chain, draw, log_joint, beta = arrays["numbers"].tolist()
        numbers = sigma, a, int(chain), int(draw), log_joint, beta
        documents = None
        if "documents.indptr" in arrays:
            entries = tuple(arrays[f"documents.{name}"] for name in _CSR)
            shape = len(entries[2]) - 1, len(region)
            documents = sparse.csr_matrix(entries, shape=shape)
        return cls(counts, words, tables, region, on, measure, *numbers, documents)


def _in_order(counts: Array, order: Ints) -> Array:
    """Return a CSR matrix with its columns in this order, sorted."""
    place = np.empty(len(order), dtype=counts.indices.dtype)
    place[order] = np.arange(len(order))
    columns = place[counts.indices]
    moved = sparse.csr_matrix((counts.data, columns, counts.indptr), shape=counts.shape)
    moved.sort_indices()
    return moved


def _words_of_times(chain: Franchise, corpus: Corpus) -> Ints:
    """Words of each topic at each time that is shown, (T, K)."""
    T, K = corpus.n_times, chain.K
    if corpus.given_time is not None:
        T = int(corpus.given_time.max()) + 1
    place = np.repeat(corpus.shown_time, corpus.lengths) * K + chain.dish
    words = np.bincount(place, minlength=T * K).reshape(T, K)
    if chain.past is not None:
        words[:, : chain.past.K] += chain.past.words
    return words


class TopicSweep(NamedTuple):
    """Summary of a sweep over all words, for observers."""

    number: int  # of sweeps so far
    kept: bool  # whether its draws were kept: not so in the burn-in
    n_topics: list[int]  # in each chain
    log_joint: list[float]  # log joint density of each chain, up to a constant


class TopicDraw(NamedTuple):
    """What is kept of a draw: the numbers that are traced and, at times, a snapshot."""

    numbers: dict[str, float]
    snapshot: Snapshot | None


class Rest(NamedTuple):
    """When the burn-in of chains that have stopped climbing ends before its time.

    It does when the mean log joint density of ``patience`` sweeps is less than ``tol`` nats a word
    above that of as many sweeps before.
    """

    tol: float
    patience: int

    def reached(self, course: list[float]) -> bool:
        """Whether a course of log joint densities for each word has come to rest."""
        n = self.patience
        if len(course) < 2 * n:
            return False
        return bool(np.mean(course[-n:]) - np.mean(course[-2 * n : -n]) < self.tol)


class WordRun(ChainRun[Franchise, TopicDraw]):
    """Chains of a topic model: traces of all draws, and snapshots of some, evenly spaced."""

    def __init__(
        self,
        corpus: Corpus | None,  # None for a model from a file, until its fit is resumed
        sampler: WordSampler,
        chains: list[Franchise],
        rngs: list[np.random.Generator],
        *,
        sweeps: int = 0,
        names: list[str] | None = None,
        spacing: int = 1,
        rest: Rest | None = None,
        course: list[float] | None = None,
        rested: int | None = None,
    ) -> None:
        super().__init__(chains, rngs, sweeps)
        self.corpus, self.sampler = corpus, sampler
        self.names = names or []  # of the numbers that are traced
        self.rows: list[list[Floats]] = []  # for each chain and draw, these numbers
        self.snapshots: list[list[Snapshot]] = []  # of each chain
        self.best: Snapshot | None = None  # of the largest joint density of all snapshots so far
        # Draws from one snapshot to the next. It doubles when there are too many, so that what is
        # kept depends only on the number of draws.
        self.spacing = spacing
        self.rest = rest  # None: the burn-in takes its time
        self.course = (
            course or []
        )  # log joint densities for each word in the burn-in, if it may end
        self.rested = rested  # the sweep after which it has ended early
        self._held = False  # whether sigma of documents stays in this sweep

    def burnt_in(self, burn_in: int) -> int:
        """Return after how many sweeps draws are kept, at most ``burn_in``."""
        return burn_in if self.rested is None else min(burn_in, self.rested)

    def _look(self, chains: list[Franchise]) -> float | None:
        if self.rest is None:
            return None
        total = sum(chain.log_joint(self._words) for chain in chains)
        return total / len(chains) / max(len(self._words), 1)

    def _burn(self, seen: float | None) -> None:
        if self.rest is None or seen is None:
            return
        self.course.append(seen)
        if self.rested is None and self.rest.reached(self.course):
            self.rested = self.sweeps

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain that were kept."""
        return len(self.rows[0]) if self.rows else 0

    def last(self) -> TopicSweep:
        """Return a summary of the last sweep, for observers."""
        if self.kept:
            at = self.names.index("log_joint")
            log_joint = [float(rows[-1][at]) for rows in self.rows]
        else:
            log_joint = [chain.log_joint(self._words) for chain in self.chains]
        return TopicSweep(self.sweeps, self.kept, [chain.K for chain in self.chains], log_joint)

    def all_snapshots(self) -> list[Snapshot]:
        """Snapshots of all chains; before the first draw, where the first chain stands."""
        if self.snapshots:
            return [snapshot for kept in self.snapshots for snapshot in kept]
        if "now" not in self.answers:
            chain, corpus = self.chains[0], self._words
            self.answers["now"] = Snapshot.of(chain, corpus, 0, -1, chain.log_joint(corpus))
        return [self.answers["now"]]

    def point(self) -> Snapshot:
        """Return the draw of the largest joint density of all that snapshots were taken of."""
        if self.best is not None:
            return self.best
        return max(self.all_snapshots(), key=lambda snapshot: snapshot.log_joint)

    def traces(self) -> tuple[dict[str, Floats], Ints]:
        """Traced numbers (M,) of all draws by name, and the chain (M,) that each comes from."""
        table = np.array([row for rows in self.rows for row in rows])
        chain = np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])
        return {name: table[:, i] for i, name in enumerate(self.names)}, chain

    @property
    def _words(self) -> Corpus:
        assert self.corpus is not None
        return self.corpus

    def sweep(self, keep: bool) -> None:
        """Sweep over all chains once, and keep draws of them; see ``starts.HELD_SWEEPS``."""
        self._held = not keep and self.sweeps < HELD_SWEEPS
        super().sweep(keep)

    def _move(self, chain: Franchise, rng: np.random.Generator) -> None:
        with chain.seating.held() if self._held else nullcontext():
            self.sampler.sweep(self._words, chain, rng)

    def _draw(self, number: int, chain: Franchise) -> TopicDraw:
        draw, numbers, snapshot = self.n_draws, traced(chain, self._words), None
        if draw % self.spacing == 0:
            snapshot = Snapshot.of(chain, self._words, number, draw, numbers["log_joint"])
            if self.best is None or snapshot.log_joint > self.best.log_joint:
                snapshot = snapshot.with_documents(chain, self._words)
        return TopicDraw(numbers, snapshot)

    def _keep(self, drawn: list[TopicDraw]) -> None:
        self.rows = self.rows or [[] for _ in drawn]
        self.snapshots = self.snapshots or [[] for _ in drawn]
        self.names = self.names or list(drawn[0].numbers)
        for rows, snapshots, draw in zip(self.rows, self.snapshots, drawn, strict=True):
            rows.append(np.array(list(draw.numbers.values())))
            found = draw.snapshot
            if found is not None:
                snapshots.append(replace(found, documents=None))
                if self.best is None or found.log_joint > self.best.log_joint:
                    self.best = found
        if len(self.snapshots[0]) >= MAX_SNAPSHOTS:
            self.spacing *= 2
            self.snapshots = [kept[::2] for kept in self.snapshots]


def traced(chain: Franchise, corpus: Corpus) -> dict[str, float]:
    """Return the numbers of a chain that are traced."""
    measure = chain.measure
    numbers = {
        "log_joint": chain.log_joint(corpus),
        "n_topics": chain.K,
        "n_tables": int(chain.tables(corpus)[0].sum()),
        "alpha": chain.beta,
        **chain.seating.numbers(),
        "sigma0": measure.sigma,
    }
    arrays = {"M0" if measure.laws.relative else "a0": measure.mass}
    if not isinstance(chain.seating, Unseated):  # else every document has its own, which are many
        arrays |= {"u": measure.u, "q": measure.q}
    for name, values in arrays.items():
        for index in np.ndindex(*values.shape):
            numbers[f"{name}[{','.join(map(str, index))}]"] = float(values[index])
    return numbers
