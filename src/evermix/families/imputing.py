"""What is missing of the rows of a table, given what was seen of them."""

from functools import singledispatch
from typing import Any

import numpy as np

from evermix._xp import Floats, Ints
from evermix.families._blocks import REST, WHETHER, patterns
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.mixed import Mixed
from evermix.families.poisson import Poisson


def imputed(family: Mixed, X: Floats, eta: Floats, r: Floats) -> Floats:
    """Return rows X (N, D) with every hole filled, given clusters eta (K, E) and their shares.

    ``r`` (N, K) are the probabilities of the clusters given what was seen of each row. Numbers get
    their mean over the clusters (positive ones that of their logarithms), levels and yes/no the
    most probable value; so it is with zeros of columns that are often 0.
    """
    out = X.copy()
    other = np.ones_like(r)  # probabilities (N, K) that the column at hand is not 0
    for block, span, own in family.etas(eta):
        if block.view == WHETHER:
            other = np.broadcast_to(own[:, 0] / own[:, 1], r.shape)
            continue
        part = X[:, span.columns]
        gone = np.isnan(part)
        if not gone.any():
            continue
        rows = np.flatnonzero(gone.any(axis=1))
        if block.view == REST:
            joint = r[rows] * other[rows]
            known = joint.sum(axis=1, keepdims=True)
            found = filled(block.family, part[rows], own, joint / known)
            found = np.where(known < 0.5, 0.0, found)
        else:
            found = filled(block.family, part[rows], own, r[rows])
        out[np.ix_(rows, span.columns)] = np.where(gone[rows], found, part[rows])
    return out


def drawn(family: Mixed, X: Floats, eta: Floats, r: Floats, rng: np.random.Generator) -> Floats:
    """Return rows X (N, D) with every hole drawn, given clusters eta (K + 1, E) and their shares r.

    The last cluster is a new one, as the prior has it. All holes of a row are drawn from one
    cluster. Levels that no row had are left out.
    """
    out = X.copy()
    rows = np.flatnonzero(np.isnan(X).any(axis=1))
    shares = np.cumsum(r[rows], axis=1)
    levels = rng.random(len(rows)) * shares[:, -1]
    slots = np.minimum((shares < levels[:, None]).sum(axis=1), r.shape[1] - 1)
    for block, span, own in family.etas(eta):
        if isinstance(block.family, Categorical):
            own = np.where((own[:-1] > own[-1]).any(axis=0), own, 0.0)
        for i, k in zip(rows, slots, strict=True):
            part = X[i, span.columns]
            gone = np.isnan(part)
            if gone.any():
                found = _drawn_block(block.family, part, own[k], gone, rng)
                before = out[i, span.columns][gone]  # of the rest: whether it is not 0
                part[gone] = np.where(before == 0, 0.0, found) if block.view == REST else found
                out[i, span.columns] = part
    return out


def _drawn_block(
    family: Family, part: Floats, eta: Floats, gone: Any, rng: np.random.Generator
) -> Floats:
    """Draw the missing columns of a row of a block from its cluster eta (E,)."""
    if isinstance(family, Categorical):
        return np.array([float(rng.choice(len(eta), p=eta / eta.sum()))])
    if gone.all() or not isinstance(family, Gaussian):
        return family.draw(eta, 0.0, rng)[gone]
    if isinstance(family, LogGaussian):
        logs = family.scaled(part[None, :])[0]
        logs[gone] = _drawn_rest(family, logs, eta, gone, rng)
        return family.unscaled(logs[None, :])[0, gone]
    return _drawn_rest(family, part, eta, gone, rng)


