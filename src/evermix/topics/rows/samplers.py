"""Samplers of dependent mixtures: each is a choice of moves.

Mixed and thinned measures share their moves; what a sampler is called depends on the measure, as
in the paper.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix.topics.measures import Measure, Mixed, Thinned
from evermix.topics.measures.thinned import MAX_TIMES
from evermix.topics.priors import PlainSettings
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.gibbs import gibbs_sweep
from evermix.topics.rows.slices import slice_sweep


def move_marginally(data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
    """Move rows one after another, with all jumps integrated out."""
    atoms = chain.occupancy(data)
    gibbs_sweep(data, chain, atoms, chain.measure.offers(atoms, False, rng), rng)


def move_given_jumps(data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
    """Draw the jumps of clusters with rows, then move rows one after another."""
    atoms = chain.occupancy(data)
    gibbs_sweep(data, chain, atoms, chain.measure.offers(atoms, True, rng), rng)


@dataclass(frozen=True)
class RowSampler(PlainSettings, ABC):
    """One way to move the clusters of all rows, and everything else that is learnt."""

    needs: ClassVar[type[Measure]]
    """The kind of measure that it moves."""

    def check(self, measure: Measure) -> None:
        """Raise if this sampler cannot move the measure."""
        if not isinstance(measure, self.needs):
            raise TypeError(
                f"{type(self).__name__} moves {self.needs.__name__.lower()} measures, got a "
                f"{type(measure).__name__.lower()} one. Use sampler=None for what suits the prior."
            )

    def sweep(self, data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
        """Move everything once.   Consumes: chain."""
        if chain.started:
            self.learn(data, chain, rng)
            self.move(data, chain, rng)
        else:  # any clusters will do
            begin = move_given_jumps if isinstance(chain.measure, Thinned) else move_marginally
            begin(data, chain, rng)

    @staticmethod
    @abstractmethod
    def move(data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
        """Move the rows."""

    def learn(self, data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
        """Move all but the rows."""
        atoms = chain.occupancy(data)
        chain.measure.update(atoms, rng)
        chain.region, chain.on = atoms.region, atoms.on


@dataclass(frozen=True)
class M1(RowSampler):
    """Marginal Gibbs sampling: rows move one after another, jumps integrated out. The default."""

    needs: ClassVar[type[Measure]] = Mixed
    move = staticmethod(move_marginally)


@dataclass(frozen=True)
class M2(RowSampler):
    """Slice sampling: rows move at once, among clusters with new jumps and parameters."""

    needs: ClassVar[type[Measure]] = Mixed
    move = staticmethod(slice_sweep)


@dataclass(frozen=True)
class M3(RowSampler):
    """Hybrid sampling: clusters with rows have jumps, all others are integrated out."""

    needs: ClassVar[type[Measure]] = Mixed
    move = staticmethod(move_given_jumps)


@dataclass(frozen=True)
class T1(RowSampler):
    """Hybrid sampling: clusters with rows have jumps, all others are integrated out. The default.

    The integrals over them are one-dimensional, whatever the number of times.
    """

    needs: ClassVar[type[Measure]] = Thinned
    move = staticmethod(move_given_jumps)


@dataclass(frozen=True)
class T2(RowSampler):
    """Slice sampling: rows move at once, among clusters with new jumps and parameters."""

    needs: ClassVar[type[Measure]] = Thinned
    move = staticmethod(slice_sweep)


@dataclass(frozen=True)
class T5(RowSampler):
    """Marginal Gibbs sampling, all jumps integrated out, for at most eight times.

    Every region is taken apart into those of its atoms that are on at the same times.
    """

    needs: ClassVar[type[Measure]] = Thinned
    move = staticmethod(move_marginally)

    def check(self, measure: Measure) -> None:
        """Raise if this sampler cannot move the measure."""
        super().check(measure)
        if measure.n_times > MAX_TIMES:
            raise ValueError(
                f"T5 visits all 2^T sets of times, and is meant for at most {MAX_TIMES} times, "
                f"got {measure.n_times}. Use em.T1()."
            )
