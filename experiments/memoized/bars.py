"""Bars: memoized inference on counts, where the truth is known.

20,000 documents of 100 words on a 10 x 10 grid, each of one of 20 topics (the rows and columns),
Dirichlet 0.1, DP with concentration 1, 20 batches. Bounds leave the multinomial coefficients out,
as bnpy's do, which is the paper's own code (0.1.7); its figures come from another machine, its
costs in the yardsticks of that machine.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure
from scipy import sparse

import evermix as em
from experiments.common import new_figure, save, show
from experiments.memoized.data import GRID, bars
from experiments.memoized.runs import (
    ALPHA,
    Method,
    Peer,
    Problem,
    Runs,
    fixed,
    plain,
    resolved,
    show_methods,
    span,
    study,
)
from experiments.memoized.textbook import fit_from

__all__ = ["BNPY", "main", "problem"]

N, K, BATCH, TOPICS = 20_000, 40, 1_000, 2 * GRID
FAMILY = em.Multinomial(alpha=0.1)
CLOSE = 0.1  # total variation within which a cluster counts as a topic

BNPY = Peer("-5,239,700.3", "20", "15", "5")
BNPY_MEMOIZED = Peer("-5,240,464 to -5,240,311", "40", "50", "3")
BNPY_FULL = Peer("-5,241,934 to -5,241,370", "40", "50", "1")


def problem(n: int = N) -> Problem:
    """Return n documents."""
    X, labels = bars(n)
    X = sparse.csr_array(X)
    offset = float(resolved(FAMILY, X).log_base(X).sum())
    return Problem("bars", X, labels, FAMILY, look=_topics, offset=offset)


def methods(laps: int, seeds: int) -> list[Method]:
    """Return what is compared."""
    alone = em.MemoizedVB(laps=laps, batch_size=BATCH)
    many = replace(alone, start="kmeans++", truncation=K)
    full = em.FullVB(laps=laps, truncation=K, start="kmeans++")
    return [
        Method("births and merges", alone, seeds, BNPY),
        Method("memoized, K = 40", fixed(many), seeds, BNPY_MEMOIZED),
        Method("full, K = 40", full, seeds, BNPY_FULL),
        Method("no births, from 40", replace(many, births=False), seeds),
    ]


def main(seeds: int = 5, processes: int = 1, quick: bool = False) -> None:
    """Learn the bars from many seeds; --quick has 4,000 documents, two seeds and 15 laps."""
    n, seeds, laps = (4_000, 2, 15) if quick else (N, seeds, 50)
    task, compared = problem(n), methods(laps, seeds)
    found = study(task, compared, processes)
    truth = fit_from(resolved(FAMILY, task.X), ALPHA, task.X, task.labels) - task.offset
    show_methods(f"Bars, {n:,} documents", compared, found, "" if quick else "bnpy")
    lines = [
        [name, span([run["topics"] for run in runs]), span([run["ari"] for run in runs], 4)]
        for name, runs in found.items()
    ]
    show("Topics that have a cluster of their own", ["method", f"of {TOPICS}", "ARI"], lines)
    print(f"Full updates from the true labels end at {truth:,.1f}, with K = {TOPICS}.")
    numbers = {"from the true labels": truth, "runs": plain(found)}
    save(f"memoized/{'quick/' if quick else ''}bars", _figure(found), numbers)


def _topics(mix: em.Mixture) -> dict[str, Any]:
    """Return how many topics some cluster matches, and the heaviest clusters (20, 100)."""
    tally = mix.tally_
    words = tally.stats[:, : GRID * GRID]  # their sum is the last statistic
    share = words / np.maximum(words.sum(axis=1, keepdims=True), 1.0)
    bar = np.vstack([np.repeat(np.eye(GRID), GRID, axis=1), np.tile(np.eye(GRID), GRID)]) / GRID
    apart = 0.5 * np.abs(bar[:, None] - share[None]).sum(axis=2)
    heaviest = np.argsort(-tally.mass)[:TOPICS]
    return {
        "topics": int((apart.min(axis=1) < CLOSE).sum()),
        "heaviest": share[heaviest].round(5).tolist(),
        "weights": (tally.mass[heaviest] / tally.mass.sum()).tolist(),
    }


def _figure(found: Runs) -> Figure:
    """Draw the heaviest clusters of the first run of every method."""
    figure = new_figure(0.62 * TOPICS, 1.15 * len(found))
    for line, (name, runs) in zip(
        figure.subplots(len(found), TOPICS, squeeze=False), found.items(), strict=True
    ):
        # Left out of the layout, or the title would widen the first column.
        line[0].text(-0.5, -1.5, name, size=8).set_in_layout(False)
        for axes in line:
            axes.set_axis_off()
        for axes, share, weight in zip(line, runs[0]["heaviest"], runs[0]["weights"], strict=False):
            axes.imshow(np.reshape(share, (GRID, GRID)), cmap="gray")
            axes.text(4.5, 10.2, f"{weight:.3f}", ha="center", va="top", size=6)
    return figure


if __name__ == "__main__":
    typer.run(main)
