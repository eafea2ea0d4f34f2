"""Labels of rows after clusters have been merged, dropped or renamed."""

import numpy as np
from numpy.typing import NDArray

from evermix._xp import host, logsumexp
from evermix.engines.batch import ROWS, RowResults
from evermix.estimators.data.rows import LazyRows, Rows
from evermix.estimators.mixture.fitted import Fitted
from evermix.families.mixed import Mixed


def follow_merges(fitted: Fitted, results: RowResults, X: Rows) -> None:
    """Label rows X by the clusters that there are now.   Consumes: results."""
    engine, state = fitted.engine, fitted.state
    results.labels[:] = state.lineage.current(results.labels)
    # Rows whose cluster was dropped or is not shown, or of weight zero at the start.
    lost = results.labels < 0
    shown = engine.shown(state)
    if not shown.all():
        lost |= np.isin(results.labels, state.tally.ids[~shown])
    if not lost.any():
        return
    every = np.flatnonzero(lost)
    for some in np.split(every, range(ROWS, len(every), ROWS)):
        joint = fitted.log_joint(X[some])[:, :-1]
        results.labels[some] = fitted.point.state.tally.ids[joint.argmax(axis=1)]
        results.probabilities[some] = np.exp(joint.max(axis=1) - logsumexp(joint, axis=1))


def _seen_in_part(fitted: Fitted, X: Rows) -> NDArray[np.bool_]:
    """Return which rows (N,) have seen some columns of a group of a table, but not all.

    Rows that are in files or on a cluster are not looked at once more.
    """
    partly = np.zeros(X.shape[0], dtype=bool)
    family = fitted.model.family
    if isinstance(family, Mixed) and not isinstance(X, LazyRows):
        for block, span in zip(family.blocks, family.spans, strict=True):
            if block.partly:
                seen = ~np.isnan(host(X)[:, span.columns])
                partly |= seen.any(axis=1) & ~seen.all(axis=1)
    return partly


def compact(
    fitted: Fitted, results: RowResults, X: Rows, weights: NDArray[np.float64], anew: bool
) -> None:
    """Drop clusters that own no row that counts, and name the others 0..K-1 as they appear.

    ``anew``: rows are first labelled by the clusters that there are now, whatever they were before.
    Rows with gaps among columns of a table that share a covariance always are: nothing is learnt
    from the others of these columns, but they tell of the cluster.

    Those that the engine cannot drop are hidden, and named last. A second call changes nothing
    more. In models that forget, faded clusters own rows too, so nothing is renamed.

    Consumes: results, and the state of what was fitted.
    """
    results.labels[:] = np.where(anew | _seen_in_part(fitted, X), -1, results.labels)
    follow_merges(fitted, results, X)
    engine, model, state = fitted.engine, fitted.model, fitted.state
    if model.forgetting is not None:
        return
    owners, first = np.unique(results.labels[weights > 0], return_index=True)
    idle = ~np.isin(state.tally.ids, owners)
    engine.dismiss(state, idle)
    if anew and idle.any():
        results.labels[:] = -1  # their probabilities have changed
    follow_merges(Fitted(engine, model, state, fitted.batch), results, X)
    name = np.empty(state.lineage.next_id, dtype=np.int64)
    ids = state.tally.ids
    others = ids[~np.isin(ids, owners)]
    name[owners[np.argsort(first)]] = np.arange(len(owners))
    name[others] = len(owners) + np.arange(len(others))
    results.labels[:] = name[results.labels]
    state.rename(name[state.tally.ids])
