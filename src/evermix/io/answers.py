"""Answers for rows as a table: CSV, which can be continued from a checkpoint, and Parquet."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from evermix.io.trace import LineFile

Values = Mapping[str, Any]


class CsvFile(LineFile):
    """A file of comma-separated values in UTF-8, with a header.

    Parameters
    ----------
    path : path-like
    columns : sequence of str
        What a line holds; an answer may lack some, which are blank then.
    at : int
        See :class:`LineFile`.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str], at: int = 0) -> None:
        super().__init__(path, at)
        self._columns = tuple(columns)
        if not at:
            self._row(self._columns)

    def write(self, value: Values) -> None:
        """Add the answer for a row."""
        self._row([_cell(value.get(name)) for name in self._columns])

    def _row(self, cells: Sequence[Any]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        self._file.write(text.getvalue().encode("utf-8", "surrogatepass"))


class ParquetFile(LineFile):
    """A Parquet file, which is written when it is closed; it cannot be continued."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        self._arrow, self._parquet = arrow_modules()
        super().__init__(path)
        self._values: dict[str, list[Any]] = {name: [] for name in columns}

    def write(self, value: Values) -> None:
        """Add the answer for a row."""
        for name, values in self._values.items():
            values.append(value.get(name))

    def close(self) -> None:
        """Write all answers and close the file."""
        if not self._file.closed:
            given = {name: _alike(values) for name, values in self._values.items()}
            self._parquet.write_table(self._arrow.table(given), self._file)
            super().close()


def arrow_modules() -> tuple[Any, Any]:
    """Return the modules that write Parquet, or raise ImportError."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("writing Parquet needs pyarrow: pip install evermix[arrow]") from error
    return pyarrow, parquet


def _cell(value: Any) -> Any:
    """Return a value as a cell: yes and no as in JSON, several with blanks between.

    What belongs together has colons between: ``3:0.61 0:0.2`` for shares of topics.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = [":".join(map(str, entry.values())) for entry in value]
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _alike(values: list[Any]) -> list[Any]:
    """Return ids of several types as texts: a column of Parquet has one type."""
    mixed = len({type(value) for value in values if value is not None}) > 1
    return [None if value is None else str(value) for value in values] if mixed else values
