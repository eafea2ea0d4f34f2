"""What the benchmarks share: reading data, timing things fairly, and reporting."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import typer
from scipy import sparse

__all__ = [
    "DataMissing",
    "arrays",
    "counts",
    "find",
    "interleaved",
    "rounds",
    "run",
    "target",
    "timed",
]

RESULTS = Path("results")


class DataMissing(RuntimeError):
    """A corpus that a benchmark needs is not there."""


def counts(path: str) -> sparse.csr_array:
    """Return the documents (N, V) of a corpus in the folder EVERMIX_DATA, float64."""
    return sparse.csr_array(sparse.load_npz(find(path))).astype(np.float64)


def arrays(path: str) -> dict[str, np.ndarray]:
    """Return the named arrays of a .npz file in the folder EVERMIX_DATA."""
    with np.load(find(path)) as file:
        return dict(file)


def find(path: str) -> Path:
    """Return where a file of the folder EVERMIX_DATA is."""
    folder = os.environ.get("EVERMIX_DATA")
    if not folder:
        raise DataMissing(f"EVERMIX_DATA is not set; it must name the folder that holds {path}.")
    file = Path(folder) / path
    if not file.is_file():
        raise DataMissing(f"{file} is missing.")
    return file


def interleaved(work: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median processor time in seconds of each piece of work.

    All work runs on one thread of this process, so processor time is what a quiet machine's clock
    would show.
    """
    return rounds({name: timed(call) for name, call in work.items()}, repeats)


def rounds(work: dict[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Return the median of what each piece of work says that it took.

    Rounds are interleaved, so that a slow moment of the machine hits all alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, call in work.items():
            seconds[name].append(call())
    return {name: median(values) for name, values in seconds.items()}


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Return the call as one that says how much processor time it took, in seconds."""

    def run() -> float:
        began = time.process_time()
        call()
        return time.process_time() - began

    return run


def target(value: float, *, at_least: float = -inf, below: float = inf) -> dict[str, Any]:
    """Return a measured value beside what it should reach, at least or below a bound."""
    wanted = f"< {below:g}" if below < inf else f">= {at_least:g}"
    met = bool(at_least <= value < below)
    return {"value": round(float(value), 3), "target": wanted, "met": met}


def run(
    name: str,
    benchmarks: Mapping[str, Callable[[int], Any]],
    packages: Sequence[str],
    only: str,
    repeats: int,
) -> None:
    """Run the benchmarks named in ``only``, print and save their results, and leave.

    The exit status is 2 if data were missing.
    """
    unknown = set(only.split(",")) - set(benchmarks)
    if unknown:
        raise typer.BadParameter(f"{sorted(unknown)} not among {', '.join(benchmarks)}")
    results: dict[str, Any] = {"machine": _machine(packages)}
    missing = False
    for one in only.split(","):
        print(f"running {one} ...", file=sys.stderr)
        try:
            results[one] = benchmarks[one](repeats)
        except DataMissing as error:
            missing = True
            results[one] = {"skipped": str(error)}
            print(error, file=sys.stderr)
    document = json.dumps(results, indent=1, default=float)
    folder = RESULTS / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.json").write_text(document + "\n", encoding="utf-8")
    print(document)
    raise SystemExit(2 if missing else 0)


def _machine(packages: Sequence[str]) -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions
