"""What a fit of a dependent mixture has drawn, and what follows from the draws."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._schema import (
    BOOL,
    COUNT,
    FLOAT,
    ORDERED,
    SHORT,
    WHOLE,
    Field,
    check_arrays,
    check_number,
)
from evermix._xp import Array, Floats, Ints
from evermix.engines.batch import Batch
from evermix.estimators.data.times import Times
from evermix.estimators.dependent.live_files import live_content, live_run
from evermix.estimators.packing import (
    Registry,
    built,
    check_family,
    check_regions,
    measure_of,
    named,
    number_fields,
    numbered,
    packed,
    plain_json,
    taken,
    unpacked,
)
from evermix.families.base import Family
from evermix.kernels.scoring import score_rows
from evermix.report.posterior import Posterior
from evermix.topics.measures import Measure
from evermix.topics.priors import DEPENDENT_PRIORS, DependentPrior
from evermix.topics.rows import SAMPLERS
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.draws import Clusters, RowDraw, RowRun, from_arrays, to_arrays, traces
from evermix.topics.rows.live import LiveRows
from evermix.topics.rows.published import LEVEL, WARNED

ROOM = 2**20  # numbers that a family may compute on loading, beside those of the rows
_CHAIN = ("labels", "region", "on")


@dataclass
class FittedClusters:
    """Chains of a dependent mixture, and answers from their draws."""

    prior: DependentPrior
    times: Times
    run: RowRun | LiveRows

    @property
    def family(self) -> Family:
        """What one cluster looks like, with every hyperparameter set."""
        return self.run.family if isinstance(self.run, LiveRows) else self.run.data.family

    # ---- answers ---------------------------------------------------------------------------

    def chains(self) -> RowRun:
        """Return the chains of a fit, or raise AttributeError if it has gone on without them."""
        if isinstance(self.run, LiveRows):
            raise AttributeError(
                "this model has gone on with partial_fit, and keeps no draws of partitions of "
                "rows. Use predict for clusters of rows, and traces_ for numbers of the draws."
            )
        return self.run

    def draws(self) -> Iterator[Clusters]:
        """Yield the clusters of all draws, one chain after another."""
        if isinstance(self.run, LiveRows):
            yield from (known.clusters for known in self.run.known)
        else:
            yield from (Clusters.of(draw, self.run.data) for draw in self._rows())

    def _rows(self) -> list[RowDraw]:
        """Return the draws of all chains of a fit, one chain after another."""
        return [draw for draws in self.chains().draws for draw in draws]

    def posterior(self) -> Posterior:
        """Return all draws of partitions, and what follows from them."""
        run = self.chains()
        if "posterior" not in run.answers:
            draws = self._rows()
            chain = np.repeat(np.arange(len(run.draws)), run.n_draws)
            labels = np.array([draw.labels for draw in draws])
            run.answers["posterior"] = Posterior(labels, chain, traces(draws, self._mass()))
        return run.answers["posterior"]

    def traces(self) -> dict[str, Floats]:
        """Return numbers of all draws, by name."""
        if not isinstance(self.run, LiveRows):
            posterior = self.posterior()
            return {**posterior.scalars, "K": posterior.n_clusters}
        draws = list(self.draws())
        return {**traces(draws, self._mass()), "K": np.array([draw.K for draw in draws])}

    def _mass(self) -> str:
        return "M" if self.prior.relative else "a"

    def nearest(self) -> RowDraw:
        """Return the draw of a fit that is nearest to all others."""
        run = self.chains()
        if "nearest" not in run.answers:
            run.answers["nearest"] = self._rows()[self.posterior().point()]
        return run.answers["nearest"]

    def labels(self) -> Ints:
        """Return the labels (N,) of the rows of the last call, in the draw that is shown."""
        if isinstance(self.run, LiveRows):
            return self.run.labels.copy()
        return self.nearest().labels.astype(np.int64)

    def point(self) -> Clusters:
        """Return the draw that is shown: the nearest one, and what it has become since."""
        if isinstance(self.run, LiveRows):
            return self.run.known[0].clusters
        if "point" not in self.run.answers:
            self.run.answers["point"] = Clusters.of(self.nearest(), self.run.data)
        return self.run.answers["point"]

    def log_weights(self, draw: Clusters) -> Floats:
        """Return log weights (T, K + 1) of clusters and of a new one."""
        return draw.log_weights(self.measure())

    def log_joint(self, draw: Clusters, rows: Array, codes: Ints) -> Floats:
        """Log weight plus log predictive of rows in a draw, (N, K + 1), base measure left out."""
        family, state, log_weights = self.family, draw.state(self.family), self.log_weights(draw)
        joint = np.empty((rows.shape[0], log_weights.shape[1]))
        work = family.workspace(state.tally, state.columns)
        score_rows(work, family.rows(rows), joint.shape[1], joint)
        return joint + log_weights[codes]

    def measure(self) -> Measure:
        """Return a measure to start from."""
        return self.prior.measure(np.ones(len(self.times)))

    # ---- files -----------------------------------------------------------------------------

    def to_file(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return everything as named arrays and a JSON-ready header."""
        header = {
            "family": named(self.family),
            "prior": named(self.prior),
            "sampler": named(self.run.sampler),
            "times": self.times.to_spec(),
        }
        run = self.run
        arrays, more = live_content(run) if isinstance(run, LiveRows) else _content(run)
        return arrays, header | more

    @classmethod
    def from_file(
        cls, arrays: dict[str, Array], header: Mapping[str, Any], known: Registry
    ) -> "FittedClusters":
        """Return what :meth:`to_file` described, or raise ValueError.   Consumes: arrays."""
        prior, times = built(header["prior"], DEPENDENT_PRIORS), Times.from_spec(header["times"])
        family = built(header["family"], known.families)
        sampler = built(header["sampler"], SAMPLERS)
        rngs = [restore(state) for state in header["rngs"]]
        if "live" in header:
            shape = len(times), header["n_features_in"]
            live = live_run(arrays, header["live"], prior, family, sampler, rngs, shape)
            return cls(prior, times, live)
        data = _data(family, times, header["n_features_in"], arrays)
        chains = [_chain(prior, data, parts) for parts in numbered(taken(arrays, "chain."))]
        sampler.check(chains[0].measure)
        kept = numbered(taken(arrays, "draws.")) or [{} for _ in chains]
        draws = [_draws(each, data, chains[0].measure) for each in kept]
        check_arrays("the file", arrays, {})
        if len({len(each) for each in draws}) > 1 or not len(rngs) == len(chains) == len(draws):
            raise ValueError("all chains must have generators, and the same number of draws.")
        sweeps = check_number("sweeps", header["sweeps"])
        return cls(prior, times, RowRun(data, sampler, chains, rngs, sweeps, draws))


