r"""How deep the mixture's density dips between two clusters: saddles and peaks, from the tally.

For Gaussian clusters the density is followed on two paths between each cluster and its nearest
others: the straight line, and the ridgeline of Ray and Lindsay (2005), on which all modes and
saddles of a mixture of two lie. For every other family, and for clusters far apart, the saddle is
that of two clusters with overlap :math:`e^{-B}`: where both are equally dense, each has about
:math:`\sqrt{w_a w_b} e^{-B}`, in units of its own peak.
"""

from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from evermix._xp import Floats, Ints
from evermix.families.base import Family
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.tally import Tally

NEIGHBOURS = 16  # others of each cluster to which the density is followed
STEPS = 33  # points of a path
MANY = 1e9  # rows that each of two clusters has when they are compared: the prior counts no more
CHUNK = 2**22  # numbers computed at a time


class Valleys(NamedTuple):
    """Log densities: ``peaks`` (K,) of the clusters, ``saddles`` (K, K) between any two."""

    peaks: Floats
    saddles: Floats


class Bells(NamedTuple):
    """Gaussian clusters: ``means`` (K, D), ``precisions`` (K, D) of columns, or (K, D, D)."""

    means: Floats
    precisions: Floats

    @property
    def full(self) -> bool:
        """Whether precisions are matrices."""
        return self.precisions.ndim == 3

    @property
    def log_dets(self) -> Floats:
        """Log determinants of the precisions, (K,)."""
        if self.full:
            return np.asarray(np.linalg.slogdet(self.precisions)[1])
        return np.sum(np.log(self.precisions), axis=1)


@singledispatch
def bells(family: Family, eta: Floats) -> Bells | None:
    """Return the clusters eta (K, E) as Gaussians about the family's origin, None if they are none.

    Means and covariances are those that are expected a posteriori.
    """
    del family, eta
    return None


@bells.register
def _(family: Gaussian, eta: Floats) -> Bells:
    D = _width(family)
    params = family.mean_params(eta)
    precisions = -2 * params[:, D:-2].reshape(-1, D, D)
    means = np.linalg.solve(precisions, params[:, :D, None])[:, :, 0]
    nu = eta[:, -1]
    return Bells(means, ((nu - D - 1) / nu)[:, None, None] * precisions)


@bells.register
def _(family: LowRankGaussian, eta: Floats) -> Bells | None:
    return bells(family.plane, family.in_plane(eta))


@bells.register
def _(family: DiagonalGaussian, eta: Floats) -> Bells:
    D = _width(family)
    params = family.mean_params(eta)
    precisions = -2 * params[:, D : 2 * D]
    shape = 0.5 * eta[:, -1:]
    # Where no variance is expected, the inverse of the expected precision stands in.
    return Bells(params[:, :D] / precisions, np.where(shape > 1, 1 - 1 / shape, 1.0) * precisions)


@bells.register
def _(family: FixedGaussian, eta: Floats) -> Bells:
    D = _width(family)
    assert family.variance is not None
    precisions = np.broadcast_to(1 / np.asarray(family.variance), (len(eta), D))
    return Bells(family.mean_params(eta)[:, :D] / precisions, precisions)


def _width(family: Family) -> int:
    assert family.n_features is not None  # the family is resolved
    return family.n_features


def find_valleys(family: Family, tally: Tally, log_weights: Floats) -> Valleys:
    """Return peaks and saddles of the mixture of a tally's clusters with log weights (K,)."""
    found = bells(family, family.posterior(tally.stats, tally.mass))
    apart = _fusion_losses(family, tally) if found is None else _bhattacharyya(found)
    if found is not None:
        log_weights = log_weights + 0.5 * found.log_dets
    # Both clusters are as dense there, hence the 2.
    saddles = np.log(2) + 0.5 * (log_weights[:, None] + log_weights) - apart
    if found is None:
        return Valleys(log_weights, saddles)
    followed = np.full(saddles.shape, -np.inf)
    for k in range(tally.K):
        others, heights = _saddles_around(found, log_weights, apart[k], k)
        followed[k, others] = heights
    followed = np.maximum(followed, followed.T)
    saddles = np.where(np.isfinite(followed), followed, saddles)
    return Valleys(_log_density(found, log_weights, found.means), saddles)


