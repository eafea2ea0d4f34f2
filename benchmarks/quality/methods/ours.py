"""evermix without any settings: fitted, in one pass, in one pass over sorted rows, in groups."""

import numpy as np

import evermix as em
from benchmarks.quality.methods.base import Answer, Method, NotThere
from benchmarks.quality.sets.base import KINDS, LabelledSet

__all__ = ["METHODS"]

BATCH = 100
SORTED = ("vectors", "texts", "embeddings", "measurements")


def fit(one: LabelledSet, seed: int) -> Answer:
    """``Mixture().fit(X).labels_``."""
    mix = em.Mixture(random_state=seed).fit(one.X)
    return Answer(mix.labels_, mix.n_clusters_)


def stream(one: LabelledSet, seed: int) -> Answer:
    """One pass in batches, asked for labels after each; all rows are labelled at the end."""
    mix = em.Mixture(random_state=seed)
    for first in range(0, one.n, BATCH):
        mix.partial_fit(one.part(slice(first, first + BATCH)))
        _ = mix.labels_, mix.n_clusters_
    return Answer(mix.predict(one.X), mix.n_clusters_)


def stream_sorted(one: LabelledSet, seed: int) -> Answer:
    """The same with rows in the order of their true labels."""
    places = np.argsort(one.y, kind="stable")
    found = stream(one.rows(places), seed)
    labels = np.empty(one.n, np.int64)
    labels[places] = found.labels
    return Answer(labels, found.k)


def groups(one: LabelledSet, seed: int) -> Answer:
    """``Mixture().fit(X).groups()``."""
    mix = em.Mixture(random_state=seed)
    if getattr(mix, "groups", None) is None:
        raise NotThere("this version of evermix has no Mixture.groups.")
    return Answer(np.asarray(mix.fit(one.X).groups()))


METHODS = (
    Method("fit", "ours", KINDS, fit, warm=True),
    Method("stream", "ours", KINDS, stream, warm=True),
    Method("stream_sorted", "ours", SORTED, stream_sorted, warm=True),
    Method("groups", "ours", ("vectors", "newcomers", "measurements"), groups, warm=True),
)
