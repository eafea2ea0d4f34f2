"""Two unit Gaussians that overlap: ``python -m benchmarks.quality.overlap``.

At distance 3 the best possible adjusted Rand index is 0.75, at distance 4 it is 0.91. At distance 2
the held-out likelihood says whether one cluster or two are better.
"""

import json
import time
from collections.abc import Callable

import numpy as np
import typer
from sklearn.metrics import adjusted_rand_score

import evermix as em

__all__ = ["main"]

WANTED = {2.0: None, 3.0: 0.65, 4.0: 0.86}
ROWS = (300, 1000, 5000)
BATCH = 100  # rows in a call of partial_fit
HELD_OUT = 20_000


def drawn(distance: float, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (n, 2) and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2))
    X[:, 0] += distance * y
    return X, y


def streamed(X: np.ndarray) -> em.Mixture:
    """Learn rows in one pass."""
    mix = em.Mixture()
    for start in range(0, len(X), BATCH):
        mix.partial_fit(X[start : start + BATCH])
    return mix


def given(engine: em.engines.Engine) -> Callable[[np.ndarray], em.Mixture]:
    """Return a way to learn with an engine, under DP(1)."""
    return lambda X: em.Mixture(prior=em.DP(1.0), engine=engine, random_state=0).fit(X)


METHODS: dict[str, Callable[[np.ndarray], em.Mixture]] = {
    "fit": lambda X: em.Mixture().fit(X),
    "stream": streamed,
    "ADF": given(em.ADF()),
    "EP": given(em.EP()),
    "MemoizedVB": given(em.MemoizedVB()),
}


def main(seeds: int = 10, methods: str = ",".join(METHODS)) -> None:
    """Print one JSON object for each distance, number of rows and method."""
    for distance, wanted in WANTED.items():
        test, _ = drawn(distance, HELD_OUT, 10**6)
        for n in ROWS:
            for method in methods.split(","):
                ari, K, score, began = [], [], [], time.process_time()
                for seed in range(seeds):
                    X, y = drawn(distance, n, seed)
                    mix = METHODS[method](X)
                    ari.append(adjusted_rand_score(y, mix.predict(X)))
                    K.append(mix.n_clusters_)
                    score.append(mix.score(test))
                found = {
                    "distance": distance,
                    "rows": n,
                    "method": method,
                    "ari": round(float(np.mean(ari)), 3),
                    "wanted": wanted,
                    "clusters": np.bincount(K).tolist()[1:],
                    "held_out": round(float(np.mean(score)), 4),
                    "cpu_s": round((time.process_time() - began) / seeds, 2),
                }
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    typer.run(main)
