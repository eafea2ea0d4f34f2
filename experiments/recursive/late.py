"""A cluster that comes late: is it found by every algorithm that sees each row once?

Some rows of A, then 40 of B; the plane, variance 1, means of variance 100, DP(1). The paper's
public code gives the mass of a new cluster to a slot whose parameters come from an old row, and
lets A take all of B at a distance of 8 standard deviations.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import typer
from matplotlib.figure import Figure
from sklearn.metrics import adjusted_rand_score

import evermix as em
from experiments.common import new_figure, save, show
from experiments.recursive.data import Data
from experiments.recursive.runs import ONLINE, Algorithm, by_engine, labels_when_met

__all__ = ["main"]

BEFORE, LATE = (5, 20, 50, 100, 200), 40  # rows of A, and of B
DISTANCES = (4.0, 4 * 2**0.5, 6.0, 8.0, 12.0)  # standard deviations; the second: 4 on either axis
ALPHA, MEAN_VARIANCE = 1.0, 100.0
# DP-means derives a penalty of 13.8, which 0.1 % of the rows of a cluster exceed; 0.25 % exceed 12.
ALGORITHMS = [*ONLINE, Algorithm("DPMeans(12)", partial(by_engine, em.DPMeans(12.0)), "C4--")]


class Late(NamedTuple):
    """What was seen at one distance, by rows of A (5,).

    Attributes
    ----------
    apart : list of float
        Share of runs in which no B is in a cluster that holds an A.
    ari : list of float
        Mean adjusted Rand index of A and B and the labels that rows got when they were met.
    ari_after : list of float
        The same for labels that the rows get when they are asked for again after the last one.
    """

    apart: list[float]
    ari: list[float]
    ari_after: list[float]


def one_after_another(before: int, distance: float, seed: int) -> Data:
    """Return rows of A about the origin, then rows of B about a point at this distance."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], [before, LATE])
    X = rng.standard_normal((len(labels), 2))
    X[:, 0] += distance * labels
    return Data(X, labels, em.FixedGaussian(variance=1.0, mean_variance=MEAN_VARIANCE))


def study(algorithm: Algorithm, distance: float, seeds: int) -> Late:
    """Return what an algorithm makes of B at this distance."""
    found = Late([], [], [])
    for before in BEFORE:
        runs = []
        for seed in range(seeds):
            data = one_after_another(before, distance, seed)
            fitted = algorithm.learn(data, ALPHA, seed)
            labels = labels_when_met(fitted, data)
            apart = not np.isin(labels[before:], labels[:before]).any()
            both = (labels, fitted.predict(data.X))
            runs.append([apart, *(adjusted_rand_score(data.labels, each) for each in both)])
        for values, mean in zip(found, np.mean(runs, axis=0), strict=True):
            values.append(float(mean))
    return found


def main(seeds: int = 20, quick: bool = False) -> None:
    """Tell how often B is found; --quick has 3 seeds."""
    seeds = 3 if quick else seeds
    found = {
        algorithm.name: {distance: study(algorithm, distance, seeds) for distance in DISTANCES}
        for algorithm in ALGORITHMS
    }
    for title, field, summary in (
        ("Share of runs in which no B is with an A (least by rows of A)", "apart", min),
        ("ARI of labels when met (mean by rows of A)", "ari", np.mean),
        ("ARI of labels after the last row (mean by rows of A)", "ari_after", np.mean),
    ):
        lines = [
            [name, *(f"{summary(getattr(late[distance], field)):.3f}" for distance in DISTANCES)]
            for name, late in found.items()
        ]
        show(title, ["algorithm", *(f"{d:.3g} s.d." for d in DISTANCES)], lines)
    numbers = {
        name: {f"{distance:.3g}": late._asdict() for distance, late in by_distance.items()}
        for name, by_distance in found.items()
    }
    save("recursive/late", _figure(found), numbers)


def _figure(found: dict[str, dict[float, Late]]) -> Figure:
    figure = new_figure(3.5 * len(DISTANCES))
    for axes, distance in zip(figure.subplots(1, len(DISTANCES)), DISTANCES, strict=True):
        for algorithm in ALGORITHMS:
            late = found[algorithm.name][distance]
            axes.plot(BEFORE, late.ari, algorithm.style, label=algorithm.name)
        axes.set(xlabel="rows before", ylabel="ARI", title=f"{distance:.3g} s.d.", ylim=(0, 1.03))
    axes.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    typer.run(main)
