"""What sets a cluster apart: its columns, or words, by how much they tell."""

import numpy as np

from evermix._xp import Floats
from evermix.estimators.mixture.card import Trait
from evermix.estimators.mixture.naming import Names
from evermix.families import Multinomial
from evermix.families.base import Family
from evermix.families.marks import Mark, marks
from evermix.tally import Tally

TRAITS = 8  # on a card

Totals = tuple[Floats, float]


def traits_of(
    family: Family,
    tally: Tally,
    k: int,
    names: Names,
    totals: Totals | None = None,
) -> tuple[tuple[Trait, ...], list[int]]:
    """Return what sets the cluster at a place of a tally apart, and the columns of that.

    ``totals`` are the sums of all statistics and masses.
    """
    if tally.K == 1 and not isinstance(family, Multinomial):
        return (), list(range(min(TRAITS, family.n_features or 0)))
    found = marks_of(family, tally, k, TRAITS, totals)
    named = [(Trait.of(mark, names), mark.column) for mark in found]
    apart = [(trait, column) for trait, column in named if trait.differs()] or named
    return tuple(trait for trait, _ in apart), [column for _, column in apart]


def marks_of(family: Family, tally: Tally, k: int, most: int, totals: Totals | None) -> list[Mark]:
    """Return what sets the cluster at a place apart from all others together, the most first."""
    sums, whole = totals or (np.sum(tally.stats, axis=0), float(tally.mass.sum()))
    stats, mass = tally.stats[k], float(tally.mass[k])
    rest, others = sums - stats, max(whole - mass, 0.0)
    return marks(family, np.stack([stats, rest]), np.array([mass, others]), most)
