"""What the samplers share: chains of partitions, their hyperparameters, and the draws kept.

A sweep is one step over all rows. Chains run one after another, each without an initial partition:
in the first sweep rows are added one by one, as in a stream.
"""

import math
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from evermix._xp import Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Draws, Info, RowResults
from evermix.engines.memo import CHAIN, DRAWS, SCALAR, check_chain
from evermix.engines.samplers.hyper import (
    FAMILY,
    check_hyperpriors,
    draw_log_u,
    update_augmented,
    update_family,
    update_prior,
)
from evermix.engines.settings import check_begun, check_whole
from evermix.families.base import Family
from evermix.kernels.scoring import add_rows
from evermix.model import Model
from evermix.priors.base import HasPredictive
from evermix.priors.hyper import HyperPrior
from evermix.priors.jumps import Jumps
from evermix.state import Lineage, State
from evermix.tally import Tally


class Sampler(Engine):
    """An engine that draws partitions from the posterior."""

    sweeps: int
    burn_in: int | None
    chains: int
    thin: int
    hyperpriors: Mapping[str, HyperPrior] | None

    needs: ClassVar[tuple[type, ...]] = (HasPredictive,)
    whole: ClassVar[bool] = True
    may_change: ClassVar[tuple[str, ...]] = ("sweeps", "burn_in", "chains")
    lap_name: ClassVar[str] = "sweep"
    not_mergeable: ClassVar[str | None] = "a sampler's result is a set of draws of whole partitions"

    def __post_init__(self) -> None:
        for name in ("sweeps", "chains", "thin"):
            check_whole(name, getattr(self, name))
        if not isinstance(self.hyperpriors, Mapping | None):
            raise TypeError(
                "hyperpriors must be a mapping such as {'a': em.Gamma(1.0, 1.0)} or None, got "
                f"{self.hyperpriors!r}."
            )
        if self.burn_in is None:
            return
        check_whole("burn_in", self.burn_in, least=0)
        if self.burn_in >= self.sweeps:
            raise ValueError(
                f"burn_in must lie in [0, sweeps = {self.sweeps}), got {self.burn_in}: sweeps "
                "count those of the burn-in, and some must be kept."
            )

    @property
    @abstractmethod
    def uses_u(self) -> bool:
        """Whether the auxiliary variable U is part of the chain's state."""

    @abstractmethod
    def _sweep(
        self, model: Model, state: State, batch: Batch, results: RowResults, rng: Generator
    ) -> Ints:
        """Return new labels (N,), any numbers >= 0, given those of the last sweep.

        The state's tally agrees with ``state.memo["chain"]["labels"]`` (N,), which are its rows, or
        all -1 in the first sweep of a chain. The tally may be changed: it is rebuilt afterwards.
        Fills ``results`` except its labels.
        """

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if self.uses_u:
            Jumps.of(model.prior)
        check_hyperpriors(self._hyperpriors, model.prior, model.family)

    def check_weights(self, model: Model, weights: Floats) -> None:
        """Raise ValueError unless every weight is 1."""
        del model
        odd = weights[weights != 1.0]
        if len(odd):
            raise ValueError(
                f"{type(self).__name__} needs every sample weight to be 1, got {odd[0]:g}: a row "
                "is in one cluster or another. Leave out rows of weight 0, repeat those of weight "
                "2."
            )

    def check_change(self, before: Self, state: State) -> None:
        """Raise ValueError unless this engine would have kept the same draws so far."""
        super().check_change(before, state)
        chain, sweep = (int(state.latents[name][0]) for name in ("chain_no", "sweep"))
        if chain >= self.chains:
            check_begun("chains", before.chains, self.chains)
        if chain > 0 or sweep > self.sweeps:
            check_begun("sweeps", before.sweeps, self.sweeps)
        old, new = before._burn_in, self._burn_in
        if old != new and sweep + chain * self.sweeps > min(old, new):
            raise ValueError(
                f"the fit was begun with a burn-in of {old} sweeps, and cannot go on with one of "
                f"{new}: other draws would have been kept. Use burn_in={old}, or call fit."
            )

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        del rng
        latents: dict[str, NDArray[Any]] = {name: np.zeros(1) for name in ("capped", "dropped")}
        if self.uses_u:
            latents["log_u"] = np.zeros(1)
        latents |= {name: np.zeros(1, dtype=np.int64) for name in ("chain_no", "sweep", "kept")}
        for name in self._hyperpriors:
            latents[name] = np.array([_get(model, name)], dtype=np.float64)
        tally = Tally.empty(model.family.n_stats, (), model.family.layout)
        return State(tally, model.family.columns(tally), latents)

    def finished(self, state: State) -> bool:
        """Whether all chains have made all their sweeps."""
        last = state.latents["chain_no"][0] >= self.chains - 1
        return bool(last and state.latents["sweep"][0] >= self.sweeps)

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Make one sweep over all rows.   Consumes: state."""
        began = time.perf_counter()
        self.check_weights(model, batch.weights)
        n, latents = len(batch.weights), state.latents
        if latents["sweep"][0] >= self.sweeps:
            latents["chain_no"] += 1
            latents["sweep"][:] = 0
        if latents["sweep"][0] == 0:
            self._restart(model, state, batch)
        now, results = self.current(model, state), RowResults.empty(n)
        state.clock += n
        labels = self._sweep(now, state, batch, results, rng)
        labels = _by_appearance(labels)
        state.memo[CHAIN]["labels"] = labels
        self._rebuild(now, state, batch, labels)
        now = self._update_parameters(now, state, rng)
        scalars = self._scalars(now, state)
        sweep, burn_in = int(latents["sweep"][0]), self._burn_in
        if sweep >= burn_in and (sweep - burn_in) % self.thin == 0:
            _keep(state, labels, scalars)
        latents["sweep"] += 1
        results.labels[:] = labels
        results.log_predictive[:] += state.memo[CHAIN]["base"]
        return state, Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
            lap=state.lap,
            scalars=scalars | {"chain": float(latents["chain_no"][0])},
        )

    def current(self, model: Model, state: State) -> Model:
        """Return the model with the hyperparameters that the chain has now."""
        return _set(model, {name: float(state.latents[name][0]) for name in self._hyperpriors})

    def log_weights(self, model: Model, state: State) -> Floats:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        assert isinstance(model.prior, HasPredictive)  # `needs` ensures it
        return model.prior.log_weights(state.tally.mass, np.ones(state.tally.K))

    @property
    def max_laps(self) -> int:
        """The number of sweeps of all chains."""
        return self.chains * self.sweeps

    def progress(self, state: State) -> dict[str, Any]:
        """Return the sweeps made, the chains, and the draws kept so far."""
        return super().progress(state) | {"chains": self.chains, "draws": self.draws(state).n_draws}

    def draws(self, state: State) -> Draws:
        """Return the draws that were kept."""
        n = int(state.latents["kept"][0])
        if n == 0:
            return Draws(np.empty((0, 0), np.int32), np.empty(0, np.int64), {})
        record = {name: values[:n] for name, values in state.memo[DRAWS].items()}
        scalars = {k.removeprefix(SCALAR): v for k, v in record.items() if k.startswith(SCALAR)}
        return Draws(record["labels"], record["chain"], scalars)

    def draw(self, model: Model, state: State, batch: Batch, m: int) -> tuple[Model, State]:
        """Return the model and the state of draw m; ``batch`` holds all rows."""
        draws = self.draws(state)
        model = _set(model, {name: float(draws.scalars[name][m]) for name in self._hyperpriors})
        return model, state_of(model, batch, draws.labels[m].astype(np.int64))

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless the labels and draws are those of ``n_rows`` rows."""
        del model
        check_chain(state, self._hyperpriors, n_rows)

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        spec = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.hyperpriors is not None:
            spec["hyperpriors"] = {k: law.to_spec() for k, law in self.hyperpriors.items()}
        return spec

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the engine that :meth:`to_spec` described."""
        hyperpriors = spec["hyperpriors"]
        if hyperpriors is not None:
            hyperpriors = {k: HyperPrior.from_spec(law) for k, law in hyperpriors.items()}
        return cls(**{**spec, "hyperpriors": hyperpriors})

    # ---- inside ----------------------------------------------------------------------------

    @property
    def _hyperpriors(self) -> Mapping[str, HyperPrior]:
        return self.hyperpriors or {}

    @property
    def _burn_in(self) -> int:
        return self.sweeps // 2 if self.burn_in is None else self.burn_in

    def _restart(self, model: Model, state: State, batch: Batch) -> None:
        """Begin a chain without labels, with the hyperparameters of the model."""
        n = len(batch.weights)
        if DRAWS not in state.memo:
            state.memo[CHAIN] = {"base": model.family.log_base(batch.X)}
            state.memo[DRAWS] = {
                "labels": np.empty((0, n), dtype=np.int32),
                "chain": np.empty(0, dtype=np.int64),
            }
        state.memo[CHAIN]["labels"] = np.full(n, -1, dtype=np.int64)
        for name in self._hyperpriors:
            state.latents[name][0] = _get(model, name)
        state.tally = Tally.empty(model.family.n_stats, (), model.family.layout)
        state.columns |= model.family.columns(state.tally)

    def _rebuild(self, model: Model, state: State, batch: Batch, labels: Ints) -> None:
        """Recompute the tally from the labels, without drift and without empty clusters."""
        fresh = state_of(model, batch, labels)
        state.tally, state.columns, state.lineage = fresh.tally, fresh.columns, fresh.lineage

    def _update_parameters(self, model: Model, state: State, rng: Generator) -> Model:
        """Update U and the hyperparameters given the partition; return the new model."""
        sizes, prior = state.tally.mass, model.prior
        assert isinstance(prior, HasPredictive)  # `needs` ensures it
        if self.uses_u:
            n, K, u = int(sizes.sum()), len(sizes), state.latents["log_u"]
            if state.latents["sweep"][0] == 0:
                u[0] = Jumps.of(prior).log_u_peak(n, K)[0]
            u[0] = draw_log_u(prior, n, K, float(u[0]), rng)
            moved = update_augmented(prior, self._hyperpriors, sizes, float(u[0]), rng)
        else:
            moved = update_prior(prior, self._hyperpriors, sizes, rng)
        family = update_family(model.family, self._hyperpriors, state.tally, rng)
        model = replace(model, prior=moved, family=family)
        for name in self._hyperpriors:
            state.latents[name][0] = _get(model, name)
        if any(
            name.startswith(FAMILY) for name in self._hyperpriors
        ):  # caches depend on the family
            state.columns |= family.columns(state.tally)
        return model

    def _scalars(self, model: Model, state: State) -> dict[str, float]:
        """Return the scalars of a draw: log joint density, K, hyperparameters."""
        prior, tally = model.prior, state.tally
        assert isinstance(prior, HasPredictive)  # `needs` ensures it
        joint = prior.log_eppf(tally.mass) + float(model.family.log_marginals(tally).sum())
        joint += float(state.memo[CHAIN]["base"].sum())
        values = {name: _get(model, name) for name in self._hyperpriors}
        joint += sum(law.log_density(values[name]) for name, law in self._hyperpriors.items())
        scalars = {"log_joint": joint, "K": float(tally.K), **values}
        if self.uses_u:
            scalars["u"] = math.exp(min(float(state.latents["log_u"][0]), 700.0))
        return scalars


def state_of(model: Model, batch: Batch, labels: Ints) -> State:
    """Return the state in which rows have these labels (N,), 0..K-1 without gaps."""
    family, K = model.family, int(labels.max(initial=-1)) + 1
    tally = Tally.empty(family.n_stats, (), family.layout)
    tally.append(np.arange(K))
    columns = family.columns(tally)
    add_rows(family.workspace(tally, columns), family.rows(batch.X), labels, tally.mass_buffer)
    born = [0] * K
    return State(tally, family.columns(tally), {}, Lineage(born, [-1] * K, [-1] * K))


def _by_appearance(labels: Ints) -> Ints:
    """Return labels 0, 1, ... in the order in which clusters appear among the rows, (N,)."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _keep(state: State, labels: Ints, scalars: dict[str, float]) -> None:
    """Append a draw to those kept; capacity doubles when it is used up."""
    record, m = state.memo[DRAWS], int(state.latents["kept"][0])
    for name in scalars:
        record.setdefault(SCALAR + name, np.zeros(len(record["chain"])))
    if m == len(record["chain"]):
        for name, values in record.items():
            more = np.zeros((max(m, 16), *values.shape[1:]), dtype=values.dtype)
            record[name] = np.concatenate([values, more])
    record["labels"][m] = labels
    record["chain"][m] = state.latents["chain_no"][0]
    for name, value in scalars.items():
        record[SCALAR + name][m] = value
    state.latents["kept"] += 1


def _owner(model: Model, name: str) -> Any:
    return model.family if name.startswith(FAMILY) else model.prior


def _get(model: Model, name: str) -> float:
    return float(getattr(_owner(model, name), name.removeprefix(FAMILY)))


def _set(model: Model, values: Mapping[str, float]) -> Model:
    """Return the model with these hyperparameters."""
    family: Any = {k.removeprefix(FAMILY): v for k, v in values.items() if k.startswith(FAMILY)}
    prior: Any = {k: v for k, v in values.items() if not k.startswith(FAMILY)}
    return replace(
        model,
        family=_with(model.family, family),
        prior=replace(model.prior, **prior) if prior else model.prior,
    )


def _with(family: Family, values: dict[str, Any]) -> Family:
    return replace(family, **values) if values else family
