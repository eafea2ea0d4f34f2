"""Files of JSON lines that survive a crash: traces of events, and one line per observation.

A checkpoint records the length of such a file. Resuming cuts the file back to that length, so that
no line is written twice.
"""

import json
import math
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, Self

import numpy as np


class LineFileError(OSError):
    """A file of JSON lines is missing, damaged, or was changed after the checkpoint."""


class LineFile:
    """A file with one JSON line per object, which can be continued from a checkpoint.

    Parameters
    ----------
    path : path-like
        The file. It is emptied if ``at`` is 0.
    at : int
        Length in bytes, from :meth:`position`, to which the file is cut before more is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LineFile(f"{folder}/out.jsonl") as out:
    ...         out.write({"id": 1})
    ...         saved = out.position()
    ...         out.write({"id": 2})
    ...     with LineFile(f"{folder}/out.jsonl", at=saved) as out:
    ...         out.write({"id": 3})
    ...     list(read_trace(f"{folder}/out.jsonl"))
    [{'id': 1}, {'id': 3}]
    """

    def __init__(self, path: str | os.PathLike[str], at: int = 0) -> None:
        self.path = os.fspath(path)
        if at:
            _check_length(self.path, at)
        self._file = open(self.path, "r+b" if at else "wb")
        self._file.truncate(at)
        self._file.seek(at)

    def write(self, value: Any) -> None:
        """Add a JSON-ready object, NumPy numbers and arrays included, as one line."""
        self._file.write(json_line(value))

    def position(self) -> int:
        """Sync the file to the disk and return its length in bytes, for a checkpoint."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def flush(self) -> None:
        """Make everything written so far visible to other programs."""
        self._file.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class TraceWriter(LineFile):
    """A trace of events, each visible to other programs as soon as it is written."""

    def write(self, value: Any) -> None:
        """Add an event as one line, and make it visible to other programs."""
        super().write(value)
        self.flush()


def read_trace(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the events of a trace; a last line that is still being written is left out."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                raise LineFileError(
                    f"{os.fspath(path)}, line {number}: expected a JSON object, got what cannot be "
                    f"read ({error}). Is this a trace?"
                ) from error


def _check_length(path: str, at: int) -> None:
    try:
        length = os.path.getsize(path)
    except OSError as error:
        raise LineFileError(
            f"cannot continue writing {path}: {error.strerror}. Restore the file, or start again."
        ) from error
    if length < at:
        raise LineFileError(
            f"cannot continue writing {path} at byte {at}, it has only {length}: it was changed "
            "after the checkpoint. Restore the file, or start again."
        )


def json_line(value: Any) -> bytes:
    """Return a JSON-ready object as a line; numbers that are not finite become null."""
    line = partial(json.dumps, default=_plain, ensure_ascii=False)
    try:
        text = line(value, allow_nan=False)
    except ValueError:  # JSON has no nan and no infinity
        text = line(_finite(json.loads(line(value))))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # half a letter has no UTF-8
        return json.dumps(json.loads(text)).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected a value that JSON can hold, got {type(value).__name__}.")


def _finite(value: Any) -> Any:
    """Return JSON values with null in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
