"""What the benchmarks share: reading data, and timing things fairly beside each other."""

import os
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["DataMissing", "counts", "interleaved", "target"]


class DataMissing(RuntimeError):
    """A corpus that a benchmark needs is not there."""


def counts(path: str) -> sparse.csr_array:
    """Return the documents (N, V) of a corpus in the folder EVERMIX_DATA, float64."""
    folder = os.environ.get("EVERMIX_DATA")
    if not folder:
        raise DataMissing(f"EVERMIX_DATA is not set; it must name the folder that holds {path}.")
    file = Path(folder) / path
    if not file.is_file():
        raise DataMissing(f"{file} is missing.")
    return sparse.csr_array(sparse.load_npz(file)).astype(np.float64)


def interleaved(work: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median processor time in seconds of each piece of work.

    Rounds are interleaved, so that a slow moment of the machine hits all alike. All work runs on
    one thread of this process, so processor time is what a quiet machine's clock would show.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, call in work.items():
            began = time.process_time()
            call()
            seconds[name].append(time.process_time() - began)
    return {name: median(values) for name, values in seconds.items()}


def target(value: float, *, at_least: float = -inf, below: float = inf) -> dict[str, Any]:
    """Return a measured value beside what it should reach, at least or below a bound."""
    wanted = f"< {below:g}" if below < inf else f">= {at_least:g}"
    met = bool(at_least <= value < below)
    return {"value": round(float(value), 3), "target": wanted, "met": met}
