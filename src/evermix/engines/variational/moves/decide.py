"""Which of the moves that a lap has prepared raise the exact bound.

Evidence and entropy of disjoint moves add up. The sticks do not, so each move is judged given those
accepted before it, the most promising first, with clusters in order of size. (Swapping two
neighbours on the stick so that the larger comes first always raises the bound.)
"""

from typing import NamedTuple

import numpy as np

from evermix._xp import Array
from evermix.engines.variational.bound import log_evidence, sorted_sticks
from evermix.engines.variational.local import Plan
from evermix.engines.variational.moves.plan import children
from evermix.model import Model
from evermix.state import Record


class Verdict(NamedTuple):
    """Moves that raise the bound, and by how much."""

    merges: list[tuple[int, int, int]]  # positions of what stays and goes, number of the pair
    trials: list[int]  # numbers of trials
    gains: list[float]  # of all, as they were accepted


class _Move(NamedTuple):
    """A move: what it adds to the bound but for the sticks, and whom it replaces by what."""

    value: float
    gone: Array  # positions
    mass: Array  # of what comes instead
    trial: int | None
    pair: int | None


def judge(model: Model, plan: Plan, sums: Record) -> Verdict:
    """Return the moves of a plan that raise the bound, given the totals of all records."""
    mass = sums["mass"].copy()
    new = np.zeros(0)
    sticks = float(sorted_sticks(model, mass))
    taken = np.zeros(len(mass), dtype=bool)
    verdict = Verdict([], [], [])
    moves = [*_trials(model, plan, sums), *_merges(model, plan, sums)]
    promise = [move.value + _sticks(model, mass, new, move) - sticks for move in moves]
    for m in np.argsort(-np.array(promise), kind="stable"):
        move = moves[m]
        if not promise[m] > 0:  # nan says nothing
            break
        after = _sticks(model, mass, new, move)
        gain = move.value + after - sticks
        if taken[move.gone].any() or not gain > 0:
            continue
        taken[move.gone], mass[move.gone] = True, 0.0
        new, sticks = np.append(new, move.mass), after
        verdict.gains.append(gain)
        if move.trial is not None:
            verdict.trials.append(move.trial)
        if move.pair is not None:
            goes, stays = move.gone[np.argsort(sums["mass"][move.gone], kind="stable")]
            verdict.merges.append((int(stays), int(goes), move.pair))
    return verdict


def _trials(model: Model, plan: Plan, sums: Record) -> list[_Move]:
    """Return the trials of a plan."""
    alone = _alone(model, sums)
    moves = []
    for t, (trial, rows) in enumerate(zip(plan.trials, children(plan), strict=True)):
        mass = sums["child_mass"][rows]
        stats = model.family.from_features(sums["child_sums"][rows])
        value = log_evidence(model, mass, stats).sum() + sums["child_entropy"][rows].sum()
        moves.append(_Move(value - alone[trial.parents].sum(), trial.parents, mass, t, None))
    return moves


def _merges(model: Model, plan: Plan, sums: Record) -> list[_Move]:
    """Return the merges of a plan."""
    if not len(plan.pairs):
        return []
    a, b = plan.pairs.T
    alone, mass = _alone(model, sums), sums["mass"][a] + sums["mass"][b]
    stats = model.family.from_features(sums["sums"][a] + sums["sums"][b])
    values = log_evidence(model, mass, stats) + sums["pairs"] - alone[a] - alone[b]
    return [_Move(value, plan.pairs[p], mass[p : p + 1], None, p) for p, value in enumerate(values)]


def _alone(model: Model, sums: Record) -> Array:
    """What each cluster adds to the bound, the sticks aside, (K,)."""
    stats = model.family.from_features(sums["sums"])
    return log_evidence(model, sums["mass"], stats) + sums["entropy"]


def _sticks(model: Model, mass: Array, new: Array, move: _Move) -> float:
    """Log evidence of the sticks after a move; clusters that are gone have no mass."""
    left = mass.copy()
    left[move.gone] = 0.0
    return float(sorted_sticks(model, np.concatenate([left, new, move.mass])))
