"""Assumed density filtering for normalized random measure mixtures: one pass, nothing kept.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evermix._xp import Array, logsumexp
from evermix.engines.base import Batch, CapacityWarning, Engine, Info, RowResults
from evermix.engines.moves.join import join
from evermix.engines.moves.prune import prune
from evermix.kernels import adf as kernels
from evermix.kernels.weights import MODE, QUADRATURE, new_weight
from evermix.model import Model
from evermix.priors.base import GibbsScalars, GibbsType, HasPredictive, occupancy
from evermix.state import State
from evermix.tally import Tally

__all__ = ["ADF"]

CHECK_EVERY = 1000  # observations between two rounds of pruning, joining and rebuilding of caches
IDLE = 10  # observations per cluster without a visit, after which dust is dropped
NO_CAP = np.iinfo(np.int64).max


@dataclass(frozen=True)
class ADF(Engine):
    """One-pass streaming inference: each observation is learnt once and forgotten.

    Parameters
    ----------
    birth : float
        A new cluster is opened when its responsibility exceeds this. With the rule "expected" it
        only trades speed for detail (0.01 to 0.1 is sensible); with "paper" it must not lie below
        the prior's sigma.
    rule : {"expected", "paper"}
        Predictive weight of a cluster: mass - sigma * P(occupied), exact in expectation, or
        max(mass - sigma, 0) with the mode of the latent U, as published.
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, judged with foresight (see
        ``evermix.engines.moves.join``); None for no merges.
    """

    birth: float = 0.05
    rule: str = "expected"
    merge: float | None = 5.0

    needs: ClassVar = (HasPredictive,)

    def __post_init__(self) -> None:
        if not 0 <= self.birth < 1:
            raise ValueError(f"birth must lie in [0, 1), got {self.birth}.")
        if self.rule not in ("expected", "paper"):
            raise ValueError(f"rule must be 'expected' or 'paper', got {self.rule!r}.")
        if self.merge is not None and not self.merge >= 0:
            raise ValueError(f"merge must be >= 0 nats or None, got {self.merge}.")

    @property
    def paper(self) -> bool:
        """Whether the published rule is used."""
        return self.rule == "paper"

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if not self.paper:
            return
        if not isinstance(model.prior, GibbsType):
            raise TypeError(
                "rule='paper' needs a Gibbs-type prior (DP, NGGP, PitmanYor), got "
                f"{type(model.prior).__name__}. Use rule='expected'."
            )
        sigma = model.prior.scalars().sigma
        if self.birth < sigma:
            raise ValueError(
                f"rule='paper' needs birth >= sigma, got birth={self.birth} and sigma={sigma}: "
                "a cluster of mass below sigma would have no weight and never grow. "
                f"Use birth={sigma} or rule='expected'."
            )

    def start(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        del rng
        assert isinstance(model.prior, HasPredictive)  # `needs` says so
        tally = Tally.empty(model.family.n_stats, model.prior.extras, model.family.layout)
        columns = {
            "last_seen": np.zeros(tally.capacity, dtype=np.int64),
            "judged": np.zeros(tally.capacity),
            **model.family.columns(tally),
        }
        latents = {"dropped": np.zeros(1), "new_weight": np.zeros(3), "capped": np.zeros(1)}
        return State(tally, columns, latents)

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        del rng
        began = time.perf_counter()
        if self.paper:
            self._check_weights(model, batch.weights)
        n = len(batch.weights)
        results = RowResults.empty(n)
        compiled = isinstance(model.prior, GibbsType)
        advance = _compiled if compiled else _by_arrays
        rows = model.family.rows(batch.X) if compiled else batch.X
        first_id, merges, dropped = state.lineage.next_id, [], []
        at = 0
        while at < n:
            before = at
            at, refused, why = advance(self, model, state, rows, batch.weights, at, results)
            _name(state, results, before, at, batch.weights)
            if refused:
                _warn_once(model, state)
            if why == kernels.CHECK:
                dropped += prune(state, IDLE)
                merges += self._join(model, state)
        if not compiled:  # array maths needs no caches, but predictions do
            state.columns |= model.family.columns(state.tally)
        results.log_predictive[:] += model.family.log_base(batch.X)
        return state, Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            births=list(range(first_id, state.lineage.next_id)),
            dropped=dropped,
            merges=merges,
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
        )

    def _check_weights(self, model: Model, weights: Array) -> None:
        """Raise if the published rule could open a cluster that has no weight."""
        assert isinstance(model.prior, GibbsType)  # `check` says so
        sigma = model.prior.scalars().sigma
        positive = weights[weights > 0]
        if len(positive) and positive.min() * self.birth < sigma:
            raise ValueError(
                "rule='paper' needs sample weights of 0 or at least sigma / birth = "
                f"{sigma / self.birth:g}, got {positive.min():g}: a cluster of mass below sigma "
                "would have no weight and never grow. Use rule='expected'."
            )

    def end_lap(self, model: Model, state: State) -> tuple[State, Info]:
        """Drop what is more likely empty than not, and join once more.   Consumes: state."""
        dropped = prune(state)
        merges = self._join(model, state)
        info = Info(rows=0, clock=state.clock, K=state.tally.K, dropped=dropped, merges=merges)
        return state, info

    def _join(self, model: Model, state: State) -> list[tuple[int, int]]:
        """Join similar clusters, if asked to, and rebuild the caches of all."""
        merges = [] if self.merge is None else join(model, state, self.merge)
        state.columns |= model.family.columns(state.tally)
        return merges

    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        prior, mass = model.prior, state.tally.mass
        occupied = occupancy(mass, state.tally.extras)
        if not self.paper:
            assert isinstance(prior, HasPredictive)  # `needs` says so
            return prior.log_weights(mass, occupied)
        assert isinstance(prior, GibbsType)  # `check` says so
        kind, a, sigma, tau = self.scalars(prior)
        new = new_weight(kind, a, sigma, tau, mass.sum(), occupied.sum()) if len(mass) else 1.0
        weights = np.append(np.maximum(mass - sigma, 0.0), new)
        with np.errstate(divide="ignore"):
            return np.log(weights / weights.sum())

    def scalars(self, prior: GibbsType) -> GibbsScalars:
        """Return the prior's scalars; the published rule plugs in the mode of log U."""
        scalars = prior.scalars()
        if self.paper and scalars.kind == QUADRATURE:
            return scalars._replace(kind=MODE)
        return scalars


