"""Held-out log likelihood and K, lap after lap (Figure 3; supplement, Figures 1 and 2).

EP goes over the posts 50 times, in the orders of ``table``, whose runs are used again. Its first
lap is ADF, which is looked at eight times on the way. Chains of Gibbs are looked at after every
sweep; they begin with nothing and seat the posts one after another in the first sweep, while the
paper's begin with all posts in one cluster.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import typer
from scipy import sparse

from experiments.common import new_figure, save, show
from experiments.kos.runs import PRIORS, chain, passes, split, stream
from experiments.kos.table import OURS, PAPER

__all__ = ["main"]

CHAINS, PARTS = 5, 8
RULES = {"rule of the paper": PAPER, "birth 0.1, no merges": OURS}
COLOURS = {"IG": "tab:red", "DP": "tab:cyan"}
SHOWN = (1, 2, 3, 4, 5, 10, 20, 50)


def main(orders: int = 20, laps: int = 50, quick: bool = False) -> None:
    """Reproduce the figures; --quick makes five laps in two orders, and two chains."""
    orders, laps, chains = (2, 5, 2) if quick else (orders, laps, CHAINS)
    posts = split()
    curves = {}
    for name, prior in PRIORS.items():
        for rule, (_, ep) in RULES.items():
            engine = replace(ep, laps=laps)
            runs = [passes(prior, engine, *posts, seed)["by_lap"] for seed in range(orders)]
            curves[f"EP-{name}, {rule}"] = _padded(runs, laps)
        runs = [chain(prior, laps, *posts, seed) for seed in range(chains)]
        curves[f"Gibbs-{name}"] = _padded(runs, laps)
    firsts = {name: first_lap(prior, *posts, orders) for name, prior in PRIORS.items()}
    _show_laps(curves, laps)
    _show_claims(curves)
    numbers = {name: curve.tolist() for name, curve in curves.items()}
    numbers |= {f"first lap, {name}": first.tolist() for name, first in firsts.items()}
    save("kos/laps", _figure(curves, firsts), numbers)


def first_lap(
    prior: Any, train: sparse.csr_array, test: sparse.csr_array, orders: int
) -> np.ndarray:
    """Return held-out log likelihood and K (orders, PARTS, 2) on the way through the first lap."""
    return np.array([stream(prior, PAPER[0], train, test, seed, PARTS) for seed in range(orders)])


def _padded(runs: list[list[tuple[float, int]]], laps: int) -> np.ndarray:
    """Return runs (runs, laps, 2); one that has settled stays where it is."""
    return np.array([run + [run[-1]] * (laps - len(run)) for run in runs], dtype=float)


def _show_laps(curves: dict[str, np.ndarray], laps: int) -> None:
    shown = [lap for lap in SHOWN if lap <= laps]
    for what, title in enumerate(("held-out log likelihood", "number of clusters")):
        lines = [
            [name, *(f"{curve[:, lap - 1, what].mean():,.0f}" for lap in shown)]
            for name, curve in curves.items()
        ]
        show(f"KOS, {title} after laps (ours)", ["method", *map(str, shown)], lines)


def _show_claims(curves: dict[str, np.ndarray]) -> None:
    """Say what the paper says of its figures, and what is so here."""
    lines = []
    for name in PRIORS:
        path = {k: v[:, :, 0].mean(axis=0) for k, v in curves.items()}
        ep, gibbs = path[f"EP-{name}, rule of the paper"], path[f"Gibbs-{name}"]
        above = np.flatnonzero(gibbs > ep[0])
        sweeps = str(above[0] + 1) if len(above) else f"more than {len(gibbs)}"
        lines.append([f"EP-{name}: rise after the first lap", "yes", f"{ep[-1] - ep[0]:,.0f}"])
        lines.append([f"Gibbs-{name} first better than ADF after sweep", "about 3", sweeps])
    show("What the figures say", ["what", "paper", "ours"], lines)


def _figure(curves: dict[str, np.ndarray], firsts: dict[str, np.ndarray]) -> Any:
    figure = new_figure(15, 4.5)
    panels = figure.subplots(1, 3)
    for name, first in firsts.items():
        curve = curves[f"EP-{name}, rule of the paper"]
        n = np.append(np.arange(1, PARTS) / PARTS, np.arange(1, curve.shape[1] + 1))
        whole = np.concatenate([first[:, :-1], curve], axis=1)  # the first lap ends with a tidying
        for axes, what in zip(panels[[0, 2]], (0, 1), strict=True):
            mean, spread = whole[:, :, what].mean(axis=0), whole[:, :, what].std(axis=0)
            axes.plot(n, mean, color=COLOURS[name], label=f"EP-{name}")
            axes.fill_between(n, mean - spread, mean + spread, color=COLOURS[name], alpha=0.2)
    for name, curve in curves.items():
        rule = "--" if name.startswith("Gibbs") else ":" if "0.1" in name else "-"
        colour = COLOURS["IG" if "-IG" in name else "DP"]
        n = np.arange(1, curve.shape[1] + 1)
        panels[1].plot(n, curve[:, :, 0].mean(axis=0), rule, color=colour, label=name)
    for axes in panels[[0, 2]]:
        axes.axvline(1.0, color="black", linewidth=0.8)  # the end of ADF
    panels[0].set(xlim=(0, 10), ylabel="held-out log likelihood")
    panels[1].set(xscale="log", ylabel="held-out log likelihood")
    panels[2].set(ylabel="number of clusters")
    for axes in panels:
        axes.set_xlabel("laps")
        axes.legend(fontsize=8)
    return figure


if __name__ == "__main__":
    typer.run(main)
