"""What MNIST and the tiny images share: the methods, the table and the figures.

Clusters of images have a mean and a full covariance in the 50 dimensions that PCA keeps. Births and
merges begin with one cluster; all others have 100, from rows far from each other (*smart*) or from
random ones.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import evermix as em
from experiments.common import new_figure, show
from experiments.memoized.data import FEATURES, Images
from experiments.memoized.runs import (
    RATES,
    Method,
    Problem,
    Runs,
    draw_traces,
    fixed,
    show_methods,
    span,
)

__all__ = ["BIRTHS", "Size", "figure", "methods", "problem", "show_images"]

KAPPA = 0.01  # rows that the prior mean, zero, is worth
BIRTHS = "births and merges"


class Size(NamedTuple):
    """How much work is done: rows, clusters, batches, laps, and runs of each method."""

    rows: int
    K: int = 100
    batches: int = 100
    laps: int = 200  # with births and merges
    fixed_laps: int = 60  # with clusters that stay
    births: int = 2
    memoized: int = 2
    full: int = 10
    stochastic: tuple[int, int, int] = (4, 3, 3)  # at the rates a, b and c
    random: int = 1  # runs of each of these from random rows


def problem(name: str, images: Images, share: float) -> Problem:
    """Return images with a prior that expects ``share`` of the data's covariance in a cluster."""
    scale = share * np.cov(images.X.T, bias=True)
    family = em.Gaussian(mean=np.zeros(FEATURES), kappa=KAPPA, nu=FEATURES + 2.0, scale=scale)
    return Problem(name, images.X, images.labels, family)


def methods(size: Size) -> list[Method]:
    """Return what is compared."""
    rows = -(-size.rows // size.batches)
    alone = em.MemoizedVB(laps=size.laps, batch_size=rows)
    many = fixed(replace(alone, laps=size.fixed_laps, truncation=size.K, start="kmeans++"))
    full = em.FullVB(laps=size.fixed_laps, truncation=size.K, start="kmeans++")
    online = em.StochasticVB(
        laps=size.fixed_laps, batch_size=rows, truncation=size.K, start="kmeans++"
    )
    rated = {
        f"stochastic {rate}": (replace(online, delay=delay, kappa=kappa), runs)
        for (rate, (delay, kappa)), runs in zip(RATES.items(), size.stochastic, strict=True)
    }
    smart = {"memoized": (many, size.memoized), "full": (full, size.full), **rated}
    compared = [
        Method(BIRTHS, alone, size.births),
        *(Method(f"{name}, smart", engine, runs) for name, (engine, runs) in smart.items()),
        *(
            Method(f"{name}, random", replace(engine, start="random"), size.random)
            for name, (engine, _) in smart.items()
            if name in ("memoized", "full", "stochastic a")
        ),
    ]
    return [method for method in compared if method.seeds]


def show_images(title: str, compared: list[Method], found: Runs) -> None:
    """Print bounds, costs and agreement with the classes, and whether births and merges win."""
    show_methods(title, compared, found)
    lines = [
        [
            name,
            span([run["used"] for run in runs]),
            span([100 * run["vote"] for run in runs], 1),
            span([run["ari"] for run in runs], 3),
        ]
        for name, runs in found.items()
    ]
    columns = ["method", "clusters that own rows", "% aligned by vote", "ARI"]
    show("Agreement with the classes", columns, lines)
    others = {name: runs for name, runs in found.items() if name != BIRTHS}
    best, name = max((run["bound"], name) for name, runs in others.items() for run in runs)
    above = sum(run["bound"] > best for run in found[BIRTHS])
    print(
        f"{above} of {len(found[BIRTHS])} runs with births and merges end above the best of all "
        f"others ({name}, {best:,.0f})."
    )


def figure(found: Runs) -> Figure:
    """Draw the last bound of every run, bounds and K by lap, and the alignment to the classes."""
    drawn = new_figure(13, 8)
    (bounds, traces), (growth, votes) = drawn.subplots(2, 2)
    _strip(bounds, found, "bound")
    bounds.set_xlabel("bound (nats)")
    best = max(run["bound"] for runs in found.values() for run in runs)
    shown = [name for name in found if not name.endswith("random")]
    draw_traces(traces, found, shown, best)
    traces.set_ylabel("nats below the best bound")
    for run in found[BIRTHS]:
        laps, _, K, _ = np.array(run["by_lap"]).T
        growth.step(laps, K, where="post", lw=0.9)
    growth.set_xlabel("laps")
    growth.set_ylabel("K, births and merges")
    _strip(votes, found, "vote")
    votes.set_xlabel("share of rows aligned by vote")
    return drawn


def _strip(axes: Any, found: Runs, what: str) -> None:
    """Draw one number of every run, a line for each method."""
    for place, runs in enumerate(found.values()):
        axes.plot([run[what] for run in runs], [place] * len(runs), "o", ms=4, alpha=0.6)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
