"""Samplers of mixtures whose measures are mixed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix.topics.measures import Measure, Mixed
from evermix.topics.rows.chain import Chain, Data
from evermix.topics.rows.gibbs import walk
from evermix.topics.rows.samplers.base import Sampler
from evermix.topics.rows.slices import slice_move


@dataclass(frozen=True)
class M1(Sampler):
    """Marginal Gibbs sampling: rows move one after another, jumps integrated out. The default."""

    needs: ClassVar[type[Measure]] = Mixed

    def begin(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Give every row a cluster, given those before it."""
        M1.move(self, data, chain, rng)

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move the rows."""
        atoms = chain.occupancy(data)
        walk(data, chain, atoms, chain.measure.marginal(atoms), rng)


@dataclass(frozen=True)
class M2(M1):
    """Slice sampling: rows move at once, among clusters that are drawn anew."""

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Draw jumps and parameters, then move all rows at once."""
        slice_move(data, chain, rng)


@dataclass(frozen=True)
class M3(M1):
    """Hybrid sampling: clusters with rows have jumps, all others are integrated out."""

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Draw jumps, then move the rows one after another."""
        atoms = chain.occupancy(data)
        chain.measure.draw_jumps(atoms, rng)
        walk(data, chain, atoms, chain.measure.hybrid(atoms), rng)
