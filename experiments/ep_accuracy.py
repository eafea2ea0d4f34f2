"""How far EP is from the exact posterior, where that can be had by enumeration.

Eight points have 4,140 partitions. For each small data set and prior, the exact probability that
two points share a cluster stands beside that of EP, sum_k q_ik q_jk, and that of Gibbs, whose error
is noise.

EP has no room for two points that surely share a cluster, but not surely which. With a low birth
threshold, many clusters of the same content share the points, and pairs look less alike than they
are; with a high one, points gather in too few clusters, and pairs look too much alike.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import typer
from scipy import sparse

import evermix as em
from evermix.testing import set_partitions
from experiments.common import new_figure, save, show

__all__ = ["exact", "main", "soft"]

N, LAPS, TOL = 8, 50, 1e-6
PAIRS = np.triu_indices(N, 1)
PRIORS = {
    "DP(1)": em.DP(alpha=1.0),
    "NGGP(1, 0.25)": em.NGGP(a=1.0, sigma=0.25),
    "NGGP(1, 0.5)": em.NGGP(a=1.0, sigma=0.5),
    "NGGP(1, 0.75)": em.NGGP(a=1.0, sigma=0.75),
}


class Case(NamedTuple):
    """A kind of small data: its family, and how to draw N rows from two groups (N,)."""

    family: Any
    draw: Callable[[np.ndarray, np.random.Generator], Any]


def _words(length: int, share: float) -> Case:
    def draw(group: np.ndarray, rng: np.random.Generator) -> Any:
        first = rng.binomial(length, np.where(group, share, 1 - share))
        return sparse.csr_array(np.column_stack([first, length - first]).astype(float))

    return Case(em.Multinomial(alpha=0.5), draw)


def _points(family: Any, apart: float) -> Case:
    def draw(group: np.ndarray, rng: np.random.Generator) -> Any:
        return rng.normal(size=(N, 1)) + apart * (group[:, None] - 0.5)

    return Case(family, draw)


CASES = {
    "two words, clear": _words(20, 0.9),
    "two words, vague": _words(5, 0.7),
    "points, clear": _points(em.FixedGaussian(variance=1.0, mean_variance=9.0), 6.0),
    "points, vague": _points(em.FixedGaussian(variance=1.0, mean_variance=9.0), 2.0),
    "points, variance unknown": _points(em.Gaussian(mean=0.0, kappa=0.1, nu=4.0, scale=1.0), 4.0),
}


def engines(prior: Any) -> dict[str, em.EP]:
    """Return the settings to compare; the published rule needs birth >= sigma."""
    sigma = prior.sigma if isinstance(prior, em.NGGP) else 0.0
    return {
        "one lap": em.EP(laps=1, birth=0.1, merge=None),
        "expected": em.EP(laps=LAPS, birth=0.1, merge=None, tol=TOL),
        "expected, birth 0.5": em.EP(laps=LAPS, birth=0.5, merge=None, tol=TOL),
        "paper": em.EP(laps=LAPS, birth=max(0.5, sigma), rule="paper", merge=None, tol=TOL),
    }


def exact(model: em.Model, X: Any) -> np.ndarray:
    """Return the exact posterior probability (N, N) that two rows share a cluster."""
    partitions = np.array(list(set_partitions(N)))
    # A cluster is a set of rows: the bits of a number.
    sets = (np.arange(1, 2**N)[None, :] >> np.arange(N)[:, None]) & 1
    size = sets.sum(axis=0).astype(float)
    marginal = model.family.log_marginal(model.family.accumulate(X, sets.astype(float)), size)
    log_p = np.zeros(len(partitions))
    for p, labels in enumerate(partitions):
        clusters = np.bincount(labels, weights=2.0 ** np.arange(N)).astype(int) - 1
        log_p[p] = model.prior.log_eppf(size[clusters]) + marginal[clusters].sum()
    weight = np.exp(log_p - log_p.max())
    together = partitions[:, :, None] == partitions[:, None, :]
    return np.tensordot(weight / weight.sum(), together, axes=1)


def soft(mix: em.Mixture) -> np.ndarray:
    """Return sum_k q_ik q_jk (N, N) from the sites of EP."""
    (record,) = mix.state_.memo.values()
    ids = mix.lineage_.current(record["ids"])
    q = np.zeros((N, mix.lineage_.next_id))
    for i, (begin, end) in enumerate(zip(record["begin"], record["end"], strict=True)):
        for k, value in zip(ids[begin:end], record["q"][begin:end], strict=True):
            q[i, k] += value if k >= 0 else 0.0
    return q @ q.T


class Seen(NamedTuple):
    """The co-clustering (N, N) of EP, and whether it had settled."""

    together: np.ndarray
    settled: bool


def learn(case: Case, prior: Any, engine: em.EP, X: Any) -> Seen:
    """Return what EP says after its last lap."""
    seen = []

    def look(mix: em.Mixture, info: em.Info) -> None:
        # The end of a fit drops clusters that no row likes best; their share counts here.
        if info.rows == 0:
            seen.append(Seen(soft(mix), info.scalars["change"] <= TOL))

    em.Mixture(family=case.family, prior=prior, engine=engine).fit(X, observers=[look])
    return seen[-1]


def sample(case: Case, prior: Any, sweeps: int, X: Any) -> tuple[em.Model, np.ndarray]:
    """Return the model and the co-clustering (N, N) of Gibbs."""
    engine = em.Gibbs(sweeps=sweeps + 100, burn_in=100)
    mix = em.Mixture(family=case.family, prior=prior, engine=engine, random_state=0).fit(X)
    return mix.model_, mix.posterior_.co_clustering()


def main(draws: int = 5, sweeps: int = 5_000, quick: bool = False) -> None:
    """Compare EP with enumeration; --quick takes one draw of each data set, and 500 sweeps."""
    draws, sweeps = (1, 500) if quick else (draws, sweeps)
    where, truth = [], []
    found: dict[str, list[np.ndarray]] = {}
    settled: dict[str, list[bool]] = {}
    for kind, name, seed in product(CASES, PRIORS, range(draws)):
        case, prior, rng = CASES[kind], PRIORS[name], np.random.default_rng(seed)
        X = case.draw(rng.permutation(N) % 2 == 0, rng)
        model, gibbs = sample(case, prior, sweeps, X)
        where.append((kind, name))
        truth.append(exact(model, X)[PAIRS])
        for label, engine in engines(prior).items():
            seen = learn(case, prior, engine, X)
            found.setdefault(label, []).append(seen.together[PAIRS])
            settled.setdefault(label, []).append(seen.settled)
        found.setdefault("Gibbs", []).append(gibbs[PAIRS])
    right, values = np.array(truth), {label: np.array(v) for label, v in found.items()}
    _report(where, right, values, settled)
    numbers = {"exact": right.tolist(), **{label: v.tolist() for label, v in values.items()}}
    save("ep_accuracy", _figure(right, values), {"where": where, **numbers})


def _report(
    where: list[tuple[str, str]],
    truth: np.ndarray,
    found: dict[str, np.ndarray],
    settled: dict[str, list[bool]],
) -> None:
    """Print mean and largest absolute errors over pairs, by data set, by prior, and of all."""
    groups = {kind: [w[0] == kind for w in where] for kind in CASES}
    groups |= {name: [w[1] == name for w in where] for name in PRIORS}
    groups["all"] = [True] * len(where)
    lines = []
    for group, own in groups.items():
        errors = [np.abs(values - truth)[own] for values in found.values()]
        lines.append([group, *(f"{e.mean():.3f} ({e.max():.2f})" for e in errors)])
    shares = [f"{np.mean(v):.0%}" for label, v in settled.items() if label != "one lap"]
    lines.append([f"settled after {LAPS} laps", None, *shares, None])
    show("Co-clustering, mean (largest) absolute error over pairs", ["", *found], lines)


def _figure(truth: np.ndarray, found: dict[str, np.ndarray]) -> Any:
    figure = new_figure(3.2 * len(found), 3.4)
    panels = figure.subplots(1, len(found), sharey=True)
    for axes, (name, values) in zip(panels, found.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="black", linewidth=0.8)
        axes.plot(truth.ravel(), values.ravel(), ".", markersize=2)
        axes.set(title=name, xlabel="exact probability of sharing a cluster")
    return figure


if __name__ == "__main__":
    typer.run(main)
