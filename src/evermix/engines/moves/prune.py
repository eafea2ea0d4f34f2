"""Dropping dust: clusters that never took hold."""

import numpy as np

from evermix._xp import Array
from evermix.priors.base import occupancy
from evermix.state import State

__all__ = ["prune_empty", "prune_idle"]


def prune_idle(state: State) -> list[int]:
    """Drop clusters of mass below one that nothing has visited lately; return their ids.

    "Lately" is the last 10 K observations.   Consumes: state.
    """
    tally = state.tally
    idle = state.clock - state.columns["last_seen"][: tally.K] >= 10 * tally.K
    return _drop(state, (tally.mass < 1.0) & idle)


def prune_empty(state: State) -> list[int]:
    """Drop clusters that are more likely empty than not; return their ids.   Consumes: state."""
    return _drop(state, occupancy(state.tally.mass, state.tally.extras) < 0.5)


def _drop(state: State, dust: Array) -> list[int]:
    """Drop the clusters of a mask (K,), unless it is all; their mass goes to ``dropped``."""
    if not dust.any() or dust.all():
        return []
    gone = [int(k) for k in state.tally.ids[dust]]
    state.latents["dropped"] += state.tally.mass[dust].sum()
    for k in gone:
        state.lineage.drop(k, state.clock)
    state.take(np.flatnonzero(~dust))
    return gone
