"""The clusters that people are shown: those that hold a row, and those that there were."""

from typing import Any

import numpy as np

from evermix._words import counted
from evermix._xp import Bools
from evermix.engines.filters.keeping import FIRST as FIRST_REVIEW
from evermix.estimators.ids import id_called
from evermix.estimators.mixture.fit_results import in_order
from evermix.state import ALIVE, DROPPED, FADED, Lineage

LEAST = 0.5  # mass of a cluster that is shown: more likely than not, it holds a row
TINY = "of less than half a row"


def held(mix: Any) -> Bools:
    """Return which of the clusters (K,) of a mixture people are shown: those that hold a row.

    These have at least half a row of mass, or a row of a fit is labelled so, or they have a name or
    a pin. All of them if none does. Others are hardly clusters: most of them are dropped or merged
    soon.
    """
    tally, hand, learner = mix.tally_, mix.lineage_.hand, mix.learner_.shown
    kept = [*hand.pinned, *hand.names]
    some: Bools = (tally.mass >= LEAST) | np.isin(tally.ids, kept)
    if not in_order(learner):
        some |= np.isin(tally.ids, learner.labels())
    return some if some.any() else np.ones(tally.K, dtype=np.bool_)


def n_held(mix: Any) -> int:
    """Return the number of clusters that people are shown."""
    return int(held(mix).sum())


def n_single(mix: Any) -> int:
    """Return how many of them hold one row; none where rows fade, so that one row may be many."""
    if mix.model_.forgetting is not None:
        return 0
    return int(np.sum(held(mix) & (mix.tally_.mass < 1 + LEAST)))


def held_in_words(n: int, single: int, hidden: int, noun: str = "") -> str:
    """Return in words how many clusters there are: those of one row, and hidden ones, apart.

    Examples
    --------
    >>> held_in_words(12, 3, 1, "cluster"), held_in_words(1, 1, 0, "cluster")
    ('12 clusters, 3 of them of one row, and 1 of less than half a row', '1 cluster, of one row')
    """
    text = counted(n, noun) if noun else f"{n:,}"
    text += f", {f'{single:,} of them ' * (n > 1)}of one row" if single else ""
    return text + (f"{',' * (single > 0)} and {hidden:,} {TINY}" if hidden else "")


def clusters_in_words(mix: Any, noun: str = "") -> str:
    """Return in words how many clusters a mixture has; see :func:`held_in_words`."""
    return held_in_words(n_held(mix), n_single(mix), mix.n_clusters_ - n_held(mix), noun)


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


def cluster_id(mix: Any, which: int | str) -> int:
    """Return the id of a cluster that is called by its id or name; see :func:`.id_called`."""
    if not isinstance(which, str):
        return id_called(which, {})
    alive, names = set(mix.cluster_ids_.tolist()), mix.lineage_.hand.names
    return id_called(which, {id: name for id, name in names.items() if id in alive})


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
