"""River's clusterers: rows one by one, standardised beforehand; all are labelled at the end.

They take rows as dicts, and CluStream and DBSTREAM are slow, so they get small sets only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.quality.methods.base import Answer, Method, NotThere, standardised
from benchmarks.quality.sets.base import LabelledSet

__all__ = ["METHODS"]

ROWS, COLUMNS = 2_000, 16  # of the largest set
# Radii of micro-clusters, in standard deviations of a column: the best of 0.4, 0.5, ... 0.8, 1, 1.2
# by the mean AMI over all sets of vectors here, for each of the two. This favours River.
DENSTREAM_RADIUS, DBSTREAM_RADIUS = 0.7, 0.6
Row = dict[int, float]


def denstream(one: LabelledSet, seed: int) -> Answer:
    """DenStream; its micro-clusters get their radius, and fade slowly."""
    del seed
    model = _river("DenStream")(
        decaying_factor=1e-3,
        beta=0.5,
        mu=2.5,
        epsilon=DENSTREAM_RADIUS * np.sqrt(one.d),
        n_samples_init=min(200, one.n // 2),
        stream_speed=100,
    )

    def label(rows: list[Row]) -> list[int]:
        # predict_one joins all micro-clusters anew for every row; nothing changes between rows.
        model.predict_one(rows[0])
        nearest = model._get_closest_cluster_key
        return [nearest(row, model.clusters) if model.clusters else 0 for row in rows]

    return _learnt(model, label, one)


def dbstream(one: LabelledSet, seed: int) -> Answer:
    """DBSTREAM; its micro-clusters get their radius, and fade slowly."""
    del seed
    model = _river("DBSTREAM")(
        clustering_threshold=DBSTREAM_RADIUS * np.sqrt(one.d),
        fading_factor=1e-4,
        cleanup_interval=1000,
    )
    return _learnt(model, lambda rows: [model.predict_one(row) for row in rows], one)


def clustream_given_k(one: LabelledSet, seed: int) -> Answer:
    """CluStream with the true K and a window of the whole stream."""
    model = _river("CluStream")(
        n_macro_clusters=one.K,
        max_micro_clusters=min(100, one.n // 2),
        time_window=one.n,
        time_gap=min(100, one.n // 2),
        seed=seed,
    )
    return _learnt(model, lambda rows: [model.predict_one(row) for row in rows], one)


def _river(name: str) -> Callable[..., Any]:
    try:
        from river import cluster
    except ImportError as error:
        raise NotThere("River is not installed: pip install 'evermix[bench]'.") from error
    return getattr(cluster, name)


def _learnt(model: Any, label: Callable[[list[Row]], list[int]], one: LabelledSet) -> Answer:
    rows = [dict(enumerate(row)) for row in standardised(one.X).tolist()]
    for row in rows:
        model.learn_one(row)
    return Answer(np.asarray(label(rows), np.int64))


def _small(one: LabelledSet) -> bool:
    return one.n <= ROWS and one.d <= COLUMNS


METHODS = (
    Method("denstream", "river", ("vectors", "blobs", "newcomers", "drifting"), denstream, _small),
    Method("dbstream", "river", ("vectors", "blobs", "newcomers", "drifting"), dbstream, _small),
    Method(
        "clustream_given_k",
        "river",
        ("vectors", "newcomers", "drifting"),
        clustream_given_k,
        _small,
    ),
)
