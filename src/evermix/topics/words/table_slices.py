"""Tables that choose dishes by slices: the dishes without tables are drawn, not integrated out.

A table draws a level below the jump of its dish; every dish whose jump lies above that level is
then worth the probability of the words of the table, times how much of the dish the time of the
table sees. Topics are integrated out and tables move one after another, so a dish that has lost its
last table stays on offer with its jump until all have moved.
"""

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.dishes import DONE, count_tables
from evermix.kernels.topics.table_slices import Guests, Pool, slice_pass
from evermix.topics.measures import Occupancy
from evermix.topics.rows.slices import floor_of, lowest
from evermix.topics.words.sweeps import SeatedService


class SliceService(SeatedService):
    """Words that sit at tables, which choose among dishes above a random level."""

    def _reorder(self, rng: np.random.Generator) -> None:
        slots = np.flatnonzero(self.menu.tables[: self.K])
        atoms, measure = self._atoms(slots), self.chain.measure
        measure.draw_jumps(atoms, rng)
        log_jump = np.zeros(self.K)
        log_jump[slots] = atoms.log_jump
        first = np.flatnonzero(self.chain.opens)
        level = log_jump[self.chain.dish[first]] - rng.standard_exponential(len(first))
        floor = floor_of(measure, len(first), self.corpus.n_times)
        document = self.corpus.document[first]
        fresh = measure.fresh(lowest(level, floor, self.corpus.time[document], measure), rng)
        movable = level >= floor
        guests = Guests(first[movable], document[movable], level[movable])
        self._move(guests, slots, _joined(atoms, fresh), rng)

    def _atoms(self, slots: Array) -> Occupancy:
        """Return the dishes in some slots as the measure sees them."""
        chain, by_time = self.chain, np.zeros((self.corpus.n_times, self.K), dtype=np.int64)
        by_document = np.zeros(self.corpus.n_documents, dtype=np.int64)
        count_tables(self.words, chain.dish, chain.opens, by_time, by_document)
        return Occupancy.of(by_time[:, slots], self.menu.kind[slots], self.on[:, slots])

    def _move(
        self,
        guests: Guests,
        slots: Array,
        atoms: Occupancy,
        rng: np.random.Generator,
    ) -> None:
        """Let tables choose among atoms, the first of which are the dishes in these slots."""
        order = np.argsort(-atoms.log_jump, kind="stable")
        slot = np.full(len(order), -1)
        slot[: len(slots)] = slots
        presence = np.exp(self.chain.measure.log_presence(atoms))[:, order]
        pool = Pool(
            atoms.log_jump[order], np.ascontiguousarray(presence), slot[order], np.empty(0, int)
        )
        i, why = 0, -1
        while why != DONE:
            if why >= 0:
                self._grow()
            pool = pool._replace(dish=_dishes(pool.slot, self.menu.totals.size))
            i, self.K, self.n_holes, why = slice_pass(
                self.words, self.menu, self.scratch, pool, guests, i, self.K, self.n_holes, rng
            )
        used = np.flatnonzero(pool.slot >= 0)
        self.menu.kind[pool.slot[used]] = atoms.region[order[used]]
        self.on[:, pool.slot[used]] = atoms.on[:, order[used]]


def _joined(atoms: Occupancy, fresh: Occupancy) -> Occupancy:
    """Return dishes with tables, and those without after them."""
    return Occupancy(
        np.hstack([atoms.counts, fresh.counts]),
        np.append(atoms.region, fresh.region),
        np.hstack([atoms.on, fresh.on]),
        np.append(atoms.log_jump, fresh.log_jump),
    )


def _dishes(slot: Array, capacity: int) -> Array:
    """Return the dish in each slot, (C,), from the slot of each dish."""
    dish: Array = np.full(capacity, -1)
    used = np.flatnonzero(slot >= 0)
    dish[slot[used]] = used
    return dish
