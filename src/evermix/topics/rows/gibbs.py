"""Rows that move one after another, each given all others."""

import numpy as np

from evermix._xp import Array
from evermix.kernels.engines.adf import DONE, ROOM
from evermix.kernels.topics import gibbs as dependent
from evermix.tally import Layout
from evermix.topics.measures import Occupancy, Offers
from evermix.topics.rows.chain import Chain, Data


def walk(
    data: Data, chain: Chain, atoms: Occupancy, offers: Offers, rng: np.random.Generator
) -> None:
    """Draw a cluster for every row in turn.   Consumes: atoms.

    Parameters
    ----------
    data : Data
    chain : Chain
        Its labels, regions and times of clusters are moved.
    atoms : Occupancy
        The clusters of the chain, with jumps where the offers say so.
    offers : Offers
    rng : Generator
    """
    walker = _Walker(data, chain.labels.copy(), atoms, offers)
    walker.run(chain, rng)


class _Walker:
    """Buffers of a walk, which grow as clusters are born."""

    def __init__(self, data: Data, labels: Array, atoms: Occupancy, offers: Offers) -> None:
        self.data, self.labels, self.offers = data, labels, offers
        self.state = data.state(labels, len(atoms.region))
        self.K, self.n_holes = self.state.tally.K, 0
        self.kinds, self.share = offers.kind, offers.atoms
        self.on, self.holes = atoms.on, np.empty(0, dtype=np.int64)
        self.table = dependent.Kinds(
            _plain(offers.new),
            _plain(np.logaddexp.reduce(offers.new, axis=1)),
            _plain(offers.newborn),
        )

    def run(self, chain: Chain, rng: np.random.Generator) -> None:
        """Visit all rows, and leave the chain where they end."""
        data, hybrid = self.data, self.offers.discount < 0
        order, uniforms = rng.permutation(len(data)), rng.random(len(data))
        rows, at, why = data.rows, 0, ROOM
        statistic_major = data.family.layout is Layout.STATISTIC_MAJOR
        while why != DONE:
            if why == ROOM:
                work, buffers = self._buffers()
            self.K, self.n_holes, at, why, slot = dependent.row_pass(
                work,
                rows,
                data.times,
                order,
                uniforms,
                self.table,
                self.offers.discount,
                statistic_major,
                buffers,
                self.K,
                self.n_holes,
                at,
            )
            if why == dependent.BORN:
                t = int(data.times[order[at - 1]])
                born = chain.measure.newborn(int(buffers.kinds[slot]), t, rng)
                buffers.log_share[:, slot] = born.log_weight
                self.on[:, slot] = born.on
            self.kinds, self.share = buffers.kinds, buffers.log_share
            self.holes = buffers.holes
        kinds = self.kinds[: self.K]
        region, on = (kinds, self.on[:, : self.K]) if hybrid else chain.measure.unfold(kinds)
        chain.settle(self.labels, region, on)

    def _buffers(self) -> tuple[object, dependent.Chain]:
        """Make room for more clusters."""
        tally, T = self.state.tally, self.data.n_times
        tally.K = self.K
        self.state.reserve(max(2 * self.K, self.K + 8))
        capacity = tally.capacity
        sizes = tally.mass_buffer
        if self.offers.discount < 0:
            log_size = np.where(sizes > 0, 0.0, -np.inf)
        else:
            with np.errstate(divide="ignore"):
                log_size = np.log(np.maximum(sizes - self.offers.discount, 0.0))
        self.on = _grown(self.on, (T, capacity), bool)
        buffers = dependent.Chain(
            self.labels,
            sizes,
            log_size,
            _grown(self.share, (T, capacity), np.float64),
            _grown(self.kinds, (capacity,), np.int64),
            np.empty(capacity),
            _grown(self.holes, (capacity,), np.int64),
        )
        return self.data.family.workspace(tally, self.state.columns), buffers


def _plain(x: Array) -> Array:
    return np.require(x, dtype=np.float64, requirements=["C", "W"])


def _grown(x: Array, shape: tuple[int, ...], dtype: type) -> Array:
    """Return a copy of x in the first places of an array of zeros."""
    grown: Array = np.zeros(shape, dtype=dtype)
    grown[tuple(slice(0, n) for n in x.shape)] = x
    return grown
