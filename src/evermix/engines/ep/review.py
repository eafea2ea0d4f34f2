"""A review after the first lap of expectation propagation.

The first lap is one pass, which cannot part again what it has fused. A sample of all rows is at
hand now: clusters are split, merged and deleted on it under one objective, and every row is
assigned to those that were found. The laps that follow go on from there.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from evermix._xp import Floats, logsumexp
from evermix.engines.base import Engine
from evermix.engines.ep.sites import to_record, to_sites_of
from evermix.engines.filters.review import with_sticks
from evermix.engines.filters.succession import named
from evermix.engines.refine.problem import Problem, lines
from evermix.engines.refine.search import search
from evermix.engines.seeding import draw_rows
from evermix.engines.shards import Shard, Shards, Task
from evermix.kernels.scoring import score_rows
from evermix.model import Model
from evermix.state import Record, State
from evermix.tally import Tally

SAMPLE = 5000  # rows


def reviewed(
    engine: Engine, model: Model, state: State, shards: Shards, rng: Generator
) -> tuple[State, list[int], list[tuple[int, int]], list[int]]:
    """Return a state with better clusters and new sites of all rows, and what happened.

    What happened are the ids of births, merges (gone, into) and dropped ids.
    """
    tally, keys = state.tally, range(len(shards))
    records = {key: state.memo[str(key)] for key in keys}
    weights = [np.where(records[key]["held"], 0.0, shards.weights_of(key)) for key in keys]
    sample = draw_rows(model.family, shards, SAMPLE, rng, weights)
    problem = Problem(sample, replace(model, prior=with_sticks(model, tally.mass)), rng)
    starts = problem.from_sums(tally.mass, tally.stats), problem.start(np.zeros(len(sample), int))
    ends = [end for start in starts if (end := search(problem, start)) is not None]
    found = max(ends, key=problem.objective)
    slopes, intercepts = lines(model.family, tally.mass, tally.stats)
    old = sample.scores(slopes, intercepts + np.log(np.maximum(tally.mass, 1e-300))).argmax(axis=1)
    flow = np.zeros((tally.K, found.K))
    np.add.at(flow, (old, found.r.argmax(axis=1)), sample.weights)
    state = replace(state, lineage=deepcopy(state.lineage))
    ids, births, merges, dropped = named(state, flow, np.zeros(tally.K, dtype=bool))
    scale = sum(float(some.sum()) for some in weights) / float(sample.weights.sum())
    clusters = Tally.of(ids, scale * found.mass, scale * found.stats, {}, tally.layout)
    after = engine.continued(model, clusters, state)
    after = replace(state, tally=after.tally, columns=after.columns)
    task = AssignSites(model, after.tally, engine.log_weights(model, after), records)
    after.memo = {**state.memo, **{str(k): v for k, v in shards.do(task, keys).items()}}
    return after, births, merges, dropped


@dataclass(frozen=True)
class AssignSites(Task[dict[int, Record]]):
    """Assign the rows of batches to clusters."""

    model: Model
    tally: Tally
    log_weights: Floats  # (K + 1,)
    records: dict[int, Record]  # of each batch, by key

    def part(self, keys: Sequence[int]) -> "AssignSites":
        """Return the same task for these batches."""
        return replace(self, records={key: self.records[key] for key in keys})

    def of(self, shard: Shard, key: int) -> dict[int, Record]:
        """Return the record of one batch with new sites."""
        family, tally, batch = self.model.family, self.tally, shard[key]
        joint = np.empty((len(batch.weights), tally.K))
        work = family.workspace(tally, family.columns(tally))
        score_rows(work, family.rows(batch.X), tally.K, joint)
        joint += self.log_weights[:-1]
        q = np.exp(joint - logsumexp(joint, axis=1)[:, None])
        q[(batch.weights == 0) | self.records[key]["held"]] = 0.0
        return {key: self.records[key] | to_record(to_sites_of(q, tally.ids))}

    def joined(self, answers: Iterable[dict[int, Record]]) -> dict[int, Record]:
        """Return the records of all batches."""
        return {key: record for some in answers for key, record in some.items()}
