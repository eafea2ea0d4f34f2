"""Words per second of a sweep, after many, and perplexity of held-out documents."""

import time
from collections.abc import Callable
from itertools import product
from typing import Any

from benchmarks.common import rounds, target
from benchmarks.topics import documents as corpora
from benchmarks.topics.documents import Documents
from benchmarks.topics.learners import Gensim, Learner, Ours, learners, threaded

__all__ = ["abstracts", "drifting", "threads"]

BURN_IN, SWEEPS = 1000, 50  # before the clock runs, and in each round
TOMOTOPY = "tomotopy HDPModel"


def abstracts(repeats: int) -> dict[str, Any]:
    """Learn the abstracts of NeurIPS 2007 to 2011."""
    return _compared(corpora.abstracts(), repeats)


def drifting(repeats: int) -> dict[str, Any]:
    """Learn documents that were drawn from 50 topics."""
    return _compared(corpora.drifting(), repeats)


def threads(repeats: int) -> dict[str, Any]:
    """Learn the abstracts in two threads, by the clock on the wall."""
    documents = corpora.abstracts()
    return _compared(documents, repeats, threaded(documents), time.perf_counter)


def _compared(
    documents: Documents,
    repeats: int,
    everybody: dict[str, Learner] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Any]:
    n = int(documents.train.sum())
    everybody = everybody or learners(documents)
    before = {}
    for name, learner in everybody.items():
        began = clock()
        learner.sweep(BURN_IN)
        before[name] = clock() - began
    calls = {name: _round(learner, clock) for name, learner in everybody.items()}
    seconds = rounds(calls, repeats)
    found: dict[str, Any] = {
        name: {
            "words per second": round(_sweeps(learner) * n / seconds[name]),
            "milliseconds of a sweep": round(1e3 * seconds[name] / _sweeps(learner), 2),
            "seconds before": round(before[name], 1),
            "topics": learner.topics(),
            "perplexity": round(learner.perplexity(), 1),
        }
        for name, learner in everybody.items()
    }
    return {"words": n, "sweeps": BURN_IN + repeats * SWEEPS, **found, **_ratios(found)}


def _sweeps(learner: Learner) -> int:
    """Return how often all words are gone over in a round; several chains count for each."""
    if isinstance(learner, Gensim):
        return 1
    return SWEEPS * learner.model.chains if isinstance(learner, Ours) else SWEEPS


def _round(learner: Learner, clock: Callable[[], float]) -> Callable[[], float]:
    """Return some more sweeps as a call that says how long they took."""

    def call() -> float:
        began = clock()
        learner.sweep(SWEEPS)
        seconds = clock() - began
        learner.look()
        return seconds

    return call


def _ratios(found: dict[str, Any]) -> dict[str, Any]:
    speed = {name: row["words per second"] for name, row in found.items()}
    ratios: dict[str, Any] = {}
    if "HMNGG" in speed:
        ratios["speed of HMNGG over HDP"] = round(speed["HMNGG"] / speed["HDP"], 3)
    ours = [name for name in found if name.startswith("HDP")]
    for one, peer in product(ours, [name for name in found if name.startswith(TOMOTOPY)]):
        ratio = found[one]["perplexity"] / found[peer]["perplexity"]
        ratios[f"{one} over {peer}"] = target(speed[one] / speed[peer], at_least=1.0)
        ratios[f"perplexity of {one} over {peer}"] = target(ratio, below=1.005)
    return ratios
