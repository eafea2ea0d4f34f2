"""Samplers of mixtures whose measures are thinned."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix.topics.measures import Measure, Thinned
from evermix.topics.measures.thinned import MOST_TIMES
from evermix.topics.rows.chain import Chain, Data
from evermix.topics.rows.gibbs import walk
from evermix.topics.rows.samplers.base import Sampler
from evermix.topics.rows.slices import slice_move


@dataclass(frozen=True)
class T1(Sampler):
    """Hybrid sampling: clusters with rows have jumps, all others are integrated out. The default.

    The integrals over them are one-dimensional, whatever the number of times.
    """

    needs: ClassVar[type[Measure]] = Thinned

    def begin(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Give every row a cluster, given those before it."""
        T1.move(self, data, chain, rng)

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Draw jumps, then move the rows one after another."""
        atoms = chain.occupancy(data)
        chain.measure.draw_jumps(atoms, rng)
        walk(data, chain, atoms, chain.measure.hybrid(atoms), rng)


@dataclass(frozen=True)
class T2(T1):
    """Slice sampling: rows move at once, among clusters that are drawn anew."""

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Draw jumps and parameters, then move all rows at once."""
        slice_move(data, chain, rng)


@dataclass(frozen=True)
class T5(T1):
    """Marginal Gibbs sampling, all jumps integrated out, for at most eight times.

    Every region is taken apart into those of its atoms that are there at the same times.
    """

    def check(self, measure: Measure) -> None:
        """Raise if this sampler cannot move the measure."""
        super().check(measure)
        if measure.n_times > MOST_TIMES:
            raise ValueError(
                f"T5 visits all 2^T sets of times, and is meant for at most {MOST_TIMES} times, "
                f"got {measure.n_times}. Use em.T1()."
            )

    def move(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move the rows one after another."""
        atoms = chain.occupancy(data)
        walk(data, chain, atoms, chain.measure.marginal(atoms), rng)
