"""Whole tables that choose topics: by slices, or while topics are switched on and off."""

import numpy as np

from evermix._xp import Ints
from evermix.kernels.topics.dishes import DONE
from evermix.kernels.topics.tables import (
    DishPool,
    MovingTables,
    SwitchedTopics,
    WordBlocks,
    slice_pass,
    switch_pass,
)
from evermix.topics.measures import Occupancy, Thinned
from evermix.topics.measures.levels import levels_of_regions, lowest_level
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.franchise import Franchise
from evermix.topics.words.sweeps import SeatedSweep


class SlicedSweep(SeatedSweep):
    """Words that sit at tables, which choose among dishes above a random level.

    A table draws a level below the jump of its dish; every dish whose jump lies above that level
    then has as weight the probability of the words of the table, times how much of the dish the
    time of the table sees. Dishes without tables are drawn, not integrated out. Topics are
    integrated out and tables move one after another, so a dish that has lost its last table stays
    on offer with its jump until all have moved.
    """

    dense = True

    def _move_tables(self, rng: np.random.Generator) -> None:
        slots = np.flatnonzero(self.dishes.tables[: self.K])
        atoms, measure = self._atoms(slots), self.chain.measure
        measure.draw_jumps(atoms, rng)
        log_jump = np.zeros(self.K)
        log_jump[slots] = atoms.log_jump
        first = np.flatnonzero(self.chain.opens)
        level = log_jump[self.chain.dish[first]] - rng.standard_exponential(len(first))
        T, mass = self.corpus.n_times, float(measure.a.sum())
        floor = lowest_level(len(first), T, mass, measure.sigma)
        document = self.corpus.document[first]
        times = self.corpus.time[document]
        fresh = measure.fresh(levels_of_regions(level, floor, times, measure.q), rng)
        movable = level >= floor
        moving = MovingTables(first[movable], document[movable], level[movable])
        self._choose(moving, slots, _joined(atoms, fresh), rng)

    def _atoms(self, slots: Ints) -> Occupancy:
        """Return the dishes in some slots as the measure sees them."""
        by_time = self.chain.count_tables(self.corpus, self.K)[0]
        return Occupancy.of(by_time[:, slots], self.dishes.kind[slots], self.on[:, slots])

    def _choose(
        self,
        moving: MovingTables,
        slots: Ints,
        atoms: Occupancy,
        rng: np.random.Generator,
    ) -> None:
        """Let tables choose among atoms, the first of which are the dishes in these slots."""
        order = np.argsort(-atoms.log_jump, kind="stable")
        slot = np.full(len(order), -1)
        slot[: len(slots)] = slots
        presence = np.exp(self.chain.measure.log_presence(atoms))[:, order]
        pool = DishPool(
            atoms.log_jump[order], np.ascontiguousarray(presence), slot[order], np.empty(0, int)
        )
        i, why = 0, -1
        while why != DONE:
            if why >= 0:
                self._grow()
            pool = pool._replace(dish=_dishes(pool.slot, self.dishes.totals.size))
            i, self.K, self.n_holes, why = slice_pass(
                self.words, self.dishes, self.scratch, pool, moving, i, self.K, self.n_holes, rng
            )
        used = np.flatnonzero(pool.slot >= 0)
        self.dishes.kind[pool.slot[used]] = atoms.region[order[used]]
        self.on[:, pool.slot[used]] = atoms.on[:, order[used]]


def _joined(atoms: Occupancy, fresh: Occupancy) -> Occupancy:
    """Return dishes with tables, and those without after them."""
    return Occupancy(
        np.hstack([atoms.counts, fresh.counts]),
        np.append(atoms.region, fresh.region),
        np.hstack([atoms.on, fresh.on]),
        np.append(atoms.log_jump, fresh.log_jump),
    )


def _dishes(slot: Ints, capacity: int) -> Ints:
    """Return the dish in each slot, (C,), from the slot of each dish."""
    dish: Ints = np.full(capacity, -1)
    used = np.flatnonzero(slot >= 0)
    dish[slot[used]] = used
    return dish


# ---- switching -----------------------------------------------------------------------------


def switch_topics(
    corpus: Corpus, chain: Franchise, atoms: Occupancy, rng: np.random.Generator
) -> None:
    """Draw where topics of a thinned measure are on, and what tables order, given their words.

    Jumps and the words of topics are drawn for the purpose, and forgotten: jumps of the atoms, the
    dishes of the chain, are invalid afterwards.   Consumes: chain, atoms.
    """
    measure = chain.measure
    assert isinstance(measure, Thinned)
    measure.draw_jumps(atoms, rng)
    place, blocks = _blocks(corpus, chain)
    phi = rng.standard_gamma(chain.beta + chain.counts(corpus).toarray().astype(np.float64))
    phi /= phi.sum(axis=0)
    log_odds = measure.log_odds(atoms)
    if chain.past is not None:  # tables of the past keep their topics
        log_odds[:, : chain.past.K][chain.past.tables > 0] = np.inf
    topics = SwitchedTopics(phi, atoms.log_jump, log_odds, atoms.counts, atoms.on)
    switch_pass(blocks, topics, rng)
    chain.dish[place] = np.repeat(blocks.dish, np.diff(blocks.begin))
    chain.on, chain.slots = atoms.on, None


def _blocks(corpus: Corpus, chain: Franchise) -> tuple[Ints, WordBlocks]:
    """Return the words of all tables, sorted by time, and where they are in the corpus, (N,)."""
    table = corpus.start[corpus.document] + chain.table if chain.seated else np.arange(len(corpus))
    time = corpus.time[corpus.document]
    place = np.lexsort((table, time))
    begin = np.flatnonzero(np.diff(table[place], prepend=-1))
    first = np.searchsorted(time[place][begin], np.arange(corpus.n_times + 1))
    dish = chain.dish[place][begin].astype(np.int64)
    return place, WordBlocks(corpus.word[place], np.append(begin, len(corpus)), first, dish)
