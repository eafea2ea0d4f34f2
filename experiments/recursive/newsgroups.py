"""20 Newsgroups: agreement with the newsgroups, and K.

Posts as counts of the commonest words without stop words, in random order. One pass each.
"""

import numpy as np
import typer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import evermix as em
from experiments.common import arrays, counts, save, vocabulary
from experiments.recursive.data import Data
from experiments.recursive.runs import TEXT, draw_sweeps, plain, show_sweeps, sweep

__all__ = ["main", "posts"]

WORDS, SHORTEST = 5_000, 5  # kept, and words that a post must have to be kept
BETA = 0.1
STRENGTHS = np.array([0.01, 0.1, 1.0, 10.0, 100.0])
GROUPS = 20


def posts(seed: int) -> Data:
    """Return posts as counts in random order, and their newsgroups."""
    X, words = counts("newsgroups20/newsgroups20.npz"), vocabulary("newsgroups20/vocab.txt")
    labels = arrays("newsgroups20/labels.npz")["label"].astype(np.int64)
    telling = ~np.isin(words, list(ENGLISH_STOP_WORDS)) & (np.char.str_len(words) > 2)
    total = np.where(telling, X.sum(axis=0), 0)
    X = X[:, np.sort(np.argsort(-total, kind="stable")[:WORDS])].astype(np.float64)
    kept = np.flatnonzero(X.sum(axis=1) >= SHORTEST)
    order = np.random.default_rng(seed).permutation(kept)
    return Data(X[order], labels[order], em.Multinomial(alpha=BETA))


def main(seeds: int = 2, processes: int = 1, quick: bool = False) -> None:
    """Learn the posts in several orders; --quick has 2,000 posts in one order."""
    problems = [posts(seed) for seed in range(1 if quick else seeds)]
    if quick:
        problems = [data._replace(X=data.X[:2000], labels=data.labels[:2000]) for data in problems]
    found = sweep(problems, TEXT, STRENGTHS, processes)
    rows, words = problems[0].X.shape
    show_sweeps(f"20 Newsgroups, {rows:,} posts, {words:,} words", found)
    figure = draw_sweeps(found, TEXT, STRENGTHS, GROUPS)
    for axes in figure.axes:
        axes.set_xscale("log")
    save("recursive/newsgroups", figure, {"strengths": STRENGTHS.tolist(), "found": plain(found)})


if __name__ == "__main__":
    typer.run(main)
