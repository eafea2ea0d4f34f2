"""Which kinds of covariance the rows decide between, where a family was chosen by "auto"."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from evermix._xp import Array, Bools
from evermix.families._blocks import ALL, Block, Name
from evermix.families.amounts import knee_in_group
from evermix.families.base import Family
from evermix.families.dense import FULL_ONLY, MAX_FULL_COVARIANCE
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed
from evermix.families.opening import left_open

FULL_ROWS = 6  # for each column; of fewer, full covariances make many clusters of one
WHOLE = 0.85  # least share of rows that have seen all columns of a full covariance
FEW_COLUMNS = 8  # of a table that share a covariance if there is no search to decide it


@singledispatch
def kinds(family: Family, X: Array | None = None, names: Collection[str] = ()) -> list[Family]:
    """Return the families that rows X (N, D) decide between; without rows, all that they may.

    ``names`` are those of all hyperparameters that are learnt. Of a table they say which columns
    may share a covariance, if they do not now.
    """
    del X, names
    return [family]


@kinds.register(Gaussian)
@kinds.register(DiagonalGaussian)
@kinds.register(LowRankGaussian)
def _(family: Family, X: Array | None = None, names: Collection[str] = ()) -> list[Family]:
    del names
    if isinstance(family, LowRankGaussian) and (X is None or X.shape[1] > MAX_FULL_COVARIANCE):
        return [family]
    if X is not None and X.shape[1] > FULL_ONLY and X.shape[0] < FULL_ROWS * X.shape[1]:
        return [LowRankGaussian(), DiagonalGaussian()]
    several = X is None or X.shape[1] > FULL_ONLY
    knees = np.zeros(0) if X is None else np.array([knee_in_group(column) for column in X.T])
    logs: list[Family] = [LogGaussian(knees=knees)] if knees.any() else []
    return [Gaussian(), *logs, *([DiagonalGaussian()] if several else [])]


@kinds.register
def _(family: Mixed, X: Array | None = None, names: Collection[str] = ()) -> list[Family]:
    """Amounts, which are on the log scale, may be independent where other numbers are not."""
    del X
    family = _together(apart(family), names) if names else family
    several = shared(family)
    if several is None:
        return [family]
    linear = [name for name, knee in _knees(several).items() if not knee]
    found: list[Family] = [family]
    if 1 < len(linear) < len(several.names):
        found.append(apart(family, linear))
    if not 1 < len(linear) <= FULL_ONLY:
        found.append(apart(family))
    return found


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
    return next((b for b in family.blocks or () if _is_normal(b) and len(b.names) > 1), None)


def group(knees: Mapping[Any, float]) -> Block:
    """Return a block of columns that share a covariance; those with a knee are on the log scale."""
    if not any(knees.values()):
        return Block(tuple(knees), Gaussian())
    return Block(tuple(knees), LogGaussian(knees=np.array(list(knees.values()))))


def alone(name: Name, knee: float) -> Block:
    """Return the block of one column of numbers, on the log scale if it has a knee."""
    return Block((name,), LogNormal(knee=knee) if knee else Gaussian())


def apart(family: Mixed, still: Sequence[Name] = ()) -> Mixed:
    """Return the family with a block for each column of those that share a covariance.

    Some of them, which must be the last, may still share one.
    """
    several, blocks = shared(family), list(family.blocks)
    if several is not None:
        at, knees = blocks.index(several), _knees(several)
        found = [alone(name, knee) for name, knee in knees.items() if name not in still]
        found += [group({name: knees[name] for name in still})] if still else []
        blocks[at : at + 1] = found
    return replace(family, blocks=tuple(blocks))


def seen_together(family: Family, X: Array) -> Bools:
    """Return which rows of a table X (N, D) have seen all columns that share a covariance, (N,)."""
    assert isinstance(family, Mixed)
    several = shared(family)
    places = [family.names.index(name) for name in several.names] if several else []
    return ~np.isnan(X[:, places]).any(axis=1)


def _together(family: Mixed, names: Collection[str]) -> Mixed:
    """Return the family with columns in one block whose hyperparameters have these names."""
    labels, blocks = {name.rpartition(".")[0] for name in names}, family.blocks
    for start in range(len(blocks)):
        for stop in range(len(blocks), start + 1, -1):
            some = blocks[start:stop]
            if "+".join(str(b.names[0]) for b in some) in labels and all(map(_is_normal, some)):
                block = group({name: knee for b in some for name, knee in _knees(b).items()})
                return replace(family, blocks=(*blocks[:start], block, *blocks[stop:]))
    return family


def _knees(block: Block) -> dict[Name, float]:
    """Return the knees of columns on the log scale by their names, 0 for other columns."""
    family = block.family
    if isinstance(family, LogGaussian):
        return dict(zip(block.names, np.asarray(family.knees).tolist(), strict=True))
    knee = family.knee if isinstance(family, LogNormal) else None
    return dict.fromkeys(block.names, knee or 0.0)


def _is_normal(block: Block) -> bool:
    """Whether columns share a covariance with each other, or may share one with others."""
    family, usual = block.family, (block.weight, block.view) == (1.0, ALL)
    if isinstance(family, LogNormal):
        return usual and family.knee is not None and len(block.names) == 1
    if isinstance(family, LogGaussian):
        return usual and family.knees is not None
    return usual and type(family) is Gaussian
