"""What each column, or word, of a row adds to its log density in a cluster.

The terms of a row sum to its log predictive density (base measure left out), so that the log odds
of two clusters are a sum over columns. Columns of product families have terms of their own. Where
columns depend on each other, the parts of a squared distance share what it takes from the density,
and what belongs to no column is named.
"""

from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from evermix._xp import Array, Floats, Ints
from evermix.families import _covariance as matrices
from evermix.families._blocks import Block, filled, marginal, viewed
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.families.poisson import Poisson
from evermix.families.von_mises_fisher import VonMisesFisher, log_sphere
from evermix.families.zero_mean_gaussian import ZeroMeanGaussian

ROW, VOLUME = "row", "volume"
LARGE = 100.0  # from which on a difference of log gammas is computed by a series


class Terms(NamedTuple):
    """What a row adds to its log density in K clusters.

    Attributes
    ----------
    columns : int array (C,)
        Columns of the row.
    values : array (K, C)
        What each of them adds.
    rest : dict of str to array (K,)
        What belongs to no single column: "volume" is that of a cluster with a full covariance, over
        which its density is spread; "row" is all of a row of a family that is not known here.
    """

    columns: Ints
    values: Floats
    rest: dict[str, Floats]

    @property
    def total(self) -> Floats:
        """The log predictive density of the row in each cluster, (K,)."""
        return np.sum(self.values, axis=1) + sum(self.rest.values(), np.zeros(len(self.values)))


@singledispatch
def terms(family: Family, X: Array, eta: Floats) -> Terms:
    """Return the terms of one prepared row X (1, D) in clusters eta (K, E)."""
    nothing = np.zeros((len(eta), 0))
    return Terms(np.zeros(0, dtype=np.int64), nothing, {ROW: family.log_predictive(X, eta)[0]})


def _of_columns(values: Floats, rest: dict[str, Floats] | None = None) -> Terms:
    return Terms(np.arange(values.shape[1]), values, rest or {})


@terms.register
def _(family: DiagonalGaussian, X: Array, eta: Floats) -> Terms:
    D, kappa, shape = X.shape[1], eta[:, -2:-1], 0.5 * eta[:, -1:]
    x, mean = family.statistic(X)[0, :D], eta[:, :D] / kappa
    rate = 0.5 * (eta[:, D:-2] - eta[:, :D] * mean)
    shrink = kappa / (kappa + 1)
    constant = gammaln(shape + 0.5) - gammaln(shape) + 0.5 * np.log(shrink / rate)
    return _of_columns(constant - (shape + 0.5) * np.log1p(0.5 * shrink * (x - mean) ** 2 / rate))


@terms.register
def _(family: FixedGaussian, X: Array, eta: Floats) -> Terms:
    assert family.variance is not None  # the family is resolved
    x, (first, kappa) = family.statistic(X)[0], np.split(eta, 2, axis=1)
    shrink = kappa / (kappa + 1)
    distance = x * x - shrink * (x - first / kappa) ** 2
    return _of_columns(0.5 * (np.log(shrink) + distance / np.asarray(family.variance)))


@terms.register
def _(family: Bernoulli, X: Array, eta: Floats) -> Terms:
    ones, total = np.split(eta, 2, axis=1)
    return _of_columns(np.log(np.where(X[0] == 1, ones, total - ones) / total))


@terms.register
def _(family: Poisson, X: Array, eta: Floats) -> Terms:
    shape, rate = np.split(eta, 2, axis=1)
    constant = shape * np.log1p(1 / rate) + X[0] * np.log1p(rate)
    return _of_columns(log_rising(shape, X[0]) - constant)


@terms.register
def _(family: Categorical, X: Array, eta: Floats) -> Terms:
    return _of_columns(family.log_predictive(X, eta).T)


@terms.register
def _(family: Multinomial, X: Array, eta: Floats) -> Terms:
    """Each occurrence of a word has the same share in the normaliser, that of the length."""
    words, counts = np.asarray(X.indices, dtype=np.int64), np.asarray(X.data, dtype=np.float64)
    words, counts = words[counts > 0], counts[counts > 0]
    length = log_rising(eta[:, -1:], np.array([counts.sum()]))
    share = counts / max(counts.sum(), 1e-300)
    return Terms(words, log_rising(eta[:, words], counts) - share * length, {})


@terms.register
def _(family: Gaussian, X: Array, eta: Floats) -> Terms:
    D, kappa, nu = X.shape[1], eta[:, -2], eta[:, -1]
    mean = eta[:, :D] / kappa[:, None]
    B = eta[:, D:-2].reshape(-1, D, D) - eta[:, :D, None] * mean[:, None, :]
    return _elliptic(family.statistic(X)[0, :D] - mean, nu, B, kappa / (kappa + 1))


@terms.register
def _(family: ZeroMeanGaussian, X: Array, eta: Floats) -> Terms:
    K, D = len(eta), X.shape[1]
    x = np.broadcast_to(np.asarray(X, dtype=np.float64), (K, D))
    return _elliptic(x, eta[:, -1], eta[:, :-1].reshape(K, D, D), np.ones(K))


