"""Which of the moves that a lap has prepared raise the exact bound.

Families and entropies of disjoint moves add up. The sticks do not, so each move is judged given
those accepted before it, the most promising first, with clusters in order of size.
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.bound import log_evidence, sorted_sticks
from evermix.engines.local import Plan
from evermix.model import Model
from evermix.priors.base import HasSticks
from evermix.state import Record

__all__ = ["Verdict", "judge"]


class Verdict(NamedTuple):
    """Moves that raise the bound, and by how much."""

    merges: list[tuple[int, int, int]]  # positions of what stays and goes, number of the pair
    trials: list[int]  # numbers of trials
    gains: list[float]


def judge(model: Model, plan: Plan, sums: Record) -> Verdict:
    """Return the moves of a plan that raise the bound, given the totals of all records."""
    mass, entropy = sums["mass"], sums["entropy"]
    K, family = len(mass), model.family
    alone = log_evidence(model, mass, family.from_features(sums["sums"])) + entropy
    moves: list[tuple[float, Array, Array, int, int]] = []  # gain, gone, new mass, trial, pair
    for t, (trial, rows) in enumerate(zip(plan.trials, child_rows(plan), strict=True)):
        stats = family.from_features(sums["child_sums"][rows])
        value = log_evidence(model, sums["child_mass"][rows], stats).sum()
        value += sums["child_entropy"][rows].sum() - alone[trial.parents].sum()
        moves.append((float(value), trial.parents, sums["child_mass"][rows], t, -1))
    if len(plan.pairs):
        a, b = plan.pairs.T
        fused = family.from_features(sums["sums"][a] + sums["sums"][b])
        value = log_evidence(model, mass[a] + mass[b], fused) + sums["pairs"] - alone[a] - alone[b]
        for p, pair in enumerate(plan.pairs):
            moves.append((float(value[p]), pair, mass[pair].sum(keepdims=True), -1, p))
    assert isinstance(model.prior, HasSticks)
    before = max(sorted_sticks(model, mass), model.prior.log_stick_evidence(mass))
    now = mass.copy()
    extra = np.zeros(0)
    verdict = Verdict([], [], [])
    taken = np.zeros(K, dtype=bool)
    promise = [value + _sticks(model, now, extra, gone, new) - before for value, gone, new, _, _ in moves]
    for m in np.argsort(-np.array(promise), kind="stable"):
        value, gone, new, t, p = moves[m]
        if not promise[m] > 0 or taken[gone].any():
            continue
        after = _sticks(model, now, extra, gone, new)
        gain = value + after - before
        if not gain > 0:
            continue
        taken[gone] = True
        now[gone], extra, before = 0.0, np.append(extra, new), after
        verdict.gains.append(gain)
        if p >= 0:
            stays, goes = sorted(gone, key=lambda k: -mass[k])
            verdict.merges.append((int(stays), int(goes), p))
        else:
            verdict.trials.append(t)
    return verdict


def child_rows(plan: Plan) -> list[Array]:
    """Return the numbers of the children of each trial."""
    sizes = [len(trial.children.intercepts) for trial in plan.trials]
    starts = np.cumsum([0, *sizes])
    return [np.arange(a, b) for a, b in zip(starts, starts[1:], strict=False)]


def _sticks(model: Model, mass: Array, extra: Array, gone: Array, new: Array) -> float:
    """Log evidence of the sticks when some clusters have gone and new ones have come."""
    left = mass.copy()
    left[gone] = 0.0
    return float(sorted_sticks(model, np.concatenate([left, extra, new])))