def _fusion_losses(family: Family, tally: Tally) -> Floats:
    """How much log likelihood a row loses when two clusters of equal mass become one, (K, K).

    For clusters that differ little this is their Bhattacharyya distance.
    """
    scale = MANY / tally.mass
    level = Tally.of(
        tally.ids, np.full(tally.K, MANY), tally.stats * scale[:, None], {}, tally.layout
    )
    a, b = np.triu_indices(tally.K, 1)
    losses = np.zeros((tally.K, tally.K))
    losses[a, b] = -family.log_fusion(level, np.column_stack([a, b])) / (2 * MANY)
    return np.maximum(losses + losses.T, 0.0)


def _bhattacharyya(found: Bells) -> Floats:
    """Bhattacharyya distances between Gaussian clusters, (K, K)."""
    K = len(found.means)
    spread = np.linalg.inv(found.precisions) if found.full else 1 / found.precisions
    half, out = -0.25 * found.log_dets, np.empty((K, K))
    for k in range(K):
        between, away = (spread + spread[k]) / 2, found.means - found.means[k]
        if found.full:
            log_det = np.linalg.slogdet(between)[1]
            square = np.sum(away * np.linalg.solve(between, away[:, :, None])[:, :, 0], axis=1)
        else:
            log_det = np.sum(np.log(between), axis=1)
            square = np.sum(away**2 / between, axis=1)
        out[k] = square / 8 + 0.5 * log_det - half - half[k]
    return np.maximum((out + out.T) / 2, 0.0)


def _saddles_around(
    found: Bells, log_weights: Floats, apart: Floats, k: int
) -> tuple[Ints, Floats]:
    """Return the clusters nearest to cluster k, by distances (K,), and log saddles to them.

    A saddle is the lowest point of the better of two paths. The density is that of these clusters.
    """
    near = np.argsort(np.where(np.arange(len(apart)) == k, -1.0, apart), kind="stable")
    near = near[: NEIGHBOURS + 1]
    few = Bells(found.means[near], found.precisions[near])
    paths = [path(few, 0, b) for b in range(1, len(near)) for path in (_line, _ridgeline)]
    if not paths:
        return near[1:], np.zeros(0)
    density = _log_density(few, log_weights[near], np.vstack(paths)).reshape(-1, 2, STEPS)
    return near[1:], density.min(axis=2).max(axis=1)


def _line(found: Bells, a: int, b: int) -> Floats:
    share = np.linspace(0, 1, STEPS)[:, None]
    return (1 - share) * found.means[a] + share * found.means[b]


def _ridgeline(found: Bells, a: int, b: int) -> Floats:
    """Points at which level sets of two Gaussians touch, from one mean to the other, (STEPS, D)."""
    share = np.linspace(0, 1, STEPS)[:, None]
    P, Q = found.precisions[a], found.precisions[b]
    if not found.full:
        left, right = (1 - share) * P, share * Q
        return (left * found.means[a] + right * found.means[b]) / (left + right)
    target = (1 - share) * (P @ found.means[a]) + share * (Q @ found.means[b])
    mixed = (1 - share[:, :, None]) * P + share[:, :, None] * Q
    return np.asarray(np.linalg.solve(mixed, target[:, :, None])[:, :, 0])


def _log_density(found: Bells, log_weights: Floats, points: Floats) -> Floats:
    """Log density (N,) of the mixture at points (N, D), in units of (2 pi)^(-D / 2)."""
    K, D = found.means.shape
    step = max(CHUNK // (K * D), 1)
    parts = []
    for start in range(0, len(points), step):
        away = points[start : start + step, None, :] - found.means
        if found.full:
            turned = np.einsum("nkd,kde->nke", away, found.precisions, optimize=True)
        else:
            turned = away * found.precisions
        parts.append(logsumexp(log_weights - 0.5 * np.sum(turned * away, axis=2), axis=1))
    return np.concatenate(parts)
