"""Data with power laws (section 5.1, Figure 2): does it pay that sigma is learnt?

A hierarchical Pitman-Yor topic model makes documents of 100 words at three times, of which 24 each
are learnt. Half of the words of held-out documents are foretold. The paper holds out 6 of each
time; 900 words tell little, so we draw more. Models with sigma are held against those of gamma
processes, whose sigma is 0, on the same data sets.
"""

from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure

from experiments.common import mean_and_error, new_figure, save, show, with_error
from experiments.dependent.data import BETA, pitman_yor
from experiments.dependent.runs import perplexities

__all__ = ["main"]

PAIRS = {"HMNGG": "HMNGP", "HTNGG": "HTNGP"}  # with sigma, and without
MODELS = [name for pair in PAIRS.items() for name in pair]


def main(
    seeds: int = 10,
    held_out: int = 100,
    burn_in: int = 2000,
    draws: int = 1000,
    quick: bool = False,
) -> None:
    """Reproduce Figure 2 on several data sets; --quick has two of them, and 100 + 100 sweeps."""
    seeds, burn_in, draws = (2, 100, 100) if quick else (seeds, burn_in, draws)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in MODELS}
    for seed in range(seeds):
        data, called = pitman_yor(seed, held_out), f"synthetic{seed}-{held_out}"
        for name in MODELS:
            run = perplexities(called, *data, name, 0, burn_in, draws, alpha=BETA)
            run["held_out"] = -run["held_out_words"] * np.log(run["test"])
            found[name].append(run)
        print(f"data set {seed}: done", flush=True)
    _show(found, seeds)
    place = "dependent/quick/synthetic" if quick else "dependent/synthetic"
    save(place, _figure(found), found)


def _show(found: dict[str, list[dict[str, Any]]], seeds: int) -> None:
    lines = []
    for name, runs in found.items():
        cells = [_values(runs, what) for what in ("held_out", "sigma", "sigma0", "n_topics")]
        digits = (0, 2, 2, 1)
        texts = [with_error(mean_and_error(c), d) for c, d in zip(cells, digits, strict=True)]
        lines.append([name, *texts, f"{_values(runs, 'seconds').mean():.0f}"])
    columns = ["model", "held-out log likelihood", "sigma", "sigma0", "topics", "s"]
    show(f"Power laws, mean of {seeds} data sets (± standard error)", columns, lines)
    lines = []
    for first, second in (*PAIRS.items(), ("HTNGG", "HMNGG")):
        gain = _values(found[first], "held_out") - _values(found[second], "held_out")
        lines.append(
            [
                f"{first} - {second}",
                "> 0",
                with_error(mean_and_error(gain), 1),
                f"{(gain > 0).sum()}",
            ]
        )
    columns = ["held-out log likelihood", "paper", "ours", f"positive, of {seeds}"]
    show("Differences on the same data", columns, lines)
    print("The paper finds sigma around 0.2, and does not say at which level.")


def _values(runs: list[dict[str, Any]], what: str) -> np.ndarray:
    return np.array([run[what] for run in runs])


def _figure(found: dict[str, list[dict[str, Any]]]) -> Figure:
    figure = new_figure(9.0)
    scores, sigmas = figure.subplots(1, 2)
    base = _values(found["HMNGP"], "held_out")
    for place, runs in enumerate(found.values()):
        scores.plot(np.full(len(runs), place), _values(runs, "held_out") - base, "o", mfc="none")
        sigmas.plot(np.full(len(runs), place), _values(runs, "sigma"), "o", mfc="none", color="C0")
        sigmas.plot(np.full(len(runs), place), _values(runs, "sigma0"), "x", color="C1")
    scores.axhline(0.0, color="black", linewidth=0.8)
    scores.set_ylabel("held-out log likelihood, less that of HMNGP")
    sigmas.set_ylabel("mean sigma of documents (o), of topics (x)")
    for axes in (scores, sigmas):
        axes.set_xticks(range(len(found)), list(found))
    return figure


if __name__ == "__main__":
    typer.run(main)
