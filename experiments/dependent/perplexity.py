"""Table 1 (section 5.2): perplexities of topic models, with and without times.

A fifth of the documents is held out, the same ones in every run. Half of the words of each of them
tell its topics, the others are foretold; probabilities are averaged over draws inside the log. In
the paper runs have 2000 sweeps of burn-in and 1000 draws, and there are ten of each. Topics have
Dirichlet 0.3 words, and everything else is learnt.

MNGG and TNGG have no hierarchy: every document is a time of its own, and there are 20 regions.
"""

from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure

from experiments.common import new_figure, save, show
from experiments.dependent.data import CORPORA, split
from experiments.dependent.runs import MODELS, chosen, perplexities

__all__ = ["main"]

PAPER = {  # train and test perplexity of two of its corpora, and their deviations
    "HDP": {"TPAMI": "671 ± 6, 1221 ± 6", "NIPS": "1813 ± 27, 1956 ± 18"},
    "HNGG": {"TPAMI": "671 ± 6, 1262 ± 11", "NIPS": "1713 ± 13, 1878 ± 11"},
    "HSNGG": {"TPAMI": "643 ± 3, 1237 ± 22", "NIPS": "1406 ± 5, 1679 ± 8"},
    "HMNGG": {"TPAMI": "608 ± 4, 1199 ± 10", "NIPS": "1366 ± 8, 1618 ± 5"},
    "HMNGP": {"TPAMI": "634 ± 10, 1208 ± 8", "NIPS": "1370 ± 3, 1634 ± 4"},
    "HTNGG": {"TPAMI": "642 ± 4, 1174 ± 9", "NIPS": "1377 ± 5, 1635 ± 3"},
    "MNGG": {"TPAMI": "644 ± 6, 1272 ± 12", "NIPS": "1612 ± 3, 1920 ± 5"},
    "TNGG": {"TPAMI": "701 ± 38, 1327 ± 3", "NIPS": "2990 ± 57, 3231 ± 2"},
}
STANDS_FOR = {"neurips2007_2011": "TPAMI", "nips0-12": "NIPS"}
QUICK = 20, 20  # burn-in and draws


def main(
    corpus: str = "",
    model: str = "",
    runs: int = 10,
    burn_in: int = 2000,
    draws: int = 1000,
    quick: bool = False,
) -> None:
    """Reproduce Table 1 for the named corpora and models, separated by commas; all by default.

    --quick makes one run of 20 + 20 sweeps on the smallest corpus.
    """
    corpora, models = chosen(corpus, list(CORPORA)), chosen(model, list(MODELS))
    if quick:
        corpora, runs, (burn_in, draws) = corpora[:1], 1, QUICK
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in corpora:
        parts = split(CORPORA[name]())
        found[name] = {one: [] for one in models}
        for run in range(runs):  # so that all models have a run before any has two
            for one in models:
                result = perplexities(name, *parts, one, run, burn_in, draws)
                found[name][one].append(result)
                print(f"{name}, {one}, run {run}: {result['test']:.1f}", flush=True)
        _show(name, found[name], burn_in, draws)
    place = "dependent/quick/perplexity" if quick else "dependent/perplexity"
    save(place, _figure(found), found)


def _show(name: str, found: dict[str, list[dict[str, Any]]], burn_in: int, draws: int) -> None:
    stands_for = STANDS_FOR.get(name)
    lines = [
        [
            model,
            None if stands_for is None else PAPER.get(model, {}).get(stands_for),
            _spread(runs, "train"),
            _spread(runs, "test"),
            _spread(runs, "n_topics"),
            _spread(runs, "sigma", 3),
            _spread(runs, "sigma0", 3),
            _spread(runs, "seconds"),
        ]
        for model, runs in found.items()
    ]
    paper = "paper" if stands_for is None else f"paper, {stands_for}"
    columns = ["model", paper, "train", "test", "topics", "sigma", "sigma0", "s"]
    runs = len(next(iter(found.values())))
    show(f"{name}: perplexity, mean ± s.d. of {runs} runs of {burn_in} + {draws}", columns, lines)
    _show_gain(found)


def _show_gain(found: dict[str, list[dict[str, Any]]]) -> None:
    """Say by how much models over time predict better than the HDP."""
    if "HDP" not in found:
        return
    base = np.mean([run["test"] for run in found["HDP"]])
    for model, runs in found.items():
        if model != "HDP":
            ratio = np.mean([run["test"] for run in runs]) / base
            print(f"{model}: {100 * (ratio - 1):+.1f} % test perplexity against the HDP")


def _spread(runs: list[dict[str, Any]], what: str, digits: int = 0) -> str | None:
    if runs[0][what] is None:
        return None
    values = np.array([run[what] for run in runs])
    text = f"{values.mean():,.{digits}f}"
    return text if len(values) == 1 else f"{text} ± {values.std(ddof=1):,.{digits}f}"


def _figure(found: dict[str, dict[str, list[dict[str, Any]]]]) -> Figure:
    figure = new_figure(4.0 * len(found))
    for axes, (name, by_model) in zip(
        np.ravel(figure.subplots(1, len(found))), found.items(), strict=True
    ):
        for place, runs in enumerate(by_model.values()):
            axes.plot([run["test"] for run in runs], [place] * len(runs), "o", mfc="none")
        axes.set_yticks(range(len(by_model)), list(by_model))
        axes.invert_yaxis()
        axes.set(title=name, xlabel="test perplexity")
    return figure


if __name__ == "__main__":
    typer.run(main)
