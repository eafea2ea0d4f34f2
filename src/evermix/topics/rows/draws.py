"""Chains of a dependent mixture that are swept together, and their draws."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Array, Bools, Floats, Ints, logsumexp
from evermix.families.base import Family
from evermix.state import State
from evermix.tally import Tally
from evermix.topics.chains import ChainRun
from evermix.topics.measures import Measure, Occupancy
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.samplers import RowSampler


class RowDraw(NamedTuple):
    """A draw that was kept."""

    labels: NDArray[np.int32]  # (N,) clusters 0..K-1, which mean nothing beyond this draw
    region: Ints  # (K,)
    on: Bools  # (T, K)
    measure: dict[str, Floats]  # see Measure.arrays
    log_joint: float  # log joint density of everything, up to a constant

    @classmethod
    def of(cls, chain: RowChain, data: RowData) -> "RowDraw":
        """Return where a chain stands."""
        return cls(
            chain.labels.astype(np.int32),
            chain.region.copy(),
            chain.on.copy(),
            chain.measure.arrays(),
            chain.log_joint(data),
        )


class Clusters(NamedTuple):
    """The clusters of a draw, without rows."""

    counts: Ints  # (T, K) rows of each cluster at each time
    stats: Floats  # (K, S)
    region: Ints  # (K,)
    on: Bools  # (T, K)
    measure: dict[str, Floats]  # see Measure.arrays
    log_joint: float  # log joint density of everything, up to a constant

    @classmethod
    def of(cls, draw: RowDraw, data: RowData) -> "Clusters":
        """Return those of a draw of these rows."""
        labels, K = draw.labels.astype(np.int64), len(draw.region)
        stats = data.state(labels, K).tally.stats.copy()
        return cls(data.counts(labels, K), stats, *draw[1:])

    @property
    def K(self) -> int:
        """Number of clusters."""
        return len(self.region)

    def state(self, family: Family) -> State:
        """Return mass and statistics."""
        mass = self.counts.sum(axis=0)
        tally = Tally.of(np.arange(self.K), mass, self.stats, {}, family.layout)
        return State(tally, family.columns(tally), {})

    def log_weights(self, measure: Measure) -> Floats:
        """Log weights (T, K + 1) of clusters and of a new one for the next row of each time.

        Consumes: measure.
        """
        measure.assign(self.measure)
        weights = measure.predictive(Occupancy.of(self.counts, self.region, self.on))
        return weights - logsumexp(weights, axis=1)[:, None]


class RowSweep(NamedTuple):
    """Summary of a sweep over all rows, for observers."""

    number: int  # of sweeps so far
    kept: bool  # whether its draws were kept: not so in the burn-in
    n_clusters: list[int]  # in each chain
    log_joint: list[float]  # log joint density of each chain, up to a constant


class RowRun(ChainRun[RowChain, RowDraw]):
    """Chains of a dependent mixture, and all their draws."""

    def __init__(
        self,
        data: RowData,
        sampler: RowSampler,
        chains: list[RowChain],
        rngs: list[np.random.Generator],
        sweeps: int = 0,
        draws: list[list[RowDraw]] | None = None,
    ) -> None:
        super().__init__(chains, rngs, sweeps)
        self.data, self.sampler = data, sampler
        self.draws: list[list[RowDraw]] = [[] for _ in chains] if draws is None else draws

    @property
    def n_draws(self) -> int:
        """Number of draws of each chain that were kept."""
        return len(self.draws[0])

    def last(self) -> RowSweep:
        """Return a summary of the last sweep, for observers."""
        if self.kept:
            log_joint = [draws[-1].log_joint for draws in self.draws]
        else:
            log_joint = [chain.log_joint(self.data) for chain in self.chains]
        return RowSweep(self.sweeps, self.kept, [chain.K for chain in self.chains], log_joint)

    def _move(self, chain: RowChain, rng: np.random.Generator) -> None:
        self.sampler.sweep(self.data, chain, rng)

    def _draw(self, number: int, chain: RowChain) -> RowDraw:
        return RowDraw.of(chain, self.data)

    def _keep(self, drawn: list[RowDraw]) -> None:
        for draws, draw in zip(self.draws, drawn, strict=True):
            draws.append(draw)


def traces(draws: Sequence[RowDraw | Clusters], mass: str) -> dict[str, Floats]:
    """Return all numbers of draws by name, (M,) each; masses are named ``mass``."""
    out = {"log_joint": np.array([draw.log_joint for draw in draws])}
    for name in ("sigma", "mass", "u", "q"):
        values = np.array([draw.measure[name] for draw in draws])
        for index in np.ndindex(*values.shape[1:]):
            place = f"[{','.join(map(str, index))}]" if name != "sigma" else ""
            out[(mass if name == "mass" else name) + place] = values[(slice(None), *index)]
    return out


def to_arrays(draws: Sequence[RowDraw]) -> dict[str, Array]:
    """Return draws as named arrays; clusters of all draws stand one after another."""
    if not draws:
        return {}
    return {
        "labels": np.array([draw.labels for draw in draws]),
        "K": np.array([len(draw.region) for draw in draws]),
        "region": np.concatenate([draw.region for draw in draws]),
        "on": np.concatenate([draw.on.T for draw in draws]),
        "log_joint": np.array([draw.log_joint for draw in draws]),
        **{
            f"measure.{name}": np.array([draw.measure[name] for draw in draws])
            for name in draws[0].measure
        },
    }


def from_arrays(arrays: Mapping[str, Array]) -> list[RowDraw]:
    """Return the draws that :func:`to_arrays` described."""
    if not arrays:
        return []
    cuts = np.cumsum(arrays["K"])[:-1]
    names = [name.removeprefix("measure.") for name in arrays if name.startswith("measure.")]
    columns = (
        list(arrays["labels"]),
        np.split(arrays["region"], cuts),
        [np.ascontiguousarray(on.T) for on in np.split(arrays["on"], cuts)],
        [{n: arrays[f"measure.{n}"][m] for n in names} for m in range(len(arrays["K"]))],
        arrays["log_joint"].tolist(),
    )
    return [RowDraw(*draw) for draw in zip(*columns, strict=True)]
