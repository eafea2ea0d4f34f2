"""Births and merges from one cluster on edges and bars, beside bnpy's figures.

bnpy (0.1.7, the memoized paper's own code) does not run here: its figures are constants, measured
once on another machine. Costs are in yardsticks, which travel from one machine to another: one
iteration of scikit-learn's BayesianGaussianMixture with 25 components on the edges.
"""

import time
from typing import Any

import evermix as em
from experiments.memoized import bars, edges
from experiments.memoized.runs import ALPHA, WARM, Problem
from experiments.memoized.yardstick import yardstick

__all__ = ["toys"]

BNPY = {
    "edges": {"bound": 8_431_367.9, "K": 8, "laps": [6, 13], "yardsticks": [31, 56]},
    "bars": {"bound": -5_239_700.3, "K": 20, "laps": [15, 15], "yardsticks": [5, 6]},
}
ENGINE = em.MemoizedVB(laps=50, batch_size=1_000)


def toys(repeats: int) -> dict[str, Any]:
    """Fit each from as many seeds as there are repeats, on one thread."""
    unit = yardstick()
    found: dict[str, Any] = {"yardstick, seconds": round(unit, 3)}
    for name, task in (("edges", edges.problem()), ("bars", bars.problem())):
        runs = [_fit(task, seed, unit) for seed in range(repeats)]
        found[name] = {"evermix, by seed": runs, "bnpy (constants)": BNPY[name]}
    return found


def _fit(task: Problem, seed: int, unit: float) -> dict[str, Any]:
    laps: list[int] = []

    def watch(mix: em.Mixture, info: em.Info) -> None:
        if info.rows == 0:
            laps.append(info.K)

    mix = em.Mixture(task.family, em.DP(alpha=ALPHA), ENGINE, random_state=seed)
    mix.fit(task.X[:WARM])
    began = time.process_time()
    mix.fit(task.X, observers=[watch])
    seconds = time.process_time() - began
    return {
        "bound": round(mix.lower_bound_ - task.offset, 1),
        "K": mix.n_clusters_,
        "laps": len(laps),
        "yardsticks": round(seconds / unit, 1),
    }
