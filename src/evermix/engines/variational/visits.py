"""What memoized inference asks of batches where they are, and of what is remembered of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, NamedTuple

from evermix._xp import Array, host
from evermix.engines.shards import Shard, Task
from evermix.engines.variational.base import Sums, noted
from evermix.engines.variational.local import Beliefs, Plan, summarise
from evermix.engines.variational.memory import aligned, to_record, totals
from evermix.engines.variational.moves.change import Change
from evermix.model import Model
from evermix.state import Lineage, Record


class News(NamedTuple):
    """What batches say now minus what they said when they were last visited."""

    sums: Sums  # differences, but for base and log_norm, which are as they are now
    first: float  # weight of batches that were visited for the first time
    first_base: float  # and the sum of their log base measure
    restored: float  # mass that belonged to clusters that were dropped since

    def plus(self, other: "News") -> "News":
        """Return the news of both."""
        numbers = (a + b for a, b in zip(self[1:], other[1:], strict=True))
        return News(Sums.added([self.sums, other.sums]), *numbers)


@dataclass(frozen=True)
class Revisit(Task[News]):
    """Share the rows of batches among clusters, remember the sums, and tell what has changed.

    Attributes
    ----------
    model : Model
    ids : int64 array (K,)
        The clusters.
    beliefs : Beliefs
        What is believed of them.
    top : int or None
        Share each row among at most so many.
    plan : Plan
        What to find out beside.
    lineage : Lineage
        What clusters of old are called today.
    spill : str or None
        A folder for what is large.
    """

    writes: ClassVar = True
    anew: ClassVar = True

    model: Model
    ids: Array
    beliefs: Beliefs
    top: int | None
    plan: Plan
    lineage: Lineage
    spill: str | None

    def of(self, shard: Shard, key: int) -> News:
        """Visit one batch."""
        batch = shard[key]
        summary = summarise(self.model, self.beliefs, batch, self.plan, self.top)
        base, log_norm = noted(shard, self.model, self.ids, batch, summary)
        mass, sums, entropy = summary.mass, summary.sums, summary.entropy
        first = first_base = restored = 0.0
        before = shard.memo.get(str(key))
        if before is None:
            first, first_base = float(host(batch.weights).sum()), base
        else:
            old = aligned(before, self.ids, self.lineage)
            restored = float(before["mass"].sum() - old["mass"].sum())
            mass, sums, entropy = mass - old["mass"], sums - old["sums"], entropy - old["entropy"]
        shard.keep(key, to_record(summary, self.ids, base), self.spill)
        said = Sums(mass, sums, entropy, base, log_norm)
        return News(said, first, first_base, restored)

    def joined(self, answers: Iterable[News]) -> News:
        """Return all news in one."""
        return reduce(News.plus, answers)


@dataclass(frozen=True)
class Totals(Task[Record]):
    """Sum what is remembered of batches."""

    def of(self, shard: Shard, key: int) -> Record:
        """Return what is remembered of one batch."""
        return shard.memo[str(key)]

    def joined(self, answers: Iterable[Record]) -> Record:
        """Return the sums."""
        return totals(answers)


@dataclass(frozen=True)
class Make(Task[Record]):
    """Make moves in what is remembered of batches, and sum it."""

    writes: ClassVar = True

    change: Change
    spill: str | None

    def of(self, shard: Shard, key: int) -> Record:
        """Return what is remembered of one batch after the moves."""
        still = self.change.still
        shard.keep(key, self.change.record(shard.memo[str(key)]), None if still else self.spill)
        return shard.memo[str(key)]

    def joined(self, answers: Iterable[Record]) -> Record:
        """Return the sums."""
        return totals(answers)
