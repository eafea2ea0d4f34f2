"""What a fit of a dependent mixture has drawn, and what follows from the draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._xp import Array, Bools, Floats, Ints, logsumexp
from evermix.engines.batch import Batch
from evermix.estimators.data.times import Times
from evermix.estimators.packing import (
    Registry,
    assign,
    built,
    group,
    named,
    packed,
    plain_json,
    unpacked,
)
from evermix.families.base import Family
from evermix.kernels.scoring import score_rows
from evermix.report.posterior import Posterior
from evermix.state import State
from evermix.topics.measures import Measure
from evermix.topics.priors import DEPENDENT_PRIORS, DependentPrior
from evermix.topics.rows import SAMPLERS
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.draws import RowDraw, RowRun, from_arrays, to_arrays, traces

_CHAIN = ("labels", "region", "on")


@dataclass
class FittedClusters:
    """Chains of a dependent mixture, and answers from their draws."""

    prior: DependentPrior
    times: Times
    run: RowRun

    @property
    def data(self) -> RowData:
        """The rows of the fit."""
        return self.run.data

    @property
    def family(self) -> Family:
        """What one cluster looks like, with every hyperparameter set."""
        return self.data.family

    # ---- answers ---------------------------------------------------------------------------

    def draws(self) -> list[RowDraw]:
        """Return the draws of all chains, one chain after another."""
        return [draw for draws in self.run.draws for draw in draws]

    def posterior(self) -> Posterior:
        """Return all draws of partitions, and what follows from them."""
        if "posterior" not in self.run.answers:
            draws = self.draws()
            mass = "M" if self.run.chains[0].measure.laws.relative else "a"
            chain = np.repeat(np.arange(len(self.run.draws)), self.run.n_draws)
            labels = np.array([draw.labels for draw in draws])
            self.run.answers["posterior"] = Posterior(labels, chain, traces(draws, mass))
        return self.run.answers["posterior"]

    def point(self) -> RowDraw:
        """Return the draw nearest to all others."""
        if "point" not in self.run.answers:
            self.run.answers["point"] = self.draws()[self.posterior().point()]
        return self.run.answers["point"]

    def clusters(self, draw: RowDraw) -> tuple[State, Floats]:
        """Return the clusters of a draw as a state, and log weights (T, K + 1)."""
        atoms, labels = draw.clusters(measure := self.measure(), self.data)
        log_weights = measure.predictive(atoms)
        state = self.data.state(labels, log_weights.shape[1] - 1)
        return state, log_weights - logsumexp(log_weights, axis=1)[:, None]

    def log_joint(self, draw: RowDraw, rows: Array, codes: Ints) -> Floats:
        """Log weight plus log predictive of rows in a draw, (N, K + 1), base measure left out."""
        state, log_weights = self.clusters(draw)
        joint, family = np.empty((rows.shape[0], log_weights.shape[1])), self.family
        work = family.workspace(state.tally, state.columns)
        score_rows(work, family.rows(rows), joint.shape[1], joint)
        return joint + log_weights[codes]

    def measure(self) -> Measure:
        """Return a measure to start from."""
        return start_measure(self.prior, self.data)

    # ---- files -----------------------------------------------------------------------------

    def to_file(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return everything as named arrays and a JSON-ready header."""
        run, data = self.run, self.data
        header = {
            "family": named(data.family),
            "prior": named(self.prior),
            "sampler": named(run.sampler),
            "times": self.times.to_spec(),
            "sweeps": run.sweeps,
            "rngs": [plain_json(rng.bit_generator.state) for rng in run.rngs],
        }
        arrays = packed(Batch(data.X, np.ones(len(data)))) | {"times": data.times}
        for i, (chain, draws) in enumerate(zip(run.chains, run.draws, strict=True)):
            parts: dict[str, Array] = {name: getattr(chain, name) for name in _CHAIN}
            parts |= {f"measure.{name}": x for name, x in chain.measure.arrays().items()}
            parts |= {f"memo.{name}": x for name, x in chain.memo.items()}
            arrays |= {f"chain.{i}.{name}": x for name, x in parts.items()}
            arrays |= {f"draws.{i}.{name}": x for name, x in to_arrays(draws).items()}
        return arrays, header

    @classmethod
    def from_file(
        cls, arrays: Mapping[str, Array], header: Mapping[str, Any], known: Registry
    ) -> "FittedClusters":
        """Return what :meth:`to_file` described, or raise ValueError if it is inconsistent."""
        prior, times = built(header["prior"], DEPENDENT_PRIORS), Times.from_spec(header["times"])
        family, rngs = (
            built(header["family"], known.families),
            [restore(state) for state in header["rngs"]],
        )
        X = unpacked(arrays, family, header["n_features_in"]).X
        data = RowData(family, X, arrays["times"], len(times))
        _check_times(data)
        chains = [_chain(prior, data, group(arrays, f"chain.{i}.")) for i in range(len(rngs))]
        sampler = built(header["sampler"], SAMPLERS)
        sampler.check(chains[0].measure)
        draws = [from_arrays(group(arrays, f"draws.{i}.")) for i in range(len(rngs))]
        run = RowRun(data, sampler, chains, rngs, int(header["sweeps"]), draws)
        _check_draws(run)
        return cls(prior, times, run)


