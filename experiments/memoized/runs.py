"""Learning a data set once or many times by any engine: what every table and figure is made of.

Runs are kept in ``results/memoized/runs``, so that an interrupted script goes on where it was;
delete them to compute anew. Every run has one thread; ``processes`` runs go on side by side.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from matplotlib.ticker import NullFormatter, StrMethodFormatter
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits

import evermix as em
from evermix.engines.batch import Batch
from evermix.engines.bound import bound_of_rows
from evermix.engines.variational.local import believe, summarise
from evermix.families.base import Family
from experiments.common import remember, show
from experiments.memoized.yardstick import yardstick

__all__ = [
    "ALPHA",
    "RATES",
    "WARM",
    "Accuracies",
    "Method",
    "Peer",
    "Problem",
    "Runs",
    "accuracies",
    "draw_traces",
    "fixed",
    "learn",
    "plain",
    "resolved",
    "show_methods",
    "span",
    "study",
]

Runs: TypeAlias = dict[str, list[dict[str, Any]]]
"""What :func:`learn` returned, by the name of the method."""

WARM = 500  # rows that are learnt before the clock runs, so that nothing is loaded on its time
ALPHA = 1.0  # concentration of the DP, everywhere
# (delay, kappa) of the stochastic baseline, called a, b and c in the paper.
RATES = {"a": (10.0, 0.5), "b": (100.0, 0.5), "c": (10.0, 0.9)}
# Laps after which the bound of an engine that does not know it is computed, for the curves.
LOOKS = {1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200}


class Problem(NamedTuple):
    """A data set and the family to learn it with.

    Attributes
    ----------
    name : str
    X : array (N, D) or CSR matrix (N, D)
    labels : int array (N,)
        The truth.
    family : Family
    look : callable of the fitted mixture, or None
        Returns further numbers to keep of every run, as a JSON-ready dict.
    offset : float
        What is subtracted from all bounds.
    """

    name: str
    X: Any
    labels: np.ndarray
    family: Family
    look: Callable[[em.Mixture], dict[str, Any]] | None = None
    offset: float = 0.0


class Peer(NamedTuple):
    """Figures of another program on the same data: words for a table."""

    bound: str
    K: str
    laps: str
    yardsticks: str


class Method(NamedTuple):
    """An engine under a name, how many seeds it gets, and the peer that it stands beside."""

    name: str
    engine: Any
    seeds: int
    peer: Peer | None = None


def fixed(engine: em.MemoizedVB) -> em.MemoizedVB:
    """Return memoized inference that keeps the clusters it begins with."""
    return replace(engine, births=False, merges=False, deletes=False)


def resolved(family: Family, X: Any) -> Family:
    """Return the family with its width and place set from the data."""
    return family.candidates(X)[0]


def study(problem: Problem, methods: list[Method], processes: int = 1) -> Runs:
    """Return the runs of every method, by its name."""
    jobs = [(method, seed) for method in methods for seed in range(method.seeds)]
    if processes > 1:  # they fill what `learn` remembers
        calls = [delayed(learn)(problem, method.engine, seed) for method, seed in jobs]
        Parallel(n_jobs=processes)(calls)
    found: Runs = {method.name: [] for method in methods}
    for method, seed in jobs:
        run = learn(problem, method.engine, seed)
        found[method.name].append(run)
        print(_line(f"{method.name}, seed {seed}", run), flush=True)
    return found


def learn(problem: Problem, engine: Any, seed: int) -> dict[str, Any]:
    """Return what an engine finds from one seed.

    ``bound`` and ``K`` after the fit, ``by_lap`` after laps of it (the number of the lap, the
    bound, K and the processor time so far), its ``laps``, ``seconds`` and ``yardsticks``; ``used``
    clusters that own rows, ``ari``, ``vote`` and ``matched`` (:func:`accuracies`) of their
    agreement with the truth.
    """
    settings = {
        "data": [problem.name, *problem.X.shape],
        "family": [type(problem.family).__name__, problem.family.to_spec()],
        "engine": [type(engine).__name__, engine.to_spec()],
        "seed": seed,
    }
    name = f"memoized/runs/{problem.name}-{type(engine).__name__}-{seed}"
    return remember(name, settings, lambda: _learn(problem, engine, seed))


def _learn(problem: Problem, engine: Any, seed: int) -> dict[str, Any]:
    unit = yardstick()
    mix = _mixture(problem, engine, seed)
    with threadpool_limits(1):
        _mixture(problem, replace(engine, laps=3), seed).fit(problem.X[:WARM])  # compiles moves too
        watch = _Watch(problem)
        mix.fit(problem.X, observers=[watch])
        seconds = watch.seconds()
    numbers = {
        "bound": mix.lower_bound_ - problem.offset,
        "K": mix.n_clusters_,
        "laps": watch.laps,
        "seconds": seconds,
        "yardsticks": seconds / unit,
        "used": len(np.unique(mix.labels_)),
        "ari": adjusted_rand_score(problem.labels, mix.labels_),
        "by_lap": watch.by_lap,
    }
    numbers |= accuracies(problem.labels, mix.labels_)._asdict()
    return numbers | (problem.look(mix) if problem.look else {})


def _mixture(problem: Problem, engine: Any, seed: int) -> em.Mixture:
    prior = em.DP(alpha=ALPHA)
    return em.Mixture(family=problem.family, prior=prior, engine=engine, random_state=seed)


class _Watch:
    """Follows a fit; what it does itself takes none of the fit's time."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.laps = 0
        self.by_lap: list[tuple[int, float, int, float]] = []
        self.began = time.process_time()

    def seconds(self) -> float:
        """Return the processor time of the fit so far."""
        return time.process_time() - self.began

    def __call__(self, mix: em.Mixture, info: em.Info) -> None:
        if info.rows:
            return
        self.laps += 1
        now = self.seconds()
        if "elbo" in info.scalars or self.laps in LOOKS:
            bound = info.scalars["elbo"] if "elbo" in info.scalars else _bound(mix, self.problem.X)
            self.by_lap.append((self.laps, bound - self.problem.offset, info.K, now))
        self.began += self.seconds() - now