@terms.register
def _(family: LowRankGaussian, X: Array, eta: Floats) -> Terms:
    """Columns share the distances in the plane and from it."""
    assert family.basis is not None and family.units is not None and family.centre is not None
    plane, q, a = family.in_plane(eta), len(family.basis), float(family.shape or 0.0)
    kappa, nu = plane[:, -2], plane[:, -1]
    mean = plane[:, :q] / kappa[:, None]
    B = plane[:, q:-2].reshape(-1, q, q) - plane[:, :q, None] * mean[:, None, :]
    x = ((np.asarray(X) - family.centre) / family.units)[0]
    inside = _elliptic(x - mean @ family.basis, nu, B, kappa / (kappa + 1), family.basis)
    parts = (x - (x @ family.basis.T) @ family.basis) ** 2
    shape, rate = a * eta[:, -1], eta[:, -4]
    square = parts.sum() / rate
    power = -(shape + a) * _log1p_slope(square) / rate
    rest = gammaln(shape + a) - gammaln(shape) - a * np.log(rate)
    values = inside.values + power[:, None] * parts
    return _of_columns(values, {VOLUME: inside.rest[VOLUME] + rest})


def _elliptic(
    away: Floats, nu: Floats, B: Floats, shrink: Floats, basis: Floats | None = None
) -> Terms:
    """Terms of a row that is ``away`` (K, D) from the centres of Student-t distributions.

    The squared distance is a sum over columns d of x_d (B^-1 x)_d. With a ``basis`` (Q, D) the
    distributions are in the plane that it spans.
    """
    inner = away if basis is None else away @ basis.T
    D, W = inner.shape[1], matrices.whiteners(B)
    white = np.einsum("kij,kj->ki", W, inner)
    turned = np.einsum("kij,ki->kj", W, white)
    parts = shrink[:, None] * away * (turned if basis is None else turned @ basis)
    slope = _log1p_slope(parts.sum(axis=1))
    gammas = gammaln((nu + 1) / 2) - gammaln((nu + 1 - D) / 2)
    volume = gammas + 0.5 * (D * np.log(2 * shrink) - matrices.whitener_log_det(W))
    values = -0.5 * ((nu + 1) * slope)[:, None] * parts
    if away.shape[1] == 1:  # the only column
        return _of_columns(values + volume[:, None])
    return _of_columns(values, {VOLUME: volume})


def _log1p_slope(x: Floats) -> Floats:
    """Return log(1 + x) / x of numbers that are not negative, but for rounding."""
    some = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.log1p(some) / some, 1.0)


@terms.register
def _(family: VonMisesFisher, X: Array, eta: Floats) -> Terms:
    """The log density grows with the squared length of the sum of rows, a sum over columns.

    Of the row under a metric, a column has the part that its number is multiplied by.
    """
    c, x, D = float(family.concentration or 0.0), np.asarray(X)[0], X.shape[1]
    sums = eta[:, :D]
    z = family.statistic(x[None])[0]
    parts = z * (z + 2 * sums)
    if isinstance(family.metric, np.ndarray):
        length = np.linalg.norm(x @ family.metric)
        parts = x * ((z + 2 * sums) @ family.metric) / length
    before = np.sum(sums * sums, axis=1)
    growth = parts.sum(axis=1)
    value, ratio = log_sphere(c * np.sqrt(before), D)
    after = log_sphere(c * np.sqrt(np.maximum(before + growth, 0.0)), D)[0]
    some = np.where(growth == 0, 1.0, growth)
    slope = np.where(growth == 0, 0.5 * c * c * ratio, (after - value) / some)
    constant = np.full(len(eta), log_sphere(np.array([c]), D)[0][0])  # the same in all clusters
    return _of_columns(slope[:, None] * parts, {"sphere": -constant})


@terms.register
def _(family: Mixed, X: Array, eta: Floats) -> Terms:
    """Blocks of which a row has seen nothing add nothing."""
    columns, values = [np.zeros(0, dtype=np.int64)], [np.zeros((len(eta), 0))]
    rest: dict[str, Floats] = {}
    for block, span, own in family.etas(eta):
        part = viewed(X[:, span.columns], block.view)
        seen = np.flatnonzero(~np.isnan(part[0]))
        if len(seen) == 0 or (len(seen) < part.shape[1] and not block.partly):
            continue
        found = _of_block(block, part, own, seen)
        columns.append(span.columns[found.columns])
        values.append(found.values)
        rest |= {f"{name} of {block.label}": each for name, each in found.rest.items()}
    every: Ints
    every, places = np.unique(np.concatenate(columns), return_inverse=True)
    at_column = np.eye(len(every))[places]  # (C, D): a column with two views has two terms
    return Terms(every, np.hstack(values) @ at_column, rest)


def _of_block(block: Block, part: Floats, eta: Floats, seen: Ints) -> Terms:
    """Return the terms of what a row has seen of a block."""
    if block.weight != 1.0:
        total = block.log_predictive(filled(part, np.arange(part.shape[1]))[0], eta).T
        if part.shape[1] == 1:
            return _of_columns(total)
        return Terms(seen[:0], np.zeros((len(eta), 0)), {ROW: total[:, 0]})
    if len(seen) == part.shape[1]:
        return terms(block.family, part, eta)
    assert isinstance(block.family, Gaussian)  # as `Block.partly` says
    found = terms(*_marginal(block.family, part, eta, seen))
    return found._replace(columns=seen[found.columns])


def _marginal(
    family: Gaussian, part: Floats, eta: Floats, seen: Ints
) -> tuple[Gaussian, Floats, Floats]:
    small, own = marginal(family, eta, seen)
    return small, part[:, seen], own


def log_rising(a: Floats, x: Floats) -> Floats:
    """Return log Gamma(a + x) - log Gamma(a), to the last digits also where a is large."""
    big = np.maximum(a, LARGE)
    end = big + x
    series = (end - 0.5) * np.log1p(x / big) + x * (np.log(big) - 1)
    for power, divisor in ((1, 12), (3, -360), (5, 1260)):  # Stirling's series
        series += (end**-power - big**-power) / divisor
    return np.where(a >= LARGE, series, gammaln(a + x) - gammaln(a))
