"""DP-means: rows go to the nearest centre, or open one where none is near.

Two loops: one pass in which centres follow their rows, and a lap in which they are fixed. Values
are counted from the family's origin.
"""

from math import exp, log
from typing import NamedTuple

from evermix._xp import Floats, Ints
from evermix.kernels.base import exact, kernel
from evermix.kernels.engines.adf import DONE, NEGLIGIBLE, ROOM, RowOutputs


class CentreBuffers(NamedTuple):
    """Per-cluster buffers.   # INOUT."""

    at: Floats  # (capacity, D)
    mass: Floats  # (capacity,) of the rows that were added
    sums: Floats  # (capacity, D) of these rows
    last_seen: Ints  # (capacity,)


class DPMeansSettings(NamedTuple):
    """Distances and the cap on K.   # IN."""

    scale: Floats  # (D,) weights of squared differences
    penalty: float  # squared distance above which a row opens a cluster
    spread: float  # squared distance over which the density of a cluster falls by a factor e
    cap: int  # on the number of clusters, or a huge number


@kernel
def _nearest(
    x: Floats, centres: Floats, scale: Floats, K: int, first: int, distance: Floats
) -> int:
    """Write the squared distance to each centre, and return the nearest; ``first`` wins ties."""
    for k in range(K):
        centre = centres[k]
        total = 0.0
        for d in range(x.size):
            total += scale[d] * (x[d] - centre[d]) ** 2
        distance[k] = total
    best = first
    for k in range(K):
        if distance[k] < distance[best]:
            best = k
    return best


@exact
def _write_outputs(
    i: int, K: int, best: int, spread: float, distance: Floats, out: RowOutputs
) -> None:
    """Write cluster, probability and log density of row i in a mixture of equal weights.

    The density is written without its constant.
    """
    total = 0.0
    for k in range(K):
        below = (distance[best] - distance[k]) / spread
        if below > NEGLIGIBLE:
            total += exp(below)
    out.slot[i] = best
    out.probability[i] = 1.0 / total
    out.log_predictive[i] = log(total / K) - distance[best] / spread


@exact
def _add(x: Floats, w: float, k: int, clock: int, clusters: CentreBuffers) -> None:
    """Add a row to the sums of a cluster."""
    clusters.mass[k] += w
    for d in range(x.size):
        clusters.sums[k, d] += w * x[d]
    clusters.last_seen[k] = clock


@exact
def _open(x: Floats, k: int, i: int, clusters: CentreBuffers, out: RowOutputs) -> None:
    """Open a cluster at row i."""
    for d in range(x.size):
        clusters.at[k, d] = x[d]
    out.slot[i] = k
    out.probability[i] = 1.0
    out.born[i] = True


@exact
def online_pass(
    values: Floats,  # IN    (N, D)
    weights: Floats,  # IN    (N,)
    settings: DPMeansSettings,  # IN
    clusters: CentreBuffers,  # INOUT
    distance: Floats,  # SCRATCH (capacity,)
    K: int,
    clock: int,
    start: int,
    cost: Floats,  # INOUT (1,) squared distances of all rows to the centres as they are now
    out: RowOutputs,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Learn the rows from ``start`` on, until they end or buffers are full.

    Returns the next row, K, the clock, whether the cap refused a birth, and why the pass stopped.
    """
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > clusters.mass.shape[0]:
            return i, K, clock, refused, ROOM
        x, w = values[i], weights[i]
        best = _nearest(x, clusters.at, settings.scale, K, 0, distance)
        if K > 0:
            _write_outputs(i, K, best, settings.spread, distance, out)
        if w == 0.0:
            continue
        clock += 1
        far = K == 0 or min(w, 1.0) * distance[best] > settings.penalty
        if far and K < settings.cap:
            _open(x, K, i, clusters, out)
            _add(x, w, K, clock, clusters)
            K += 1
            continue
        refused = refused or far
        before = clusters.mass[best]
        _add(x, w, best, clock, clusters)
        for d in range(x.size):
            clusters.at[best, d] = clusters.sums[best, d] / clusters.mass[best]
        cost[0] += w * before / (before + w) * distance[best]  # as far as the centre has not moved
    return weights.shape[0], K, clock, refused, DONE


@exact
def lap_pass(
    values: Floats,  # IN    (N, D)
    weights: Floats,  # IN    (N,)
    present: Ints,  # IN    (N,) present slot of each row, or -1
    settings: DPMeansSettings,  # IN
    clusters: CentreBuffers,  # INOUT sums of the rows that this lap has visited; new centres
    distance: Floats,  # SCRATCH (capacity,)
    K: int,
    clock: int,
    start: int,
    progress: Floats,  # INOUT (2,) squared distances to the centres of this lap; rows that moved
    out: RowOutputs,  # OUT
) -> tuple[int, int, int, bool, int]:
    """Visit the rows from ``start`` on; centres do not move, and ties go to the present cluster.

    Returns the next row, K, the clock, whether the cap refused a birth, and why the pass stopped.
    """
    refused = False
    for i in range(start, weights.shape[0]):
        if K + 2 > clusters.mass.shape[0]:
            return i, K, clock, refused, ROOM
        x, w = values[i], weights[i]
        best = _nearest(x, clusters.at, settings.scale, K, max(present[i], 0), distance)
        _write_outputs(i, K, best, settings.spread, distance, out)
        if w == 0.0:
            continue
        clock += 1
        far = min(w, 1.0) * distance[best] > settings.penalty
        if far and K < settings.cap:
            best = K
            distance[K] = 0.0
            _open(x, K, i, clusters, out)
            K += 1
        else:
            refused = refused or far
        _add(x, w, best, clock, clusters)
        progress[0] += w * distance[best]
        if best != present[i]:
            progress[1] += 1.0
    return weights.shape[0], K, clock, refused, DONE
