"""Which clusters a stream has not yet named in an answer, so that the first one can say so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evermix._xp import Floats, Ints
from evermix.state import ALIVE, Lineage


@dataclass
class FirstAnswers:
    """Clusters that no row was assigned to, as far as answers tell.

    A review, a search or a change by hand may open a cluster whose first row comes much later.

    Attributes
    ----------
    unmet : frozenset of int
        Clusters that there are and that no answer has named, and those that these were split from
        if none has named them either; they are saved.
    before : frozenset of int
        Those that had been named by no answer before the last call, or were born in it.
    times : array (n,) or None
        Times of the rows of the last call.
    """

    unmet: frozenset[int] = frozenset()
    before: frozenset[int] = frozenset()
    times: Floats | None = None

    def answered(self, lineage: Lineage, first_id: int, labels: Ints) -> None:
        """Note the labels (n,) of the rows of a call; ids from ``first_id`` on were born in it."""
        if self.unmet or first_id < lineage.next_id:
            self.opened(lineage, first_id)
            self.before = self.unmet
            self.unmet = _waiting(lineage, self.before - set(labels.tolist()))
        else:
            self.before = self.unmet

    def opened(self, lineage: Lineage, first_id: int) -> None:
        """Note that the clusters from ``first_id`` on were born, and that others may have ended."""
        ids = self.unmet.union(range(first_id, lineage.next_id))
        self.unmet = _waiting(lineage, ids)

    def of(self, lineage: Lineage, labels: Sequence[int], clock: int) -> dict[int, int | None]:
        """Return the clusters that the labels of a call name first, after a clock; with parents.

        A parent is left out that no answer has named before.
        """
        known: Iterable[int] = set(labels)
        late = self.before.intersection(known)
        found = lineage.newcomers(known, clock) | {id: lineage.parents.get(id) for id in late}
        for id, parent in found.items():
            if parent is not None and (parent in self.before or lineage.found_at(parent) > clock):
                found[id] = parent if parent in labels[: labels.index(id)] else None
        return found

    @classmethod
    def from_spec(cls, unmet: Sequence[int], lineage: Lineage) -> "FirstAnswers":
        """Return what a file holds, or raise ValueError unless these clusters are there."""
        some = frozenset(int(id) for id in unmet)
        if not all(0 <= id < lineage.next_id for id in some) or some != _waiting(lineage, some):
            raise ValueError("clusters that wait for a first answer must be there.")
        return cls(some)


def _waiting(lineage: Lineage, ids: frozenset[int]) -> frozenset[int]:
    """Return those of some ids that are there, and those that these were split from."""
    there = {id for id in ids if lineage.into[id] == ALIVE}
    return frozenset(there | (ids & {lineage.parents.get(id) for id in there}))
