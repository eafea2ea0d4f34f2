r"""Topic models that go on with new documents, and keep none of them.

What is known is a few draws. Each holds the words of its topics, the tables of topics at each time,
and all that is learnt above documents: everything that the law of new documents depends on but for
the law of the mass of the processes of documents, which all share. Given the mass, documents with
T tables and auxiliary variables u multiply its Gamma law by

.. math::

    a^T e^{-\sum_d \phi(u_d)},

so that two numbers hold what all documents so far say of it. The words of new documents are then
drawn by the sampler of the fit, among topics that count the words of the past with their own, and
topics that are born. Measures of times, their weights and the Dirichlet law of topics are drawn
given all tables and words, old and new. What is not drawn again is what the past chose, and sigma
of documents.
"""

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evermix._random import generator
from evermix._threads import side_by_side
from evermix._xp import Array, Floats, Ints
from evermix.priors.hyper import Gamma
from evermix.topics.chains import DrawsThatGoOn, chosen
from evermix.topics.hierarchies import Hierarchy
from evermix.topics.measures import Measure
from evermix.topics.measures.opening import open_times
from evermix.topics.words import dirichlet
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.past import Past
from evermix.topics.words.samplers import WordSampler
from evermix.topics.words.seating import Seating, mode_of_u
from evermix.topics.words.snapshots import Snapshot, WordRun, traced

# Words are predicted by the mean over draws, whose topics differ: three times as many draws serve
# more than three times as many sweeps of each. Many new words are predicted as well after two.
KEPT = 12  # draws of a fit that go on
LEAST, MOST = 2, 20  # sweeps of each over new documents
VISITS = 50_000  # of words, for which there are more than the least


@dataclass(frozen=True, eq=False)
class Known:
    """A draw that goes on: what is known after all documents so far."""

    snapshot: Snapshot
    mass: Gamma | None  # law of the mass of documents, if it is learnt
    numbers: dict[str, float]  # that are traced
    rng: np.random.Generator

    @classmethod
    def of(cls, snapshot: Snapshot, prior: Hierarchy, rng: np.random.Generator) -> "Known":
        """Return a draw of a fit, which goes on.

        The law of the mass has as many tables as the draw, and its mean is the mass that was drawn.
        """
        law = law_of_mass(prior)
        if law is not None:
            shape = law.shape + float(snapshot.tables.sum())
            law = Gamma(shape, shape / _mass(snapshot, _no_documents(prior)))
        return cls(snapshot, law, {}, rng)


class LiveRun(DrawsThatGoOn[Known]):
    """Draws that go on, in the place of the chains of a fit."""

    def __init__(self, sampler: WordSampler, known: list[Known], sweeps: int) -> None:
        super().__init__(known, sweeps)
        self.sampler = sampler

    @classmethod
    def of(cls, run: WordRun, prior: Hierarchy) -> "LiveRun":
        """Return the draw that a fit shows, and some others, evenly spaced."""
        point, snapshots = run.point(), run.all_snapshots()
        place = point.chain, point.draw
        others = [snapshot for snapshot in snapshots if (snapshot.chain, snapshot.draw) != place]
        draws, rng = chosen(replace(point, documents=None), others, KEPT), deepcopy(run.rngs[0])
        return cls(run.sampler, [Known.of(s, prior, generator(rng)) for s in draws], run.sweeps)

    def point(self) -> Snapshot:
        """Return the draw that is shown: always the same one, so that topics keep their numbers."""
        return self.known[0].snapshot

    def all_snapshots(self) -> list[Snapshot]:
        """Return all draws."""
        return [known.snapshot for known in self.known]

    def traces(self) -> tuple[dict[str, Floats], Ints]:
        """Traced numbers (M,) of all draws by name, and the chain (M,) that each comes from."""
        names = self.known[0].numbers
        values = {name: np.array([known.numbers[name] for known in self.known]) for name in names}
        return values, np.array([known.snapshot.chain for known in self.known])

    def learnt(self, prior: Hierarchy, alpha: float | Gamma, corpus: Corpus) -> "LiveRun":
        """Return what is known after new documents, whose times may be new."""

        def go_on(known: Known) -> Known:
            return learn(known, self.sampler, prior, alpha, corpus)

        known = side_by_side(go_on, self.known)
        return LiveRun(self.sampler, known, self.sweeps + n_sweeps(len(corpus)))


