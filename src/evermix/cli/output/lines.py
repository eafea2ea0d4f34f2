"""Files that a command writes line by line, standard output among them."""

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from evermix.cli.output.output_files import check_suffix
from evermix.families import Multinomial
from evermix.families.base import Family
from evermix.io.answers import CsvFile, ParquetFile, arrow_modules
from evermix.io.trace import LineFile, TraceWriter


class StandardOutput(LineFile):
    """Standard output as a file of JSON lines; what was written cannot be taken back."""

    def __init__(self) -> None:
        self.path = "-"
        self._file = sys.stdout.buffer

    def position(self) -> int:
        """Write everything out; there is no place to go back to."""
        self._file.flush()
        return 0

    def close(self) -> None:
        """Write what is left."""
        self._file.flush()


class Device(StandardOutput):
    """A device or pipe, such as ``/dev/null``, as a file of JSON lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "wb")

    def close(self) -> None:
        """Write what is left and close the device."""
        self._file.close()


def open_lines(path: str, at: int = 0) -> LineFile:
    """Open a file of JSON lines cut to ``at`` bytes, or standard output for ``"-"``."""
    if path == "-":
        return StandardOutput()
    if os.path.exists(path) and not os.path.isfile(path):
        return Device(path)
    return LineFile(path, at=at)


def open_answers(path: str, at: int, columns: Sequence[str], fields: bool = False) -> LineFile:
    """Open a file of answers for rows: by its suffix CSV or Parquet, otherwise JSON lines.

    ``columns`` are what an answer may hold, beside the fields of its row if it has those. See
    :func:`open_lines`.
    """
    new = path != "-" and (os.path.isfile(path) or not os.path.exists(path))
    if new and path.lower().endswith(".csv"):
        return CsvFile(path, columns, at, more=fields)
    if new and path.lower().endswith(".parquet"):
        return ParquetFile(path, columns, more=fields)
    return open_lines(path, at)


def check_answers(path: str, grows: bool = False, named: bool = False) -> None:
    """Raise ValueError or ImportError if answers cannot be written to a file of this name.

    ``grows``: whether they are written as rows come, and the file may be cut and continued.
    ``named``: whether a checkpoint names the file already.
    """
    if path.lower().endswith(".parquet"):
        if grows:
            raise ValueError(
                f"a stream writes its answers as rows come, and Parquet files cannot be continued: "
                f"--out must end in .csv or .jsonl, got {path}."
            )
        arrow_modules()
    parquet = [] if grows else [".parquet"]
    if not named:
        check_suffix("--out", path, [".csv", *parquet, ".jsonl"])


def rounded(value: float) -> float:
    """Return a number as text outputs show it, with six digits."""
    return float(f"{value:.6g}")


def shown_densities(family: Family, X: Any, log_densities: Iterable[float]) -> list[float | None]:
    """Return the log densities of rows as lines have them.

    None for rows of counts in which nothing is counted, as in texts without a known word: they
    would be the likeliest of all.
    """
    found: list[float | None] = list(map(rounded, log_densities))
    if not isinstance(family, Multinomial):
        return found
    total = np.asarray(X.sum(axis=1)).ravel()
    return [each if n > 0 else None for each, n in zip(found, total, strict=True)]


class Lines:
    """Lines of a run, in a file that keeps what it held until the first of them is there.

    Parameters
    ----------
    path : str
        The file, or ``"-"`` for standard output.
    at : int or None
        How long the file was when the checkpoint of the run was made; None if the run begins.
    opened : callable
        Opens the file cut to so many bytes.
    """

    def __init__(
        self, path: str, at: int | None, opened: Callable[[str, int], LineFile] = open_lines
    ) -> None:
        self.path = path
        self._opened = opened
        self._file = None if at is None else opened(path, at)
        if at is None and path != "-" and (os.path.isfile(path) or not os.path.exists(path)):
            open(path, "ab").close()  # raises before anything is learnt

    def write(self, value: Any) -> None:
        """Add a line."""
        self._begun().write(value)

    def position(self) -> int:
        """Force everything to the disk and return the length of the file, for a checkpoint."""
        return self._begun().position()

    def flush(self) -> None:
        """Let other programs see what was written."""
        self._begun().flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _begun(self) -> LineFile:
        if self._file is None:
            self._file = self._opened(self.path, 0)
        return self._file


class Trace:
    """JSON lines on what each step brought, if the user has named a file for them.

    Parameters
    ----------
    path : str or None
        The file; None if there shall be none.
    positions : dict
        How long the files of the run were when its checkpoint was made (see :meth:`positions`).
    """

    def __init__(self, path: str | None, positions: dict[str, int]) -> None:
        at = positions.get("trace")
        self._lines = None if path is None else Lines(path, at, TraceWriter)

    def write(self, event: dict[str, Any]) -> None:
        """Add an event."""
        if self._lines is not None:
            with naming(self._lines.path):
                self._lines.write(event)

    def positions(self) -> dict[str, int]:
        """Force everything to the disk and return the length of the file, for a checkpoint."""
        return {} if self._lines is None else {"trace": self._lines.position()}

    def close(self) -> None:
        """Close the file."""
        if self._lines is not None:
            self._lines.close()


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let errors of writing say which file it was."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno == errno.EPIPE:
            raise
        raise OSError(error.errno, error.strerror, path) from error
