"""Few short texts: ``python -m benchmarks.quality.few_texts``.

Some hundred texts of each set, and the same words in any of the texts, which then have no subjects:
one cluster is right. Means over draws of the texts.
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
from benchmarks.quality.new_subjects import ALPHA, BETA, CLUSTERS, SWEEPS
from benchmarks.quality.sets import load

__all__ = ["main"]

SETS = ("stackoverflow", "tweet", "newsgroups20_short")
METHODS = {
    "fit": lambda X: em.Mixture().fit_predict(X),
    "stream": lambda X: em.Mixture().partial_fit(X).predict(X),
    "gsdmm": lambda X: gsdmm(X, CLUSTERS, ALPHA, BETA, SWEEPS, 0),
}


def main(sizes: str = "300,1000,3000", draws: int = 3, methods: str = ",".join(METHODS)) -> None:
    """Print one JSON object for each set, size and method: means over the draws."""
    for name in SETS:
        whole = load(name, 0)
        X, y = sparse.csr_matrix(whole.X), whole.y
        for size in (int(text) for text in sizes.split(",")):
            if size > len(y):
                continue
            rows = {
                method: [_row(method, X, y, size, k) for k in range(draws)]
                for method in methods.split(",")
            }
            for method, some in rows.items():
                means = {key: round(mean(row[key] for row in some), 3) for key in some[0]}
                print(
                    json.dumps({"set": name, "texts": size, "method": method, **means}), flush=True
                )


def _row(
    method: str, X: sparse.csr_matrix, y: np.ndarray, size: int, draw: int
) -> dict[str, float]:
    rng = np.random.default_rng(draw)
    some = rng.permutation(len(y))[:size]
    began = time.process_time()
    label = METHODS[method](X[some])
    seconds = time.process_time() - began
    return {
        "ami": float(adjusted_mutual_info_score(y[some], label)),
        "clusters": len(np.unique(label)),
        "clusters_without_subjects": len(np.unique(METHODS[method](_shuffled(X[some], rng)))),
        "cpu_s": seconds,
    }


def _shuffled(X: sparse.csr_matrix, rng: np.random.Generator) -> sparse.csr_matrix:
    """Return texts as long as those of X, with its words in any of them."""
    words = np.repeat(X.indices, X.data.astype(np.int64))
    row = np.repeat(np.arange(X.shape[0]), np.asarray(X.sum(axis=1)).ravel().astype(np.int64))
    rng.shuffle(words)
    return sparse.csr_matrix((np.ones(len(words)), (row, words)), shape=X.shape)


if __name__ == "__main__":
    typer.run(main)