def _content(run: RowRun) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return chains and their draws as named arrays, and the part of a header."""
    rngs = [plain_json(rng.bit_generator.state) for rng in run.rngs]
    arrays = packed(Batch(run.data.X, np.ones(len(run.data)))) | {"times": run.data.times}
    for i, (chain, draws) in enumerate(zip(run.chains, run.draws, strict=True)):
        parts: dict[str, Array] = {name: getattr(chain, name) for name in _CHAIN}
        parts |= {f"measure.{name}": x for name, x in chain.measure.arrays().items()}
        parts |= {f"memo.{name}": x for name, x in chain.memo.items()}
        arrays |= {f"chain.{i}.{name}": x for name, x in parts.items()}
        arrays |= {f"draws.{i}.{name}": x for name, x in to_arrays(draws).items()}
    return arrays, {"sweeps": run.sweeps, "rngs": rngs}


def start_measure(prior: DependentPrior, data: RowData) -> Measure:
    """Return a measure to start from, for the times of these rows."""
    return prior.measure(_sizes(data))


def _sizes(data: RowData) -> Floats:
    """Rows of each time, (T,)."""
    return np.bincount(data.times, minlength=data.n_times).astype(np.float64)


# ---- what a file must hold -----------------------------------------------------------------


def _data(family: Family, times: Times, n_features: int, arrays: dict[str, Array]) -> RowData:
    """Return the rows of a file.   Consumes: arrays."""
    X, T = unpacked(taken(arrays, "rows."), family, n_features).X, len(times)
    check_family(family, n_features, room=ROOM + X.size)
    codes = taken(arrays, "times")
    check_arrays("the times", codes, {"": Field(WHOLE, (X.shape[0],), (0, T - 1))})
    data = RowData(family, X, codes[""], T)
    if not _sizes(data).all():
        raise ValueError(f"times must be the numbers 0 to {T - 1}, each of them in use.")
    return data


def _chain(prior: DependentPrior, data: RowData, arrays: dict[str, Array]) -> RowChain:
    """Return a chain of a file.   Consumes: arrays."""
    measure = measure_of(prior, _sizes(data), taken(arrays, "measure."))
    memo, axes = taken(arrays, "memo."), {LEVEL: measure.n_regions, WARNED: 1}
    fields = {
        "labels": Field(WHOLE, (len(data),), COUNT),
        "region": Field(WHOLE, ("K",), (0, measure.n_regions - 1)),
        "on": Field(BOOL, (data.n_times, "K")),
    }
    check_arrays("a chain", arrays, fields)
    check_arrays("a sampler's memory", memo, {k: Field(FLOAT, (axes[k],), ORDERED) for k in memo})
    _check_labels(arrays["labels"], len(arrays["region"]))
    labels, region, on = (arrays[name] for name in _CHAIN)
    return RowChain(measure, labels, region, on, memo)


def _draws(arrays: dict[str, Array], data: RowData, measure: Measure) -> list[RowDraw]:
    """Return the draws of a chain of a file."""
    if not arrays:
        return []
    fields = {
        "labels": Field(SHORT, ("M", len(data)), COUNT),
        "K": Field(WHOLE, ("M",), (1, len(data))),
        "region": Field(WHOLE, ("clusters",), (0, measure.n_regions - 1)),
        "on": Field(BOOL, ("clusters", data.n_times)),
        "log_joint": Field(FLOAT, ("M",)),
    }
    numbers = number_fields(measure, "M")
    fields |= {f"measure.{name}": field for name, field in numbers.items()}
    check_arrays("the draws", arrays, fields)
    check_regions(arrays["measure.q"])
    if arrays["K"].sum() != len(arrays["region"]):
        raise ValueError(f"draws of {arrays['K'].sum()} clusters must have as many regions.")
    draws = from_arrays(arrays)
    for draw in draws:
        _check_labels(draw.labels, len(draw.region))
    return draws


def _check_labels(labels: Array, K: int) -> None:
    """Raise ValueError unless labels >= 0 are those of K clusters, none of them empty."""
    if labels.max() != K - 1 or not np.bincount(labels).all():
        raise ValueError(f"labels must be the numbers 0 to {K - 1}, each of them in use.")