def start_measure(prior: DependentPrior, data: RowData) -> Measure:
    """Return a measure to start from, for the times of these rows."""
    return prior.measure(np.bincount(data.times, minlength=data.n_times).astype(np.float64))


def _chain(prior: DependentPrior, data: RowData, arrays: dict[str, Array]) -> RowChain:
    measure = start_measure(prior, data)
    assign(measure, group(arrays, "measure."))
    labels, region, on = (arrays[name] for name in _CHAIN)
    _check_clusters(labels, region, on, data, measure)
    return RowChain(measure, labels, region, on, group(arrays, "memo."))


def _check_times(data: RowData) -> None:
    """Raise ValueError unless rows have all times."""
    N, T = data.X.shape[0], data.n_times
    if data.times.shape != (N,) or data.times.dtype != np.int64:
        raise ValueError(f"times must be {N} whole numbers, got shape {data.times.shape}.")
    if not np.array_equal(np.unique(data.times), np.arange(T)):
        raise ValueError(f"times must be the numbers 0 to {T - 1}, each of them in use.")


def _check_draws(run: RowRun) -> None:
    """Raise ValueError unless draws are those of these chains."""
    if len({len(draws) for draws in run.draws}) > 1:
        raise ValueError("all chains must have the same number of draws.")
    for chain, draws in zip(run.chains, run.draws, strict=True):
        for draw in draws:
            labels = draw.labels.astype(np.int64)
            _check_clusters(labels, draw.region, draw.on, run.data, chain.measure)
            for name, values in chain.measure.arrays().items():
                found = draw.measure[name]
                if found.shape != values.shape or not np.all(np.isfinite(found)):
                    raise ValueError(f"{name} of a draw must be finite, of shape {values.shape}.")


def _check_clusters(labels: Ints, region: Ints, on: Bools, data: RowData, measure: Measure) -> None:
    """Raise ValueError unless labels are those of clusters with regions and times."""
    K, R = len(region), measure.n_regions
    if labels.shape != data.times.shape or labels.dtype != np.int64:
        raise ValueError(f"labels must be {len(data)} whole numbers, got shape {labels.shape}.")
    if not np.array_equal(np.unique(labels), np.arange(K)):
        raise ValueError(f"labels must be the numbers 0 to {K - 1}, each of them in use.")
    if np.any((region < 0) | (region >= R)) or region.dtype != np.int64:
        raise ValueError(f"regions of clusters must be whole numbers from 0 to {R - 1}.")
    if on.shape != (data.n_times, K) or on.dtype != bool:
        raise ValueError(f"on must be boolean, of shape {(data.n_times, K)}, got {on.shape}.")
