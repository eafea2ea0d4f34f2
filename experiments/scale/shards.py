"""Models of four shards of the KOS posts, merged, beside one model of all posts.

The posts to learn are put into a random order and dealt to the shards; each shard is learnt alone
and the models are merged with ``em.merge``. One model learns all posts in the same order. The posts
held out are those of ``experiments.kos``. Hyperparameters are the paper's for this corpus:
Dirichlet 0.1, NGGP(10, 0.5, 100), and DP(100) for the variational engine.

    EVERMIX_DATA=data python -m experiments.scale.shards

Runs are kept in ``results/scale/runs``; delete them to compute anew.
"""

from typing import Any, NamedTuple

import numpy as np
import typer
from scipy import sparse

import evermix as em
from experiments.common import mean_and_error, new_figure, remember, save, show, with_error
from experiments.kos.runs import DP, FAMILY, IG, split

__all__ = ["main"]


class Method(NamedTuple):
    """An engine with its prior, and for how many orders of the posts it is run."""

    engine: Any
    prior: Any
    orders: int


METHODS = {
    "ADF": Method(em.ADF(), IG, 20),
    "EP": Method(em.EP(laps=20), IG, 5),
    "MemoizedVB": Method(em.MemoizedVB(laps=30), DP, 2),
}
LOSS = 0.5  # per cent of the held-out log likelihood that merging may cost


def main(shards: int = 4, orders: int = 0, only: str = "", quick: bool = False) -> None:
    """Compare merged models with one of all posts.

    --orders sets how many orders of the posts each engine sees, --only names the one engine to run;
    --quick is ADF in two orders.
    """
    only, orders = ("ADF", 2) if quick else (only, orders)
    methods = {name: method for name, method in METHODS.items() if only in ("", name)}
    posts, found = split(), {}
    for name, method in methods.items():
        found[name] = [
            _learn(name, method, posts, shards, seed) for seed in range(orders or method.orders)
        ]
        print(f"{name}: done", flush=True)
    _show_scores(found, shards)
    _show_clusters(found, shards)
    _show_losses(found)
    save(f"scale/shards-{shards}", _figure(found), found)


def _learn(
    name: str,
    method: Method,
    posts: tuple[sparse.csr_array, sparse.csr_array],
    shards: int,
    seed: int,
) -> dict[str, Any]:
    """Return held-out log likelihoods and numbers of clusters, in one random order of the posts."""
    train, test = posts
    engine, prior, _ = method

    def fitted(rows: np.ndarray) -> em.Mixture:
        mix = em.Mixture(family=FAMILY, prior=prior, engine=engine, random_state=seed)
        return mix.fit(train[rows])

    def learn() -> dict[str, Any]:
        order = np.random.default_rng(seed).permutation(train.shape[0])
        parts = [fitted(rows) for rows in np.array_split(order, shards)]
        models = {
            "one": fitted(order),
            "merged": em.merge(parts),
            "beside": em.merge(parts, threshold=np.inf),
            "shard": parts[0],
        }
        return {
            "held_out": {n: float(mix.score_samples(test).sum()) for n, mix in models.items()},
            "K": {n: mix.n_clusters_ for n, mix in models.items()},
            "K_shards": [part.n_clusters_ for part in parts],
        }

    settings = {"engine": engine.to_spec(), "prior": prior.to_spec(), "shards": shards}
    return remember(f"scale/runs/shards-{name}-{seed}", settings | {"seed": seed}, learn)


def _column(runs: list[dict[str, Any]], what: str, name: str) -> np.ndarray:
    return np.array([run[what][name] for run in runs])


def _losses(runs: list[dict[str, Any]], name: str) -> np.ndarray:
    """Return by how many per cent each run is worse than one model of all posts."""
    one = _column(runs, "held_out", "one")
    return 100 * (_column(runs, "held_out", name) / one - 1)


def _show_scores(found: dict[str, Any], shards: int) -> None:
    names = {"one": "one model", "merged": "merged", "beside": "beside", "shard": "one shard"}
    lines = [
        [engine, len(runs)]
        + [with_error(mean_and_error(_column(runs, "held_out", name))) for name in names]
        for engine, runs in found.items()
    ]
    title = f"KOS in {shards} shards: held-out log likelihood (± standard error)"
    show(title, ["engine", "orders", *names.values()], lines)


def _show_clusters(found: dict[str, Any], shards: int) -> None:
    lines = [
        [
            engine,
            f"{_column(runs, 'K', 'one').mean():.0f}",
            f"{np.mean([run['K_shards'] for run in runs]):.0f}",
            f"{_column(runs, 'K', 'beside').mean():.0f}",
            f"{_column(runs, 'K', 'merged').mean():.0f}",
        ]
        for engine, runs in found.items()
    ]
    columns = ["engine", "one model", "a shard", "all shards", "merged"]
    show(f"KOS in {shards} shards: number of clusters", columns, lines)


def _show_losses(found: dict[str, Any]) -> None:
    lines = []
    for engine, runs in found.items():
        loss = _losses(runs, "merged")
        mean = f"{loss.mean():+.2f}"
        # Orders differ in luck; the mean of one model over orders has little of it.
        usual = _column(runs, "held_out", "one").mean()
        worst = 100 * (_column(runs, "held_out", "merged").min() / usual - 1)
        within = f"{np.mean(loss < LOSS):.0%}"
        met = "yes" if loss.mean() < LOSS else "no"
        lines.append([engine, mean, f"{loss.max():+.2f}", f"{worst:+.2f}", within, met])
    columns = ["engine", "mean", "worst order", "worst to mean", f"orders < {LOSS}", "mean met"]
    show(f"Loss by merging, % of the log likelihood (wanted: below {LOSS})", columns, lines)


def _figure(found: dict[str, Any]) -> Any:
    figure = new_figure(10)
    losses, clusters = figure.subplots(1, 2)
    names = list(found)
    losses.boxplot([_losses(runs, "merged") for runs in found.values()], tick_labels=names)
    losses.axhline(LOSS, linestyle="--")
    losses.set_ylabel("loss by merging, % of the held-out log likelihood")
    for name, runs in found.items():
        clusters.scatter(_column(runs, "K", "one"), _column(runs, "K", "merged"), label=name)
    clusters.set(xlabel="clusters of one model", ylabel="clusters of the merged model")
    clusters.legend()
    return figure


if __name__ == "__main__":
    typer.run(main)
