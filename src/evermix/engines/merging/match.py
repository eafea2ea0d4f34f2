"""Matching clusters of models that were fitted separately, on different rows.

Two clusters of different models are fused when the log odds for it exceed a threshold, mutually
best pairs first; fused clusters are considered again. Clusters of the same model stay apart, since
their model has seen the rows of both.

This is exact: a row has no responsibility in clusters of other models, hence the entropy of a union
is the sum of entropies, and the log probability of being empty is the sum of logs. Neither holds
within a model.

Clusters of few rows look similar for lack of data (:mod:`evermix.engines.merging.stream`). There
a cluster that has seen less than a quarter as many numbers as it has statistics is not considered,
since it will grow. Here nothing grows, and one topic of four models should not stay four: such
pairs are evaluated as if the younger cluster had seen that many. (With plain odds there are fewer
clusters, and held-out documents are predicted less well.)

The candidates for each cluster are the few of each other model that explain its data best. The
bound by which :mod:`evermix.engines.merging.stream` finds candidates is useless here: for young
clusters it is highest for the smallest partners.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evermix._xp import Bools, Floats, Ints
from evermix.engines.bound import fused_sticks
from evermix.engines.merging.stream import YOUNGEST
from evermix.families.values import finite
from evermix.model import Model
from evermix.priors.base import HasPredictive, occupancy
from evermix.tally import Tally

PARTNERS = 5  # candidates for each cluster, per other model
NUMBERS = 2**22  # most expected log likelihoods computed at a time, to bound memory


class Criterion(NamedTuple):
    """The part of the gain of a fusion that is not the evidence of the rows."""

    weigh: Callable[[Model, Tally, Ints], Floats]
    """Returns the gain (P,) of fusing each pair (P, 2)."""
    least: float
    """Smallest mass of a cluster that is considered."""
    age: float
    """Least numbers seen per statistic that a cluster is assumed to have."""


def _by_partition(model: Model, tally: Tally, pairs: Ints) -> Floats:
    assert isinstance(model.prior, HasPredictive)  # the engine's `needs` ensures it
    return model.prior.log_merge_odds(tally.mass, occupancy(tally.mass, tally.extras), pairs)


def _by_sticks(model: Model, tally: Tally, pairs: Ints) -> Floats:
    return fused_sticks(model, tally.mass, pairs)


ODDS = Criterion(_by_partition, least=1.0, age=YOUNGEST)
"""Posterior log odds of the partition, with soft counts."""
BOUND = Criterion(_by_sticks, least=0.0, age=0.0)
"""Gain of the evidence lower bound, in which the entropy of responsibilities does not change."""


def match(model: Model, tally: Tally, owner: Ints, criterion: Criterion, threshold: float) -> Ints:
    """Fuse clusters of different models; return the position (K,) into which each was fused.

    ``owner`` (K,) is the number of the model of each cluster, ``threshold`` the log odds that a
    fusion must exceed. Positions that were fused into others are left empty.   Consumes: tally.
    """
    into = np.arange(tally.K)
    of = owner[:, None] == np.unique(owner)  # (K, models), the models in each cluster
    pairs = _candidates(model, tally, owner, criterion.least)
    gains = _gains(model, tally, pairs, criterion.age)
    while len(pairs):
        odds = gains + criterion.weigh(model, tally, pairs)
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
        gains[fused] = _gains(model, tally, pairs[fused], criterion.age)
    return into


def _candidates(model: Model, tally: Tally, owner: Ints, least: float) -> Ints:
    """Pairs (P, 2) of clusters of different models: for each, those that explain its data best."""
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


def _gains(model: Model, tally: Tally, pairs: Ints, age: float) -> Floats:
    """Change (P,) of the log evidence of the rows if each pair were fused."""
    family = model.family
    seen = np.maximum(family.numbers_seen(tally), 1.0)
    times = np.maximum(age * family.n_stats / seen[pairs].min(axis=1), 1.0)
    return family.log_fusion(tally, pairs, times)


def _mutual(pairs: Ints, odds: Floats, threshold: float) -> Ints:
    """Return the pairs (positions) above the threshold that are best for both of them."""
    order = np.argsort(-odds, kind="stable")
    order = order[odds[order] > threshold]  # nor nan
    first: dict[int, int] = {}
    for p in order:
        for k in pairs[p]:
            first.setdefault(int(k), int(p))
    return np.array([p for p in order if all(first[int(k)] == p for k in pairs[p])], dtype=np.int64)


def _renamed(pairs: Ints, into: Ints, of: Bools) -> tuple[Ints, Ints]:
    """Return pairs of the clusters after fusions, and the old pair of each."""
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
