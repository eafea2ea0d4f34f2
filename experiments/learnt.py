"""Everything learnt, beside settings that were chosen: KOS, power law, abstracts.

``fit`` and ``stream`` are ``Mixture()`` without any settings, in several laps and in one pass.
*Chosen* are the hyperparameters of the other experiments: the paper's, and for the power law the
true Dirichlet and the choice on a grid. *Fixed* are Multinomial(0.1) and NGGP(1, 0.5, 1). Both are
learnt in one pass of ADF with its defaults.
"""

import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import typer
from scipy import sparse

import evermix as em
from experiments.common import show
from experiments.kos import runs as kos
from experiments.streaming import abstracts, power_law

__all__ = ["main"]

BATCH = 100


class Corpus(NamedTuple):
    """Documents in the order in which they are learnt, held-out ones, and chosen settings."""

    train: sparse.csr_array
    test: sparse.csr_array
    family: em.Multinomial
    prior: em.priors.base.Prior


def posts(runs: int) -> Iterator[Corpus]:
    """Yield the posts of KOS in several orders."""
    train, test = kos.split()
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(train.shape[0])
        yield Corpus(train[order].astype(float), test.astype(float), kos.FAMILY, kos.IG)


def power_laws(runs: int) -> Iterator[Corpus]:
    """Yield several corpora whose clusters follow a power law."""
    for seed in range(runs):
        data = power_law.corpus(10_000, np.random.default_rng(seed))
        prior = power_law.choose("IG", data.prefix)
        yield Corpus(data.train, data.test, em.Multinomial(power_law.ALPHA), prior)


def papers(runs: int) -> Iterator[Corpus]:
    """Yield the abstracts in order of time."""
    del runs
    train, test, _ = abstracts.stream_and_held_out()
    yield Corpus(train, test, em.Multinomial(0.5), abstracts.PRIORS["IG"])


CORPORA: dict[str, Callable[[int], Iterator[Corpus]]] = {
    "KOS": posts,
    "power law": power_laws,
    "abstracts": papers,
}


def streamed(mix: em.Mixture, X: sparse.csr_array) -> em.Mixture:
    """Learn rows in one pass."""
    for start in range(0, X.shape[0], BATCH):
        mix.partial_fit(X[start : start + BATCH])
    return mix


METHODS: dict[str, Callable[[Corpus], em.Mixture]] = {
    "fit": lambda one: em.Mixture().fit(one.train),
    "stream": lambda one: streamed(em.Mixture(), one.train),
    "chosen": lambda one: em.Mixture(one.family, one.prior, em.ADF()).fit(one.train),
    "fixed": lambda one: em.Mixture(em.Multinomial(0.1), em.NGGP(), em.ADF()).fit(one.train),
}


def main(corpora: str = ",".join(CORPORA), methods: str = ",".join(METHODS), runs: int = 5) -> None:
    """Print the held-out log-likelihood per document, and K, of every method on every corpus."""
    lines = []
    for name in corpora.split(","):
        by_method: dict[str, list[tuple[float, int]]] = {m: [] for m in methods.split(",")}
        for one in CORPORA[name](runs):
            for method, seen in by_method.items():
                mix = METHODS[method](one)
                seen.append((float(mix.score(one.test)), mix.n_clusters_))
                print(json.dumps({"corpus": name, "method": method, "found": seen[-1]}), flush=True)
        for method, seen in by_method.items():
            held_out, K = np.array(seen).T
            error = held_out.std(ddof=1) / np.sqrt(len(seen)) if len(seen) > 1 else 0.0
            score = f"{held_out.mean():.3f} ± {error:.3f}"
            lines.append([name, method, score, f"{K.mean():.0f}"])
    show("Everything learnt", ["corpus", "method", "held-out log lik. per document", "K"], lines)


if __name__ == "__main__":
    typer.run(main)
