"""Gibbs sampling: rows move one after another, each given all others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.kernels.engines.adf import DONE, ROOM
from evermix.kernels.topics.gibbs import BORN, GibbsBuffers, NewClusters, row_pass
from evermix.tally import Layout
from evermix.topics.measures import Occupancy, Offers
from evermix.topics.rows.chain import RowChain, RowData


def gibbs_sweep(
    data: RowData, chain: RowChain, atoms: Occupancy, offers: Offers, rng: np.random.Generator
) -> None:
    """Draw a cluster for every row in turn.   Consumes: chain, atoms.

    ``atoms`` are the clusters of the chain, with jumps if the offers need them.
    """
    _GibbsSweep(data, chain.labels.copy(), atoms, offers).run(chain, rng)


class _GibbsSweep:
    """Buffers of a sweep, which grow as clusters are born."""

    def __init__(self, data: RowData, labels: Ints, atoms: Occupancy, offers: Offers) -> None:
        self.data, self.labels, self.offers = data, labels, offers
        self.state = data.state(labels, len(atoms.region))
        self.K, self.n_holes = self.state.tally.K, 0
        self.kinds, self.share = offers.kind, offers.atoms
        self.on, self.holes = atoms.on, np.empty(0, dtype=np.int64)
        self.table = NewClusters(
            _plain(offers.new),
            _plain(np.logaddexp.reduce(offers.new, axis=1)),
            _plain(offers.newborn),
        )

    def run(self, chain: RowChain, rng: np.random.Generator) -> None:
        """Visit all rows, and leave the chain where they end."""
        data, hybrid = self.data, self.offers.discount < 0
        order, uniforms = rng.permutation(len(data)), rng.random(len(data))
        rows, at, why = data.rows, 0, ROOM
        statistic_major = data.family.layout is Layout.STATISTIC_MAJOR
        while why != DONE:
            if why == ROOM:
                work, buffers = self._buffers()
            self.K, self.n_holes, at, why, slot = row_pass(
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
            if why == BORN:
                t = int(data.times[order[at - 1]])
                born = chain.measure.newborn(int(buffers.kinds[slot]), t, rng)
                buffers.log_share[:, slot] = born.log_weight
                self.on[:, slot] = born.on
            self.kinds, self.share = buffers.kinds, buffers.log_share
            self.holes = buffers.holes
        kinds = self.kinds[: self.K]
        region, on = (kinds, self.on[:, : self.K]) if hybrid else chain.measure.unfold(kinds)
        chain.relabel(self.labels, region, on)

    def _buffers(self) -> tuple[object, GibbsBuffers]:
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
        buffers = GibbsBuffers(
            self.labels,
            sizes,
            log_size,
            _grown(self.share, (T, capacity), np.float64),
            _grown(self.kinds, (capacity,), np.int64),
            np.empty(capacity),
            _grown(self.holes, (capacity,), np.int64),
        )
        return self.data.family.workspace(tally, self.state.columns), buffers


def _plain(x: Floats) -> Floats:
    return np.require(x, dtype=np.float64, requirements=["C", "W"])


def _grown(x: NDArray[Any], shape: tuple[int, ...], dtype: type) -> NDArray[Any]:
    """Return a copy of x in the first places of an array of zeros."""
    grown: NDArray[Any] = np.zeros(shape, dtype=dtype)
    grown[tuple(slice(0, n) for n in x.shape)] = x
    return grown
