"""Dropping dust: clusters that never took hold."""

import numpy as np

from evermix.state import State

__all__ = ["prune"]


def prune(state: State) -> list[int]:
    """Drop clusters of mass below one that nothing has visited lately; return their ids.

    "Lately" is the last 10 K observations. The mass goes to the latent ``dropped``.

    Consumes: state.
    """
    tally = state.tally
    idle = state.clock - state.columns["last_seen"][: tally.K] >= 10 * tally.K
    dust = (tally.mass < 1.0) & idle
    if not dust.any() or dust.all():
        return []
    gone = [int(k) for k in tally.ids[dust]]
    state.latents["dropped"] += tally.mass[dust].sum()
    for k in gone:
        state.lineage.drop(k, state.clock)
    state.take(np.flatnonzero(~dust))
    return gone
