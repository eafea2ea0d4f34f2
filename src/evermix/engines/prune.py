"""Dropping clusters: dust that never took hold, and what has faded.

Dust is what is more likely empty than occupied. (A mass below one is not enough: a rare cluster
that one observation belongs to for nearly certain has such a mass, and dropping it costs
predictions.) In models that forget, a cluster of which less than half an observation is left has
faded. Its name stays with the rows that it had.
"""

import numpy as np

from evermix._xp import Array
from evermix.priors.base import occupancy
from evermix.state import State

FAINT = 0.5  # mass below which a cluster has faded


def prune(state: State, idle: float = 0.0, faded: bool = False) -> list[int]:
    """Drop the dust that nothing has visited for a while; return its ids.

    A while is ``idle`` observations for every cluster that is not dust. (For every cluster it
    could grow faster than the stream.) The mass goes to the latent ``dropped``. At least one
    cluster stays. ``faded`` says that clusters may have been more than dust.   Consumes: state.
    """
    tally = state.tally
    dust = occupancy(tally.mass, tally.extras) < 0.5
    since = state.clock - state.columns["last_seen"][: tally.K]
    dust &= since >= idle * np.count_nonzero(~dust)
    if dust.all() and not faded:
        return []
    return drop(state, _but_one(dust, tally.mass), faded)


def fade_out(state: State) -> list[int]:
    """Drop the clusters that have faded, but not the last one; return their ids.

    Consumes: state.
    """
    mass = state.tally.mass
    return drop(state, _but_one(mass < FAINT, mass), faded=True)


def drop(state: State, some: Array, faded: bool = False) -> list[int]:
    """Drop the clusters of a mask (K,), as dust or as faded; return their ids.

    Consumes: state.
    """
    if not some.any():
        return []
    gone = [int(k) for k in state.tally.ids[some]]
    state.latents["dropped"] += state.tally.mass[some].sum()
    end = state.lineage.fade if faded else state.lineage.drop
    for k in gone:
        end(k, state.clock)
    state.take(np.flatnonzero(~some))
    return gone


def _but_one(some: Array, mass: Array) -> Array:
    """Return a mask (K,) from which the heaviest cluster is taken out, if it holds all."""
    if some.all():
        some[mass.argmax()] = False
    return some
