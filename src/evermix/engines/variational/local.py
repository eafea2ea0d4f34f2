r"""The local step of variational inference: what a batch says, given beliefs about the clusters.

Every row is shared among the clusters in proportion to

.. math::

    r_{nk} \propto \exp(E \log w_k + E \log p(x_n | \phi_k)),

which is the best choice given the rest. All else that inference needs of a batch are sums over its
rows: mass, features and entropy of every cluster, and what moves would change of them. They are
computed here in one go, by array maths alone, in parts that stay in fast memory. Nothing here looks
at a state, so that it may run anywhere.
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
from evermix.families.base import finite
from evermix.kernels.device import dispatch as device
from evermix.kernels.engines.local import LEAST, add_rows, share_rows
from evermix.kernels.rows import plain
from evermix.model import Model
from evermix.priors.base import HasSticks

BLOCK = 2**17  # statistics of clusters taken at a time: 1 MB, to stay in fast memory
BLOCK_ROWS = 256  # rows that single precision sums up at a time
FEW = 8  # if only one in so many shares is not zero, sums skip the others
HELD = 1e-3  # share of a row above which a trial asks how its children divide it


class Beliefs(NamedTuple):
    """Expected log joint density of a row and each cluster: linear in the row's features."""

    slopes: Array  # (K, F)
    intercepts: Array  # (K,)


class Shares(NamedTuple):
    """How rows are shared among clusters, and sums over the shares."""

    shares: Array  # (N, K), sum to 1
    mass: Array  # (K,)
    entropy: Array  # (K,)
    owner: Array  # (N,) the cluster with the largest share
    best: Array  # (N,) that share
    log_norm: Array  # (N,) log of the sum over clusters of exp(score)
    held: Array | None = None  # (N, K) shares times weights, where they are known already
    few: bool = False  # whether most shares are zero


class Trial(NamedTuple):
    """A proposal to replace some clusters by others, their *children*.

    The children share what their parents hold, and nothing else; so every other cluster is what it
    would be anyway, and trials of different parents do not disturb each other.
    """

    parents: Array  # (M,) positions
    children: Beliefs


class Plan(NamedTuple):
    """What a lap shall find out beside the clusters' own sums."""

    pairs: Array  # (P, 2) positions of clusters whose union's entropy is wanted
    trials: tuple[Trial, ...] = ()


NO_PLAN = Plan(np.empty((0, 2), dtype=np.int64))


class Summary(NamedTuple):
    """What a batch says: sums over its rows, and the nearest cluster of each row."""

    mass: Array  # (K,)
    sums: Array  # (K, F) of features
    entropy: Array  # (K,)
    pairs: Array  # (P,) entropy of the union of each planned pair
    child_mass: Array  # (C,) of the children of all trials, one after another
    child_sums: Array  # (C, F)
    child_entropy: Array  # (C,)
    owner: Array  # (N,) position of the cluster with the largest share
    child_owner: Array  # (N,) number of the child with the largest share, -1 outside trials
    share: Array  # (N,) the owner's share
    log_norm: Array  # (N,) log of the sum over clusters of exp(expected log joint)


EACH_ROW = ("owner", "child_owner", "share", "log_norm")  # entries that are no sums


class Children(NamedTuple):
    """What the children of trials hold, and which is nearest to each row; -1 outside trials."""

    mass: Array  # (C,)
    sums: Array  # (C, F)
    entropy: Array  # (C,)
    owner: Array  # (N,)


