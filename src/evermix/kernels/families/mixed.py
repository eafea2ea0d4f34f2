r"""Kernels of tables: blocks of several kinds, of which a row may lack some.

The natural parameters of a block are those of its prior plus its statistics, with the count of the
rows that have seen it. A group is a Gaussian of several columns; of what a row has seen of it the
marginal Student-t density is computed, with the Cholesky factor of that part of the scale matrix.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.base import exact, implement, kernel
from evermix.kernels.special import log_rising

NORMAL, GROUP, YES_NO, COUNTS, LEVELS = range(5)
TERMS = {NORMAL: 4, YES_NO: 2, COUNTS: 3, LEVELS: 1}
"""Numbers that are derived of a block of each kind; a group of d columns has d + d d + 2."""


class TableRows(NamedTuple):
    """Rows in the order of the blocks."""

    values: Floats  # (N, D), about the origins; 1 where they are missing
    seen: NDArray[np.bool_]  # (N, D)


class MixedWork(NamedTuple):
    """What the kernels need, beside the rows."""

    stats: Floats  # INOUT (capacity, S): those of the blocks, and their counts
    terms: Floats  # OUT (capacity, T): what is derived for each block
    # IN (B, 7): kind, number of columns, then the first column, statistic, derived term and number
    # of the prior; and the number of statistics without the count
    blocks: Ints
    prior: Floats  # IN (E,): natural parameters of the blocks' priors
    scratch: Floats  # (d, d) of the widest group: a Cholesky factor
    residual: Floats  # (d,)
    places: Ints  # (d,): columns of a group that were seen


@kernel
def score(work: MixedWork, rows: TableRows, i: int, slots: int, out: Floats) -> None:
    """Product of the predictives of what row i has seen, in each slot."""
    for k in range(slots):
        out[k] = 0.0
    for b in range(work.blocks.shape[0]):
        kind, column = work.blocks[b, 0], work.blocks[b, 2]
        start, at = work.blocks[b, 3], work.blocks[b, 4]
        if kind == GROUP:
            _score_group(work, rows, i, b, slots, out)
        elif rows.seen[i, column]:
            x = rows.values[i, column]
            if kind == NORMAL:
                for k in range(slots):
                    mean, scale = work.terms[k, at], work.terms[k, at + 1]
                    growth = math.log1p(scale * (x - mean) * (x - mean))
                    out[k] += work.terms[k, at + 2] - work.terms[k, at + 3] * growth
            elif kind == YES_NO:
                for k in range(slots):
                    out[k] += work.terms[k, at] if x > 0.5 else work.terms[k, at + 1]
            elif kind == COUNTS:
                for k in range(slots):
                    rising = log_rising(work.terms[k, at], x)
                    out[k] += rising - work.terms[k, at + 1] - x * work.terms[k, at + 2]
            else:
                alpha = work.prior[work.blocks[b, 5]]
                for k in range(slots):
                    out[k] += math.log(work.stats[k, start + int(x)] + alpha) - work.terms[k, at]


@kernel
def _score_group(work: MixedWork, rows: TableRows, i: int, b: int, slots: int, out: Floats) -> None:
    """Add the log Student-t density of what row i has seen of a group, in each slot."""
    d, column, at = work.blocks[b, 1], work.blocks[b, 2], work.blocks[b, 4]
    L, y, places, m = work.scratch, work.residual, work.places, 0
    for j in range(d):
        if rows.seen[i, column + j]:
            places[m] = j
            m += 1
    if m == 0:
        return
    for k in range(slots):
        terms = work.terms[k]
        kappa, nu = terms[at + d + d * d], terms[at + d + d * d + 1]
        log_det, square = 0.0, 0.0
        for a in range(m):
            line = at + d + places[a] * d
            for c in range(a):
                s = terms[line + places[c]]
                for j in range(c):
                    s -= L[a, j] * L[c, j]
                L[a, c] = s / L[c, c]
            s = terms[line + places[a]]
            z = rows.values[i, column + places[a]] - terms[at + places[a]]
            for j in range(a):
                s -= L[a, j] * L[a, j]
                z -= L[a, j] * y[j]
            L[a, a] = math.sqrt(s)
            y[a] = z / L[a, a]
            log_det += math.log(s)
            square += y[a] * y[a]
        shrink, half = kappa / (kappa + 1.0), 0.5 * (nu + 1.0 - (d - m))
        gammas = math.lgamma(half) - math.lgamma(half - 0.5 * m)
        constant = gammas + 0.5 * (m * math.log(2.0 * shrink) - log_det)
        out[k] += constant - half * math.log1p(shrink * square)


@kernel
def add(work: MixedWork, rows: TableRows, i: int, slot: int, weight: float, mass: float) -> None:
    """Add ``weight`` times what row i has seen to a slot; a negative weight takes it out."""
    stats = work.stats[slot]
    for b in range(work.blocks.shape[0]):
        kind, d, column = work.blocks[b, 0], work.blocks[b, 1], work.blocks[b, 2]
        start, seen = work.blocks[b, 3], True
        for j in range(d):
            seen = seen and rows.seen[i, column + j]
        if not seen:
            continue
        x = rows.values[i, column]
        if kind == LEVELS:
            stats[start + int(x)] += weight
        elif kind == GROUP:
            for j in range(d):
                x = weight * rows.values[i, column + j]
                stats[start + j] += x
                for c in range(d):
                    stats[start + d + j * d + c] += x * rows.values[i, column + c]
            stats[start + d + d * d] += weight
        else:
            stats[start] += weight * x
            if kind == NORMAL:
                stats[start + 1] += weight * x * x
            stats[start + 1 + (kind == NORMAL)] += weight
        _refresh_block(work, slot, b)


@exact
def refresh(work: MixedWork, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics."""
    for b in range(work.blocks.shape[0]):
        _refresh_block(work, slot, b)


