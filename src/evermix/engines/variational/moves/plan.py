"""What a lap shall find out, as named arrays that a checkpoint can hold.

Plans are made when a lap ends, from what it has brought, and judged when the next one ends.
"""

import numpy as np

from evermix._xp import Array
from evermix.engines.variational.local import NO_PLAN, Beliefs, Plan, Trial
from evermix.state import Record


def children(plan: Plan) -> list[Array]:
    """Return the numbers of the children of each trial; they are counted through all trials."""
    sizes = [len(trial.children.intercepts) for trial in plan.trials]
    ends = np.cumsum(sizes, dtype=np.int64)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def to_record(plan: Plan, targets: list[int], ids: Array) -> Record:
    """Return a plan for the clusters ``ids``, and the target of each trial, as named arrays."""
    trials = plan.trials
    empty = np.zeros(0, dtype=np.int64)
    width = trials[0].children.slopes.shape[1] if trials else 0
    return {
        "ids": ids.copy(),
        "pairs": plan.pairs,
        "targets": np.array(targets, dtype=np.int64),
        "parents": np.concatenate([empty, *(t.parents for t in trials)]),
        "n_parents": np.array([len(t.parents) for t in trials], dtype=np.int64),
        "slopes": np.concatenate([np.zeros((0, width)), *(t.children.slopes for t in trials)]),
        "intercepts": np.concatenate([np.zeros(0), *(t.children.intercepts for t in trials)]),
        "n_children": np.array([len(t.children.intercepts) for t in trials], dtype=np.int64),
    }


def from_record(record: Record | None, ids: Array) -> tuple[Plan, Array]:
    """Return the plan and the targets that :func:`to_record` described.

    Nothing is planned if there is no record, or if it is for other clusters than ``ids``.
    """
    if record is None or not np.array_equal(record["ids"], ids):
        return NO_PLAN, np.zeros(0, dtype=np.int64)
    cuts = np.cumsum(record["n_children"])
    parents = np.split(record["parents"], np.cumsum(record["n_parents"]))
    slopes, intercepts = np.split(record["slopes"], cuts), np.split(record["intercepts"], cuts)
    beliefs = map(Beliefs, slopes, intercepts)
    trials = [Trial(*parts) for parts in zip(parents, beliefs, strict=True)]
    return Plan(record["pairs"], tuple(trials[:-1])), record["targets"]  # the last is empty
