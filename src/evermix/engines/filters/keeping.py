"""When a stream looks back at rows that it keeps, and which rows it keeps for that.

Reviews come at fixed clocks, so that neither the cuts of a stream nor questions change what is
learnt.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from evermix._xp import Bools, Ints
from evermix.engines.batch import Batch
from evermix.kernels.engines.adf import DEAD
from evermix.lookback import ROWS, KeptRows, Recent
from evermix.model import Model
from evermix.state import State

FIRST = 64  # rows before the first review
RATIO = 2**0.5  # between the clocks of two reviews
SOON = 256  # rows after which a model that forgets looks for new words
CLOCKS = [round(FIRST * RATIO**step) for step in range(116)]  # of all reviews, beyond 2**63
BURST = 30.0  # nats by which a word must be more common than chance allows
CHANGE = 30.0  # nats by which shares of clusters must differ for a change


def next_review(clock: int) -> int:
    """Return the clock of the first review after a clock: they grow by a factor of RATIO."""
    return CLOCKS[bisect_right(CLOCKS, clock)]


def is_clock(clock: int) -> bool:
    """Whether all rows that are kept are reviewed after a clock."""
    return next_review(clock - 1) == clock


def pace(model: Model) -> int:
    """Return the number of rows after which new clusters are looked for, beside reviews.

    Clusters that fade are vague, and take in a new subject unless it is found soon.
    """
    return ROWS if model.forgetting is None else SOON


def next_stop(model: Model, clock: int) -> int:
    """Return the clock after a clock at which rows are reviewed, or only fewer are kept."""
    return min(next_review(clock), (clock // pace(model) + 1) * pace(model))


def is_review(model: Model, state: State) -> bool:
    """Whether a review is due; if all begin anew, at every other clock or where rows change."""
    clock = state.clock
    if not is_clock(clock):
        return clock % pace(model) == 0 and brings_words(model, state)
    return is_fresh(clock) or not begins_anew(model) or has_changed(state)


def has_changed(state: State) -> bool:
    """Whether the rows since the last clock of reviews are of other clusters than those before.

    The likelihood ratio of their shares exceeds what K clusters have by chance by CHANGE nats.
    """
    if state.lookback is None or (rows := state.lookback.rows) is None:
        return False
    last = CLOCKS[bisect_left(CLOCKS, state.clock) - 1]
    k = np.unique(state.lineage.current(rows.ids), return_inverse=True)[1]
    mass = np.zeros((2, k.max() + 1))
    np.add.at(mass, ((rows.clocks > last).astype(np.int64), k), rows.weights)
    if not mass.any(axis=1).all():
        return False
    usual = mass.sum(axis=1, keepdims=True) * mass.sum(axis=0) / mass.sum()
    return float(np.sum(xlogy(mass, mass / usual))) - 0.5 * mass.shape[1] > CHANGE


def brings_words(model: Model, state: State) -> bool:
    """Whether some word is far more common in the latest rows of a model that forgets."""
    if model.forgetting is None or state.lookback is None or (rows := state.lookback.rows) is None:
        return False
    cut = Recent.cut(as_they_came(model, rows), before_latest(state.clock), state.tally.ids)
    return bool(len(cut.before.ids)) and bursts(cut.before, cut.since.rows)


def before_latest(clock: int) -> int:
    """Return the clock after which the rows of a model that forgets are the latest ones."""
    return max(CLOCKS[bisect_left(CLOCKS, clock) - 1], clock - SOON)


def bursts(before: KeptRows, rows: KeptRows | None) -> bool:
    """Whether some word is far more common in rows than it was before, by a Poisson law."""
    if rows is None:
        return False
    known = np.asarray(before.X.sum(axis=0)).ravel()
    count = np.asarray(rows.X.sum(axis=0)).ravel()
    usual = (known + 0.5) * count.sum() / (known.sum() + 1.0)
    more = count > usual
    count, usual = count[more], usual[more]
    return bool(np.any(count * np.log(count / usual) - (count - usual) > BURST))


def is_fresh(clock: int) -> bool:
    """Whether a review of all rows begins anew: before the first clock, and at every other one.

    The others, which begin with the clusters that are there, take a fraction of the time.
    """
    return clock < FIRST or clock in {FIRST << j for j in range(clock.bit_length())}


def stretches(model: Model, batch: Batch, clock: int) -> Iterator[Batch]:
    """Cut rows that follow a clock where reviews are due, or fewer rows are to be kept."""
    weights = batch.weights
    if clock + len(weights) <= next_stop(model, clock):
        yield batch
        return
    clocks = np.concatenate([[clock], clock + np.cumsum(weights > 0)])
    start = 0
    while start < len(weights):
        end = int(np.searchsorted(clocks[1:], next_stop(model, int(clocks[start])))) + 1
        yield batch.part(slice(start, end))
        start = end


def keep(model: Model, state: State, batch: Batch, labels: Ints, per_cluster: int) -> None:
    """Keep rows that were just learnt; at some clocks only a part of them.   Consumes: state."""
    add_rows(state, batch, labels)
    if next_stop(model, state.clock - 1) == state.clock:
        thin(model, state, per_cluster)


def add_rows(state: State, batch: Batch, labels: Ints) -> None:
    """Keep rows that were just learnt.   Consumes: state."""
    if state.lookback is not None:
        state.lookback.add(batch.X, batch.weights, labels, state.clock)
    if state.recent is not None:
        state.recent.since.add(batch.X, batch.weights, labels, state.clock)


def thin(model: Model, state: State, per_cluster: int) -> None:
    """Keep as many rows of each cluster as there is room for.   Consumes: state.

    Of counts all are kept or none: too few rows of a sample share a word. Of short texts the
    latest ones are kept from then on.
    """
    lookback = state.lookback
    if lookback is None or (rows := lookback.rows) is None:
        return
    rows = lookback.rows = rows._replace(ids=state.lineage.current(rows.ids))
    if sparse.issparse(rows.X) and len(rows.weights) > rows.room:
        last = CLOCKS[bisect_left(CLOCKS, state.clock) - 1]  # the last review
        short, rows = rows.room >= ROWS, rows.take(~has_faded(state, rows))
        state.recent = Recent.cut(rows, last, state.tally.ids) if short else None
        state.lookback = None
        return
    lookback.thin(state.tally.K, per_cluster, even=begins_anew(model))


def has_faded(state: State, rows: KeptRows) -> Bools:
    """Return which rows (M,) are of clusters that have faded, and so keep their ids."""
    ids = state.lineage.current(rows.ids)
    return np.asarray((ids >= 0) & ~np.isin(ids, state.tally.ids))


def fade_rows(state: State, factor: float) -> None:
    """Scale the weights of all rows that are kept.   Consumes: state."""
    kept = [] if state.lookback is None else [state.lookback]
    if state.recent is not None:
        state.recent.left *= factor
        kept.append(state.recent.since)
    for rows in kept:
        rows.parts = [
            part._replace(weights=np.maximum(factor * part.weights, DEAD)) for part in rows.parts
        ]


def as_they_came(model: Model, rows: KeptRows) -> KeptRows:
    """Return rows as searches count them: not less for their age.

    What is left of old counts looks more even than they were.
    """
    if model.forgetting is None:
        return rows
    return rows._replace(weights=np.ones(len(rows.weights)))


def begins_anew(model: Model) -> bool:
    """Whether every review begins anew: clusters of wide rows can be merged, but not split."""
    return model.family.wide and not model.family.sparse
