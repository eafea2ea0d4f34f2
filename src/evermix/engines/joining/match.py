"""Matching clusters of models that were taught apart, on different rows.

Clusters of all models lie beside each other. Two of different models become one when the log odds
for it exceed a threshold; those that like each other best come first, and what has become one is
judged anew. Clusters of the same model stay apart: their model had the rows, and told them apart.

So everything adds up without an error. A row has no share in clusters of other models; hence the
entropy of a union is the sum of entropies, and the log probability of being empty is the sum of
logs, neither of which holds within a model.

Clusters of few rows look alike for want of data, as in :mod:`evermix.engines.joining.join`. There,
one that has seen less than a quarter of the numbers that it has statistics is not judged, since it
will grow. Here nothing grows, and one topic of four models should not stay four: such clusters are
judged as if the younger one had reached that age. (With plain odds there are fewer clusters, and
held-out documents are predicted less well.)

Each cluster is judged with the few of each other model that explain its data best. The bound by
which :mod:`evermix.engines.joining.join` finds partners would not do here: where clusters are
young, it is highest for the smallest partners, whatever they are.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.joining.join import YOUNGEST
from evermix.engines.variational.bound import fused_sticks
from evermix.families.base import finite
from evermix.model import Model
from evermix.priors.base import HasPartition, occupancy
from evermix.tally import Tally

PARTNERS = 5  # of each cluster in each other model that are looked at
NUMBERS = 2**22  # of expected log likelihoods computed at a time, to bound memory


class Rule(NamedTuple):
    """How a fusion is judged, beside what it does to the evidence of the rows."""

    weigh: Callable[[Model, Tally, Array], Array]
    """What fusing each pair (P, 2) adds to the log probability of the partition, (P,)."""
    least: float
    """Mass that a cluster must have to be judged."""
    age: float
    """Numbers seen per statistic that a cluster is taken to have, if it has seen fewer."""


def _by_partition(model: Model, tally: Tally, pairs: Array) -> Array:
    assert isinstance(model.prior, HasPartition)  # the engine's `needs` says so
    return model.prior.log_merge_odds(tally.mass, occupancy(tally.mass, tally.extras), pairs)


def _by_sticks(model: Model, tally: Tally, pairs: Array) -> Array:
    return fused_sticks(model, tally.mass, pairs)


ODDS = Rule(_by_partition, least=1.0, age=YOUNGEST)
"""Posterior log odds of the partition, with soft counts."""
BOUND = Rule(_by_sticks, least=0.0, age=0.0)
"""What the evidence lower bound gains: the entropy of the responsibilities stays as it is."""


def match(model: Model, tally: Tally, owner: Array, rule: Rule, threshold: float) -> Array:
    """Fuse clusters of different models; return for each row the row that it went into, (K,).

    Rows that went into others are left empty.   Consumes: tally.

    Parameters
    ----------
    tally : Tally
        The clusters of all models.
    owner : int array (K,)
        Number of the model that each is of.
    rule : Rule
    threshold : float
        Log odds that a fusion must exceed.
    """
    into = np.arange(tally.K)
    of = owner[:, None] == np.unique(owner)  # (K, models), which models are part of a cluster
    pairs = _candidates(model, tally, owner, rule.least)
    gains = _gains(model, tally, pairs, rule.age)
    while len(pairs):
        odds = gains + rule.weigh(model, tally, pairs)
        chosen = pairs[_mutual(pairs, odds, threshold)]
        if not len(chosen):
            break
        for a, b in chosen:
            tally.fuse(a, b)
            _empty(tally, b)
            of[a] |= of[b]
            into[into == b] = a
        pairs, old = _renamed(pairs, into, of)
        fused = np.isin(pairs, chosen[:, 0]).any(axis=1)
        gains = gains[old]
        gains[fused] = _gains(model, tally, pairs[fused], rule.age)
    return into


def _candidates(model: Model, tally: Tally, owner: Array, least: float) -> Array:
    """Pairs (P, 2) of clusters of different models worth judging.

    For each cluster, those of each other model that explain its data best.
    """
    family, able = model.family, np.flatnonzero(tally.mass >= least)
    eta = family.posterior(tally.stats[able], tally.mass[able])
    seen, mean, owner = eta - family.eta0, finite(family.mean_params(eta)), owner[able]
    found = [np.empty((0, 2), dtype=np.int64)]
    for other in np.unique(owner):
        ours, theirs = np.flatnonzero(owner != other), np.flatnonzero(owner == other)
        count, step = min(PARTNERS, len(theirs)), max(NUMBERS // len(theirs), 1)
        for some in np.split(ours, range(step, len(ours), step)):
            fit = np.nan_to_num(seen[some] @ mean[theirs].T, nan=-np.inf)
            best = np.argpartition(-fit, count - 1, axis=1)[:, :count]
            found.append(np.stack([np.repeat(some, count), theirs[best].ravel()], axis=1))
    return able[np.unique(np.sort(np.concatenate(found), axis=1), axis=0)]


def _gains(model: Model, tally: Tally, pairs: Array, age: float) -> Array:
    """What fusing each pair adds to the log evidence of the rows, (P,)."""
    family = model.family
    seen = np.maximum(family.numbers_seen(tally), 1.0)
    times = np.maximum(age * family.n_stats / seen[pairs].min(axis=1), 1.0)
    return family.log_fusion(tally, pairs, times)


def _mutual(pairs: Array, odds: Array, threshold: float) -> Array:
    """Return the pairs (positions) above the threshold that are best for both of them."""
    order = np.argsort(-odds, kind="stable")
    order = order[odds[order] > threshold]  # nan odds say nothing
    first: dict[int, int] = {}
    for p in order:
        for k in pairs[p]:
            first.setdefault(int(k), int(p))
    return np.array([p for p in order if all(first[int(k)] == p for k in pairs[p])], dtype=np.int64)


def _renamed(pairs: Array, into: Array, of: Array) -> tuple[Array, Array]:
    """Return pairs in terms of what clusters have become, and which of the old ones they are."""
    now = np.sort(into[pairs], axis=1)
    a, b = now.T
    apart = np.flatnonzero((a != b) & ~(of[a] & of[b]).any(axis=1))
    unique, first = np.unique(now[apart], axis=0, return_index=True)
    return unique, apart[first]


def _empty(tally: Tally, row: int) -> None:
    tally.mass[row] = 0.0
    tally.stats[row] = 0.0
    for values in tally.extras.values():
        values[row] = 0.0
