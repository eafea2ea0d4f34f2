"""Answers for rows as a table: CSV, which can be continued from a checkpoint, and Parquet."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from evermix._extras import install
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
    more : bool
        Whether the first answer tells of more columns, before these: fields of the row itself.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Sequence[str],
        at: int = 0,
        more: bool = False,
    ) -> None:
        known = _header(path) if at else None
        super().__init__(path, at)
        self._columns, self._begun = list(known or columns), known is not None
        if not (more or self._begun):
            self._begin()

    def write(self, value: Values) -> None:
        """Add the answer for a row."""
        if not self._begun:
            self._columns = [*(name for name in value if name not in self._columns), *self._columns]
            self._begin()
        self._row([_cell(value.get(name)) for name in self._columns])

    def _begin(self) -> None:
        self._row(self._columns)
        self._begun = True

    def _row(self, cells: Sequence[Any]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        self._file.write(text.getvalue().encode("utf-8", "surrogatepass"))


class ParquetFile(LineFile):
    """A Parquet file, which is written when it is closed; it cannot be continued.

    ``columns`` are what an answer may hold; with ``more``, answers may have others before these.
    """

    def __init__(
        self, path: str | os.PathLike[str], columns: Sequence[str], more: bool = False
    ) -> None:
        self._arrow, self._parquet = arrow_modules()
        super().__init__(path)
        self._columns, self._more = list(columns), more
        self._answers: list[Values] = []

    def write(self, value: Values) -> None:
        """Add the answer for a row."""
        self._answers.append(value)

    def close(self) -> None:
        """Write all answers and close the file."""
        if not self._file.closed:
            met = dict.fromkeys(name for answer in self._answers for name in answer)
            others = [name for name in met if name not in self._columns] if self._more else []
            given = {
                name: _alike([answer.get(name) for answer in self._answers])
                for name in [*others, *self._columns]
            }
            self._parquet.write_table(self._arrow.table(given), self._file)
            super().close()


def arrow_modules() -> tuple[Any, Any]:
    """Return the modules that write Parquet, or raise ImportError."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"writing Parquet needs pyarrow: {install('arrow')}") from error
    return pyarrow, parquet


def _header(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file."""
    with open(path, newline="", encoding="utf-8", errors="surrogatepass") as file:
        return next(csv.reader(file), [])


def _cell(value: Any) -> Any:
    """Return a value as a cell: yes and no as in JSON, several with blanks between.

    What belongs together has colons between: ``3:0.61 0:0.2`` for shares of topics.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = [":".join(map(str, entry.values())) for entry in value]
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _alike(values: list[Any]) -> list[Any]:
    """Return values of one type, which a column of Parquet has: numbers, or else texts."""
    types = {type(value) for value in values if value is not None}
    if len(types) <= 1:
        return values
    kind = float if types <= {int, float} else str
    return [None if value is None else kind(value) for value in values]
