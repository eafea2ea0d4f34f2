r"""The local step of variational inference: responsibilities, and their sums over a batch.

The responsibility of cluster k for row n is

.. math::

    r_{nk} \propto \exp(E \log w_k + E \log p(x_n | \phi_k)),

which is optimal given the posteriors of the clusters. All that inference needs of a batch are sums
over its rows: mass, features and entropy of every cluster, and of those that planned moves would
make. They are computed here in one pass, by array maths alone, in parts that fit into the cache.
Nothing here uses a state, so it can run on any machine.
"""

from typing import NamedTuple

import numpy as np

from evermix._csr import DeviceCSR
from evermix._threads import cuts, side_by_side
from evermix._xp import (
    Array,
    alike,
    doubled,
    filled,
    host,
    is_numpy,
    namespace,
    nth_largest,
    precise,
    take_rows,
    xlogy,
)
from evermix.engines.batch import Batch
from evermix.families.values import finite
from evermix.kernels.device import dispatch as device
from evermix.kernels.engines.local import LEAST, add_rows, softmax_rows
from evermix.kernels.rows import plain
from evermix.model import Model
from evermix.priors.base import HasSticks

BLOCK = 2**17  # statistics of clusters used at a time: 1 MB, to stay in the cache
BLOCK_ROWS = 256  # rows summed at a time in single precision
FEW = 8  # if only one in this many responsibilities is positive, sums skip the others
HELD = (
    1e-3  # responsibility of the parents above which a row is assigned to the children of a trial
)


class Beliefs(NamedTuple):
    """Expected log joint density of a row and each cluster: linear in the row's features."""

    slopes: Array  # (K, F)
    intercepts: Array  # (K,)


class Responsibilities(NamedTuple):
    """Responsibilities of clusters for rows, and sums over rows."""

    r: Array  # (N, K), sum to 1
    mass: Array  # (K,)
    entropy: Array  # (K,)
    owner: Array  # (N,) the cluster with the largest responsibility
    best: Array  # (N,) that responsibility
    log_norm: Array  # (N,) log of the sum over clusters of exp(score)
    held: Array | None = None  # (N, K) responsibilities times weights, if they are known already
    few: bool = False  # whether most responsibilities are zero


class Trial(NamedTuple):
    """A proposal to replace some clusters by others, their *children*.

    The children share what their parents hold, and nothing else. So no other cluster changes, and
    trials of different parents do not affect each other.
    """

    parents: Array  # (M,) positions
    children: Beliefs


class Plan(NamedTuple):
    """Moves that a lap evaluates besides computing the sums of clusters."""

    pairs: Array  # (P, 2) positions of clusters that may be merged
    trials: tuple[Trial, ...] = ()


NO_PLAN = Plan(np.empty((0, 2), dtype=np.int64))


class Summary(NamedTuple):
    """Sums over the rows of a batch, and the best cluster of each row."""

    mass: Array  # (K,)
    sums: Array  # (K, F) of features
    entropy: Array  # (K,)
    pairs: Array  # (P,) entropy of the union of each planned pair
    child_mass: Array  # (C,) of the children of all trials, one after another
    child_sums: Array  # (C, F)
    child_entropy: Array  # (C,)
    owner: Array  # (N,) position of the cluster with the largest responsibility
    child_owner: Array  # (N,) number of the child with the largest one, -1 outside trials
    share: Array  # (N,) responsibility of the owner
    log_norm: Array  # (N,) log of the sum over clusters of exp(expected log joint)


EACH_ROW = ("owner", "child_owner", "share", "log_norm")  # entries that are not sums


class Children(NamedTuple):
    """Sums of the children of trials, and the best of them for each row; -1 outside trials."""

    mass: Array  # (C,)
    sums: Array  # (C, F)
    entropy: Array  # (C,)
    owner: Array  # (N,)