def _drawn_rest(
    family: Gaussian, part: Floats, eta: Floats, gone: Any, rng: np.random.Generator
) -> Floats:
    """Draw missing columns of a row, given those that were seen, on the scale of the Gaussian."""
    seen, D = np.flatnonzero(~gone), len(part)
    mean, B = eta[:D] / eta[-2], eta[D:-2].reshape(D, D) - np.outer(eta[:D], eta[:D]) / eta[-2]
    centred = part[seen] - _origin(family)[seen] - mean[seen]
    # Given columns that were seen, the rest of a Student t row is one too.
    inner = B[np.ix_(seen, seen)]
    slopes = np.linalg.solve(inner, B[np.ix_(seen, gone)])
    rest = B[np.ix_(gone, gone)] - B[np.ix_(gone, seen)] @ slopes
    scale = (1.0 + 1.0 / eta[-2] + centred @ np.linalg.solve(inner, centred)) * rest
    freedom = float(eta[-1]) - D + 1 + len(seen)
    normal = np.linalg.cholesky(scale / freedom) @ rng.standard_normal(int(gone.sum()))
    student = normal / np.sqrt(rng.chisquare(freedom) / freedom)
    return _origin(family)[gone] + mean[gone] + centred @ slopes + student


@singledispatch
def filled(family: Family, part: Floats, eta: Floats, r: Floats) -> Floats:
    """Return values (N, d) for rows of a block, of which (some of) the columns are missing."""
    raise NotImplementedError(
        f"{type(family).__name__} cannot tell what is missing: register a function for it with "
        "evermix.families.imputing.filled."
    )


@filled.register
def _(family: Categorical, part: Floats, eta: Floats, r: Floats) -> Floats:
    levels = r @ (eta / eta.sum(axis=1, keepdims=True))
    return levels.argmax(axis=1).astype(np.float64)[:, None]


@filled.register
def _(family: Bernoulli, part: Floats, eta: Floats, r: Floats) -> Floats:
    ones, total = np.split(eta, 2, axis=1)
    return (r @ (ones / total) >= 0.5).astype(np.float64)


@filled.register
def _(family: Poisson, part: Floats, eta: Floats, r: Floats) -> Floats:
    shape, rate = np.split(eta, 2, axis=1)
    return r @ (shape / rate)


@filled.register
def _(family: DiagonalGaussian, part: Floats, eta: Floats, r: Floats) -> Floats:
    return r @ (eta[:, : part.shape[1]] / eta[:, -2:-1]) + _origin(family)


@filled.register
def _(family: LogNormal, part: Floats, eta: Floats, r: Floats) -> Floats:
    return family.unscaled(r @ (eta[:, : part.shape[1]] / eta[:, -2:-1]) + _origin(family))


@filled.register
def _(family: FixedGaussian, part: Floats, eta: Floats, r: Floats) -> Floats:
    first, kappa = np.split(eta, 2, axis=1)
    return r @ (first / kappa) + _origin(family)


@filled.register
def _(family: Gaussian, part: Floats, eta: Floats, r: Floats) -> Floats:
    """The regression of what is missing on what was seen, in each cluster."""
    D, kappa = part.shape[1], eta[:, -2:-1]
    means = eta[:, :D] / kappa
    B = eta[:, D:-2].reshape(-1, D, D) - eta[:, :D, None] * means[:, None, :]
    x = part - _origin(family)
    found = r @ means
    for rows, seen in patterns(part):
        gone = np.setdiff1d(np.arange(D), seen)
        found[np.ix_(rows, gone)] = _regressed(x[np.ix_(rows, seen)], means, B, r[rows], seen, gone)
    return found + _origin(family)


@filled.register
def _(family: LogGaussian, part: Floats, eta: Floats, r: Floats) -> Floats:
    return family.unscaled(filled.dispatch(Gaussian)(family, family.scaled(part), eta, r))


def _origin(family: Any) -> Floats:
    """The point about which a resolved family keeps its statistics, (d,)."""
    return np.asarray(family.origin, dtype=np.float64)


def _regressed(x: Floats, means: Floats, B: Floats, r: Floats, seen: Ints, gone: Ints) -> Floats:
    """Expected values (N, G) of columns, given those that were seen, x (N, S)."""
    slopes = np.linalg.solve(B[:, seen][:, :, seen], B[:, seen][:, :, gone])  # (K, S, G)
    each = np.einsum("nks,ksg->nkg", x[:, None, :] - means[:, seen], slopes) + means[:, gone]
    return np.einsum("nk,nkg->ng", r, each)
