"""Edges (section 4.1, Figure 2): how reliably do algorithms escape local optima?

100,000 patches of 5 x 5 pixels from 8 zero-mean Gaussians, DP with concentration 1, nu = D + 2,
batches of 1,000. Births and merges begin with one cluster; the others have 25, from random rows.

The prior's expected covariance is 0.001 I. With a *careless* one, I, the bound is highest at K = 4,
and few clusters are worth their cost in a batch of 1,000: there merges that one batch judges
(GreedyMerge) do most harm. In the paper they end with one cluster.

bnpy is the paper's own code (0.1.7); its figures come from another machine, its costs in the
yardsticks of that machine.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import typer
from matplotlib.figure import Figure

import evermix as em
from experiments.common import new_figure, remember, save, show
from experiments.memoized import covariances
from experiments.memoized.data import edges
from experiments.memoized.greedy import greedy_merge
from experiments.memoized.runs import (
    ALPHA,
    RATES,
    Method,
    Peer,
    Problem,
    Runs,
    draw_traces,
    fixed,
    plain,
    resolved,
    show_methods,
    span,
    study,
)
from experiments.memoized.textbook import fit_from

__all__ = ["BNPY", "main", "problem"]

N, D, K, BATCH = 100_000, 25, 25, 1_000
SCALES = {"edges": 1e-3, "edges-careless": 1.0}
GREEDY = "GreedyMerge, from 25"

BNPY = Peer("8,431,367.9", "8", "6 to 13", "31 to 56")  # from one cluster, 10 seeds
BNPY_MEMOIZED = Peer("8,430,731 to 8,431,218", "25", "10 to 50", "10 to 54")
BNPY_FULL = Peer("8,429,966 to 8,431,218", "25", "48 to 50", "49 to 51")
BNPY_STOCHASTIC = Peer("8,429,188 to 8,430,788", "25", "20", "21 to 25")  # all three rates
BNPY_CARELESS = Peer("6,933,137 to 6,941,680", "3", "13", "15 to 17")
BNPY_CARELESS_10 = Peer("7,100,288", "4", "13", "14 to 18")
BNPY_CARELESS_MERGES = Peer("7,088,421 to 7,095,623", "4", "15", "19 to 21")


class Size(NamedTuple):
    """How much work is done."""

    n: int = N
    laps: int = 50
    stochastic_laps: int = 20
    greedy_laps: int = 10
    seeds: int = 10
    greedy_seeds: int = 5


QUICK = Size(10_000, 10, 5, 3, 2, 2)


def problem(name: str = "edges", n: int = N) -> Problem:
    """Return n patches with the prior of that name."""
    X, labels = edges(n)
    family = em.ZeroMeanGaussian(nu=D + 2.0, scale=SCALES[name])
    return Problem(name, X, labels, family, look=covariances.align)


def methods(size: Size) -> list[Method]:
    """Return what is compared under the prior that fits the data."""
    alone = em.MemoizedVB(laps=size.laps, batch_size=BATCH)
    many = replace(alone, start="random", truncation=K)
    full = em.FullVB(laps=size.laps, truncation=K, start="random")
    return [
        Method("births and merges", alone, size.seeds, BNPY),
        Method("memoized, K = 25", fixed(many), size.seeds, BNPY_MEMOIZED),
        Method("full, K = 25", full, size.seeds, BNPY_FULL),
        *(
            Method(f"stochastic {rate}, K = 25", engine, size.seeds, BNPY_STOCHASTIC)
            for rate, engine in _stochastic(size.stochastic_laps).items()
        ),
        Method("no births, from 25", replace(many, births=False), size.seeds),
    ]


def careless_methods(size: Size) -> list[Method]:
    """Return what is compared under the careless prior."""
    alone = em.MemoizedVB(laps=size.laps, batch_size=BATCH)
    larger = replace(alone, batch_size=10 * BATCH)
    many = replace(alone, start="random", truncation=K, births=False)
    return [
        Method("births and merges", alone, size.seeds, BNPY_CARELESS),
        Method("the same, batches of 10,000", larger, size.seeds, BNPY_CARELESS_10),
        Method("no births, from 25", many, size.seeds, BNPY_CARELESS_MERGES),
    ]


def _stochastic(laps: int) -> dict[str, em.StochasticVB]:
    begin = em.StochasticVB(laps=laps, batch_size=BATCH, truncation=K, start="random")
    return {
        rate: replace(begin, delay=delay, kappa=kappa) for rate, (delay, kappa) in RATES.items()
    }


def greedy(task: Problem, size: Size) -> list[dict[str, Any]]:
    """Return the runs of GreedyMerge."""
    family = resolved(task.family, task.X)

    def learn(seed: int) -> dict[str, Any]:
        by_lap = greedy_merge(family, ALPHA, task.X, K, BATCH, size.greedy_laps, seed)
        return {"by_lap": by_lap, "bound": by_lap[-1][1], "K": by_lap[-1][2]}

    name, settings = f"memoized/runs/{task.name}-GreedyMerge", [*task.X.shape, size.greedy_laps]
    return [
        remember(f"{name}-{seed}", {"size": settings, "seed": seed}, lambda seed=seed: learn(seed))
        for seed in range(size.greedy_seeds)
    ]


def main(seeds: int = 10, processes: int = 1, quick: bool = False) -> None:
    """Reproduce Figure 2; --quick has 10,000 patches, two seeds and few laps."""
    size = QUICK if quick else Size(seeds=seeds)
    _compare("edges", methods(size), size, processes)
    _compare("edges-careless", careless_methods(size), size, processes)


def _compare(name: str, compared: list[Method], size: Size, processes: int) -> None:
    """Run everything under one prior, and print and save what came out."""
    task = problem(name, size.n)
    found = study(task, compared, processes) | {GREEDY: greedy(task, size)}
    truth = fit_from(resolved(task.family, task.X), ALPHA, task.X, task.labels)
    whole = size.n == N
    title = f"Edges, {size.n:,} patches, expected covariance {SCALES[name]:g} I"
    show_methods(title, compared, found, "bnpy" if whole else "")
    _show_edges(found)
    print(f"Full updates from the true labels end at {truth:,.1f}, with K = 8.")
    place = f"memoized/{name}" if whole else f"memoized/quick/{name}"
    save(place, _figure(found, truth), {"from the true labels": truth, "runs": plain(found)})
    firsts = {method.name: found[method.name][0] for method in compared}
    save(f"{place}-covariances", covariances.draw(firsts), {})


def _show_edges(found: Runs) -> None:
    lines = [
        [name, span([run["edges"] for run in runs]), f"{min(run['ari'] for run in runs):.3f}"]
        for name, runs in found.items()
        if name != GREEDY
    ]
    show("True edges that have a cluster of their own", ["method", "of 8", "least ARI"], lines)
    runs = found[GREEDY]
    bounds, K = span([run["bound"] for run in runs]), span([run["K"] for run in runs])
    print(f"{GREEDY}: bound {bounds}, {K} clusters in use ({len(runs)} seeds).")


def _figure(found: Runs, truth: float) -> Figure:
    """Draw the bounds of all runs, lap by lap: Figure 2, top."""
    best = max([truth, *(run["bound"] for runs in found.values() for run in runs)])
    online = [name for name in found if name.startswith("stochastic")]
    others = [name for name in found if name not in (*online, GREEDY)]
    panels = [names for names in (others, online, [others[0], GREEDY]) if names]
    figure = new_figure(4.2 * len(panels))
    for axes, names in zip(
        figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True
    ):
        draw_traces(axes, found, names, best)
    figure.axes[0].set_ylabel("nats below the best bound")
    return figure


if __name__ == "__main__":
    typer.run(main)
