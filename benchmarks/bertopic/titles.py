"""20 batches of Stack Overflow titles through every pipeline."""

import json
import re
import sys
import time
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from benchmarks.bertopic.pipelines import PIPELINES, Build
from benchmarks.common import find

__all__ = ["titles"]

BATCHES = 20
WORDS = 10
SIZE = 10  # documents from which on a topic is judged: the words of one title always go together


def titles(repeats: int) -> dict[str, Any]:
    """Return time per batch, topics, coherence and agreement with the labels, by pipeline."""
    lines = find("quality/stackoverflow.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    plain = [re.sub("[^A-Za-z0-9]+", " ", record["text"]) for record in records]
    texts = np.array(plain, dtype=object)  # BERTopic would glue together what other signs part
    labels = np.array([record["label"] for record in records])
    X = np.load(find("quality/stackoverflow_minilm.npy")).astype(np.float64)
    counter = CountVectorizer(stop_words="english")
    counts, words = counter.fit_transform(texts), counter.get_feature_names_out()
    results: dict[str, Any] = {}
    for name, build in PIPELINES.items():
        print(f"running {name} ...", file=sys.stderr)
        runs = [_run(build, texts, X, labels, seed) for seed in range(repeats)]
        each = [_judged(*run, labels, counts, words) for run in runs]
        results[name] = {key: round(median(one[key] for one in each), 3) for key in each[0]}
    return results


def _run(
    build: Build, texts: Any, X: np.ndarray, labels: np.ndarray, seed: int
) -> tuple[Any, list[float], np.ndarray, np.ndarray]:
    """Return a model, its seconds by batch, and the labels of all rows as met and at the end."""
    order = np.random.default_rng(seed).permutation(len(X))
    warm = build(seed)
    warm.partial_fit(texts[order[:400]].tolist(), X[order[:400]])  # compiles
    model, seconds, met = build(seed), [], np.empty(len(X), dtype=np.int64)
    for rows in np.array_split(order, BATCHES):
        began = time.process_time()
        model.partial_fit(texts[rows].tolist(), X[rows])
        seconds.append(time.process_time() - began)
        met[rows] = model.topics_
        _check_in_step(model, model.topics_)
    return model, seconds, met, np.asarray(model.transform(texts.tolist(), X)[0])


def _check_in_step(model: Any, topics: Any) -> None:
    """Raise AssertionError unless topics of a mixture are its ids."""
    mixture = model.hdbscan_model
    if isinstance(mixture, em.Mixture):
        assert list(topics) == mixture.labels_.tolist()
        assert set(model.get_topics()) <= set(mixture.cluster_ids_.tolist())


def _judged(
    model: Any,
    seconds: list[float],
    met: np.ndarray,
    end: np.ndarray,
    labels: np.ndarray,
    counts: sparse.csr_matrix,
    words: np.ndarray,
) -> dict[str, float]:
    found = model.get_topics()
    sizes = {int(name): int(n) for name, n in zip(*np.unique(end, return_counts=True), strict=True)}
    large = [name for name, n in sizes.items() if n >= SIZE and name in found]
    tops = [[word for word, _ in found[topic][:WORDS] if word] for topic in large]
    weights = np.array([sizes[topic] for topic in large])
    npmi = em.coherence(tops, counts, words)
    known = ~np.isnan(npmi)
    return {
        "seconds in all": sum(seconds),
        "slowest batch": max(seconds),
        "batches 2 to 6": median(seconds[1:6]),
        "last five batches": median(seconds[-5:]),
        "topics": len(found),
        f"topics of {SIZE} documents": len(large),
        "npmi": float(npmi[known].mean()),
        "npmi by size": float(np.average(npmi[known], weights=weights[known])),
        "ami as met": adjusted_mutual_info_score(labels, met),
        "ami at the end": adjusted_mutual_info_score(labels, end),
    }
