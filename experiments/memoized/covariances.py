"""Which of the true edges a mixture has found: Figure 2, bottom."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

import evermix as em
from experiments.common import new_figure
from experiments.memoized.data import edge_covariances

__all__ = ["align", "draw"]

CLOSE = 0.1  # distance, relative to the true covariance, within which a cluster is comparable


def align(mix: em.Mixture) -> dict[str, Any]:
    """Return the clusters that are nearest to the true edges, one for each, as JSON-ready numbers.

    ``covariances`` (8, 25, 25) and ``weights`` (8,) are null where there is none comparable;
    ``edges`` counts the others.
    """
    truth, tally = edge_covariances(), mix.tally_
    D = truth.shape[1]
    covariances = tally.stats.reshape(-1, D, D) / np.maximum(tally.mass, 1.0)[:, None, None]
    apart = np.linalg.norm(truth[:, None] - covariances[None], axis=(2, 3))
    apart /= np.linalg.norm(truth, axis=(1, 2))[:, None]
    matched = dict(zip(*linear_sum_assignment(apart), strict=True))
    found = [matched.get(e) for e in range(len(truth))]
    found = [k if k is not None and apart[e, k] < CLOSE else None for e, k in enumerate(found)]
    weights = tally.mass / tally.mass.sum()
    return {
        "edges": sum(k is not None for k in found),
        "weights": [None if k is None else float(weights[k]) for k in found],
        "covariances": [None if k is None else covariances[k].round(5).tolist() for k in found],
    }


def draw(shown: dict[str, dict[str, Any]]) -> Figure:
    """Draw the true covariances, and those that one run of each method has found."""
    truth = edge_covariances()
    rows = {"truth": {"covariances": truth, "weights": [1 / len(truth)] * len(truth)}, **shown}
    figure = new_figure(1.2 * len(truth) + 1.5, 1.35 * len(rows))
    grid = figure.subplots(len(rows), len(truth), squeeze=False)
    largest = np.abs(truth).max()
    for line, (name, run) in zip(grid, rows.items(), strict=True):
        line[0].set_ylabel(name, size=7, rotation=0, ha="right", va="center")
        for axes, covariance, weight in zip(line, run["covariances"], run["weights"], strict=True):
            axes.set_xticks([])
            axes.set_yticks([])
            if covariance is None:
                axes.text(0.5, 0.5, "X", ha="center", va="center", size=20)
                continue
            axes.imshow(covariance, cmap="gray", vmin=-largest, vmax=largest)
            axes.set_xlabel(f"{weight:.2f}", size=7)
    return figure
