"""Topics over time (section 5.2, Figure 3): shares of twelve topics, as found and as predicted.

The share of a topic is that among all words of a year; the paper's is among those of its region.
Topics are drawn at random from those that have at least a hundredth of the words of some year.

What a year tells of topics is the mean divergence of its shares from those of all years, in nats.
It is as much as times could gain in the log perplexity of documents of which nothing is known.
"""

from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure
from scipy.special import rel_entr

from experiments.common import new_figure, remember, save, show
from experiments.dependent.data import CORPORA, Corpus
from experiments.dependent.runs import MODELS, chosen, fitted

__all__ = ["main"]

SHOWN, WORDS = 12, 6
LEAST = 0.01  # share of the words of some year


def main(
    corpus: str = "nips0-12",
    model: str = "HMNGG,HTNGG",
    burn_in: int = 2000,
    draws: int = 1000,
    quick: bool = False,
) -> None:
    """Reproduce Figure 3; --quick makes 20 + 20 sweeps over the smallest corpus."""
    if quick:
        corpus, burn_in, draws = "aistats2007_2012", 20, 20
    (name,) = chosen(corpus, list(CORPORA))
    documents, found = CORPORA[name](), {}
    for one in chosen(model, list(MODELS)):
        settings = {"corpus": name, "model": one, "burn_in": burn_in, "draws": draws}
        found[one] = remember(
            f"dependent/runs/evolution-{name}-{one}",
            settings,
            lambda: _learn(one, documents, burn_in, draws),  # noqa: B023
        )
        _show(f"{name}, {one}", found[one])
    lines = [
        [
            one,
            *(f"{_roughness(run[what]):.3f}" for what in ("found", "predicted")),
            f"{_told(run['found']):.3f}",
            f"{run['seconds']:.0f}",
        ]
        for one, run in found.items()
    ]
    columns = ["model", "words", "predicted", "given a year", "s"]
    show("Change of shares from year to year, summed over topics", columns, lines)
    place = "dependent/quick/evolution" if quick else f"dependent/evolution-{name}"
    save(place, _figure(found), found)


def _learn(model: str, documents: Corpus, burn_in: int, draws: int) -> dict[str, Any]:
    topics, seconds = fitted(documents, MODELS[model], burn_in, draws, seed=0)
    return {
        "times": topics.times_.tolist(),
        "found": topics.evolution_.tolist(),
        "predicted": topics.predicted_evolution_.tolist(),
        "regions": topics.regions_.tolist(),
        "top_words": topics.top_words(WORDS, documents.words),
        "seconds": seconds,
    }


def _shown(run: dict[str, Any]) -> np.ndarray:
    """Return the numbers of topics to show, those of most words first."""
    large = np.flatnonzero(np.array(run["found"]).max(axis=0) >= LEAST)
    n = min(SHOWN, len(large))
    return np.sort(np.random.default_rng(0).choice(large, size=n, replace=False))


def _show(title: str, run: dict[str, Any]) -> None:
    shares = 100 * np.array(run["found"])
    lines = [
        [" ".join(run["top_words"][k]), *(f"{share:.1f}" for share in shares[:, k])]
        for k in _shown(run)
    ]
    columns = ["topic", *(f"{year % 100:02d}" for year in run["times"])]
    show(f"{title}: share of words in percent, {shares.shape[1]} topics in all", columns, lines)


def _roughness(shares: list[list[float]]) -> float:
    return float(np.abs(np.diff(np.array(shares), axis=0)).sum(axis=1).mean())


def _told(shares: list[list[float]]) -> float:
    shares = np.array(shares)
    return float(rel_entr(shares, shares.mean(axis=0)).sum(axis=1).mean())


def _figure(found: dict[str, dict[str, Any]]) -> Figure:
    figure = new_figure(13.0, 5.0 * len(found))
    parts = figure.subfigures(len(found), 1, squeeze=False).ravel()
    for part, (model, run) in zip(parts, found.items(), strict=True):
        part.suptitle(model)
        panels, shares = np.ravel(part.subplots(3, 4)), np.array(run["found"])
        predicted, shown = np.array(run["predicted"]), _shown(run)
        for axes, k in zip(panels, shown, strict=False):
            axes.plot(run["times"], shares[:, k], color="tab:blue", label="words")
            axes.plot(run["times"], predicted[:, k], color="tab:red", label="predicted")
            axes.set_title(" ".join(run["top_words"][k][:4]), fontsize=8)
            axes.set_ylim(bottom=0.0)
            axes.tick_params(labelsize=7)
        for axes in panels[len(shown) :]:
            axes.set_axis_off()
        panels[0].legend(fontsize=7)
    return figure


if __name__ == "__main__":
    typer.run(main)
