"""Reviews: a stream looks back at a bounded sample of its rows, and improves its clusters.

At clocks that grow by a constant factor, a review looks for splits, merges and deletes of clusters
and learns what is open, on the sample. While the sample holds every row, the clusters found there
simply replace those of the stream. Later a row of the sample stands for many: clusters that were
fused have the sum of their statistics, exactly; those that were split take theirs from the sample;
all others keep what they have.
"""

from bisect import bisect_left
from copy import deepcopy
from dataclasses import replace

import numpy as np

from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Info, cap_of
from evermix.engines.filters.beginnings import begin, may_be
from evermix.engines.filters.keeping import (
    CLOCKS,
    as_they_came,
    before_latest,
    begins_anew,
    brings_words,
    has_faded,
    is_fresh,
)
from evermix.engines.filters.succession import named, owners, transferred
from evermix.engines.refine.anchored import beside
from evermix.engines.refine.coarse import coarsened, counted
from evermix.engines.refine.find import find
from evermix.engines.refine.problem import Clusters, Problem
from evermix.engines.refine.sampled import resampled
from evermix.engines.refine.search import merged_only, search
from evermix.engines.seeding import Sample
from evermix.families import LowRankGaussian, Mixed
from evermix.families.base import Family
from evermix.kernels.weights import new_weight
from evermix.lookback import KeptRows, Lookback, Recent
from evermix.model import Model
from evermix.priors import PitmanYor
from evermix.priors.base import GibbsType, HasSticks, Prior
from evermix.state import State
from evermix.tally import Tally

LEAST = 1e-6  # concentration


def review(engine: Engine, model: Model, state: State) -> tuple[Model, State, Info]:
    """Return a model and a state with better clusters, as far as the kept rows tell."""
    lookback = state.lookback
    assert lookback is not None and lookback.rows is not None
    kept, complete = lookback.rows, lookback.complete
    state = replace(state, lineage=deepcopy(state.lineage))  # if this fails, nothing has changed
    pinned = state.lineage.hand.pins(state.tally.ids)
    fresh = complete and is_fresh(state.clock)
    soon = not fresh and brings_words(model, state)
    if chosen := _is_chosen_by_all(model, pinned, complete, fresh):
        model, state = _with_family_of_all(engine, model, state)
    tally = state.tally
    free = ~np.append(pinned, False)[owners(tally, kept.ids)] & ~has_faded(state, kept)
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
    anew = begins_anew(model) or fresh or bool(pinned.all()) or outgrown
    if anew and not (complete or outgrown):
        start = _in_place(start)
    found = _beside_earlier(start, state, rows) if soon else None
    if found is None:
        found = _found(start, rows, None if anew else tally.take(~pinned))
    new = found.r.argmax(axis=1)
    moves = (old, new), (tally.K, found.K)
    flow = _summed(weights, *moves)
    came = weights if model.forgetting is None else as_they_came(model, rows).weights
    aged = _summed(came * (state.clock - rows.clocks + 1), *moves)
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
        clusters.mass[:], clusters.stats[:] = transferred(before, found, flow, rows.X, weights)
    if stays.any() or not complete:
        clusters = clusters.plus(_untouched(model, learnt, tally.take(stays), kept, anew))
    after = engine.continued(learnt, clusters, state)
    after.lap, after.at = state.lap, state.at
    after.latents["capped"] = state.latents["capped"]
    if not complete:
        after.latents["dropped"] = state.latents["dropped"] + tally.mass[unseen & ~stays].sum()
    elif model.forgetting is not None:  # rows of clusters that have faded
        lost = tally.mass.sum() - after.tally.mass.sum()
        after.latents["dropped"] = np.maximum(state.latents["dropped"] + lost, 0.0)
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


def _summed(weights: Floats, moves: tuple[Ints, Ints], shape: tuple[int, int]) -> Floats:
    """Return sums (old, new) of weights of rows (M,), which moved from old clusters to new ones."""
    found, known = np.zeros(shape), moves[0] >= 0
    np.add.at(found, (moves[0][known], moves[1][known]), weights[known])
    return found


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


def _found(start: Model, rows: KeptRows, tally: Tally | None) -> Clusters:
    """Return clusters of rows: those of a tally improved, or found anew without one."""
    whole = as_they_came(start, rows)
    if tally is None:
        found = find(start, whole.X, whole.weights)
    else:
        found = _improved(start, tally, whole)
    if whole is rows:
        return found
    return counted(found, Sample(found.model.family, rows.X, rows.weights))


def _beside_earlier(model: Model, state: State, rows: KeptRows) -> Clusters | None:
    """Return clusters of rows of counts where those of the earlier rows stay as they are.

    None if there are none that may move, or more than the model may have.
    """
    whole = as_they_came(model, rows)
    cut = Recent.cut(whole, before_latest(state.clock), state.tally.ids)
    before, since = cut.before, cut.since.rows
    if since is None or not len(before.ids):
        return None
    free = replace(model, max_clusters=None)
    found = beside(free, (before.X, before.weights), since.X, since.weights)
    if found.K > cap_of(model):
        return None
    r = np.zeros((len(rows.weights), found.K))
    early = np.isin(rows.clocks, since.clocks, invert=True)
    r[early] = found.r[np.searchsorted(before.ids, rows.ids[early])]
    r[~early] = found.r[len(before.ids) :]
    return counted(replace(found, r=r), Sample(model.family, rows.X, rows.weights))


def reviewable(model: Model) -> bool:
    """Whether the clusters of a model can be reviewed.

    Those of counts are only if something is to be learnt; then a filter alone would begin too far
    from it. In models that forget only those of counts are.
    """
    if not isinstance(model.prior, HasSticks | GibbsType):
        return False
    counts = model.family.sparse
    return bool(model.learns) if counts else model.forgetting is None


def _is_chosen_by_all(model: Model, pinned: Bools, complete: bool, fresh: bool) -> bool:
    """Whether rows of pinned clusters, which no search sees, are to choose the family, too."""
    anew = complete and (fresh or begins_anew(model))
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
        if [block.label for block in before.blocks] != [block.label for block in now.blocks]:
            return False  # columns share a covariance in one of them
        pairs = zip(before.blocks, now.blocks, strict=True)
        return all(_same_frame(a.family, b.family) for a, b in pairs)
    return type(before) is type(now) and all(
        np.array_equal(getattr(before, name), getattr(now, name)) for name in now.frame
    )
