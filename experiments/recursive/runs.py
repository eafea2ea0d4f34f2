"""What the experiments compare: the algorithms, named once, and sweeps over their one parameter.

It is called *strength* here: the concentration alpha of the Dirichlet process. DP-means takes its
penalty from alpha and the variances, or, where it is marked by lambda, has the strength itself as
the distance at which a cluster is opened, as in the paper.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

import evermix as em
from evermix.engines.base import Engine
from experiments.common import mean_and_error, new_figure, show, with_error
from experiments.recursive.data import Data

__all__ = [
    "GAUSSIAN",
    "ONLINE",
    "TEXT",
    "Algorithm",
    "Sweep",
    "Sweeps",
    "by_engine",
    "draw_sweeps",
    "labels_when_met",
    "plain",
    "show_sweeps",
    "sweep",
]

WARM = 20  # rows that are learnt before the clock runs, so that nothing is compiled on its time
MOST, PINNED = 100, 1e3  # of scikit-learn's mixture: clusters, and weight of the prior variance

Fitted: TypeAlias = em.Mixture | BayesianGaussianMixture
Learn: TypeAlias = Callable[[Data, float, int], Fitted]
"""From data, strength and seed to a fitted mixture."""


class Algorithm(NamedTuple):
    """Something that clusters, and how its line is drawn."""

    name: str
    learn: Learn
    style: str


class Sweep(NamedTuple):
    """What one algorithm found.

    Attributes
    ----------
    ami : array (data sets, strengths)
        Adjusted mutual information of the truth and the labels that rows got when they were met.
    K : array (data sets, strengths)
        Clusters that have rows, by these labels.
    ami_after, K_after : arrays (data sets, strengths)
        The same for labels that the rows get when they are asked for again after the last one.
    seconds : array (data sets, strengths)
        Wall time.
    """

    ami: np.ndarray
    K: np.ndarray
    ami_after: np.ndarray
    K_after: np.ndarray
    seconds: np.ndarray


Sweeps: TypeAlias = dict[str, Sweep]
"""What algorithms found, by their name."""


def by_engine(engine: Engine, data: Data, alpha: float, seed: int) -> Fitted:
    """Return the DP mixture that an engine learns."""
    prior = em.DP(alpha=alpha)
    mix = em.Mixture(family=data.family, prior=prior, engine=engine, random_state=seed)
    return mix.fit(data.X)


def by_distance(laps: int | None, data: Data, distance: float, seed: int) -> Fitted:
    """Return what DP-means learns, if rows further than this from all centres open a cluster."""
    return by_engine(em.DPMeans(penalty=distance**2, laps=laps), data, 1.0, seed)


def by_scikit_learn(data: Data, alpha: float, seed: int) -> Fitted:
    """Return scikit-learn's variational mixture, which gets the variances too."""
    family = data.family.candidates(data.X)[0]
    variance, spread = float(np.mean(family.variance)), float(np.mean(family.mean_variance))
    mix = BayesianGaussianMixture(
        n_components=min(len(data.labels) // 5, MOST),
        covariance_type="spherical",
        covariance_prior=PINNED * variance,  # a sum of squares, over as many degrees of freedom
        degrees_of_freedom_prior=PINNED,
        mean_prior=family.mean,
        mean_precision_prior=variance / spread,
        weight_concentration_prior=alpha,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mix.fit(data.X)


def labels_when_met(fitted: Fitted, data: Data) -> np.ndarray:
    """Return the labels (N,) that rows got when they were met, or at the end of many laps."""
    return fitted.labels_ if isinstance(fitted, em.Mixture) else fitted.predict(data.X)


# Each sees a row once, in order.
TEXT = [
    Algorithm("RCRP", partial(by_engine, em.RCRP()), "C3-"),
    Algorithm("SUGS", partial(by_engine, em.SUGS()), "C1-"),
    Algorithm("OnlineCRP", partial(by_engine, em.OnlineCRP()), "C2-"),
    Algorithm("ADF", partial(by_engine, em.ADF(lookback=0)), "C0-"),
]
ONLINE = [*TEXT, Algorithm("DPMeans", partial(by_engine, em.DPMeans()), "C4-")]
GAUSSIAN = [
    *ONLINE,
    Algorithm("DPMeans, lambda", partial(by_distance, 1), "C5-"),
    Algorithm("DPMeans, laps", partial(by_engine, em.DPMeans(laps=None)), "C4--"),
    Algorithm("DPMeans, laps, lambda", partial(by_distance, None), "C5--"),
    Algorithm("scikit-learn VB", by_scikit_learn, "C7--"),
]


def sweep(
    problems: Sequence[Data],
    algorithms: Sequence[Algorithm],
    strengths: Sequence[float],
    processes: int = 1,
) -> Sweeps:
    """Return what every algorithm finds in every data set at every strength, by its name."""
    found = {}
    with Parallel(n_jobs=processes) as workers:
        for algorithm in algorithms:
            calls = [
                delayed(_line)(algorithm, problem, strengths, seed)
                for seed, problem in enumerate(problems)
            ]
            runs = Sweep(*np.moveaxis(np.array(workers(calls)), 2, 0))
            found[algorithm.name] = runs
            mean, seconds = runs.ami.mean(), runs.seconds.sum()
            print(f"{algorithm.name}: AMI {mean:.3f}, {seconds:.1f} s", flush=True)
    return found


def _line(
    algorithm: Algorithm, data: Data, strengths: Sequence[float], seed: int
) -> list[tuple[float, ...]]:
    """Return the numbers of a :class:`Sweep` at every strength."""
    with threadpool_limits(1):
        first = data._replace(X=data.X[:WARM], labels=data.labels[:WARM])
        algorithm.learn(first, strengths[-1], seed)
        return [_run(algorithm, data, strength, seed) for strength in strengths]


def _run(algorithm: Algorithm, data: Data, strength: float, seed: int) -> tuple[float, ...]:
    began = time.perf_counter()
    fitted = algorithm.learn(data, strength, seed)
    seconds = time.perf_counter() - began
    met, after = labels_when_met(fitted, data), fitted.predict(data.X)
    return (
        adjusted_mutual_info_score(data.labels, met),
        len(np.unique(met)),
        adjusted_mutual_info_score(data.labels, after),
        len(np.unique(after)),
        seconds,
    )


def show_sweeps(title: str, found: Sweeps, public: dict[str, float] | None = None) -> None:
    """Print a line for every algorithm, beside the mean AMI of the paper's public code if known.

    AMI is the mean over strengths, and its standard error is that between data sets; then follows
    the range over strengths of the mean over data sets.
    """
    columns = ["algorithm", "AMI when met", "by strength", "K", "AMI after", "K", "ms"]
    lines = []
    for name, runs in found.items():
        ami = runs.ami.mean(axis=0)
        lines.append(
            [
                name,
                _mean(runs.ami),
                f"{ami.min():.2f} to {ami.max():.2f}",
                _span(runs.K),
                _mean(runs.ami_after),
                _span(runs.K_after),
                f"{1e3 * np.median(runs.seconds):,.1f}",
            ]
            + ([] if public is None else [public.get(name)])
        )
    show(title, columns + ([] if public is None else ["public code"]), lines)


def _mean(values: np.ndarray) -> str:
    """Write the mean of values (data sets, strengths), and its error if there are several sets."""
    by_set = values.mean(axis=1)
    return (with_error(mean_and_error(by_set), 3) if len(by_set) > 1 else f"{by_set[0]:.3f}") or ""


def _span(values: np.ndarray) -> str:
    """Write the range over strengths of the mean over data sets."""
    means = values.mean(axis=0)
    return f"{means.min():.1f} to {means.max():.1f}"


def draw_sweeps(
    found: Sweeps, algorithms: Sequence[Algorithm], strengths: Sequence[float], truth: int
) -> Figure:
    """Draw AMI, the number of clusters, and the time, against the strength."""
    figure = new_figure(13)
    panels = figure.subplots(1, 3)
    for algorithm in algorithms:
        runs = found[algorithm.name]
        for axes, values in zip(panels, (runs.ami, runs.K, 1e3 * runs.seconds), strict=True):
            axes.plot(strengths, values.mean(axis=0), algorithm.style, label=algorithm.name)
    panels[1].axhline(truth, color="black", lw=0.8, ls=":")
    for axes, what in zip(panels, ("AMI", "clusters", "ms per run"), strict=True):
        axes.set(xlabel="alpha (lambda for DP-means)", ylabel=what)
    for axes in panels[1:]:
        axes.set_yscale("log")
    panels[0].legend(fontsize=7)
    return figure


def plain(found: Sweeps) -> dict[str, dict[str, list[list[float]]]]:
    """Return the same as lists, for JSON."""
    return {
        name: {field: values.tolist() for field, values in runs._asdict().items()}
        for name, runs in found.items()
    }
