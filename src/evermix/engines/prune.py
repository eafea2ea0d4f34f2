"""Dropping clusters that never took hold, and those that have decayed.

A cluster is dropped as *dust* if it is more likely empty than occupied. (A mass below one is not
enough: a rare cluster to which one observation belongs almost certainly has such a mass, and
dropping it costs predictions.) In models that forget, a cluster with less than half an observation
left has *faded*; its rows keep its id.
"""

import numpy as np

from evermix._xp import Bools, Floats
from evermix.priors.base import occupancy
from evermix.state import State

FAINT = 0.5  # mass below which a cluster has faded


def prune(state: State, idle: float = 0.0, faded: bool = False) -> list[int]:
    """Drop the dust that no row has joined for a while; return its ids.

    The while is ``idle`` observations for every cluster that is not dust. (For every cluster it
    could grow faster than the stream.) At least one cluster is kept. With ``faded``, clusters
    may have been larger before.   Consumes: state.
    """
    tally = state.tally
    dust = occupancy(tally.mass, tally.extras) < 0.5
    since = state.clock - state.columns["last_seen"][: tally.K]
    dust &= since >= idle * np.count_nonzero(~dust)
    if dust.all() and not faded:
        return []
    return drop(state, _but_one(dust, tally.mass), faded)


def fade_out(state: State) -> list[int]:
    """Drop the clusters that have faded, except the last one; return their ids.

    Consumes: state.
    """
    mass = state.tally.mass
    return drop(state, _but_one(mass < FAINT, mass), faded=True)


def drop(state: State, some: Bools, faded: bool = False) -> list[int]:
    """Drop the clusters of a mask (K,), as dust or as faded; return their ids.

    Pinned ones stay. The mass of others is added to the latent ``dropped``, if the state has it.
    Consumes: state.
    """
    some = some & ~state.lineage.hand.pins(state.tally.ids)
    if not some.any():
        return []
    gone = [int(k) for k in state.tally.ids[some]]
    if "dropped" in state.latents:
        state.latents["dropped"] += state.tally.mass[some].sum()
    end = state.lineage.fade if faded else state.lineage.drop
    for k in gone:
        end(k, state.clock)
    state.take(np.flatnonzero(~some))
    return gone


def _but_one(some: Bools, mass: Floats) -> Bools:
    """Return a mask (K,) without the heaviest cluster, if the mask holds all."""
    if some.all():
        some[mass.argmax()] = False
    return some
