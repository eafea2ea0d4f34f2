"""Reviews: a stream looks back at a bounded sample of its rows, and improves its clusters.

At clocks that grow by a constant factor, a review looks for splits, merges and deletes of clusters
and learns what is open, on the sample. While the sample holds every row, the clusters found there
simply replace those of the stream. Later a row of the sample stands for many: clusters that were
fused have the sum of their statistics, exactly; those that were split take theirs from the sample;
all others keep what they have. Reviews come at fixed clocks, so that neither the cuts of a stream
nor questions change what is learnt.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info
from evermix.engines.filters.beginnings import begin, may_be
from evermix.engines.refine.coarse import coarsened, counted
from evermix.engines.refine.find import find
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.refine.sampled import resampled
from evermix.engines.refine.search import merged_only, search
from evermix.engines.seeding import Sample
from evermix.families import LowRankGaussian, Mixed
from evermix.families.base import Family
from evermix.kernels.weights import new_weight
from evermix.lookback import ROWS, KeptRows, Lookback, Recent
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.priors.base import GibbsType, HasSticks, Prior
from evermix.state import State
from evermix.tally import Tally

FIRST = 64  # rows before the first review
RATIO = 2**0.5  # between the clocks of two reviews
CLOCKS = [round(FIRST * RATIO**step) for step in range(116)]  # of all reviews, beyond 2**63
LEAST = 1e-6  # concentration
CHANGE = 30.0  # nats by which shares of clusters must differ for a change
FLOWS = 0.02  # share of a cluster that must move for it to be connected with another


def next_review(clock: int) -> int:
    """Return the clock of the first review after a clock: they grow by a factor of RATIO."""
    return CLOCKS[bisect_right(CLOCKS, clock)]


def next_stop(clock: int) -> int:
    """Return the clock after a clock at which rows are reviewed, or only fewer are kept."""
    return min(next_review(clock), (clock // ROWS + 1) * ROWS)


def is_review(model: Model, state: State) -> bool:
    """Whether a review is due; if all begin anew, at every other clock or where rows change."""
    clock = state.clock
    due = CLOCKS[bisect_left(CLOCKS, clock)] == clock
    return due and (_is_fresh(clock) or not _begins_anew(model) or has_changed(state))


def has_changed(state: State) -> bool:
    """Whether the rows since the last clock of reviews are of other clusters than those before.

    The likelihood ratio of their shares exceeds what K clusters have by chance by CHANGE nats.
    """
    if state.lookback is None or (rows := state.lookback.rows) is None:
        return False
    last = CLOCKS[bisect_left(CLOCKS, state.clock) - 1]
    k = np.unique(state.lineage.current(rows.ids), return_inverse=True)[1]
    mass = np.zeros((2, k.max() + 1))
    np.add.at(mass, ((rows.clocks > last).astype(np.int64), k), rows.weights)
    if not mass.any(axis=1).all():
        return False
    usual = mass.sum(axis=1, keepdims=True) * mass.sum(axis=0) / mass.sum()
    return float(np.sum(xlogy(mass, mass / usual))) - 0.5 * mass.shape[1] > CHANGE


def _is_fresh(clock: int) -> bool:
    """Whether a review of all rows begins anew: before the first clock, and at every other one.

    The others, which begin with the clusters that are there, take a fraction of the time.
    """
    return clock < FIRST or clock in {FIRST << j for j in range(clock.bit_length())}


def stretches(batch: Batch, clock: int) -> Iterator[Batch]:
    """Cut rows that follow a clock where reviews are due, or fewer rows are to be kept."""
    weights = batch.weights
    if clock + len(weights) <= next_stop(clock):
        yield batch
        return
    clocks = np.concatenate([[clock], clock + np.cumsum(weights > 0)])
    start = 0
    while start < len(weights):
        end = int(np.searchsorted(clocks[1:], next_stop(int(clocks[start])))) + 1
        yield batch.part(slice(start, end))
        start = end


def keep(model: Model, state: State, batch: Batch, labels: Ints, per_cluster: int) -> None:
    """Keep rows that were just learnt; at some clocks only a part of them.   Consumes: state."""
    add_rows(state, batch, labels)
    if next_stop(state.clock - 1) == state.clock:
        thin(model, state, per_cluster)


def add_rows(state: State, batch: Batch, labels: Ints) -> None:
    """Keep rows that were just learnt.   Consumes: state."""
    if state.lookback is not None:
        state.lookback.add(batch.X, batch.weights, labels, state.clock)
    if state.recent is not None:
        state.recent.since.add(batch.X, batch.weights, labels, state.clock)


def thin(model: Model, state: State, per_cluster: int) -> None:
    """Keep as many rows of each cluster as there is room for.   Consumes: state.

    Of counts all are kept or none: too few rows of a sample share a word. Of short texts the
    latest ones are kept from then on.
    """
    lookback = state.lookback
    if lookback is None or (rows := lookback.rows) is None:
        return
    rows = lookback.rows = rows._replace(ids=state.lineage.current(rows.ids))
    if sparse.issparse(rows.X) and len(rows.weights) > rows.room:
        last = CLOCKS[bisect_left(CLOCKS, state.clock) - 1]  # the last review
        short = rows.room >= ROWS
        state.recent = Recent.cut(rows, last, state.tally.ids) if short else None
        state.lookback = None
        return
    lookback.thin(state.tally.K, per_cluster, even=_begins_anew(model))


def review(engine: Engine, model: Model, state: State) -> tuple[Model, State, Info]:
    """Return a model and a state with better clusters, as far as the kept rows tell."""
    lookback = state.lookback
    assert lookback is not None and lookback.rows is not None
    kept, complete = lookback.rows, lookback.complete
    state = replace(state, lineage=deepcopy(state.lineage))  # if this fails, nothing has changed
    pinned = state.lineage.hand.pins(state.tally.ids)
    fresh = complete and _is_fresh(state.clock)
    if chosen := _is_chosen_by_all(model, pinned, complete, fresh):
        model, state = _with_family_of_all(engine, model, state)
    tally = state.tally
    free = ~np.append(pinned, False)[owners(tally, kept.ids)]
    rows = kept if free.all() else kept.take(free)
    if not len(rows.weights):  # those of pinned clusters stay where they are
        learnt = model if chosen else None
        return model, state, Info(rows=0, clock=state.clock, K=tally.K, lap=state.lap, model=learnt)
    old = owners(tally, rows.ids)
    weights = _standing_for(tally, rows, old)
    start = _beside(model, pinned, with_sticks(model, tally.mass))
    if chosen:
        start = replace(start, learns=tuple({"prior"} & {*model.learns}))
    outgrown = not pinned.any() and _is_outgrown(model, rows.X)
    anew = _begins_anew(model) or fresh or bool(pinned.all()) or outgrown
    if anew:
        found = find(start if complete or outgrown else _in_place(start), rows.X, rows.weights)
    else:
        found = _improved(start, tally.take(~pinned) if pinned.any() else tally, rows)
    new = found.r.argmax(axis=1)
    flow, aged = np.zeros((2, tally.K, found.K))
    known = old >= 0
    np.add.at(flow, (old[known], new[known]), weights[known])
    age = state.clock - rows.clocks[known] + 1
    np.add.at(aged, (old[known], new[known]), weights[known] * age)
    learnt = replace(
        model,
        family=found.model.family,
        prior=found.model.prior if prior_is_open(model) else model.prior,
    )
    unseen = flow.sum(axis=1) == 0  # dust, if all rows are kept
    stays = pinned | (unseen & (not (complete or outgrown)))
    may = may_be(state, new, rows.clocks, found.K)
    ids, births, merges, dropped = named(state, aged, stays, may)
    clusters = Tally.of(ids, found.mass, found.stats, {}, learnt.family.layout)
    if not complete:
        before = None if outgrown else tally
        clusters.mass[:], clusters.stats[:] = _transferred(before, found, flow, rows.X, weights)
    if stays.any() or not complete:
        clusters = clusters.plus(_untouched(model, learnt, tally.take(stays), kept, anew))
    after = engine.continued(learnt, clusters, state)
    after.lap, after.at = state.lap, state.at
    after.latents["capped"] = state.latents["capped"]
    if not complete:
        after.latents["dropped"] = state.latents["dropped"] + tally.mass[unseen & ~stays].sum()
    last = bisect_left(CLOCKS, state.clock)
    begin(state, ids, new, rows.clocks, None if complete else CLOCKS[last - 1] if last else 0)
    now = kept.ids.copy()
    now[free] = ids[new]
    after.lookback = Lookback(complete, [kept._replace(ids=now)])
    info = Info(
        rows=0,
        clock=state.clock,
        K=after.tally.K,
        births=births,
        merges=merges,
        dropped=dropped,
        lap=state.lap,
        scalars=numbers(learnt),
        model=learnt,
    )
    return learnt, after, info


def with_sticks(model: Model, mass: Floats) -> Prior:
    """Return the prior of a search: for other Gibbs-type priors the Pitman-Yor law nearest to it.

    Its predictive weights are the same, given the masses (K,) of the clusters.
    """
    prior = model.prior
    if prior_is_open(model):
        return prior if isinstance(prior, PitmanYor) else PitmanYor(1.0, 0.0)
    if isinstance(prior, HasSticks):
        return prior
    assert isinstance(prior, GibbsType)  # `reviewable` ensures it
    kind, a, sigma, tau = prior.scalars()
    weight = new_weight(kind, a, sigma, tau, float(mass.sum()), float(len(mass)))
    return PitmanYor(max(weight - sigma * len(mass), LEAST), sigma)


def reviewable(model: Model) -> bool:
    """Whether the clusters of a model can be reviewed.

    Those of counts are only if something is to be learnt; then a filter alone would begin too far
    from it. Those of models that forget cannot be, since their rows count less and less.
    """
    able = isinstance(model.prior, HasSticks | GibbsType) and model.forgetting is None
    return able and (bool(model.learns) or not model.family.sparse)


def _begins_anew(model: Model) -> bool:
    """Whether every review begins anew: clusters of wide rows can be merged, but not split."""
    return model.family.wide and not model.family.sparse


def _is_chosen_by_all(model: Model, pinned: Bools, complete: bool, fresh: bool) -> bool:
    """Whether rows of pinned clusters, which no search sees, are to choose the family, too."""
    anew = complete and (fresh or _begins_anew(model))
    return anew and bool(pinned.any()) and "family" in model.learns


def _with_family_of_all(engine: Engine, model: Model, state: State) -> tuple[Model, State]:
    """Return a model with the family that all rows choose, and the same clusters of it."""
    assert state.lookback is not None and (kept := state.lookback.rows) is not None
    found = find(replace(model, prior=with_sticks(model, state.tally.mass)), kept.X, kept.weights)
    learnt = replace(model, family=found.model.family)
    after = engine.continued(learnt, _untouched(model, learnt, state.tally, kept, True), state)
    after.lap, after.at, after.lookback = state.lap, state.at, state.lookback
    after.latents["capped"] = state.latents["capped"]
    return learnt, after


def _is_outgrown(model: Model, X: Array) -> bool:
    """Whether rows X (M, D) vary much outside the plane of a model, if it can be chosen again."""
    family = model.family
    return isinstance(family, LowRankGaussian) and "basis" in model.learns and family.outgrown(X)


def _in_place(model: Model) -> Model:
    """Return a model that does not learn what the statistics at hand depend on."""
    fixed = "family", *model.family.frame
    return replace(model, learns=tuple(name for name in model.learns if name not in fixed))


def numbers(model: Model) -> dict[str, float]:
    """Return what was learnt, by name, as far as it is single numbers."""
    names = model.family.learns
    values = {f"family.{name}": getattr(model.family, name, None) for name in names}
    if prior_is_open(model):
        values |= {f"prior.{name}": getattr(model.prior, name) for name in model.prior.tunable}
    return {name: value for name, value in values.items() if isinstance(value, float)}


def prior_is_open(model: Model) -> bool:
    """Whether the prior of a model is learnt."""
    return "prior" in model.learns


def owners(tally: Tally, ids: Ints) -> Ints:
    """Return the position of the cluster of each id, (M,); -1 for clusters that are gone."""
    position = {int(k): row for row, k in enumerate(tally.ids)}
    return np.array([position.get(int(k), -1) for k in ids], dtype=np.int64)


def _standing_for(tally: Tally, rows: KeptRows, owner: Ints) -> Floats:
    """Return how much mass of its cluster each row stands for, (M,)."""
    kept = np.bincount(owner[owner >= 0], rows.weights[owner >= 0], minlength=tally.K)
    factor = np.append(tally.mass / np.maximum(kept, 1e-300), 1.0)
    return rows.weights * factor[owner]


def _improved(model: Model, tally: Tally, rows: KeptRows) -> Clusters:
    """Return better clusters of the rows, starting from those of the tally.

    Every row counts as itself: as many copies as it stands for would pass for evidence.
    """
    sample = Sample(model.family, rows.X, rows.weights)
    problem = Problem(coarsened(model, sample), model, np.random.default_rng(0))
    if model.family.sparse:
        return counted(merged_only(problem, resampled(problem, owners(tally, rows.ids))), sample)
    found = search(problem, problem.from_sums(tally.mass, tally.stats))
    assert found is not None  # without a floor
    return counted(found, sample)


def named(
    state: State, flow: Floats, unseen: Bools, may: Bools | None = None
) -> tuple[Ints, list[int], list[tuple[int, int]], list[int]]:
    """Return the ids of new clusters, given the mass (old, new) that moved; and what happened.

    A new cluster has the id of the old one that it shares most with, unless another has it: then
    it was split from that one. Old ones that are ``unseen`` stay as they are. Where rows count by
    their age, a cluster that took in a new subject leaves its id to the old one. ``may`` (old, new)
    says which ids they may have; None: all.   Consumes: the lineage of the state.
    """
    old = state.tally.ids
    ids = np.full(flow.shape[1], -1, dtype=np.int64)
    taken = np.zeros(len(old), dtype=bool)
    for place in np.argsort(-flow, axis=None, kind="stable"):
        k, j = np.unravel_index(place, flow.shape)
        if flow[k, j] > 0 and not taken[k] and ids[j] < 0 and (may is None or may[k, j]):
            ids[j], taken[k] = old[k], True
    births = []
    for j in np.flatnonzero(ids < 0):
        shared = flow[:, j]
        parent = int(old[shared.argmax()]) if shared.max(initial=0.0) > 0 else None
        ids[j] = state.lineage.birth(state.clock, parent)
        births.append(int(ids[j]))
    merges, dropped = [], []
    for k in np.flatnonzero(~taken & ~unseen):
        if flow[k].max(initial=0.0) > 0:
            merges.append((int(old[k]), int(ids[flow[k].argmax()])))
            state.lineage.merge(*merges[-1], state.clock)
        else:
            dropped.append(int(old[k]))
            state.lineage.drop(dropped[-1], state.clock)
    return ids, births, merges, dropped


def _transferred(
    tally: Tally | None, found: Clusters, flow: Floats, X: Array, weights: Floats
) -> tuple[Floats, Floats]:
    """Return masses and statistics of the new clusters, exact wherever nothing was split.

    ``flow`` (old, new) is the mass that moved, ``weights`` (M,) what the rows X (M, D) stand for.
    The tally is None if its statistics tell nothing: those of a plane that the rows have outgrown.
    """
    shares = weights[:, None] * found.r
    mass, stats = shares.sum(axis=0), found.model.family.accumulate(X, shares)
    if tally is None:
        return mass, stats
    share = flow / np.maximum(flow.sum(axis=1, keepdims=True), 1e-300)
    n_parts, part = sparse.csgraph.connected_components(
        sparse.bmat([[None, share > FLOWS], [(share > FLOWS).T, None]]), directed=False
    )
    before, after = part[: tally.K], part[tally.K :]
    for p in range(n_parts):
        olds, news = np.flatnonzero(before == p), np.flatnonzero(after == p)
        if len(news) == 1 and len(olds):
            mass[news], stats[news] = tally.mass[olds].sum(), tally.stats[olds].sum(axis=0)
        elif len(news) and len(olds):
            factor = tally.mass[olds].sum() / mass[news].sum()
            mass[news], stats[news] = factor * mass[news], factor * stats[news]
    return mass, stats


def _beside(model: Model, pinned: Bools, prior: Prior) -> Model:
    """Return the model of a search for clusters beside those that are pinned."""
    cap = model.max_clusters
    if cap is not None:
        cap = max(cap - int(pinned.sum()), 1)
    return replace(model, prior=prior, max_clusters=cap)


def _untouched(model: Model, learnt: Model, tally: Tally, kept: KeptRows, anew: bool) -> Tally:
    """Return clusters that a review does not touch, for the family that it has learnt.

    If it began ``anew``, the family may have another origin; or be of another kind, or see rows
    in another frame, which happens only while all rows are kept. Then statistics are summed again.
    """
    before, now, stats, mass = model.family, learnt.family, tally.stats, tally.mass
    if _same_frame(before, now):
        stats = before.moved(stats, mass, now) if anew else stats
    else:
        own = (kept.ids[:, None] == tally.ids) * kept.weights[:, None]
        stats, mass = now.accumulate(kept.X, own), own.sum(axis=0)
    return Tally.of(tally.ids, mass, stats, {}, now.layout)


def _same_frame(before: Family, now: Family) -> bool:
    """Whether two families have the same statistics, but for their origin."""
    if isinstance(before, Mixed) and isinstance(now, Mixed):
        if [block.names for block in before.blocks] != [block.names for block in now.blocks]:
            return False  # columns share a covariance in one of them
        pairs = zip(before.blocks, now.blocks, strict=True)
        return all(_same_frame(a.family, b.family) for a, b in pairs)
    return type(before) is type(now) and all(
        np.array_equal(getattr(before, name), getattr(now, name)) for name in now.frame
    )