def believe(model: Model, mass: Array, stats: Array) -> Beliefs:
    """Return the posteriors of clusters with these masses (K,) and statistics (K, S)."""
    family, prior = model.family, model.prior
    assert isinstance(prior, HasSticks)  # the engine's `needs` ensures it
    K, S = stats.shape

    def some(rows: slice) -> Beliefs:
        params = finite(family.mean_params(family.posterior(stats[rows], mass[rows])))
        return Beliefs(family.slopes(params), np.sum(params[:, family.n_stats :], axis=1))

    slopes, counts = zip(*side_by_side(some, cuts(K, BLOCK // S)), strict=True)
    log_weights = prior.expected_log_weights(mass)
    return Beliefs(np.concatenate(slopes), np.concatenate(counts) + log_weights)


def assign(
    scores: Array, weights: Array, top: int | None = None, plus: Array | None = None
) -> Responsibilities:
    """Return responsibilities, the softmax of scores (N, K), for rows with weights (N,).

    ``plus`` (K,) is added to the scores of each row. With ``top``, only the ``top`` largest scores
    of each row count.   Consumes: scores.
    """
    xp, (N, K) = namespace(scores), scores.shape
    if device.can_softmax(scores) and (top is None or top >= K):
        zeros = xp.zeros_like(scores[0, :])
        return Responsibilities(
            *device.softmax_rows(scores, weights, zeros if plus is None else plus)
        )
    if plus is not None:
        scores += plus
    if top is not None and top < K:
        scores = xp.where(scores >= nth_largest(scores, top), scores, -xp.inf)
    if is_numpy(scores):
        owner = np.empty(N, dtype=np.int64)
        rest = np.zeros(K), np.zeros(K), owner, np.empty(N), np.empty(N)
        scores = plain(scores)
        count = softmax_rows(scores, plain(weights), *rest)
        return Responsibilities(scores, *rest, few=count * FEW <= N * K)
    weights = alike(weights, scores)
    peak = xp.max(scores, axis=1, keepdims=True)
    logs = scores - peak
    r = xp.where(logs < LEAST, 0.0, xp.exp(logs))
    total = xp.sum(r, axis=1, keepdims=True)
    r /= total
    held = weights[:, None] * r
    return Responsibilities(
        r=r,
        mass=_total(held),
        entropy=-_total(xlogy(held, r)),
        owner=xp.astype(
            xp.argmax(scores, axis=1), xp.int32
        ),  # small, since they are copied to the host
        best=(1.0 / total)[:, 0],
        log_norm=(peak + xp.log(total))[:, 0],
        held=held,
    )


def summarise(
    model: Model, beliefs: Beliefs, batch: Batch, plan: Plan = NO_PLAN, top: int | None = None
) -> Summary:
    """Compute responsibilities for the rows of a batch, and sums over them.

    On a device that multiplies doubles as fast as singles, rows of single precision are scored and
    summed in double precision, without loss. Elsewhere they are scored, and summed in small blocks,
    in single precision. Responsibilities have the precision of weights.
    """
    here = is_numpy(batch.weights)  # the settings of other libraries are those of a thread
    like = batch.weights if here else precise(batch.X[:0, :])
    beliefs, plan = _beliefs_like(beliefs, like), _plan_like(plan, like)

    def part(rows: slice) -> Summary:
        X, weights = batch.X[rows, :], batch.weights[rows]
        return _part(model, beliefs, Batch(X if here else precise(X), weights), plan, top)

    chunks = model.family.chunks(batch.X, beliefs.slopes.shape[0])
    summary = _joined(side_by_side(part, chunks) if here else [part(rows) for rows in chunks])
    if plan.trials:
        return summary
    none = filled(-1, batch.weights, summary.owner.shape[0])
    return summary._replace(child_owner=none)


def _beliefs_like(beliefs: Beliefs, x: Array) -> Beliefs:
    """Return beliefs on the device of an array."""
    return Beliefs(alike(beliefs.slopes, x), alike(beliefs.intercepts, x))


def _plan_like(plan: Plan, x: Array) -> Plan:
    """Return a plan on the device of an array."""
    trials = (Trial(alike(t.parents, x), _beliefs_like(t.children, x)) for t in plan.trials)
    return Plan(alike(plan.pairs, x), tuple(trials))


def _joined(parts: list[Summary]) -> Summary:
    """Return the summary of all parts, with sums on the host and in double precision.

    Within a part, sums have the precision of the rows. Results for rows stay on their device.
    """
    xp = namespace(parts[0].mass)
    joined = {}
    for name, column in zip(Summary._fields, zip(*parts, strict=True), strict=True):
        if name in EACH_ROW:
            joined[name] = xp.concat(column)
        else:
            first, *others = (doubled(part) for part in column)
            joined[name] = host(sum(others, first))
    return Summary(**joined)


def _part(model: Model, beliefs: Beliefs, batch: Batch, plan: Plan, top: int | None) -> Summary:
    """Return the summary of a few rows."""
    F = model.family.features(batch.X)
    scores = F @ beliefs.slopes.T
    xp, w = namespace(scores), alike(batch.weights, scores)[:, None]
    found = assign(scores, batch.weights, top, beliefs.intercepts)
    sums = weighted_sums(found, batch.weights, F)
    a, b = (xp.take(found.r, plan.pairs[:, side], axis=1) for side in (0, 1))
    young = _all_children(plan, F, found, w, sums, top)
    return Summary(
        mass=found.mass,
        sums=sums,
        entropy=found.entropy,
        pairs=_total(_entropy(a + b, w)),
        child_mass=young.mass,
        child_sums=young.sums,
        child_entropy=young.entropy,
        owner=found.owner,
        child_owner=young.owner,
        share=alike(found.best, batch.weights),
        log_norm=alike(found.log_norm, batch.weights),
    )


def weighted_sums(found: Responsibilities, weights: Array, F: Array) -> Array:
    """Return sums (K, F) of features F (N, F) of rows with weights (N,)."""
    if found.few and isinstance(F, np.ndarray):
        sums = np.zeros((found.r.shape[1], F.shape[1]))
        add_rows(found.r, plain(weights), plain(F), sums)
        return sums
    held = weights[:, None] * found.r if found.held is None else found.held
    return _summed(held, F)


def _total(x: Array) -> Array:
    """Return sums along the first axis, in double precision."""
    xp = namespace(x)
    return xp.sum(x, axis=0, dtype=xp.float64)


def _summed(held: Array, F: Array) -> Array:
    """Return sums (K, F) of features F (N, F) with weights (N, K), in double precision.

    Products of single precision add up few rows at a time: a variance is a small difference of
    large sums.
    """
    if isinstance(F, DeviceCSR):
        return F.weighted(held)
    xp, N = namespace(held), held.shape[0]
    if held.dtype == xp.float64:
        return held.T @ F
    whole = N - N % BLOCK_ROWS
    sums = doubled(held[whole:, :].T @ F[whole:, :])
    if whole:
        left, right = (xp.reshape(x[:whole, :], (-1, BLOCK_ROWS, x.shape[1])) for x in (held, F))
        sums = sums + _total(xp.matrix_transpose(left) @ right)
    return sums


def _slots(plan: Plan, r: Array, top: int | None) -> list[Array | None]:
    """Return for each trial the number (N,) of children that may share each row; None for all.

    It is the number of parents that share the row, plus a part of what ``top`` leaves free. So no
    row has more clusters than the next lap allows, whichever trials are accepted.
    """
    if top is None:
        return [None] * len(plan.trials)
    xp = namespace(r)
    positive = xp.astype(r > 0, xp.int64)
    spare = max(top - r.shape[1], 0) // max(len(plan.trials), 1)
    groups = (xp.take(positive, trial.parents, axis=1) for trial in plan.trials)
    return [spare + xp.sum(group, axis=1) for group in groups]


def _largest(scores: Array, most: Array) -> Array:
    """Return scores (N, K) of which each row keeps its ``most`` (N,) largest, at least one."""
    xp, K = namespace(scores), scores.shape[1]
    last = alike(np.arange(K), scores) == xp.clip(K - most, 0, K - 1)[:, None]
    least = xp.max(xp.where(last, xp.sort(scores, axis=1), -xp.inf), axis=1, keepdims=True)
    return xp.where(scores >= least, scores, -xp.inf)


def _all_children(
    plan: Plan, F: Array, found: Responsibilities, w: Array, sums: Array, top: int | None
) -> Children:
    """Return the children of all trials of a plan, one trial after another."""
    xp = namespace(w)
    if not plan.trials:
        none = filled(0.0, w, 0)
        nothing = xp.zeros_like(sums[:0, :])  # a view would keep all sums in memory
        return Children(none, nothing, none, filled(-1, w, 0))
    owner = filled(-1, w, F.shape[0])
    slots = _slots(plan, found.r, top)
    each = [
        _children(trial, F, found, w, sums, most)
        for trial, most in zip(plan.trials, slots, strict=True)
    ]
    first = 0
    for some in each:
        owner = xp.where(some.owner >= 0, some.owner + first, owner)
        first += some.mass.shape[0]
    masses, totals, entropies, _ = zip(*each, strict=True)
    return Children(xp.concat(masses), xp.concat(totals), xp.concat(entropies), owner)


def _children(
    trial: Trial, F: Array, found: Responsibilities, w: Array, sums: Array, slots: Array | None
) -> Children:
    """Return the children of a trial.

    Rows for which the responsibility of the parents is tiny go to the first child, the largest.
    Others are shared by all children, or by the best ``slots`` (N,) of them.
    """
    r, parents = found.r, trial.parents
    xp = namespace(r)
    whole = xp.sum(xp.take(r, parents, axis=1), axis=1)
    (rows,) = xp.nonzero(whole > HELD)
    held, weight = xp.take(whole, rows)[:, None], xp.take(w, rows, axis=0)
    part = take_rows(F, rows)
    scores = part @ trial.children.slopes.T + trial.children.intercepts
    if slots is not None:
        scores = _largest(scores, xp.take(slots, rows))
    rc = held * assign(scores, weight[:, 0]).r
    child_mass = _total(weight * rc)
    first = alike(np.eye(1, rc.shape[1])[0], child_mass)
    child_sums = _summed(weight * rc, part)
    left_mass = xp.sum(xp.take(found.mass, parents)) - xp.sum(child_mass)
    left_sums = xp.sum(xp.take(sums, parents, axis=0), axis=0) - xp.sum(child_sums, axis=0)
    rest = _total(xp.where(whole > HELD, 0.0, _entropy(whole, w[:, 0])))
    nearest = filled(-1, w, r.shape[0])
    if rows.shape[0]:
        place = xp.cumulative_sum(xp.astype(whole > HELD, xp.int64)) - 1
        nearest = xp.take(xp.argmax(rc, axis=1), xp.clip(place, 0, None))
    return Children(
        mass=child_mass + first * left_mass,
        sums=child_sums + first[:, None] * left_sums,
        entropy=_total(_entropy(rc, weight)) + first * rest,
        owner=xp.where(whole > 0.5, nearest, -1),
    )


def _entropy(r: Array, w: Array) -> Array:
    """-w r log r, 0 at 0."""
    return -xlogy(w * r, r)
