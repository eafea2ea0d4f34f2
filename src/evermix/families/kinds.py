"""Which kinds of covariance the rows decide between, where a family was chosen by "auto"."""

from collections.abc import Collection
from dataclasses import replace
from functools import singledispatch

import numpy as np

from evermix._xp import Array, Bools
from evermix.families._blocks import Block
from evermix.families.base import Family
from evermix.families.dense import FULL_ONLY
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.mixed import Mixed
from evermix.families.opening import left_open

WHOLE = 0.9  # least share of rows that have seen all columns of a full covariance
FEW_COLUMNS = 8  # of a table that share a covariance if there is no search to decide it


@singledispatch
def kinds(family: Family, n_features: int, names: Collection[str] = ()) -> list[Family]:
    """Return the families that the rows decide between, for rows of so many columns.

    ``names`` are those of all hyperparameters that are learnt. Of a table they say which columns
    may share a covariance, if they do not now.
    """
    del n_features, names
    return [family]


@kinds.register(Gaussian)
@kinds.register(DiagonalGaussian)
def _(family: Family, n_features: int, names: Collection[str] = ()) -> list[Family]:
    del family, names
    return [Gaussian()] if n_features <= FULL_ONLY else [Gaussian(), DiagonalGaussian()]


@kinds.register
def _(family: Mixed, n_features: int, names: Collection[str] = ()) -> list[Family]:
    del n_features
    family = family if shared(family) else _together(family, names)
    several = shared(family)
    return [family, apart(family)] if several and len(several.names) > FULL_ONLY else [family]


def without_search(family: Family) -> Family:
    """Return the family of a model that does not search for clusters: many columns stay apart."""
    if isinstance(family, Mixed) and (several := shared(family)):
        return apart(family) if len(several.names) > FEW_COLUMNS else family
    return family


def open_names(families: Collection[Family]) -> list[str]:
    """Names of hyperparameters that are left open in any of the families, once each."""
    return list(dict.fromkeys(name for family in families for name in left_open(family)))


def shared(family: Mixed) -> Block | None:
    """Return the block of columns that share a covariance, if there is one."""
    return next((b for b in family.blocks or () if _is_gaussian(b) and len(b.names) > 1), None)


def apart(family: Mixed) -> Mixed:
    """Return the family with a Gaussian for each column of those that share a covariance."""
    several, blocks = shared(family), list(family.blocks)
    if several is not None:
        at = blocks.index(several)
        blocks[at : at + 1] = [Block((name,), Gaussian()) for name in several.names]
    return replace(family, blocks=tuple(blocks))


def seen_together(family: Mixed, X: Array) -> Bools:
    """Return which rows of X (N, D) have seen all columns that share a covariance, (N,)."""
    several = shared(family)
    places = [family.names.index(name) for name in several.names] if several else []
    return ~np.isnan(X[:, places]).any(axis=1)


def _together(family: Mixed, names: Collection[str]) -> Mixed:
    """Return the family with columns in one block whose hyperparameters have these names."""
    labels, blocks = {name.rpartition(".")[0] for name in names}, family.blocks
    for start in range(len(blocks)):
        for stop in range(start + 2, len(blocks) + 1):
            block = Block(tuple(b.names[0] for b in blocks[start:stop]), Gaussian())
            if block.label in labels and all(map(_is_gaussian, blocks[start:stop])):
                return replace(family, blocks=(*blocks[:start], block, *blocks[stop:]))
    return family


def _is_gaussian(block: Block) -> bool:
    return type(block.family) is Gaussian and block.weight == 1.0
