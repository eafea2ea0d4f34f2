"""The clusters that people are shown: those that hold a row, and those that there were."""

from typing import Any

import numpy as np

from evermix._xp import Bools
from evermix.engines.filters.keeping import FIRST as FIRST_REVIEW
from evermix.state import ALIVE, DROPPED, FADED, Lineage


def held(mix: Any) -> Bools:
    """Return which of the clusters (K,) of a mixture hold a row, or have a name or a pin.

    All of them if none does. Others, of less than a row, are hardly clusters: most of them are
    dropped or merged soon.
    """
    tally, hand = mix.tally_, mix.lineage_.hand
    kept = hand.pinned | set(hand.names)
    some: Bools = (tally.mass >= 1) | np.isin(tally.ids, list(kept))
    return some if some.any() else np.ones(tally.K, dtype=np.bool_)


def n_held(mix: Any) -> int:
    """Return the number of clusters that people are shown."""
    return int(held(mix).sum())


def beside_held(mix: Any) -> str:
    """Return in words how many clusters are not shown, if there are some."""
    n = mix.n_clusters_ - n_held(mix)
    return f" and {n:,} of less than a row" if n else ""


def few_rows(n: int) -> str | None:
    """Return in words that clusters in n rows tell little; None if that is not so.

    Before its first review a stream knows nothing of their scale, and fits of as many rows find
    some where there are none.
    """
    if n >= FIRST_REVIEW:
        return None
    return f"with fewer than {FIRST_REVIEW}, clusters may be chance, and others be missed"


def lasting(lineage: Lineage) -> list[int]:
    """Return the ids of clusters that were there after the first review, or have faded before.

    Before it, when nothing is known of their scale yet, many are opened that it joins again.
    """
    ends = enumerate(zip(lineage.ended, lineage.into, strict=True))
    return [
        id for id, (clock, into) in ends if clock == ALIVE or clock > FIRST_REVIEW or into == FADED
    ]


def absent(lineage: Lineage, id: int, listed: str) -> str:
    """Return in words that there is no cluster with an id, and what has become of it.

    ``listed`` says where the ids of those are that there are.
    """
    gone = f"there is no cluster {id}; "
    if not 0 <= id < lineage.next_id or lineage.into[id] == ALIVE:
        return f"{gone}{listed}."
    heir = int(lineage.current(np.array([id]))[0])
    if heir not in (id, DROPPED):
        return f"{gone}it has become part of cluster {heir}."
    return f"{gone}it {'was dropped' if heir == DROPPED else 'has faded'}, {listed}."
