"""Abstracts in time order (section 4.4, Figures 4 and 5; supplement, Figure 3).

They stand in for the New York Times: 145,911 dated abstracts, the 7,841 words of largest total
count, 5,000 documents held out, the other 140,911 learnt in one pass. Hyperparameters are the
paper's for its corpus: Dirichlet 0.5, NGGP(100, 0.5, 100) (called IG) and DP(1000).
"""

import time
from typing import Any, NamedTuple

import numpy as np
import typer
from scipy import sparse

import evermix as em
from experiments.common import counts, new_figure, resident_memory, save, show, vocabulary

__all__ = ["Part", "main", "stream_and_held_out"]

WORDS, HELD_OUT, STEP = 7_841, 5_000, 5_000
PRIORS = {"IG": em.NGGP(a=100.0, sigma=0.5, tau=100.0), "DP": em.DP(alpha=1000.0)}
ENGINES = {"defaults": em.ADF(), "paper": em.ADF(birth=0.5, rule="paper", merge=None)}
STYLES = {"defaults": "-", "paper": "--"}
COLOURS = {"IG": "tab:red", "DP": "tab:cyan"}


class Part(NamedTuple):
    """What is seen after another STEP documents."""

    n: int
    K: int
    held_out: float
    microseconds: float  # per document
    megabytes: float


class Run(NamedTuple):
    """One pass: what was seen along the way, weights in decreasing order, words of clusters."""

    parts: list[Part]
    weights: list[float]
    topics: list[list[str]]


def stream_and_held_out() -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Return documents in time order, held-out documents, and the words."""
    X, words = counts("abstracts_stream/stream.npz"), vocabulary("abstracts_stream/vocab.txt")
    kept = np.sort(np.argsort(-X.sum(axis=0), kind="stable")[:WORDS])
    held = np.random.default_rng(0).choice(X.shape[0], HELD_OUT, replace=False)
    X = X[:, kept].astype(np.float64)
    return X[np.setdiff1d(np.arange(X.shape[0]), held)], X[held], words[kept]


def stream(
    mix: em.Mixture, train: sparse.csr_array, test: sparse.csr_array, documents: int
) -> list[Part]:
    """Learn the stream and look at the model after every STEP documents."""
    parts = []
    mix.partial_fit(train[:1])  # compiles, or loads what was compiled
    mix.score_samples(test[:1])
    for start in range(1, documents, STEP):
        rows = train[start : min(start + STEP, documents)]
        began = time.perf_counter()
        mix.partial_fit(rows)
        seconds = time.perf_counter() - began
        held_out = float(mix.score_samples(test).sum())
        n, speed = start + rows.shape[0], 1e6 * seconds / rows.shape[0]
        parts.append(Part(n, mix.n_clusters_, held_out, speed, resident_memory()))
    return parts


def top_words(mix: em.Mixture, words: np.ndarray, clusters: int = 4) -> list[list[str]]:
    """Return the words that the heaviest clusters use most beyond their share of the stream."""
    tally = mix.state_.tally
    eta = mix.model_.family.posterior(tally.stats, tally.mass)[:, :-1]
    share = eta / eta.sum(axis=1, keepdims=True)
    lift = share * np.log(share / (eta.sum(axis=0) / eta.sum()))
    heaviest = np.argsort(-mix.weights_)[:clusters]
    return [words[np.argsort(-lift[k])[:5]].tolist() for k in heaviest]


def main(documents: int = 140_911, quick: bool = False) -> None:
    """Reproduce Figures 4 and 5 on the stand-in; --quick streams 10,000 documents."""
    train, test, words = stream_and_held_out()
    documents = min(10_001 if quick else documents, train.shape[0])
    runs = {}
    for rule, engine in ENGINES.items():
        for name, prior in PRIORS.items():
            mix = em.Mixture(family=em.Multinomial(alpha=0.5), prior=prior, engine=engine)
            parts = stream(mix, train, test, documents)
            weights = np.sort(mix.weights_)[::-1].tolist()
            runs[name, rule] = Run(parts, weights, top_words(mix, words))
    _show_streams(runs)
    _show_ends(runs)
    numbers = {
        f"{name}, {rule}": run._asdict() | {"parts": [part._asdict() for part in run.parts]}
        for (name, rule), run in runs.items()
    }
    save("streaming/abstracts", _figure(runs), numbers)


def _show_streams(runs: dict[tuple[str, str], Run]) -> None:
    both = [runs[name, "defaults"].parts for name in PRIORS]
    lines = []
    for pair in zip(*both, strict=True):
        n = pair[0].n
        if n % 20_000 == 1 or pair[0] is both[0][-1]:
            cells = ("held_out", "K", "microseconds", "megabytes")
            lines.append([f"{n:,}", *(f"{getattr(p, c):,.0f}" for c in cells for p in pair)])
    columns = ["documents", "log lik.: IG", "DP", "K: IG", "DP", "µs each: IG", "DP", "MB", "MB"]
    show("Abstracts, ours (defaults; 5,000 documents held out)", columns, lines)


def _show_ends(runs: dict[tuple[str, str], Run]) -> None:
    lines = []
    for rule in ENGINES:
        ig, dp = (runs[name, rule].parts[-1] for name in PRIORS)
        lines.append([rule, "log lik.", "IG > DP", f"{ig.held_out:,.0f}, {dp.held_out:,.0f}"])
        lines.append([rule, "K", "IG > DP", f"{ig.K}, {dp.K}"])
    show("After the stream", ["engine", "what", "paper (New York Times)", "ours: IG, DP"], lines)
    rows = [
        [name, str(j + 1), ", ".join(words)]
        for name in PRIORS
        for j, words in enumerate(runs[name, "defaults"].topics)
    ]
    show("Heaviest clusters (defaults)", ["prior", "cluster", "words"], rows)


def _figure(runs: dict[tuple[str, str], Run]) -> Any:
    figure = new_figure(15)
    panels = figure.subplots(1, 3)
    for (name, rule), run in runs.items():
        look = {"color": COLOURS[name], "linestyle": STYLES[rule], "label": f"{name}, {rule}"}
        n = [part.n for part in run.parts]
        panels[0].plot(n, [part.held_out for part in run.parts], **look)
        panels[1].plot(n, [part.K for part in run.parts], **look)
        panels[2].loglog(np.arange(1, len(run.weights) + 1), run.weights, **look)
    panels[0].set(xlabel="documents", ylabel="held-out log likelihood")
    panels[1].set(xlabel="documents", ylabel="number of clusters")
    panels[2].set(xlabel="rank", ylabel="weight of the cluster")
    panels[2].legend()
    return figure


if __name__ == "__main__":
    typer.run(main)
