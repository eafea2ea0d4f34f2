"""Dropping dust: clusters that never took hold.

Dust is what is more likely empty than occupied. (A mass below one is not enough: a rare cluster
that one observation belongs to for nearly certain has such a mass, and dropping it costs
predictions.)
"""

import numpy as np

from evermix.priors.base import occupancy
from evermix.state import State

__all__ = ["prune"]


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
    if not dust.any() or dust.all():
        return []
    gone = [int(k) for k in tally.ids[dust]]
    state.latents["dropped"] += tally.mass[dust].sum()
    for k in gone:
        state.lineage.drop(k, state.clock)
    state.take(np.flatnonzero(~dust))
    return gone