def n_sweeps(n_words: int) -> int:
    """Return how often so many new words are visited.

    Topics that are born twice need some sweeps to come together, and where there are few words,
    sweeps cost little.
    """
    return min(MOST, max(LEAST, VISITS // max(n_words, 1)))


def learn(
    known: Known, sampler: WordSampler, prior: Hierarchy, alpha: float | Gamma, corpus: Corpus
) -> Known:
    """Return what a draw is after new documents."""
    rng, before = deepcopy(known.rng), known.snapshot
    chain = opened(known, prior, alpha, corpus)
    for _ in range(n_sweeps(len(corpus))):
        sampler.sweep(corpus, chain, rng)
    numbers = traced(chain, corpus)
    snapshot = Snapshot.of(chain, corpus, before.chain, before.draw, numbers["log_joint"])
    seating, law = chain.seating, known.mass
    assert isinstance(seating, Seating)
    if law is not None:
        tables = float(snapshot.tables.sum() - before.tables.sum())
        law = Gamma(law.shape + tables, law.rate + seating.exponent(corpus.lengths))
    return Known(snapshot, law, numbers, rng)


def opened(known: Known, prior: Hierarchy, alpha: float | Gamma, corpus: Corpus) -> Franchise:
    """Return a chain over new documents before its first sweep."""
    before, (_, law) = known.snapshot, dirichlet.start(alpha, corpus.size)
    past = _padded(before, corpus.n_times)
    T, start, n = before.tables.shape[0], _no_documents(prior), corpus.lengths
    seating = Seating(
        start.laws._replace(sigma=None, mass=known.mass),
        before.sigma,
        _mass(before, start),
        mode_of_u(n, before.a, before.sigma),
    )
    on = np.ones((corpus.n_times, before.K), dtype=bool)  # at new times, until it is drawn
    on[:T] = before.on
    chain = Franchise.start(_all_times(before, prior, corpus), seating, before.beta, corpus)
    return replace(chain, region=before.region, on=on, law=law, past=past)


def _all_times(before: Snapshot, prior: Hierarchy, corpus: Corpus) -> Measure:
    """Return the measures of all times, of which new ones begin near the last one."""
    T, n_times = before.tables.shape[0], corpus.n_times
    words = np.bincount(corpus.time, corpus.lengths, minlength=n_times)
    measure = prior.measure(np.ones(n_times))
    new: Floats = np.maximum(words[T:], 1.0)
    open_times(measure, before.measure, new, float(before.words[-1].sum()))
    return measure


def _padded(before: Snapshot, n_times: int) -> Past:
    """Return the words and tables of a draw, with none at new times."""
    more = ((0, n_times - before.tables.shape[0]), (0, 0))
    counts: Array = sparse.csr_matrix(before.counts)
    return Past(counts, np.pad(before.words, more), np.pad(before.tables, more))


def law_of_mass(prior: Hierarchy) -> Gamma | None:
    """Return the law of the mass of documents, if it is learnt."""
    return _no_documents(prior).laws.mass


def _no_documents(prior: Hierarchy) -> Seating:
    """Return the law of the tables of no documents."""
    seating = prior.seating(np.empty(0, dtype=np.int64))
    assert isinstance(seating, Seating)
    return seating


def _mass(snapshot: Snapshot, seating: Seating) -> float:
    """Return the mass of documents of a draw: M, or a."""
    return snapshot.a / snapshot.sigma if seating.laws.relative else snapshot.a


def check_times(sampler: WordSampler, prior: Hierarchy, n_times: int) -> None:
    """Raise ValueError if a sampler cannot move the measures of so many times."""
    sampler.check(prior.measure(np.ones(n_times)))
