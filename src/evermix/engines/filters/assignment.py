"""How a filter assigns a row to clusters: to all in part, to the best, or to a random one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator

from evermix._xp import Floats, logsumexp
from evermix.engines.batch import RowResults, cap_of, warn_once
from evermix.kernels.engines import adf as kernels
from evermix.kernels.engines.hard import BEST, hard_pass
from evermix.model import Model
from evermix.state import State

PassResult: TypeAlias = tuple[int, int, int, bool, int]
"""The next row, K, the clock, whether the cap refused a birth, and why a pass stopped."""
CompiledLoop: TypeAlias = tuple[Callable[..., PassResult], tuple[Any, ...]]
"""A compiled function and its arguments."""


class StepRows(NamedTuple):
    """The rows of a step: data, weights (N,), uniform numbers (N,) or (0,), and results."""

    rows: Any
    weights: Floats
    uniforms: Floats
    results: RowResults


class Assignment(NamedTuple):
    """The assignment of one row."""

    q: Floats  # (K,) responsibilities, or (K + 1,) if a cluster is opened
    probability: float | None  # of the chosen cluster, if it is not the largest of q
    wanted: bool  # whether a new cluster is best for the row


class AssignmentRule(ABC):
    """The rule by which a filter assigns rows, as array maths and as a compiled loop."""

    def uniforms(self, weights: Floats, rng: Generator) -> Floats:
        """Return uniform random numbers for rows of these weights (N,), or (0,) if none is used."""
        del weights, rng
        return np.empty(0)

    @abstractmethod
    def assign(self, rho: Floats, room: bool, uniform: float) -> Assignment:
        """Assign a row with log weights rho (K + 1,), the last of a new cluster.

        A cluster can be opened only if there is ``room``.
        """

    @abstractmethod
    def loop(
        self, data: kernels.FilterData, step: StepRows, K: int, clock: int, start: int
    ) -> CompiledLoop:
        """Return the compiled loop from row ``start`` on, see ``kernels.engines.adf.adf_pass``."""


@dataclass(frozen=True)
class Soft(AssignmentRule):
    """Every row is shared by all clusters; a new one needs a responsibility above ``birth``."""

    birth: float

    def assign(self, rho: Floats, room: bool, uniform: float) -> Assignment:
        """Return the responsibilities of a row."""
        del uniform
        wanted = len(rho) == 1 or bool(np.exp(rho[-1] - logsumexp(rho)) > self.birth)
        rho = rho if wanted and room else rho[:-1]
        below = rho - rho.max()
        q = np.where(below > kernels.NEGLIGIBLE, np.exp(below), 0.0)
        return Assignment(q / q.sum(), None, wanted)

    def loop(
        self, data: kernels.FilterData, step: StepRows, K: int, clock: int, start: int
    ) -> CompiledLoop:
        """Return the compiled loop and its arguments."""
        out = kernels.RowOutputs(*step.results)
        return kernels.adf_pass, (data, step.rows, step.weights, K, clock, start, out)


@dataclass(frozen=True)
class Hard(AssignmentRule):
    """Every row goes to one cluster: the most probable, or a random one if ``sample`` is true."""

    sample: bool = False

    def uniforms(self, weights: Floats, rng: Generator) -> Floats:
        """Return uniform random numbers (N,), none spent on rows of weight zero; (0,) for best."""
        if not self.sample:
            return np.empty(0)
        uniforms = np.full(len(weights), BEST)
        uniforms[weights > 0] = rng.random(np.count_nonzero(weights))
        return uniforms

    def assign(self, rho: Floats, room: bool, uniform: float) -> Assignment:
        """Return responsibilities that are 1 for one cluster."""
        chosen = self._choose(rho if room else rho[:-1], uniform)
        q = np.zeros(len(rho) - (chosen < len(rho) - 1))
        q[chosen] = 1.0
        probability = float(np.exp(rho[chosen] - logsumexp(rho)))
        return Assignment(q, probability, bool(rho[-1] > rho[chosen]))

    def _choose(self, rho: Floats, uniform: float) -> int:
        if not self.sample or uniform == BEST:
            return int(rho.argmax())
        weights = np.exp(rho - rho.max())
        chosen = np.searchsorted(np.cumsum(weights), uniform * weights.sum(), side="right")
        return int(min(chosen, len(rho) - 1))

    def loop(
        self, data: kernels.FilterData, step: StepRows, K: int, clock: int, start: int
    ) -> CompiledLoop:
        """Return the compiled loop and its arguments."""
        rows, weights, uniforms, results = step
        out = kernels.RowOutputs(*results)
        return hard_pass, (data, rows, weights, uniforms, K, clock, start, out)


def learn_row(
    model: Model,
    state: State,
    rule: AssignmentRule,
    log_weights: Floats,
    step: StepRows,
    i: int,
    own: int | None = None,
) -> Floats:
    """Learn row i with array maths: for any prior, and the reference for the kernels.

    ``log_weights`` (K + 1,) are the log predictive weights of the clusters and of a new one, and
    ``step.rows`` the plain rows X. A new cluster continues the cluster with the id ``own``, if that
    is given. Returns the responsibilities (K,); (0,) if the row has weight zero.   Consumes: state.
    """
    family, tally = model.family, state.tally
    x, w, results = step.rows[i : i + 1], step.weights[i], step.results
    stats = np.vstack([tally.stats, np.zeros(tally.size)])
    eta = family.posterior(stats, np.append(tally.mass, 0.0))
    rho = log_weights + family.log_predictive(x, eta)[0]
    results.log_predictive[i] = logsumexp(rho)
    results.novelty[i] = np.exp(rho[-1] - results.log_predictive[i])
    room = w > 0 and tally.K < cap_of(model)
    if not room and not tally.K:  # a row of weight zero before any cluster
        return rho[:0]
    uniform = step.uniforms[i] if len(step.uniforms) else 0.0
    q, probability, wanted = rule.assign(rho, room, uniform)
    if wanted and w > 0 and not room:
        warn_once(model, state)
    born = len(q) > tally.K
    if born:
        q = _open_cluster(state, q, own)
    results.labels[i] = tally.ids[q.argmax()]
    results.probabilities[i] = q.max() if probability is None else probability
    results.born[i] = born and own is None
    if w == 0:
        return rho[:0]
    state.clock += 1
    hard = q >= kernels.HARD
    tally.mass[:] += w * q
    tally.stats[:] += family.accumulate(x, w * q[None, :])
    tally.extras["hard"][:] += w * hard
    tally.extras["log_empty"][:] += w * np.log1p(-np.where(hard, 0.0, q))
    state.columns["last_seen"][: tally.K][q > kernels.SEEN] = state.clock
    return q


def _open_cluster(state: State, q: Floats, own: int | None) -> Floats:
    """Open a cluster for the last of the responsibilities q (K + 1,), or add it to its own."""
    at = np.flatnonzero(state.tally.ids == own)
    if len(at):
        q[at[0]] += q[-1]
        return q[:-1]
    state.append([state.lineage.birth(state.clock + 1) if own is None else own])
    state.columns["last_seen"][state.tally.K - 1] = state.clock + 1
    return q


def name_births(state: State, results: RowResults, weights: Floats, rows: slice) -> None:
    """Give the clusters opened by these rows, just learnt, their ids; turn slots into ids."""
    if len(results.labels) == 1 and not results.born[0]:  # as below, in a fraction of the time
        if results.labels[0] >= 0:
            results.labels[0] = state.tally.id_buffer[results.labels[0]]
        return
    opened = results.born[rows]
    if opened.any():
        clock = state.clock - np.count_nonzero(weights[rows])
        born = (clock + np.cumsum(weights[rows] > 0))[opened]
        state.tally.ids[-len(born) :] = [state.lineage.birth(int(tick)) for tick in born]
    slots = results.labels[rows]
    known = slots >= 0
    slots[known] = state.tally.ids[slots[known]]
