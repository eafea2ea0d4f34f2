"""Streams that change, with and without forgetting.

Ten clusters in the plane, their means uniform in a square, standard deviation 0.5, 20,000 rows. In
the *moving* stream every mean takes a step of standard deviation 0.02 in each direction before
every row; in the *turnover* stream one cluster in every 2,000 rows goes and another one comes
elsewhere; the *still* one does not change. Rows are learnt in windows of 1,000; each window is
scored by the adjusted mutual information of the truth and the labels that its rows got.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import typer
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits

import evermix as em
from evermix.engines.base import Engine
from experiments.common import mean_and_error, new_figure, save, show, with_error

__all__ = ["main"]

ROWS, WINDOW = 20_000, 1000
CLUSTERS, SPREAD, DEVIATION = 10, 10.0, 0.5  # means lie within SPREAD of the origin
STEP, LIFE = 0.02, 2000  # of a mean before every row; rows between two turnovers
HALF_LIVES = (None, 60, 200, 1000)  # in rows

ENGINES: dict[str, Engine] = {
    "ADF": em.ADF(lookback=0),
    "SUGS": em.SUGS(merge=5.0),
    "OnlineCRP": em.OnlineCRP(merge=5.0),
    "RCRP": em.RCRP(),
    "DPMeans": em.DPMeans(),
}


class Stream(NamedTuple):
    """Rows (N, 2) and the clusters that they come from (N,)."""

    X: np.ndarray
    labels: np.ndarray


class Windows(NamedTuple):
    """What was seen in each window (W,): AMI, clusters alive at its end."""

    ami: list[float]
    K: list[int]


def moving(seed: int, step: float = STEP) -> Stream:
    """Return rows of clusters whose means walk at random."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-SPREAD, SPREAD, size=(CLUSTERS, 2))
    labels = rng.integers(CLUSTERS, size=ROWS)
    walk = np.cumsum(step * rng.standard_normal((ROWS, CLUSTERS, 2)), axis=0)
    means = start[labels] + walk[np.arange(ROWS), labels]
    return Stream(means + DEVIATION * rng.standard_normal((ROWS, 2)), labels)


def turnover(seed: int) -> Stream:
    """Return rows of clusters of which one is replaced now and then."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(-SPREAD, SPREAD, size=(CLUSTERS + ROWS // LIFE, 2))
    alive, labels = np.arange(CLUSTERS), np.empty(ROWS, dtype=int)
    for start in range(0, ROWS, LIFE):
        if start:
            alive[rng.integers(CLUSTERS)] = CLUSTERS - 1 + start // LIFE
        labels[start : start + LIFE] = rng.choice(alive, size=LIFE)
    return Stream(means[labels] + DEVIATION * rng.standard_normal((ROWS, 2)), labels)


STREAMS: dict[str, Callable[[int], Stream]] = {
    "moving": moving,
    "turnover": turnover,
    "still": partial(moving, step=0.0),
}


def watch(engine: Engine, stream: Stream, half_life: int | None, seed: int) -> Windows:
    """Learn a stream window by window."""
    family = em.FixedGaussian(variance=DEVIATION**2, mean_variance=SPREAD**2 / 3)
    forgetting = None if half_life is None else em.Exponential(half_life)
    mix = em.Mixture(family, em.DP(1.0), engine, forgetting, random_state=seed)
    seen = Windows([], [])
    for start in range(0, ROWS, WINDOW):
        some = slice(start, start + WINDOW)
        mix.partial_fit(stream.X[some])
        seen.ami.append(adjusted_mutual_info_score(stream.labels[some], mix.labels_))
        seen.K.append(mix.n_clusters_)
    return seen


def study(name: str, half_life: int | None, seeds: int) -> dict[str, list[Windows]]:
    """Return what each engine made of a kind of stream, by the seed."""
    with threadpool_limits(1):
        return {
            engine: [watch(how, STREAMS[name](s), half_life, s) for s in range(seeds)]
            for engine, how in ENGINES.items()
        }


def main(seeds: int = 5, quick: bool = False) -> None:
    """Tell how well streams that change are followed; --quick has 2 seeds."""
    seeds = 2 if quick else seeds
    jobs = [(name, half_life) for name in STREAMS for half_life in HALF_LIVES]
    done = Parallel(n_jobs=2)(delayed(study)(*job, seeds) for job in jobs)
    found = dict(zip(jobs, done, strict=True))
    columns = ["engine", *("no forgetting" if h is None else f"{h} rows" for h in HALF_LIVES)]
    for name in STREAMS:
        ami = [[e, *(_ami(found[name, h][e]) for h in HALF_LIVES)] for e in ENGINES]
        show(f"{name}: windowed AMI, by half-life", columns, ami)
        most = [[e, *(_most(found[name, h][e]) for h in HALF_LIVES)] for e in ENGINES]
        show(f"{name}: most clusters alive after any window; there are {CLUSTERS}", columns, most)
    numbers: dict[str, Any] = {
        f"{name} {half_life}": {e: [w._asdict() for w in runs] for e, runs in by_engine.items()}
        for (name, half_life), by_engine in found.items()
    }
    save("recursive/drift", _figure(found), numbers)


def _ami(runs: list[Windows]) -> str | None:
    return with_error(mean_and_error([np.mean(run.ami) for run in runs]), 3)


def _most(runs: list[Windows]) -> str:
    return str(max(max(run.K) for run in runs))


def _figure(found: dict[tuple[str, int | None], dict[str, list[Windows]]]) -> Figure:
    """Draw AMI and K against time, with and without forgetting, of the first engine."""
    figure, engine = new_figure(4.0 * len(STREAMS), 6.0), next(iter(ENGINES))
    for column, name in zip(figure.subplots(2, len(STREAMS)).T, STREAMS, strict=True):
        for half_life in HALF_LIVES:
            runs = found[name, half_life][engine]
            label = "no forgetting" if half_life is None else f"half-life {half_life}"
            for axes, field in zip(column, ("ami", "K"), strict=True):
                line = np.mean([getattr(run, field) for run in runs], axis=0)
                axes.plot(WINDOW * np.arange(1, len(line) + 1), line, label=label)
                axes.set(xlabel="rows", ylabel=f"{field} ({engine})", title=name)
    column[0].legend(fontsize=7)
    return figure


if __name__ == "__main__":
    typer.run(main)
