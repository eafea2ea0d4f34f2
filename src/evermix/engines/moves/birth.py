"""Births: rows of some clusters are collected from all batches and analysed afresh.

A cluster is a target until attempts on it have failed; it is one again when its mass has changed.
The first attempt takes its rows alone, further ones those of a neighbour too, so that two clusters
that share rows in the wrong way can be told apart anew.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.engines.base import Batch
from evermix.engines.local import Beliefs, Trial, believe, share
from evermix.engines.moves.analysis import Clusters, analyse, refine, valued
from evermix.engines.moves.sample import NUMBERS, gather
from evermix.engines.seeding import Sample
from evermix.model import Model
from evermix.state import Record, State

__all__ = ["STAGES", "due", "plan_births"]

MOST_ROWS, FEWER_ROWS = 10_000, 4000  # of a target: the first, and later ones
MOST, FEWER = 24, 10  # clusters that an analysis starts with: the first, and later ones
ROWS_PER_SEED = 10
SCHEDULE = (
    ("split", 0),
    ("regroup", 1),
    ("delete", 4),
    ("regroup", 2),
    ("regroup", 3),
    ("regroup", 4),
    ("again", 2),
    ("split", 1),
    ("again", 3),
)
STAGES = len(SCHEDULE)  # attempts on a cluster
MARGIN = 1.0  # nats
TRY_ROWS, TRIES = 10_000, 6  # rows for which there is another try, and how many at most
CHANGED = 0.01  # relative change of mass after which attempts begin anew
BUDGET = 40  # rows analysed for every row of data, at most, in a lap


def due(state: State) -> Array:
    """Return positions of clusters on which something is still to be tried, the largest first."""
    K, mass = state.tally.K, state.tally.mass
    tried, stage = state.columns["tried"][:K], state.columns["stage"][:K]
    anew = np.abs(mass - tried) > CHANGED * np.maximum(tried, 1.0)
    stage[anew], tried[anew] = 0, mass[anew]
    able = (stage < STAGES) & (mass > 2.0)
    targets = np.flatnonzero(able)
    return targets[np.lexsort((-mass[targets], stage[targets]))]


class Collected(NamedTuple):
    """Rows of every cluster, and how many rows each of them stands for."""

    samples: list[Sample | None]
    rates: Array  # (K,)


def collect(
    model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
) -> Collected:
    """Draw rows of every cluster from all batches."""
    K, family = state.tally.K, model.family
    owners = [state.memo[str(key)]["owner"] for key in range(len(batches))]
    owner = np.concatenate(owners)
    most = min(MOST_ROWS if K < 4 else FEWER_ROWS, max(4 * NUMBERS // (family.n_stats * K), 100))
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(K + 1))
    chosen, rates = [], np.ones(K)
    for k in range(K):
        mine = order[cuts[k] : cuts[k + 1]]
        if len(mine) > most:
            rates[k] = len(mine) / most
            mine = rng.choice(mine, most, replace=False)
        chosen.append(np.sort(mine))
    rows = np.sort(np.concatenate(chosen))
    starts = np.cumsum([0, *(len(o) for o in owners)])
    cut = np.searchsorted(rows, starts)
    parts = [rows[a:b] - s for a, b, s in zip(cut, cut[1:], starts, strict=False)]
    sample, of = gather(family, batches, parts), owner[rows]
    samples = [sample.take(np.flatnonzero(of == k)) if len(chosen[k]) else None for k in range(K)]
    return Collected(samples, rates)


def plan_births(
    model: Model,
    state: State,
    batches: Sequence[Batch],
    near: list[Array],
    free: Array,
    rng: np.random.Generator,
) -> tuple[list[Trial], list[int]]:
    """Return trials that promise to raise the bound, and the target of each.

    Parameters
    ----------
    near : list of int arrays
        Neighbours of each cluster, the nearest first.
    free : bool array (K,)
        Clusters that no other move has reserved.   Changed in place.
    """
    targets = due(state)
    trials: list[Trial] = []
    chosen: list[int] = []
    if not len(targets):
        return trials, chosen
    found = collect(model, state, batches, rng)
    stage = state.columns["stage"]
    work = BUDGET * sum(len(batch.weights) for batch in batches)
    beliefs = believe(model, state.tally.mass, state.tally.stats)
    for k in targets:
        while work > 0 and free[k] and stage[k] < STAGES:
            kind, count = SCHEDULE[stage[k]]
            group = _group(int(k), count, near, free, found, kind)
            trial = None
            if group is not None:
                sample = _joined(found, group)
                tries = TRIES if len(near[k]) or state.tally.K == 1 else 1
                trial = _attempt(model, state, beliefs, sample, group, kind, tries, rng)
                work -= len(sample)
            if trial is None:
                stage[k] += 1
                continue
            trials.append(trial)
            chosen.append(int(k))
            free[group] = False
    return trials, chosen


def _group(
    k: int, count: int, near: list[Array], free: Array, found: Collected, kind: str
) -> Array | None:
    """Return the clusters that an attempt takes apart, or None if there is none."""
    if found.samples[k] is None:
        return None
    if kind == "split":
        return np.array([k]) if count == 0 or len(near[k]) else None
    if kind == "regroup":
        others = near[k][count - 1 : count]
    else:
        others = near[k][:count]
    if not len(others) or not free[others].all() or any(found.samples[o] is None for o in others):
        return None
    return np.append(k, others)


def _joined(found: Collected, group: Array) -> Sample:
    """Return the rows of a group, those of the best known cluster with weight one."""
    parts = [found.samples[k] for k in group]
    rates = found.rates[group] / found.rates[group].min()
    if len(parts) == 1:
        assert parts[0] is not None
        return parts[0]
    X = [part.X for part in parts if part is not None]
    join = sparse.vstack if sparse.issparse(X[0]) else np.concatenate
    weights = [part.weights * rate for part, rate in zip(parts, rates, strict=True) if part]
    whole = join(X)
    whole = sparse.csr_matrix(whole) if sparse.issparse(whole) else whole
    return Sample(parts[0].family, whole, np.concatenate(weights))  # type: ignore[union-attr]


def _attempt(
    model: Model,
    state: State,
    beliefs: Beliefs,
    sample: Sample,
    group: Array,
    kind: str,
    tries: int,
    rng: np.random.Generator,
) -> Trial | None:
    """Analyse a sample afresh; return a trial if that explains it better than its clusters do."""
    tally = state.tally
    most = MOST if tally.K < 4 else FEWER
    J = int(np.clip(len(sample) // ROWS_PER_SEED, 2, most)) + len(group) - 1
    if model.max_clusters is not None:
        J = min(J, model.max_clusters - tally.K + len(group))
    if len(sample) < 2 or J < 1:
        return None
    scores = sample.features @ beliefs.slopes[group].T + beliefs.intercepts[group]
    now, r = valued(model, sample, np.exp(share(scores)[0]))
    if len(group) > 1:
        now = refine(model, sample, now, merge=False)
    if kind == "delete":
        r = np.exp(share(scores[:, 1:])[0])
        best = refine(model, sample, valued(model, sample, r)[0])
    else:
        best = _best(model, sample, J, tries, rng)
    if not best.value > now.value + MARGIN or (len(group) == 1 and len(best.mass) < 2):
        return None
    scale = tally.mass[group].sum() / best.mass.sum()
    return Trial(group, believe(model, scale * best.mass, scale * best.stats))


def _best(
    model: Model, sample: Sample, K: int, tries: int, rng: np.random.Generator
) -> Clusters:
    """Return the best of several analyses; small samples get more of them."""
    tries = int(np.clip(TRY_ROWS // len(sample), 1, tries))
    best = analyse(model, sample, K, rng)
    for t in range(1, tries):
        other = analyse(model, sample, max(K // (1 + t % 3), 2), rng)
        best = max(best, other, key=lambda found: found.value)
    return best
