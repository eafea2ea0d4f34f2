r"""Joining clusters that explain the same data.

Two clusters are fused when the posterior log odds of the fused partition, with soft counts,

.. math::

    \Delta = \log M(s_a + s_b) - \log M(s_a) - \log M(s_b) + \log p(\Pi_{ab}) - \log p(\Pi),

exceed a threshold. For hard counts this is exact. Where rows share clusters, the entropy of their
responsibilities counts too: a fusion loses it, and without it overlapping clusters would be fused
that the data keep apart. A filter that keeps no rows does not know it.

One pass cannot undo a fusion, and young clusters look similar for lack of data. A cluster is
young while it has seen fewer numbers than it has statistics; then the odds are computed as if both
had more data in the same proportions, enough for the younger one to be mature. Equal clusters are
still fused, merely young ones are not; a cluster that has seen less than a quarter of what it needs
is not considered at all.

Computing the odds for every pair would cost far more than the pass itself. Only clusters whose mass
has changed by a tenth since they were last considered are considered again, each with its most
promising partners, found by a cheap bound (:meth:`evermix.families.Family.fusion_bound`).
"""

from collections.abc import Callable

import numpy as np

from evermix._xp import Floats, Ints
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors.base import HasPredictive, occupancy
from evermix.state import STRAYS, State

YOUNGEST = 0.25  # numbers seen per statistic, below which a cluster is too young
PARTNERS = 5  # candidates for each cluster
HOPELESS = -20.0  # log odds by a sketch, below which a pair is given up
HELD = 1.0  # mass from which a cluster holds a row
CHANGED = 0.1  # relative change of mass after which a cluster is considered again


def join(
    model: Model,
    state: State,
    threshold: float,
    entropy_lost: Callable[[Ints], Floats] | None = None,
) -> list[tuple[int, int]]:
    """Fuse pairs whose log odds exceed ``threshold``; return (gone, into) ids.   Consumes: state.

    Each cluster takes part in at most one fusion per call, pinned ones in none. Where
    ``entropy_lost`` is known, a function of pairs (P, 2) of rows, it is subtracted from the log
    odds.
    """
    pairs = _candidates(model.family, state)
    pairs = pairs[~state.lineage.hand.pins(state.tally.ids)[pairs].any(axis=1)]
    if not len(pairs):
        return []
    times = _foresight(model.family, state, pairs)
    odds = log_odds(model, state, pairs, times)
    if entropy_lost is not None:
        some = odds > threshold  # it is never below zero
        pairs, odds = pairs[some], odds[some] - times[some] * entropy_lost(pairs[some])
    taken: set[int] = set()
    merges = []
    for p in np.argsort(-odds, kind="stable"):
        a, b = (int(k) for k in pairs[p])
        if not odds[p] > threshold:  # nor nan
            break
        if a in taken or b in taken:
            continue
        taken |= {a, b}
        merges.append(fuse(state, *_by_mass(state, a, b)))
    if merges:
        gone = {k for k, _ in merges}
        state.take(np.array([j for j, k in enumerate(state.tally.ids) if int(k) not in gone]))
    return merges


def log_odds(model: Model, state: State, pairs: Ints, times: float | Floats = 1.0) -> Floats:
    """Log odds (P,) of fusing each pair (P, 2) of rows, had they ``times`` their data."""
    prior, tally = model.prior, state.tally
    assert isinstance(prior, HasPredictive)  # the engine's `needs` ensures it
    occupied = occupancy(tally.mass, tally.extras)
    odds = prior.log_merge_odds(tally.mass, occupied, pairs)
    return model.family.log_fusion(tally, pairs, times) + odds


def _foresight(family: Family, state: State, pairs: Ints) -> Floats:
    """Factor (P,) by which the data of the younger cluster of each pair must grow to be mature."""
    seen = np.maximum(family.numbers_seen(state.tally), 1.0)
    return np.maximum(family.n_stats / seen[pairs].min(axis=1), 1.0)