class _Stop(NamedTuple):
    """Where a stretch of rows ended: the next row, whether the cap refused a birth, and why."""

    at: int
    refused: bool
    why: int


def _compiled(
    engine: ADF, model: Model, state: State, rows: Any, weights: Array, at: int, results: RowResults
) -> _Stop:
    """Learn rows with the compiled loop, until it is time to tidy up or there are no more."""
    prior = model.prior
    assert isinstance(prior, GibbsType)
    scalars = engine.scalars(prior)
    cap = NO_CAP if model.max_clusters is None else model.max_clusters
    settings = kernels.Settings(float(engine.birth), engine.paper, cap, CHECK_EVERY)
    out = kernels.Out(*results)
    refused, why = False, kernels.ROOM
    state.reserve(state.tally.K + 2)
    while why == kernels.ROOM:
        tally = state.tally
        clusters = kernels.Clusters(
            tally.mass_buffer, **tally.extra_buffers, last_seen=state.columns["last_seen"]
        )
        scratch = kernels.Scratch(*np.empty((4, tally.capacity)))
        for k in range(tally.K):
            kernels.reweigh(k, scalars.sigma, engine.paper, clusters, scratch)
        at, tally.K, state.clock, capped, why = kernels.adf_pass(
            model.family.workspace(tally, state.columns),
            rows,
            weights,
            scalars,
            clusters,
            scratch,
            state.latents["new_weight"],
            settings,
            tally.K,
            state.clock,
            at,
            out,
        )
        refused |= capped
        if why == kernels.ROOM:
            state.reserve(2 * tally.capacity)
    return _Stop(at, refused, why)


def _by_arrays(
    engine: ADF, model: Model, state: State, X: Any, weights: Array, at: int, results: RowResults
) -> _Stop:
    """Learn rows with plain array maths: any prior, and the reference for the compiled loop."""
    cap = NO_CAP if model.max_clusters is None else model.max_clusters
    family, refused = model.family, False
    for i in range(at, len(weights)):
        tally, w = state.tally, weights[i]
        stats = np.vstack([tally.stats, np.zeros(tally.size)])
        eta = family.posterior(stats, np.append(tally.mass, 0.0))
        rho = engine.log_weights(model, state) + family.log_predictive(X[i : i + 1], eta)[0]
        results.log_predictive[i] = logsumexp(rho)
        wanted = tally.K == 0 or np.exp(rho[-1] - logsumexp(rho)) > engine.birth
        refused |= bool(wanted and w > 0 and tally.K >= cap)
        born = wanted and w > 0 and tally.K < cap
        slots = tally.K + 1 if born else tally.K
        if slots == 0:
            continue
        below = rho[:slots] - rho[:slots].max()
        q = np.where(below > kernels.NEGLIGIBLE, np.exp(below), 0.0)
        q /= q.sum()
        results.labels[i], results.probabilities[i], results.born[i] = q.argmax(), q.max(), born
        if w == 0:
            continue
        state.clock += 1
        if born:
            state.reserve(slots + 1)
            tally.K = slots
            state.columns["last_seen"][slots - 1] = state.clock
        hard = q >= kernels.HARD
        tally.mass[:] += w * q
        tally.stats[:] += family.accumulate(X[i : i + 1], w * q[None, :])
        tally.extras["hard"][:] += w * hard
        tally.extras["log_empty"][:] += w * np.log1p(-np.where(hard, 0.0, q))
        state.columns["last_seen"][:slots][q > kernels.SEEN] = state.clock
        if state.clock % CHECK_EVERY == 0:
            return _Stop(i + 1, refused, kernels.CHECK)
    return _Stop(len(weights), refused, kernels.DONE)


def _name(state: State, results: RowResults, first: int, end: int, weights: Array) -> None:
    """Give the clusters born in rows first..end their ids, and turn slots into ids."""
    some = slice(first, end)
    clock = state.clock - np.count_nonzero(weights[some])
    ticks = clock + np.cumsum(weights[some] > 0)
    born = ticks[results.born[some]]
    if len(born):
        state.tally.ids[-len(born) :] = [state.lineage.birth(int(tick)) for tick in born]
    slots = results.labels[some]
    known = slots >= 0
    slots[known] = state.tally.ids[slots[known]]


def _warn_once(model: Model, state: State) -> None:
    if state.latents["capped"][0]:
        return
    state.latents["capped"][0] = 1.0
    warnings.warn(
        f"K reached max_clusters={model.max_clusters} at observation {state.clock}; later data "
        "join existing clusters. Raise max_clusters, or lower the prior's concentration.",
        CapacityWarning,
        stacklevel=2,
    )
