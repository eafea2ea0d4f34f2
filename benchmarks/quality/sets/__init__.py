"""The labelled sets of the battery, by name."""

from functools import cache

from benchmarks.common import DataMissing
from benchmarks.quality.sets import generated, keel, tables, texts, vectors
from benchmarks.quality.sets.base import KINDS, LabelledSet, Recipe, in_order

__all__ = ["KINDS", "LabelledSet", "Recipe", "load", "recipes"]


@cache
def recipes() -> tuple[dict[str, Recipe], tuple[str, ...]]:
    """Return all sets that can be made here, by name, and what is missing for others."""
    found: dict[str, Recipe] = {}
    missing = []
    for source in (
        vectors.benchmark,
        vectors.toys,
        vectors.images,
        generated.recipes,
        texts.recipes,
        tables.drawn,
        tables.real,
        keel.recipes,
    ):
        try:
            for recipe in source():
                found[recipe.name] = recipe
        except DataMissing as error:
            missing.append(str(error))
    return found, tuple(missing)


@cache
def _made(name: str, seed: int) -> LabelledSet:
    return recipes()[0][name].make(seed)


def load(name: str, order: int) -> LabelledSet:
    """Return a set with its rows in one of its random orders.

    Sets of the kinds that are drawn afresh are drawn with the order as their seed.
    """
    recipe = recipes()[0][name]
    return in_order(_made(name, order if recipe.fresh else 0), order)