def _candidates(family: Family, state: State) -> Ints:
    """Pairs (P, 2) of rows to consider; records that their clusters were considered."""
    tally, judged = state.tally, state.columns["judged"][: state.tally.K]
    seen = family.numbers_seen(tally)
    able = np.flatnonzero((tally.mass >= 1.0) & (seen >= YOUNGEST * family.n_stats))
    due = np.flatnonzero(np.abs(tally.mass - judged)[able] > CHANGED * judged[able])  # among them
    judged[able[due]] = tally.mass[able[due]]
    if len(able) < 2 or not len(due):
        return np.empty((0, 2), dtype=np.int64)
    smaller, few = family.sketch(tally, able)
    bound = np.nan_to_num(smaller.fusion_bound(few, due), nan=-np.inf, neginf=-np.inf)
    bound[np.arange(len(due)), due] = -np.inf
    count = min(PARTNERS, len(able) - 1)
    best = np.argpartition(-bound, count - 1, axis=1)[:, :count]
    pairs = np.stack([np.repeat(due, count), best.ravel()], axis=1)
    worth = np.take_along_axis(bound, best, axis=1).ravel() > -np.inf
    pairs = np.unique(np.sort(pairs[worth], axis=1), axis=0)
    if smaller is not family:
        times = _foresight(family, state, able[pairs])
        pairs = pairs[smaller.log_fusion(few, pairs, times) > HOPELESS]
    return able[pairs]


def join_near(state: State, scale: Floats, penalty: float) -> list[tuple[int, int]]:
    """Fuse centres of DP-means where that lowers the objective; return (gone, into) ids.

    ``scale`` (D,) are weights of squared differences, ``penalty`` is the cost of a cluster. Each
    cluster takes part in at most one fusion.   Consumes: state.
    """
    tally, centres = state.tally, state.columns["centre"]
    near: list[tuple[float, int, int]] = []
    for a in range(tally.K - 1):  # row by row: there may be thousands of clusters
        later = slice(a + 1, tally.K)
        distance = ((centres[a] - centres[later]) ** 2 * scale).sum(axis=1)
        mass = tally.mass[a] * tally.mass[later] / (tally.mass[a] + tally.mass[later])
        cost = np.maximum(mass, 1.0) * distance
        near += [(float(cost[j]), a, a + 1 + int(j)) for j in np.flatnonzero(cost < penalty)]
    taken: set[int] = set()
    merges = []
    for _, *both in sorted(near):
        pair = sorted(both, key=lambda k: -tally.mass[k])
        if not taken.isdisjoint(pair):
            continue
        taken.update(pair)
        merges.append(fuse(state, *pair))
        centres[pair[0]] = tally.stats[pair[0]] / tally.mass[pair[0]]
    if merges:
        state.take(~np.isin(tally.ids, [gone for gone, _ in merges]))
    return merges


def _by_mass(state: State, a: int, b: int) -> tuple[int, int]:
    """Return two rows, the heavier first."""
    mass = state.tally.mass
    return (a, b) if mass[a] >= mass[b] else (b, a)


def fuse(state: State, into: int, gone: int) -> tuple[int, int]:
    """Fuse row ``gone`` with ``into``, which keeps its id; return (gone, into) ids.

    The caller removes what is gone.   Consumes: state.
    """
    tally = state.tally
    held = tally.mass[gone] >= max(HELD, STRAYS * tally.mass[into])
    tally.fuse(into, gone)
    seen = state.columns["last_seen"]
    seen[into] = max(seen[into], seen[gone])
    if "judged" in state.columns:
        state.columns["judged"][into] = 0.0
    ids = int(tally.ids[gone]), int(tally.ids[into])
    state.lineage.merge(*ids, state.clock)
    if held:
        state.lineage.begin(ids[1], min(state.lineage.born[id] for id in ids))
    return ids
