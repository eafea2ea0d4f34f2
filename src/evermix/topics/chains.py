"""Chains of a topic model, and what was kept of them."""

from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.samplers import WordSampler
from evermix.topics.words.seating import Unseated
from evermix.topics.words.snapshots import Snapshot

FEWEST, MOST = 20, 40  # snapshots of each chain that are kept


class Sweep(NamedTuple):
    """What a sweep over all words led to.

    Attributes
    ----------
    number : int
        Sweeps that were made, this one included.
    kept : bool
        Whether its draws were kept: not so in the burn-in.
    n_topics : list of int
        Topics in each chain.
    log_joint : list of float
        Log joint density of each chain, up to a constant.
    """

    number: int
    kept: bool
    n_topics: list[int]
    log_joint: list[float]


@dataclass
class Run:
    """Several chains that are swept together.

    Attributes
    ----------
    sampler : WordSampler
    chains : list of Franchise
    rngs : list of Generator
        One for each chain.
    sweeps : int
        Sweeps that were made.
    names : list of str
        Of the numbers that are traced.
    rows : list of lists of arrays (P,)
        For each chain, the traced numbers of each draw.
    snapshots : list of lists of Snapshot
        For each chain, draws evenly spaced.
    spacing : int
        Draws from one snapshot to the next. It doubles when there are too many, so that what is
        kept depends only on the number of draws.
    kept : bool
        Whether draws of the last sweep were kept.
    """

    sampler: WordSampler
    chains: list[Franchise]
    rngs: list[np.random.Generator]
    sweeps: int = 0
    names: list[str] = field(default_factory=list)
    rows: list[list[Array]] = field(default_factory=list)
    snapshots: list[list[Snapshot]] = field(default_factory=list)
    spacing: int = 1
    kept: bool = False

    def sweep(self, corpus: Corpus, keep: bool) -> None:
        """Sweep over all chains once, and keep draws of them.

        Where that fails, for want of memory for example, everything is as it was before.
        """
        chains, rngs = deepcopy((self.chains, self.rngs))
        if len(chains) == 1:
            self.sampler.sweep(corpus, chains[0], rngs[0])
        else:
            with ThreadPoolExecutor(len(chains)) as pool:
                list(pool.map(self.sampler.sweep, [corpus] * len(chains), chains, rngs))
        drawn = self._drawn(corpus, chains) if keep else []
        self.chains, self.rngs, self.kept = chains, rngs, keep
        self.sweeps += 1
        if keep:
            self._keep(drawn)

    def last(self, corpus: Corpus) -> Sweep:
        """Return what the last sweep led to."""
        if self.kept:
            at = self.names.index("log_joint")
            log_joint = [float(rows[-1][at]) for rows in self.rows]
        else:
            log_joint = [chain.log_joint(corpus) for chain in self.chains]
        return Sweep(self.sweeps, self.kept, [chain.K for chain in self.chains], log_joint)

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain."""
        return len(self.rows[0]) if self.rows else 0

    def _drawn(
        self, corpus: Corpus, chains: list[Franchise]
    ) -> list[tuple[dict[str, float], Snapshot | None]]:
        """Return the numbers of each chain and, if its turn has come, a snapshot."""
        draw = self.n_draws
        drawn = []
        for i, chain in enumerate(chains):
            numbers, snapshot = _numbers(chain, corpus), None
            if draw % self.spacing == 0:
                snapshot = Snapshot.of(chain, corpus, i, draw, numbers["log_joint"])
            drawn.append((numbers, snapshot))
        return drawn

    def _keep(self, drawn: list[tuple[dict[str, float], Snapshot | None]]) -> None:
        self.rows = self.rows or [[] for _ in drawn]
        self.snapshots = self.snapshots or [[] for _ in drawn]
        self.names = self.names or list(drawn[0][0])
        for rows, snapshots, (numbers, snapshot) in zip(
            self.rows, self.snapshots, drawn, strict=True
        ):
            rows.append(np.array(list(numbers.values())))
            if snapshot is not None:
                snapshots.append(snapshot)
        if len(self.snapshots[0]) >= MOST:
            self.spacing *= 2
            self.snapshots = [kept[::2] for kept in self.snapshots]

    def all_snapshots(self) -> list[Snapshot]:
        """Snapshots of all chains."""
        return [snapshot for kept in self.snapshots for snapshot in kept]

    def now(self, corpus: Corpus) -> Snapshot:
        """Return where the first chain stands."""
        return Snapshot.of(self.chains[0], corpus, 0, -1, self.chains[0].log_joint(corpus))

    def traces(self) -> tuple[dict[str, Array], Array]:
        """Traced numbers (M,) of all draws by name, and the chain (M,) that each comes from."""
        table = np.array([row for rows in self.rows for row in rows])
        chain = np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.rows])
        return {name: table[:, i] for i, name in enumerate(self.names)}, chain


def _numbers(chain: Franchise, corpus: Corpus) -> dict[str, float]:
    """Return the numbers of a chain that are traced."""
    measure, flat = chain.measure, isinstance(chain.seating, Unseated)
    numbers = {
        "log_joint": chain.log_joint(corpus),
        "n_topics": chain.K,
        "n_tables": int(chain.opens.sum()),
        **chain.seating.numbers(),
        "sigma0": measure.sigma,
    }
    arrays = {"M0" if measure.laws.relative else "a0": measure.mass}
    if not flat:  # else every document has its own, which are many
        arrays |= {"u": measure.u, "q": measure.q}
    for name, values in arrays.items():
        for index in np.ndindex(*values.shape):
            numbers[f"{name}[{','.join(map(str, index))}]"] = float(values[index])
    return numbers