def believe(model: Model, mass: Array, stats: Array) -> Beliefs:
    """Return what is believed of clusters with this mass (K,) and these statistics (K, S)."""
    family, prior = model.family, model.prior
    assert isinstance(prior, HasSticks)  # the engine's `needs` says so
    K, S = stats.shape

    def some(rows: slice) -> Beliefs:
        params = finite(family.mean_params(family.posterior(stats[rows], mass[rows])))
        return Beliefs(family.slopes(params), np.sum(params[:, family.n_stats :], axis=1))

    slopes, counts = zip(*side_by_side(some, cuts(K, BLOCK // S)), strict=True)
    log_weights = prior.expected_log_weights(mass)
    return Beliefs(np.concatenate(slopes), np.concatenate(counts) + log_weights)


def share(
    scores: Array, weights: Array, top: int | None = None, plus: Array | None = None
) -> Shares:
    """Share rows with weights (N,) in proportion to the exponentials of scores (N, K).

    With ``plus`` (K,), that is added to the scores of each row. With ``top``, only the largest that
    many of each row get a share.   Consumes: scores.
    """
    xp, (N, K) = namespace(scores), scores.shape
    if device.can_share(scores) and (top is None or top >= K):
        zeros = xp.zeros_like(scores[0, :])
        return Shares(*device.share_rows(scores, weights, zeros if plus is None else plus))
    if plus is not None:
        scores += plus
    if top is not None and top < K:
        scores = xp.where(scores >= nth_largest(scores, top), scores, -xp.inf)
    if is_numpy(scores):
        owner = np.empty(N, dtype=np.int64)
        rest = np.zeros(K), np.zeros(K), owner, np.empty(N), np.empty(N)
        scores = plain(scores)
        count = share_rows(scores, plain(weights), *rest)
        return Shares(scores, *rest, few=count * FEW <= N * K)
    weights = alike(weights, scores)
    peak = xp.max(scores, axis=1, keepdims=True)
    logs = scores - peak
    shares = xp.where(logs < LEAST, 0.0, xp.exp(logs))
    total = xp.sum(shares, axis=1, keepdims=True)
    shares /= total
    held = weights[:, None] * shares
    return Shares(
        shares=shares,
        mass=_total(held),
        entropy=-_total(xlogy(held, shares)),
        owner=xp.astype(xp.argmax(scores, axis=1), xp.int32),  # they travel to the host
        best=(1.0 / total)[:, 0],
        log_norm=(peak + xp.log(total))[:, 0],
        held=held,
    )


def summarise(
    model: Model, beliefs: Beliefs, batch: Batch, plan: Plan = NO_PLAN, top: int | None = None
) -> Summary:
    """Share the rows of a batch among the clusters, and sum up.

    On a device that multiplies doubles as fast as singles, rows of single precision are scored and
    summed in double precision: no digit of a sum is lost. Elsewhere their scores are of single
    precision, and so are sums over few of them at a time. Shares have the precision of weights.
    """
    here = is_numpy(batch.weights)  # elsewhere, what a thread may use is not what its caller may
    like = batch.weights if here else precise(batch.X[:0, :])
    beliefs, plan = _beside(beliefs, like), _plan_beside(plan, like)

    def part(rows: slice) -> Summary:
        X, weights = batch.X[rows, :], batch.weights[rows]
        return _part(model, beliefs, Batch(X if here else precise(X), weights), plan, top)

    chunks = model.family.chunks(batch.X, beliefs.slopes.shape[0])
    summary = _joined(side_by_side(part, chunks) if here else [part(rows) for rows in chunks])
    if plan.trials:
        return summary
    nobody = filled(-1, batch.weights, summary.owner.shape[0])
    return summary._replace(child_owner=nobody)


def _beside(beliefs: Beliefs, x: Array) -> Beliefs:
    """Return beliefs where an array is."""
    return Beliefs(alike(beliefs.slopes, x), alike(beliefs.intercepts, x))


def _plan_beside(plan: Plan, x: Array) -> Plan:
    """Return a plan where an array is."""
    trials = (Trial(alike(t.parents, x), _beside(t.children, x)) for t in plan.trials)
    return Plan(alike(plan.pairs, x), tuple(trials))


def _joined(parts: list[Summary]) -> Summary:
    """Return the summary of all parts, sums in the memory of the host and in double precision.

    Within a part, sums have the precision of the rows. What is said of each row stays where it is.
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
    shared = share(scores, batch.weights, top, beliefs.intercepts)
    sums = weighted(shared, batch.weights, F)
    a, b = (xp.take(shared.shares, plan.pairs[:, side], axis=1) for side in (0, 1))
    young = _young(plan, F, shared, w, sums, top)
    return Summary(
        mass=shared.mass,
        sums=sums,
        entropy=shared.entropy,
        pairs=_total(_entropy(a + b, w)),
        child_mass=young.mass,
        child_sums=young.sums,
        child_entropy=young.entropy,
        owner=shared.owner,
        child_owner=young.owner,
        share=alike(shared.best, batch.weights),
        log_norm=alike(shared.log_norm, batch.weights),
    )


def weighted(shared: Shares, weights: Array, F: Array) -> Array:
    """Return sums (K, F) of features F (N, F) of rows with weights (N,)."""
    if shared.few and isinstance(F, np.ndarray):
        sums = np.zeros((shared.shares.shape[1], F.shape[1]))
        add_rows(shared.shares, plain(weights), plain(F), sums)
        return sums
    held = weights[:, None] * shared.shares if shared.held is None else shared.held
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
    """Return for each trial how many children may share each row, (N,); None for all.

    As many as there were parents, and its part of what ``top`` leaves free: so that no row is
    shared among more clusters than the next lap will allow, whichever trials are accepted.
    """
    if top is None:
        return [None] * len(plan.trials)
    xp = namespace(r)
    shared = xp.astype(r > 0, xp.int64)
    spare = max(top - r.shape[1], 0) // max(len(plan.trials), 1)
    groups = (xp.take(shared, trial.parents, axis=1) for trial in plan.trials)
    return [spare + xp.sum(group, axis=1) for group in groups]


def _largest(scores: Array, most: Array) -> Array:
    """Return scores (N, K) of which each row keeps its ``most`` (N,) largest, at least one."""
    xp, K = namespace(scores), scores.shape[1]
    last = alike(np.arange(K), scores) == xp.clip(K - most, 0, K - 1)[:, None]
    least = xp.max(xp.where(last, xp.sort(scores, axis=1), -xp.inf), axis=1, keepdims=True)
    return xp.where(scores >= least, scores, -xp.inf)


def _young(
    plan: Plan, F: Array, shared: Shares, w: Array, sums: Array, top: int | None
) -> Children:
    """Return the children of all trials of a plan, one trial after another."""
    xp = namespace(w)
    if not plan.trials:
        none = filled(0.0, w, 0)
        nothing = xp.zeros_like(sums[:0, :])  # a view would keep all sums
        return Children(none, nothing, none, filled(-1, w, 0))
    owner = filled(-1, w, F.shape[0])
    slots = _slots(plan, shared.shares, top)
    found = [
        _children(trial, F, shared, w, sums, most)
        for trial, most in zip(plan.trials, slots, strict=True)
    ]
    first = 0
    for some in found:
        owner = xp.where(some.owner >= 0, some.owner + first, owner)
        first += some.mass.shape[0]
    masses, totals, entropies, _ = zip(*found, strict=True)
    return Children(xp.concat(masses), xp.concat(totals), xp.concat(entropies), owner)


def _children(
    trial: Trial, F: Array, shared: Shares, w: Array, sums: Array, slots: Array | None
) -> Children:
    """Return the children of a trial.

    Rows of which the parents hold next to nothing go to the first child, the largest. Others are
    shared among all children, or among the nearest ``slots`` (N,) of them.
    """
    r, parents = shared.shares, trial.parents
    xp = namespace(r)
    whole = xp.sum(xp.take(r, parents, axis=1), axis=1)
    (rows,) = xp.nonzero(whole > HELD)
    held, weight = xp.take(whole, rows)[:, None], xp.take(w, rows, axis=0)
    part = take_rows(F, rows)
    scores = part @ trial.children.slopes.T + trial.children.intercepts
    if slots is not None:
        scores = _largest(scores, xp.take(slots, rows))
    rc = held * share(scores, weight[:, 0]).shares
    child_mass = _total(weight * rc)
    first = alike(np.eye(1, rc.shape[1])[0], child_mass)
    child_sums = _summed(weight * rc, part)
    left_mass = xp.sum(xp.take(shared.mass, parents)) - xp.sum(child_mass)
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