@exact
def _refresh_block(work: MixedWork, slot: int, b: int) -> None:
    kind, d, start = work.blocks[b, 0], work.blocks[b, 1], work.blocks[b, 3]
    at, first, levels = work.blocks[b, 4], work.blocks[b, 5], work.blocks[b, 6]
    stats, terms, prior = work.stats[slot], work.terms[slot], work.prior
    if kind == NORMAL:
        n, kappa0 = stats[start + 2], prior[first + 2]
        kappa, shape = kappa0 + n, 0.5 * (prior[first + 3] + n)
        mean = (prior[first] + stats[start]) / kappa
        before = prior[first] * prior[first] / kappa0
        # The last bits of the subtraction may be negative; the rate never shrinks.
        scatter = max(before + stats[start + 1] - kappa * mean * mean, 0.0)
        rate = 0.5 * (prior[first + 1] - before + scatter)
        shrink = kappa / (kappa + 1.0)
        terms[at], terms[at + 1] = mean, 0.5 * shrink / rate
        gammas = math.lgamma(shape + 0.5) - math.lgamma(shape)
        terms[at + 2], terms[at + 3] = gammas + 0.5 * math.log(shrink / rate), shape + 0.5
    elif kind == GROUP:
        squares, n = d + d * d, stats[start + d + d * d]
        kappa = prior[first + squares] + n
        for j in range(d):
            terms[at + j] = (prior[first + j] + stats[start + j]) / kappa
        for j in range(d):
            sums = prior[first + j] + stats[start + j]
            for c in range(d):
                p = d + j * d + c
                terms[at + p] = prior[first + p] + stats[start + p] - sums * terms[at + c]
        terms[at + squares], terms[at + squares + 1] = kappa, prior[first + squares + 1] + n
    elif kind == YES_NO:
        ones, total = prior[first] + stats[start], prior[first + 1] + stats[start + 1]
        terms[at], terms[at + 1] = math.log(ones / total), math.log((total - ones) / total)
    elif kind == COUNTS:
        shape, rate = prior[first] + stats[start], prior[first + 1] + stats[start + 1]
        terms[at], terms[at + 1] = shape, shape * math.log1p(1.0 / rate)
        terms[at + 2] = math.log1p(rate)
    else:
        total = 0.0
        for level in range(levels):
            total += prior[first] + stats[start + level]
        terms[at] = math.log(total)


implement(MixedWork, score=score, add=add, refresh=refresh)
