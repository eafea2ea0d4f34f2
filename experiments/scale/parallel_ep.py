"""Expectation propagation on two Dask workers beside the same in one place.

    EVERMIX_DATA=... python -m experiments.scale.parallel_ep [--orders 8]

The KOS posts (as in experiments.kos) and a mixture of Gaussians, each in several random orders. In
one place every row learns from all rows before it; on two workers, two batches at a time learn from
the same snapshot of the clusters.
"""

import argparse
import json
from typing import Any

import numpy as np
from dask import delayed

import evermix as em
from evermix.distributed.client import cluster_client
from experiments.common import RESULTS, mean_and_error, show, with_error
from experiments.kos.runs import FAMILY, IG, split

SIZE = 343  # rows in a batch: eight batches of the posts


def gaussians() -> tuple[np.ndarray, np.ndarray]:
    """Return rows (2744, 8) of 30 clusters that overlap a little, and as many others."""
    rng = np.random.default_rng(0)
    centres, weights = rng.normal(scale=2.0, size=(30, 8)), rng.dirichlet(np.ones(30))
    X = centres[rng.choice(30, 5488, p=weights)] + rng.normal(size=(5488, 8))
    return X[:2744], X[2744:]


def fits(train: Any, test: Any, family: Any, prior: Any, orders: int) -> list[dict[str, float]]:
    """Return K and the held-out log likelihood in one place and on two workers, for each order."""
    found = []
    for seed in range(orders):
        X = train[np.random.default_rng(seed).permutation(train.shape[0])]
        parts = [delayed(X[i : i + SIZE]) for i in range(0, X.shape[0], SIZE)]
        one, two = (
            em.Mixture(family, prior, em.EP(laps=20, batch_size=SIZE), random_state=0).fit(rows)
            for rows in (X, parts)
        )
        assert two.state_.latents["stride"][0] == 2
        found.append(
            {
                "one": float(one.score_samples(test).sum()),
                "two": float(two.score_samples(test).sum()),
                "K one": one.n_clusters_,
                "K two": two.n_clusters_,
            }
        )
        print(json.dumps(found[-1]), flush=True)
    return found


def main() -> None:
    """Fit all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=8)
    orders = parser.parse_args().orders
    normal = em.Gaussian(0.0, 0.05, 11.0, 1.0)
    results, table = {}, []
    with cluster_client(None):
        for name, data, family, prior in (
            ("KOS", split(), FAMILY, IG),
            ("Gaussians", gaussians(), normal, em.NGGP()),
        ):
            results[name] = found = fits(*data, family, prior, orders)
            ratio = [run["two"] / run["one"] - 1 for run in found]
            columns = ("one", "two", "K one", "K two")
            each = [with_error(mean_and_error([run[c] for run in found])) for c in columns]
            table.append([name, *each, f"{-100 * np.mean(ratio):+.3f}%"])
    show(
        f"EP in one place and on two workers, {orders} orders",
        ["data", "held-out, one", "two", "K, one", "two", "gain"],
        table,
    )
    (RESULTS / "scale").mkdir(parents=True, exist_ok=True)
    (RESULTS / "scale" / "parallel_ep.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
