"""Columns that are often 0: ``python -m benchmarks.quality.often_zero``.

Drawn tables of customers, some of whom did not spend anything on each of three things, with a town
and an age; and the sets of the battery that have such columns. Beside evermix a GMM by BIC, which
is given the levels of tables as columns of zeros and ones.
"""

import json
from statistics import mean

import numpy as np
import pandas as pd
import typer
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from benchmarks.quality.methods import METHODS as PEERS
from benchmarks.quality.sets import LabelledSet, load, recipes

__all__ = ["main"]

SETS = (
    "hawks,olive,glass,statlog,keel_australian,keel_bands,keel_heart,keel_penbased,keel_pima,"
    "keel_segment"
)
GMM = {"tables": "onehot_gmm_bic"}
METHODS = {
    "fit": lambda one: em.Mixture(random_state=0).fit_predict(one.X),
    "stream": lambda one: em.Mixture(random_state=0).partial_fit(one.X).predict(one.X),
    "gmm_bic": lambda one: PEERS[GMM.get(one.kind, "gmm_bic")].run(one, 0).labels,
}


def main(
    sets: str = SETS,
    seeds: str = "0,1,2,3,4",
    orders: str = "0,1,2",
    methods: str = ",".join(METHODS),
) -> None:
    """Print one JSON object for each set and method: mean AMI, and numbers of clusters."""
    drawn = {"customers": [_customers(int(seed)) for seed in seeds.split(",") if seed]}
    known = recipes()[0]
    real = {
        name: [load(name, int(order)) for order in orders.split(",")]
        for name in sets.split(",")
        if name in known
    }
    for name, some in (drawn | real).items():
        for method in methods.split(","):
            found = [METHODS[method](one) for one in some]
            scores = [
                adjusted_mutual_info_score(one.y, labels)
                for one, labels in zip(some, found, strict=True)
            ]
            row = {
                "set": name,
                "method": method,
                "ami": round(mean(scores), 3),
                "k": [len(np.unique(labels)) for labels in found],
                "true_k": [len(np.unique(one.y)) for one in some],
            }
            print(json.dumps(row), flush=True)


def _customers(seed: int, n: int = 1500) -> LabelledSet:
    rng = np.random.default_rng(seed)
    K = int(rng.integers(3, 7))
    y = rng.choice(K, n, p=rng.dirichlet(np.full(K, 5.0)))
    zero = rng.random((n, 3)) < rng.beta(0.7, 0.7, (K, 3))[y]
    sizes = np.exp(rng.normal(rng.normal(3.0, 1.2, (K, 3))[y], 0.6))
    spent = np.where(zero, 0.0, sizes).round(2)
    towns = rng.dirichlet(np.full(5, 0.5), K)
    table = {f"spent_{j}": spent[:, j] for j in range(3)} | {
        "town": np.array(list("abcde"))[[rng.choice(5, p=towns[k]) for k in y]],
        "age": rng.normal(rng.uniform(20, 70, K)[y], 8.0).round(1),
    }
    return LabelledSet("customers", "tables", pd.DataFrame(table), y)


if __name__ == "__main__":
    typer.run(main)
