"""The clusters that people are shown: those that hold a row."""

from typing import Any

import numpy as np

from evermix._xp import Bools


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
