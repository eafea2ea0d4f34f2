"""One method on one order of a set, and many of them, each written down when it is done."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.quality.methods import METHODS, Answer, NotThere
from benchmarks.quality.sets import LabelledSet, load

__all__ = ["Task", "read", "run_all", "run_one"]

FEW = 200  # rows that a method which compiles sees before it is timed
LARGE = 0.01  # share of the rows that a cluster of some size has at least

Record = dict[str, Any]


class Task(NamedTuple):
    """The key of a result."""

    set: str
    method: str
    order: int


def run_all(tasks: Iterable[Task], out: Path, jobs: int) -> Iterator[Record]:
    """Run the tasks, append the record of each to a file of JSON lines, and yield it.

    A task whose method is not for its set, or cannot be run here, leaves no record.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    cut = out.is_file() and not out.read_bytes().endswith(b"\n")
    with out.open("a", encoding="utf-8") as file:
        file.write("\n" if cut else "")  # after a line that was cut short
        for record in _records(tasks, jobs):
            if record is not None:
                file.write(json.dumps(record) + "\n")
                file.flush()
                yield record


def _records(tasks: Iterable[Task], jobs: int) -> Iterator[Record | None]:
    if jobs == 1:
        yield from (run_one(task) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_one, task) for task in tasks]):
            yield done.result()


def read(files: Iterable[Path]) -> dict[Task, Record]:
    """Return the last record of each key in these files; those that do not exist are empty.

    A line that is cut short, at the end of a file that is being written, is left out.
    """
    records = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            records[Task(record["set"], record["method"], record["order"])] = record
    return records


def run_one(task: Task) -> Record | None:
    """Return the scores of a method on a set in one of its orders; None where it does not suit.

    Whatever a method raises is written down as ``error``, and the battery goes on.
    """
    one, method = load(task.set, task.order), METHODS[task.method]
    if one.kind not in method.kinds or not method.suits(one):
        return None
    record: Record = task._asdict() | {
        "kind": one.kind,
        "group": method.group,
        "n": one.n,
        "d": one.d,
        "true_k": one.K,
    }
    try:
        with threadpool_limits(limits=1):
            _warm(task.set, task.method)
            began = time.process_time()
            answer = method.run(one, task.order)
            seconds = time.process_time() - began
    except NotThere as error:
        _say_once(str(error))
        return None
    except Exception as error:
        return record | {"error": f"{type(error).__name__}: {error}"[:300]}
    return record | scores(one, answer) | {"cpu_s": round(seconds, 4)}


@cache
def _warm(set_name: str, method_name: str) -> None:
    """Let a method compile what it needs for a set, once."""
    method = METHODS[method_name]
    if method.warm:
        one = load(set_name, 0)
        method.run(one.rows(np.arange(min(FEW, one.n))), 0)


@cache
def _say_once(words: str) -> None:
    print(words, file=sys.stderr)


def scores(one: LabelledSet, answer: Answer) -> Record:
    """Return how well an answer agrees with the truth, and how many clusters it has.

    ``ari_last`` is the ARI over the rows of the last era, that is over the newcomers.
    """
    labels = np.asarray(answer.labels)
    if labels.shape != (one.n,):
        raise ValueError(f"expected {one.n} labels, got an array of shape {labels.shape}.")
    labelled, size = one.y >= 0, np.unique(labels[labels >= 0], return_counts=True)[1]
    found = {
        "ami": round(float(adjusted_mutual_info_score(one.y[labelled], labels[labelled])), 5),
        "ari": round(float(adjusted_rand_score(one.y[labelled], labels[labelled])), 5),
        "k": len(size) if answer.k is None else int(answer.k),
        "k_large": int(np.sum(size >= LARGE * one.n)),
    }
    found["k_ratio"] = round(found["k"] / one.K, 4)
    if one.kind == "newcomers" and one.eras is not None:
        last = one.eras == one.eras[-1]
        found["ari_last"] = round(float(adjusted_rand_score(one.y[last], labels[last])), 5)
    return found
