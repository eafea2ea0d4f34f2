"""A new subject among short texts: ``python -m benchmarks.quality.new_subjects``.

Of the twenty subjects of Stack Overflow's titles one appears after 5,500 others, as a quarter of
the next 1,200 titles; 1,200 of the others follow. Recall is the share of its titles that are in the
cluster that has most of them, precision the share of that cluster that they are.
"""

import json
import time
from statistics import mean

import numpy as np
import typer
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from benchmarks.quality.methods.gsdmm import gsdmm
from benchmarks.quality.sets import load

__all__ = ["main"]

BEFORE, BESIDE, NEW, AFTER = 5500, 900, 300, 1200  # titles
BATCH = 50  # of a call of partial_fit
CLUSTERS, ALPHA, BETA, SWEEPS = 100, 0.1, 0.1, 30  # of GSDMM


def streamed(X: sparse.csr_matrix) -> np.ndarray:
    """Learn titles in one pass; return their clusters at its end."""
    mix = em.Mixture()
    for start in range(0, X.shape[0], BATCH):
        mix.partial_fit(X[start : start + BATCH])
    return mix.predict(X)


METHODS = {
    "stream": streamed,
    "fit": lambda X: em.Mixture().fit_predict(X),
    "gsdmm": lambda X: gsdmm(X, CLUSTERS, ALPHA, BETA, SWEEPS, 0),
}


def main(subjects: int = 20, methods: str = ",".join(METHODS)) -> None:
    """Print one JSON object for each subject and method, then the means."""
    titles, rows = load("stackoverflow", 0), dict[str, list[dict[str, float]]]()
    X, y = sparse.csr_matrix(titles.X), titles.y
    streamed(X[:500])  # compiles what is compiled
    for new in np.unique(y)[:subjects]:
        order = _order(y, int(new))
        for name in methods.split(","):
            began = time.process_time()
            label = METHODS[name](X[order])
            row = {**_found(label, y[order], int(new)), "cpu_s": time.process_time() - began}
            rows.setdefault(name, []).append(row)
            print(json.dumps({"new": int(new), "method": name, **_short(row)}), flush=True)
    for name, some in rows.items():
        means = {key: mean(row[key] for row in some) for key in some[0]}
        print(json.dumps({"mean of": len(some), "method": name, **_short(means)}))


def _order(y: np.ndarray, new: int) -> np.ndarray:
    rng = np.random.default_rng(new)
    old = rng.permutation(np.flatnonzero(y != new))
    mixed = np.append(old[BEFORE : BEFORE + BESIDE], np.flatnonzero(y == new)[:NEW])
    after = old[BEFORE + BESIDE : BEFORE + BESIDE + AFTER]
    return np.concatenate([old[:BEFORE], rng.permutation(mixed), after])


def _found(label: np.ndarray, y: np.ndarray, new: int) -> dict[str, float]:
    ids, counts = np.unique(label[y == new], return_counts=True)
    best = ids[counts.argmax()]
    return {
        "recall": float(np.mean(label[y == new] == best)),
        "precision": float(np.mean(y[label == best] == new)),
        "ami": float(adjusted_mutual_info_score(y, label)),
        "clusters": float(len(np.unique(label))),
    }


def _short(row: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 3) for key, value in row.items()}


if __name__ == "__main__":
    typer.run(main)
