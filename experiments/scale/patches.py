"""8.64 million image patches (section 4.4 of the memoized paper) on a GPU, from one cluster on.

``python -m experiments.scale.patches`` takes 43,200 patches of 8 x 8 from each of 200 photographs
(BSDS500), without their means, as single-precision numbers on the device, and learns them by
memoized inference: with births and merges in the first laps, then with merges alone until the
bound has settled. The model and its prior are those of ``experiments.memoized.patches``. What was
seen after every lap, and where the time went, goes to ``results/scale/patches.json``.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import typer

import evermix as em
from experiments.memoized.bsds import TRAIN, basis, patches, photographs

__all__ = ["main"]

FILE = Path("results/scale/patches.json")
PER_IMAGE, BATCH = 43_200, 432_000
PRIOR = em.DP(alpha=10.0)
SHARE = 0.1  # of the covariance of all patches, that the prior expects in a cluster
GOAL = 300.0  # seconds


def main(
    per_image: int = PER_IMAGE,
    batch: int = BATCH,
    laps: int = 12,
    more_laps: int = 60,
    tol: float = 1e-3,
) -> None:
    """Learn the patches; --tol is the gain of a lap at which it ends, in nats for each patch.

    Births are tried for --laps, and --more-laps follow without them, if that is not settled before.
    """
    began = time.perf_counter()
    X = rows(per_image)
    ready = time.perf_counter()
    engine = em.MemoizedVB(laps=laps, batch_size=min(batch, len(X)), tol=tol * len(X))
    by_lap: list[dict[str, Any]] = []
    spent = {"steps": 0.0, "ends of laps": 0.0}

    def look(mix: em.Mixture, info: em.Info) -> None:
        spent["steps" if info.rows else "ends of laps"] += info.seconds
        if not info.rows:
            lap = {"K": info.K, "elbo for each": info.scalars["elbo"] / len(X)}
            by_lap.append(lap | {"seconds": time.perf_counter() - ready})
            print(f"lap {len(by_lap)}: {by_lap[-1]}", flush=True)

    mix = em.Mixture(family(X), PRIOR, engine, random_state=0).fit(X, observers=[look])
    rest = replace(engine, laps=laps + more_laps, births=False, deletes=False)
    mix.set_params(engine=rest).resume(X, observers=[look])
    total = time.perf_counter() - ready
    found = {
        "N": len(X),
        "D": X.shape[1],
        "batch": batch,
        "K": mix.n_clusters_,
        "laps": len(by_lap),
        "gain of the last lap, for each": by_lap[-1]["elbo for each"] - by_lap[-2]["elbo for each"],
        "settled": len(by_lap) < laps + more_laps,
        "seconds": total,
        "under the goal": total < GOAL,
        "seconds for reading": ready - began,
        "seconds by part": spent,
        "by lap": by_lap,
    }
    if X.is_cuda:
        found["device"] = torch.cuda.get_device_name()
        found["peak of device memory, GB"] = torch.cuda.max_memory_allocated() / 1e9
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in found.items() if name != "by lap"}, indent=1))


def rows(per_image: int, seed: int = 0) -> torch.Tensor:
    """Return patches (200 per_image, 63) in random order, on the device if there is one.

    Grey values are whole numbers of 255ths; each gets a random amount of half of that either way.
    """
    rng, directions = np.random.default_rng(seed), basis().T.astype(np.float32)
    parts = []
    for _, image in photographs(TRAIN):
        views = patches((image + (rng.random(image.shape) - 0.5) / 255.0).astype(np.float32))
        i, j = np.divmod(rng.choice(views.shape[0] * views.shape[1], per_image, replace=False),
                         views.shape[1])  # fmt: skip
        parts.append(views[i, j].reshape(per_image, -1) @ directions)
    X = torch.as_tensor(np.concatenate(parts)[rng.permutation(len(parts) * per_image)])
    return X.cuda() if torch.cuda.is_available() else X


def family(X: torch.Tensor) -> em.ZeroMeanGaussian:
    """Return the prior: a share of the covariance of all patches, worth little."""
    some = X[:BATCH].double()
    scale = SHARE * (some.T @ some) / len(some)
    return em.ZeroMeanGaussian(nu=X.shape[1] + 2.0, scale=scale.cpu().numpy())


if __name__ == "__main__":
    typer.run(main)
