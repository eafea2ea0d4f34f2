"""Digits: how many clusters births and merges find on small, overlapping data, and at what prior.

scikit-learn's 1,797 digits after PCA to 20 dimensions; clusters have a mean and a full covariance,
kappa = 0.01, nu = D + 2, DP with concentration 1, 10 batches. The prior's expected covariance is
that of the data, or a tenth of it.

bnpy is the paper's own code (0.1.7); its figures come from another machine, its costs in the
yardsticks of that machine.
"""

from dataclasses import replace

import numpy as np
import typer
from matplotlib.figure import Figure

import evermix as em
from experiments.common import new_figure, save, show
from experiments.memoized.data import digits
from experiments.memoized.runs import (
    Method,
    Peer,
    Problem,
    Runs,
    draw_traces,
    fixed,
    plain,
    show_methods,
    span,
    study,
)

__all__ = ["main", "problem"]

D, K, BATCH, KAPPA, LAPS = 20, 20, 180, 0.01, 100
SHARES = {"digits": 1.0, "digits-tenth": 0.1}  # of the data's covariance

BNPY = Peer("-105,106 to -103,952", "11 to 16", "32 to 97", "5 to 19")
BNPY_MEMOIZED = Peer("-105,997 to -105,167", "20", "43 to 74", "1 to 4")
BNPY_FULL = Peer("-106,843 to -105,380", "20", "43 to 74", "1 to 4")
BNPY_MERGES = Peer("-105,024", "16", "33", "13")
BNPY_TENTH = Peer("-117,360", "1", "13", "1")
BNPY_TENTH_WHOLE = Peer("-110,500 to -110,074", "6 to 7", "40 to 71", "4 to 9")


def problem(name: str = "digits") -> Problem:
    """Return the digits with the prior of that name."""
    X, labels = digits()
    scale = SHARES[name] * np.cov(X.T, ddof=0)
    family = em.Gaussian(mean=np.zeros(D), kappa=KAPPA, nu=D + 2.0, scale=scale)
    return Problem(name, X, labels, family)


def methods(laps: int, seeds: int) -> list[Method]:
    """Return what is compared where the expected covariance is that of the data."""
    alone = em.MemoizedVB(laps=laps, batch_size=BATCH)
    many = replace(alone, start="kmeans++", truncation=K)
    full = em.FullVB(laps=laps, truncation=K, start="kmeans++")
    return [
        Method("births and merges", alone, seeds, BNPY),
        Method("memoized, K = 20", fixed(many), seeds, BNPY_MEMOIZED),
        Method("full, K = 20", full, seeds, BNPY_FULL),
        Method("no births, from 20", replace(many, births=False), seeds, BNPY_MERGES),
    ]


def tenth_methods(laps: int, seeds: int) -> list[Method]:
    """Return what is compared where it is a tenth of that."""
    alone = em.MemoizedVB(laps=laps, batch_size=BATCH)
    many = replace(alone, start="kmeans++", truncation=K)
    return [
        Method("births and merges", alone, seeds, BNPY_TENTH),
        Method("the same, one batch", replace(alone, batch_size=1_797), seeds, BNPY_TENTH_WHOLE),
        Method("memoized, K = 20", fixed(many), seeds),
    ]


def main(seeds: int = 10, processes: int = 1, quick: bool = False) -> None:
    """Learn the digits from many seeds; --quick has two seeds and 8 laps."""
    seeds, laps = (2, 8) if quick else (seeds, LAPS)
    found = {}
    for name, compared in (
        ("digits", methods(laps, seeds)),
        ("digits-tenth", tenth_methods(laps, seeds)),
    ):
        found[name] = study(problem(name), compared, processes)
        title = f"Digits, expected covariance {SHARES[name]:g} x that of the data"
        show_methods(title, compared, found[name], "" if quick else "bnpy")
        _show_agreement(found[name])
    numbers = {name: plain(runs) for name, runs in found.items()}
    save(f"memoized/{'quick/' if quick else ''}digits", _figure(found), numbers)


def _show_agreement(found: Runs) -> None:
    lines = [
        [
            name,
            span([run["ari"] for run in runs], 2),
            span([100 * run["vote"] for run in runs], 1),
        ]
        for name, runs in found.items()
    ]
    show("Agreement with the digits", ["method", "ARI", "% aligned by vote"], lines)


def _figure(found: dict[str, Runs]) -> Figure:
    figure = new_figure(4.5 * len(found))
    for axes, (name, runs) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        best = max(run["bound"] for of_method in runs.values() for run in of_method)
        draw_traces(axes, runs, list(runs), best)
        axes.set_title(f"expected covariance {SHARES[name]:g} x that of the data", size=9)
        axes.set_ylabel("nats below the best bound")
    return figure


if __name__ == "__main__":
    typer.run(main)
