"""Dropping dust: clusters that never took hold.

Dust is what is more likely empty than occupied. (A mass below one is not enough: a rare cluster
that one observation belongs to for nearly certain has such a mass, and dropping it costs
predictions.)
"""

import numpy as np

from evermix._xp import Array
from evermix.priors.base import occupancy
from evermix.state import State

__all__ = ["drop", "prune"]


def prune(state: State, idle: float = 0.0) -> list[int]:
    """Drop the dust that nothing has visited for a while; return its ids.

    A while is ``idle`` observations for every cluster that is not dust. (For every cluster it
    could grow faster than the stream.) The mass goes to the latent ``dropped``. At least one
    cluster stays.   Consumes: state.
    """
    tally = state.tally
    dust = occupancy(tally.mass, tally.extras) < 0.5
    since = state.clock - state.columns["last_seen"][: tally.K]
    dust &= since >= idle * np.count_nonzero(~dust)
    return [] if dust.all() else drop(state, dust)


def drop(state: State, dust: Array) -> list[int]:
    """Drop the clusters of a mask (K,) and return their ids.   Consumes: state."""
    if not dust.any():
        return []
    gone = [int(k) for k in state.tally.ids[dust]]
    state.latents["dropped"] += state.tally.mass[dust].sum()
    for k in gone:
        state.lineage.drop(k, state.clock)
    state.take(np.flatnonzero(~dust))
    return gone
