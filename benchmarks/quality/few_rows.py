"""Few rows for each column: ``python -m benchmarks.quality.few_rows``.

Some rows of each set of 5 to 32 columns; and as many of one cluster whose columns depend on each
other, where one cluster is right. Means over draws of the rows.
"""

import json
import time
from dataclasses import replace
from statistics import mean

import numpy as np
import typer
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from benchmarks.quality.methods import METHODS as PEERS
from benchmarks.quality.sets import LabelledSet, load, recipes

__all__ = ["main"]

KINDS = "vectors", "measurements"
COLUMNS = range(5, 33)
SHAPE = 2  # independent variables for each column of the one cluster
METHODS = {
    "fit": lambda one: em.Mixture().fit_predict(one.X),
    "stream": lambda one: em.Mixture().partial_fit(one.X).predict(one.X),
    "full": lambda one: em.Mixture(em.Gaussian()).fit_predict(one.X),
    "gmm_bic": lambda one: PEERS["gmm_bic"].run(one, 0).labels,
}


def main(ratios: str = "1.5,3,5,8,12", draws: int = 3, methods: str = ",".join(METHODS)) -> None:
    """Print one JSON object for each number of rows per column and method: means over the sets."""
    vectors = [load(name, 0) for name, one in recipes()[0].items() if one.kind in KINDS]
    sets = [one for one in vectors if one.d in COLUMNS]
    for method in methods.split(","):
        _row(method, sets[0], 2 * sets[0].d, 0)  # compiles
    for ratio in (float(text) for text in ratios.split(",")):
        for method in methods.split(","):
            rows = [
                _row(method, one, round(ratio * one.d), draw)
                for one in sets
                for draw in range(draws)
                if round(ratio * one.d) <= one.n
            ]
            means = {key: round(mean(row[key] for row in rows), 3) for key in rows[0]}
            about = {"rows_per_column": ratio, "method": method, "draws": len(rows)}
            print(json.dumps(about | means), flush=True)


def _row(method: str, one: LabelledSet, size: int, draw: int) -> dict[str, float]:
    rng = np.random.default_rng(draw)
    part = one.rows(rng.permutation(one.n)[:size])
    mixed = rng.normal(size=(SHAPE * one.d, one.d))
    alone = replace(part, X=rng.normal(size=(size, SHAPE * one.d)) @ mixed)
    began = time.process_time()
    label = METHODS[method](part)
    seconds = time.process_time() - began
    return {
        "ami": float(adjusted_mutual_info_score(part.y, label)),
        "subjects": part.K,
        "clusters": len(np.unique(label)),
        "clusters_of_one": len(np.unique(METHODS[method](alone))),
        "cpu_s": seconds,
    }


if __name__ == "__main__":
    typer.run(main)