def _bound(mix: em.Mixture, X: Any) -> float:
    """Return the bound of what a mixture believes in the middle of a fit, from all rows."""
    model, tally = mix.model_, mix.state_.tally
    batch = Batch(X, np.ones(X.shape[0]))
    said = summarise(model, believe(model, tally.mass, tally.stats), batch)
    base = model.family.log_base(X).sum()
    return bound_of_rows(model, tally.mass, tally.stats, said.log_norm.sum(), base)


class Accuracies(NamedTuple):
    """Share of rows that are in a cluster of their class.

    Attributes
    ----------
    vote : float
        Where each cluster is aligned to one class by majority vote of its members (section 4.2).
    matched : float
        Where each class has one cluster, and no cluster two classes (the best such matching).
    """

    vote: float
    matched: float


def accuracies(truth: np.ndarray, labels: np.ndarray) -> Accuracies:
    """Return how well labels (N,) agree with true classes (N,)."""
    shared = contingency_matrix(truth, labels)
    matched = shared[linear_sum_assignment(shared, maximize=True)]
    return Accuracies(
        float(shared.max(axis=0).sum() / len(truth)), float(matched.sum() / len(truth))
    )


def show_methods(title: str, methods: list[Method], found: Runs, peer: str = "") -> None:
    """Print what every method found, the least and the most of its runs, beside its peers."""
    columns = ["method", "bound (nats)", "median", "K", "laps", "yardsticks"]
    peers = [f"{peer}: bound", "K", "yardsticks"] if peer else []
    lines = []
    for method in methods:
        runs = found[method.name]
        line: list[Any] = [
            f"{method.name} ({len(runs)})",
            span([run["bound"] for run in runs]),
            f"{np.median([run['bound'] for run in runs]):,.0f}",
            span([run["K"] for run in runs]),
            span([run["laps"] for run in runs]),
            span([run["yardsticks"] for run in runs], 1),
        ]
        if peer:
            known = method.peer
            line += [known.bound, known.K, known.yardsticks] if known else [None] * 3
        lines.append(line)
    show(title, columns + peers, lines)


def span(values: list[float], digits: int = 0) -> str:
    """Write the least and the largest of some values, or the one that all are."""
    low, high = (f"{end(values):,.{digits}f}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def plain(found: Runs) -> Runs:
    """Return the runs without what is only drawn."""
    kept = {"bound", "K", "laps", "seconds", "yardsticks", "used", "ari"}
    kept |= {"vote", "matched", "by_lap"}
    return {
        name: [{key: run[key] for key in run if key in kept} for run in runs]
        for name, runs in found.items()
    }


def draw_traces(axes: Any, found: Runs, names: list[str], best: float) -> None:
    """Draw how far below the best bound every run of some methods is, lap by lap."""
    for number, name in enumerate(names):
        for seed, run in enumerate(found[name]):
            laps, bounds = np.array(run["by_lap"])[:, :2].T
            gap = np.maximum(best - bounds, 1.0)
            label = name if seed == 0 else None
            axes.plot(laps, gap, color=f"C{number}", lw=0.9, alpha=0.7, label=label)
    axes.set_yscale("log")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("laps")
    if not axes.yaxis_inverted():  # by another panel of the same scale
        axes.invert_yaxis()
    axes.legend(fontsize=7)


def _line(name: str, run: dict[str, Any]) -> str:
    where = f"bound {run['bound']:,.1f}, K {run['K']}, {run['laps']} laps"
    return f"{name}: {where}, {run['seconds']:.1f} s ({run['yardsticks']:.1f} yardsticks)"
