"""One state from several that were fitted separately, on different rows, with the same model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evermix._random import generator
from evermix._xp import Ints
from evermix.engines.base import Engine
from evermix.engines.bound import lower_bound
from evermix.engines.merging.match import BOUND, ODDS, match
from evermix.engines.variational.base import Variational
from evermix.engines.variational.stochastic import StochasticVB
from evermix.families.base import Family
from evermix.model import Model
from evermix.state import State
from evermix.tally import Tally

ADDED = ("base", "dropped", "steps", "weight")  # latents that are sums over rows or batches
LARGEST = ("capped", "typical")  # latents of which the largest is used


class United(NamedTuple):
    """A state, and the new ids of the clusters of each state that it was made of."""

    state: State
    ids: list[Ints]  # of each state (K,), in the order of its tally


def moved(family: Family, state: State, to: Family) -> State:
    """Return a copy of a state for the same family with another origin."""
    tally, latents = state.tally.copy(), dict(state.latents)
    tally.stats[:] = family.moved(tally.stats, tally.mass, to)
    if "base" in latents:  # what the base measure loses, the evidence gains
        evidence = family.log_marginals(state.tally).sum() - to.log_marginals(tally).sum()
        latents["base"] = latents["base"] + evidence
    return replace(state, tally=tally, latents=latents)


def unite(engine: Engine, model: Model, parts: Sequence[State], threshold: float) -> United:
    """Return one state of all rows, in which clusters that explain the same data are fused.

    It has no memo, so a fit cannot be resumed. Clusters are numbered in order of appearance: those
    of the first part first, by their ids.
    """
    owner = np.repeat(np.arange(len(parts)), [part.tally.K for part in parts])
    tally = _concatenated([part.tally for part in parts])
    old = tally.ids.copy()
    criterion = BOUND if isinstance(engine, Variational) else ODDS
    kept, row = np.unique(match(model, tally, owner, criterion, threshold), return_inverse=True)
    state = engine.initial(model, generator(0))  # the seed is not used
    state.lookback = None  # whose rows would be those of all parts
    state.tally = tally.take(kept)
    by_appearance = np.lexsort((old, owner))
    first = np.unique(row[by_appearance], return_index=True)[1]
    state.tally.ids[:] = np.argsort(np.argsort(first))
    _set_latents(state, parts)
    _set_columns(model, state, parts, row)
    born = np.concatenate([[s.lineage.born[k] for k in s.tally.ids] for s in parts])
    for k in np.argsort(state.tally.ids):
        state.lineage.birth(int(born[row == k].min()))
    ids = [state.tally.ids[row[owner == i]] for i in range(len(parts))]
    if isinstance(engine, Variational) and len(parts) > 1:
        state.take(np.argsort(-state.tally.mass, kind="stable"))  # on a stick the largest is first
        _set_bound(engine, model, state, parts)
    elif isinstance(engine, Variational):
        state.latents["bound"][:] = parts[0].latents["bound"]
    return United(state, ids)


def _concatenated(tallies: Sequence[Tally]) -> Tally:
    """Return a tally of the clusters of all, with their old ids."""
    return Tally.of(
        np.concatenate([tally.ids for tally in tallies]),
        np.concatenate([tally.mass for tally in tallies]),
        np.concatenate([tally.stats for tally in tallies]),
        {n: np.concatenate([t.extras[n] for t in tallies]) for n in tallies[0].extras},
        tallies[0].layout,
    )


def _set_latents(state: State, parts: Sequence[State]) -> None:
    """Set the clock and the latents.   Consumes: state."""
    state.clock = sum(part.clock for part in parts)
    state.lap = max(1, *(part.lap for part in parts))
    for name, values in state.latents.items():
        each = [part.latents[name] for part in parts]
        if name in ADDED:
            values[:] = np.sum(each, axis=0)
        elif name in LARGEST:
            values[:] = np.max(each, axis=0)


def _set_columns(model: Model, state: State, parts: Sequence[State], row: Ints) -> None:
    """Set the columns of filters.   Consumes: state."""
    state.reserve(state.tally.capacity)
    if "last_seen" not in state.columns:
        return
    # A cluster is as old as in the part that saw it last.
    ages = [part.clock - part.columns["last_seen"][: part.tally.K] for part in parts]
    since = np.full(state.tally.K, state.clock)
    np.minimum.at(since, row, np.concatenate(ages))
    state.columns["last_seen"][: state.tally.K] = state.clock - since
    state.columns |= model.family.columns(state.tally)


def _set_bound(engine: Engine, model: Model, state: State, parts: Sequence[State]) -> None:
    """Set the lower bound: those of the parts, plus the change of the evidence.

    Responsibilities, and so their entropy, do not change.   Consumes: state.
    """
    if isinstance(engine, StochasticVB):  # its posteriors do not follow from its responsibilities
        return
    nothing = 0.0 * state.tally.mass
    bound = lower_bound(model, state.tally.mass, state.tally.stats, nothing, 0.0)
    for part in parts:
        mass, stats = part.tally.mass, part.tally.stats
        bound += part.latents["bound"][0] - lower_bound(model, mass, stats, 0.0 * mass, 0.0)
    state.latents["bound"][:] = bound
