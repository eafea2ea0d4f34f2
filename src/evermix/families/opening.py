"""Hyperparameters by name: what is left open, opened again, and compared."""

from collections.abc import Collection
from dataclasses import fields, replace
from functools import singledispatch
from typing import Any

from evermix.families.base import Family
from evermix.families.categorical import Categorical
from evermix.families.mixed import Mixed


@singledispatch
def left_open(family: Family) -> tuple[str, ...]:
    """Names of hyperparameters that are learnt where they are left open, and are."""
    return tuple(name for name in family.learns if getattr(family, name) is None)


@left_open.register
def _(family: Mixed) -> tuple[str, ...]:
    blocks = family.blocks or ()
    return tuple(f"{b.label}.{name}" for b in blocks for name in left_open(b.family))


@singledispatch
def reopened(family: Family, names: Collection[str]) -> Family:
    """Return a family with those of these hyperparameters open that can be learnt."""
    opened: dict[str, Any] = {name: None for name in family.learns if name in names}
    return replace(family, **opened)


@reopened.register
def _(family: Mixed, names: Collection[str]) -> Family:
    blocks = [b._replace(family=reopened(b.family, b.own(names))) for b in family.blocks]
    return replace(family, blocks=tuple(blocks))


@singledispatch
def hyperparameters(family: Family) -> dict[str, Any]:
    """Return by name what families of models that are merged must have in common."""
    names = (f.name for f in fields(family) if f.name != "origin")
    return {f"{type(family).__name__}.{name}": getattr(family, name) for name in names}


@hyperparameters.register
def _(family: Categorical) -> dict[str, Any]:
    return {"Categorical.alpha": family.alpha}  # numbers of levels may differ


@hyperparameters.register
def _(family: Mixed) -> dict[str, Any]:
    found: dict[str, Any] = {"Mixed.blocks": repr([(b.label, b.weight) for b in family.blocks])}
    for block in family.blocks:
        own = hyperparameters(block.family)
        found |= {f"{block.label}: {name}": value for name, value in own.items()}
    return found
