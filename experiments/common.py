"""What the experiments share: reading data, printing tables, keeping results."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from scipy import sparse

__all__ = [
    "arrays",
    "counts",
    "find",
    "mean_and_error",
    "new_figure",
    "remember",
    "resident_memory",
    "save",
    "show",
    "vocabulary",
    "with_error",
]

RESULTS = Path("results")
DATA = "EVERMIX_DATA"


def counts(path: str) -> sparse.csr_array:
    """Return the documents (N, V) of a set of the data folder, or leave with a clear message."""
    return sparse.csr_array(sparse.load_npz(find(path)))


def arrays(path: str) -> dict[str, np.ndarray]:
    """Return the named arrays of a set that is one .npz file."""
    with np.load(find(path)) as file:
        return dict(file)


def vocabulary(path: str) -> np.ndarray:
    """Return the words (V,) of a set."""
    return np.array(find(path).read_text(encoding="utf-8").split())


def find(path: str) -> Path:
    """Return where a file of the data folder is, or leave with a clear message."""
    folder = os.environ.get(DATA)
    if not folder:
        _leave(f"{DATA} is not set. Point it to the folder that holds {path}.")
    file = Path(folder) / path
    if not file.is_file():
        _leave(f"{file} is missing. {DATA} must point to the folder that holds {path}.")
    return file


def _leave(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(2)


def show(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table; numbers are set right, missing values as a dash."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row))
    # A pipe has no width of its own; the table would be cut at 80 columns.
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def new_figure(width: float, height: float = 4.0) -> Figure:
    """Return a figure of this size in inches that needs no display."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(name: str, figure: Figure, numbers: dict[str, Any]) -> None:
    """Save the figure and the numbers of an experiment, called folder/name."""
    (RESULTS / name).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(RESULTS / f"{name}.png", dpi=150)
    text = json.dumps(numbers, indent=1, default=float)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"saved {RESULTS / name}.png and .json")


def remember(
    name: str, settings: dict[str, Any], compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return what was computed with these settings before, or else compute it and keep it.

    So an interrupted experiment goes on where it was. The file is called folder/name and a digest
    of the settings; delete it to compute anew.
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    file = RESULTS / f"{name}-{digest}.json"
    if not file.is_file():
        numbers = {"settings": settings, **compute()}
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(numbers, default=float) + "\n", encoding="utf-8")
        part.replace(file)  # an interrupt never leaves half a file
    return json.loads(file.read_text(encoding="utf-8"))


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return the mean of independent values (N,), and its standard error."""
    values = np.asarray(values, dtype=float)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def with_error(value: tuple[float, float] | None, digits: int = 0) -> str | None:
    """Write a mean and its standard error."""
    return None if value is None else f"{value[0]:,.{digits}f} ± {value[1]:,.{digits}f}"


def resident_memory() -> float:
    """Return the resident memory of this process now, in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6
