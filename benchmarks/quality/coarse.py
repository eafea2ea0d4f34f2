"""Clusters joined into as many as there are subjects: ``python -m benchmarks.quality.coarse``.

``coarse`` joins clusters by the evidence that it costs, ``groups`` where no valley parts them; both
are given the true number. With ``--subjects 8``, only the texts of eight subjects are clustered,
other ones for each of several choices. ``--methods topics`` judges the largest topic, and the
largest coarse topic, of 1,000 documents.
"""

import json
from typing import Any

import numpy as np
import typer
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from benchmarks.quality.sets import load

__all__ = ["main"]

BATCH = 200  # of a call of partial_fit
DOCUMENTS = 1000  # of topics
SETS = "newsgroups20_long,newsgroups20_short,stackoverflow,stackoverflow_minilm,tweet_minilm"


def streamed(X: Any) -> em.Mixture:
    """Learn rows in one pass."""
    mix = em.Mixture(random_state=0)
    for start in range(0, X.shape[0], BATCH):
        mix.partial_fit(X[start : start + BATCH])
    return mix


METHODS = {"fit": lambda X: em.Mixture(random_state=0).fit(X), "stream": streamed}


def main(
    sets: str = SETS,
    methods: str = "fit,stream",
    subjects: int | None = None,
    choices: int = 5,
    alpha: float = 0.1,
) -> None:
    """Print one JSON object for each set, choice of subjects and method."""
    for name in sets.split(","):
        whole = load(name, 0)
        for seed in range(choices if subjects else 1):
            chosen = np.unique(whole.y)
            if subjects:
                chosen = np.random.default_rng(seed).permutation(chosen)[:subjects]
            one = whole.rows(np.flatnonzero(np.isin(whole.y, chosen)))
            for method in methods.split(","):
                if method == "topics":
                    some = one.rows(np.arange(min(DOCUMENTS, len(one.y))))
                    found = {"alpha": alpha, **_judged_topics(some, alpha)}
                else:
                    found = _judged(METHODS[method](one.X), one)
                print(json.dumps({"set": name, "method": method, **found}), flush=True)


def _judged(mix: em.Mixture, one: Any) -> dict[str, Any]:
    y, fine, n = one.y, mix.predict(one.X), len(np.unique(one.y))
    found: dict[str, Any] = {"subjects": n, "clusters": mix.n_clusters_, "ami": _ami(y, fine)}
    if mix.n_clusters_ > n:
        found["coarse"] = _ami(y, mix.coarse(n, one.X))
        found["groups"] = _ami(y, mix.groups(one.X, n_groups=n))
    return found


def _judged_topics(one: Any, alpha: float) -> dict[str, Any]:
    model, y, n = em.TopicModel(em.HDP(), alpha, random_state=0), one.y, len(np.unique(one.y))
    model.fit(one.X)
    shares = model.documents_.toarray()
    found: dict[str, Any] = {"subjects": n, "topics": model.n_topics_}
    found["ami"] = _ami(y, shares.argmax(axis=1))
    if model.n_topics_ > n:
        ids, place = np.unique(model.coarse(n), return_inverse=True)
        joined = shares @ np.equal.outer(place, np.arange(len(ids)))
        found["coarse"] = _ami(y, joined.argmax(axis=1))
    return found


def _ami(y: np.ndarray, labels: np.ndarray) -> float:
    return round(float(adjusted_mutual_info_score(y, labels)), 3)


if __name__ == "__main__":
    typer.run(main)
