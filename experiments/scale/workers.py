"""Strong scaling of MemoizedVB on one and two Dask workers, and a model on paper of many more.

    python -m experiments.scale.workers [--rows 400000] [--repeats 3]

Rows are made on the workers. The clusters are given and no moves are made, so that every lap does
the same work. Its seconds are those of

* *compute*: the work of the busiest worker,
* *transfer*: from a question to its answer, without the work: beliefs go down, sums come up, and
  both are packed and unpacked,
* *server*: what is computed here between two questions;

and *waiting* is how long workers are idle on average while the busiest one works.

On paper, a lap of B batches on W workers has B / (W m) steps, each of m batches on every worker.
Questions and answers are K F numbers each, whatever an answer sums up; they go through a tree in
which one place asks at most eight others. So a lap takes

    B / W batches of work + B / (W m) {server + levels (round trip + 2 min(W, 8) K F numbers)}.

Work and server are measured on one worker; the price of a byte is that which explains its transfer.
Two workers check the model.
"""

import argparse
import json
import time
from typing import Any

import numpy as np

import evermix as em
from evermix.distributed.shards import FAN_OUT
from evermix.engines.run import run_laps
from evermix.estimators.data.dask import ClusterRows
from evermix.estimators.data.rows import Validator
from evermix.model import Model
from experiments.common import RESULTS, show

D, K, SIZE, LAPS = 64, 50, 10_000, 4
NAMES = ["lap", "compute", "waiting", "transfer", "server"]
ANSWER = 8 * K * (D + D * (D + 1) // 2)  # bytes
ROUND_TRIP = 0.002  # seconds of a question without content to a Dask actor


def rows(seed: int, n: int) -> np.ndarray:
    """Return n rows of a mixture of K Gaussians."""
    centres = np.random.default_rng(0).normal(scale=3.0, size=(K, D))
    rng = np.random.default_rng([1, seed])
    return centres[rng.integers(K, size=n)] + rng.normal(size=(n, D))


class Watch:
    """An observer that says where the seconds of each lap went."""

    def __init__(self, shards: Any) -> None:
        self.laps: list[dict[str, float]] = []
        self._shards, self._before, self._began = shards, self._spent(shards), time.perf_counter()

    @staticmethod
    def _spent(shards: Any) -> np.ndarray:
        return np.array([shards.spent.wall, shards.spent.compute, shards.spent.mean])

    def __call__(self, state: Any, info: Any) -> None:
        """Look at the clock when a lap has ended."""
        if info.rows:
            return
        now = self._spent(self._shards)
        wall, compute, mean = now - self._before
        lap = time.perf_counter() - self._began
        split = [lap, compute, compute - mean, wall - compute, lap - wall]
        self.laps.append(dict(zip(NAMES, split, strict=True)) | info.scalars)
        self._began, self._before = time.perf_counter(), now


def laps(workers: int, n: int) -> list[dict[str, float]]:
    """Return the split of the seconds of every lap but the first, on so many workers."""
    from dask import delayed

    from distributed import Client, LocalCluster

    engine = em.MemoizedVB(
        laps=LAPS,
        batch_size=SIZE,
        births=False,
        merges=False,
        deletes=False,
        stride=workers,
        start="random",
        truncation=K,
        tol=0.0,
    )
    family = em.Gaussian(0.0, 0.01, D + 2.0, 1.0).candidates(rows(0, 1000))[0]
    model, rng = Model(family, em.DP(1.0)), np.random.default_rng(0)
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster):
        parts = [delayed(rows)(seed, SIZE) for seed in range(n // SIZE)]
        found = ClusterRows(parts, Validator(em.Mixture(family), family, reset=True))
        found.place(np.ones(n), SIZE, {})
        watch = Watch(found.shards)
        run_laps(engine, model, engine.initial(model, rng), found.shards, rng, [watch])
        found.shards.release()
    return watch.laps[1:]


def on_paper(one: dict[str, float], batches: int, workers: int, each: int) -> dict[str, float]:
    """Return what a lap would take on so many workers that visit ``each`` batches in a step."""
    steps, fan, levels = batches / (workers * each), min(workers, FAN_OUT), 1
    while sum(FAN_OUT**level for level in range(1, levels + 1)) < workers:
        levels += 1
    price = max(one["transfer"] / batches - ROUND_TRIP, 0.0) / (2 * ANSWER)
    split = {
        "workers": workers,
        "batches per step": each,
        "compute": one["compute"] / workers,
        "transfer": steps * levels * (ROUND_TRIP + 2 * fan * ANSWER * price),
        "server": steps * one["server"] / batches,
        "GB here": 2 * steps * fan * ANSWER / 1e9,
    }
    total = split["compute"] + split["transfer"] + split["server"]
    return split | {"lap": total, "speed-up": one["lap"] / total}


def main() -> None:
    """Measure, and print what was measured beside the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    runs: dict[int, list[dict[str, float]]] = {1: [], 2: []}
    for _ in range(given.repeats):
        for workers, found in runs.items():
            found += laps(workers, given.rows)
    middle = {
        workers: {name: float(np.median([lap[name] for lap in found])) for name in NAMES}
        for workers, found in runs.items()
    }
    speed_up = middle[1]["lap"] / middle[2]["lap"]
    title = f"{given.rows:,} rows, D = {D}, K = {K}, batches of {SIZE:,}: seconds of a lap, median"
    table = [[w, *(f"{split[name]:.3f}" for name in NAMES)] for w, split in middle.items()]
    show(title, ["workers", *NAMES], table)
    batches = given.rows // SIZE
    here = [on_paper(middle[1], batches, workers, 1) for workers in (1, 2)]
    many = [
        on_paper(middle[1] | _times(middle[1], 1000), 1000 * batches, workers, each)
        for workers in (8, 64, 512)
        for each in (1, 8)
    ]
    for title, some in (("On paper, these rows", here), ("On paper, 1,000 times the rows", many)):
        show(title, list(some[0]), [[f"{value:.4g}" for value in row.values()] for row in some])
    result = {"measured": middle, "speed_up": speed_up, "on_paper": here + many}
    (RESULTS / "scale").mkdir(parents=True, exist_ok=True)
    (RESULTS / "scale" / "workers.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({"speed_up": round(speed_up, 3)}))


def _times(one: dict[str, float], factor: int) -> dict[str, float]:
    """Return the split of a lap over so many times the rows."""
    return {name: factor * seconds for name, seconds in one.items()}


if __name__ == "__main__":
    main()
