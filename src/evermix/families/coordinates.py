"""Rows as points in a space of real numbers, in which directions can be looked for."""

from functools import singledispatch

import numpy as np

from evermix._xp import Array
from evermix.families._blocks import viewed
from evermix.families.base import Family
from evermix.families.categorical import Categorical
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed


@singledispatch
def coordinates(family: Family, X: Array) -> Array:
    """Return rows X (N, D) as points (N, C); for most families they are that."""
    del family
    return X


@coordinates.register
def _(family: Categorical, X: Array) -> Array:
    return family.statistic(X)


@coordinates.register(LogNormal)
@coordinates.register(LogGaussian)
def _(family: LogNormal | LogGaussian, X: Array) -> Array:
    return family.scaled(X)


@coordinates.register
def _(family: LowRankGaussian, X: Array) -> Array:
    return family.split(X)[0]


@coordinates.register
def _(family: Mixed, X: Array) -> Array:
    """What is missing is the mean of the rest."""
    parts = []
    for block, columns in zip(family.blocks, family.columns_of_blocks, strict=True):
        part = viewed(X[:, columns], block.view)
        points = coordinates(block.family, part)
        gone = np.broadcast_to(np.isnan(part), points.shape)  # levels have several coordinates
        mean = np.where(gone, 0.0, points).sum(axis=0) / np.maximum((~gone).sum(axis=0), 1)
        parts.append(np.where(gone, mean, points))
    return np.column_stack(parts)
