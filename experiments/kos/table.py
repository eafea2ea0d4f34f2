"""KOS blog posts (section 4.3, Table 1): one pass, held-out log likelihood and number of clusters.

A fifth of the 3,430 posts is held out; the rest is learnt once in each of 20 random orders.
Hyperparameters are the paper's: Dirichlet 0.1, NGGP(10, 0.5, 100) (called IG) and DP(100).
"""

from typing import Any, NamedTuple

import numpy as np
import typer
from scipy import sparse

import evermix as em
from experiments.common import counts, new_figure, save, show

__all__ = ["main"]

HELD_OUT = 686
IG, DP = em.NGGP(a=10.0, sigma=0.5, tau=100.0), em.DP(alpha=100.0)
PAPER = em.ADF(birth=0.5, rule="paper", merge=None)


class Row(NamedTuple):
    """One line of the table; the paper's values are (mean, standard error)."""

    name: str
    prior: Any
    engine: em.ADF
    paper_score: tuple[float, float] | None = None
    paper_clusters: tuple[float, float] | None = None


ROWS = [
    Row("ADF-IG, rule of the paper", IG, PAPER, (-345_588, 159), (92, 0.18)),
    Row("ADF-DP, rule of the paper", DP, PAPER, (-346_023, 165), (80, 0.17)),
    Row("ADF-IG, defaults", IG, em.ADF()),
    Row("ADF-IG, defaults, no merges", IG, em.ADF(merge=None)),
    Row("ADF-IG, birth 0.1, no merges", IG, em.ADF(birth=0.1, merge=None)),
    Row("ADF-IG, birth 0.01, no merges", IG, em.ADF(birth=0.01, merge=None)),
    Row("ADF-DP, defaults", DP, em.ADF()),
]


def split(X: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the documents to learn and the held-out ones."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    return X[order[HELD_OUT:]], X[order[:HELD_OUT]]


def run(row: Row, train: sparse.csr_array, test: sparse.csr_array, seed: int) -> tuple[float, int]:
    """Return the held-out log likelihood and K after one pass in a random order."""
    order = np.random.default_rng(seed).permutation(train.shape[0])
    mix = em.Mixture(family=em.Multinomial(alpha=0.1), prior=row.prior, engine=row.engine)
    mix.fit(train[order])
    return float(mix.score_samples(test).sum()), mix.n_clusters_


def main(orders: int = 20, quick: bool = False) -> None:
    """Reproduce the ADF rows of Table 1; --quick runs two orders."""
    train, test = split(counts("kos/kos.npz"))
    seeds = range(2 if quick else orders)
    scores, clusters = {}, {}
    for row in ROWS:
        runs = np.array([run(row, train, test, seed) for seed in seeds])
        scores[row.name], clusters[row.name] = runs.T
    lines = [
        [
            row.name,
            _with_error(row.paper_score),
            _with_error(_mean(scores[row.name])),
            _with_error(row.paper_clusters, 1),
            _with_error(_mean(clusters[row.name]), 1),
        ]
        for row in ROWS
    ]
    columns = ["method", "log lik.: paper", "log lik.: ours", "K: paper", "K: ours"]
    show(f"KOS, one pass, mean of {len(seeds)} orders (± standard error)", columns, lines)
    print("The paper's split is not known, so its log likelihoods are of other held-out posts.")
    numbers = {
        name: {"held_out": scores[name].tolist(), "K": clusters[name].tolist()} for name in scores
    }
    save("kos/table", _figure(scores, clusters), numbers)


def _mean(values: np.ndarray) -> tuple[float, float]:
    return values.mean(), values.std(ddof=1) / np.sqrt(len(values))


def _with_error(value: tuple[float, float] | None, digits: int = 0) -> str | None:
    return None if value is None else f"{value[0]:,.{digits}f} ± {value[1]:,.{digits}f}"


def _figure(scores: dict[str, np.ndarray], clusters: dict[str, np.ndarray]) -> Any:
    figure = new_figure(12)
    panels = figure.subplots(1, 2)
    titles = ["held-out log likelihood", "number of clusters"]
    for axes, title, values in zip(panels, titles, [scores, clusters], strict=True):
        axes.boxplot(list(values.values()), orientation="horizontal", tick_labels=list(values))
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.locator_params(axis="x", nbins=5)
    for place, row in enumerate(ROWS, start=1):
        if row.paper_clusters is not None:
            panels[1].plot(row.paper_clusters[0], place, "r*", label="paper" if place == 1 else "")
    panels[1].legend()
    panels[1].set_yticklabels([])
    return figure


if __name__ == "__main__":
    typer.run(main)
