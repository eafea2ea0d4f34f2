"""The values of rows: valid numbers, valid times, and stacking rows into matrices."""

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from math import isfinite, isinf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix.io.sources.dates import find_order, lacks_century, read_date, read_month
from evermix.io.sources.dialect import Writing, is_number, to_number

Numbers: TypeAlias = NDArray[np.float64]
Time: TypeAlias = float | np.datetime64 | str

_MONTH = re.compile(r"\d{4}-\d{2}")
# What begins with a digit is a number, a date or a mistake; and long texts are not times.
_LABEL = re.compile(r"[^\W\d_].{0,39}")
_EXAMPLES = {  # of dates, by whether the day comes first in other rows
    None: "31.5.2024",
    True: "31/5/2024, with the day first as in other rows",
    False: "5/31/2024, with the month first as in other rows",
}
_CODE = re.compile(r"[+-]?0\d+")  # digits that are a name
_MISSING = {"na", "n/a", "#n/a", "nan", "nat", "none", "null"}  # as programs write a missing value
_INFINITE = {"inf", "infinity"}


# ---- numbers -------------------------------------------------------------------------------


def find_problem(
    values: NDArray[Any],
    columns: Sequence[Any] | NDArray[Any],
    kind: str,
    name: Callable[[int], str],
) -> str | None:
    """Return what is wrong with a row's values (n,) in these columns (n,); None if all is well."""
    for invalid, expected in _checks(values, kind):
        if invalid.any():
            at = int(np.argmax(invalid))
            column = name(int(columns[at]))
            return f"expected {expected}, got {values[at]:g} in column {column}."
    return None


def find_bad_rows(X: Any, kind: str) -> dict[int, str]:
    """Return what is wrong with rows of X, by row; empty if all is well."""
    if kind == "text":
        return {}
    if kind == "table":
        return {
            row: no_number(repr(name), value) + say_missing([str(value)])
            for name, values in X.items()
            for row, value in enumerate(values.tolist())
            if isinstance(value, float) and isinf(value)
        }
    if not sparse.issparse(X):
        rows = np.flatnonzero(_invalid(X, kind).any(axis=1))
        return {int(i): str(find_problem(X[i], range(X.shape[1]), kind, str)) for i in rows}
    matrix: Any = X
    rows = np.searchsorted(matrix.indptr, np.flatnonzero(_invalid(matrix.data, kind)), "right") - 1
    problems = {}
    for i in np.unique(rows):
        row = slice(matrix.indptr[i], matrix.indptr[i + 1])
        problems[int(i)] = str(find_problem(matrix.data[row], matrix.indices[row], kind, str))
    return problems


def _checks(values: NDArray[Any], kind: str) -> list[tuple[NDArray[np.bool_], str]]:
    """Return masks of invalid values, and what was expected instead, the worst first."""
    checks = [(~np.isfinite(values), "finite numbers")]
    if kind == "counts":
        checks.append((values < 0, "counts >= 0"))
        whole = (
            "whole counts (not weights such as those of TfidfTransformer; or read the source as "
            'kind "vectors")'
        )
        checks.append((values != np.floor(values), whole))
    return checks


def _invalid(values: NDArray[Any], kind: str) -> NDArray[np.bool_]:
    return np.logical_or.reduce([invalid for invalid, _ in _checks(values, kind)])


# ---- tables --------------------------------------------------------------------------------


class Columns(dict[str, NDArray[Any]]):
    """The columns of a table by name, as arrays of objects; None stands for a missing value.

    Parameters
    ----------
    columns : mapping of str to array
    written : mapping of str to Writing
        How numbers were written, of columns that people have written.
    categories : collection of str
        Columns that are said to be categories.
    """

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        written: Mapping[str, Writing] | None = None,
        categories: Collection[str] = (),
    ) -> None:
        super().__init__(columns)
        self.written, self.categories = dict(written or {}), categories

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(next(iter(self.values()))), len(self)

    def take(self, rows: NDArray[np.int64]) -> "Columns":
        """Return some rows."""
        return Columns(
            {name: values[rows] for name, values in self.items()}, self.written, self.categories
        )


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """Return values as an array of objects, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def is_missing(cell: str, missing: Collection[str] = ()) -> bool:
    """Whether a cell of a text file holds no value; ``missing`` are more ways to say so."""
    cell = cell.strip()
    return not cell or cell.lower() in _MISSING or cell in missing


def is_mark(cell: str) -> bool:
    """Whether a cell has neither letters nor digits, as ``-`` and ``?``."""
    return not any(letter.isalnum() for letter in cell)


def say_missing(words: Sequence[str]) -> str:
    """Return what to do if words among numbers stand for missing values."""
    options = " ".join(f"--missing {shlex.quote(word[:60])}" for word in words)
    return f" If it stands for a missing value, say so (on the command line: {options})."


def no_number(column: str, cell: Any) -> str:
    """Return what is wrong with a cell of a column of numbers, as messages call it."""
    infinite = not isinstance(cell, str) or is_number(cell)
    return f"expected a {'finite ' * infinite}number in column {column}, got {cell!r:.60}."


def without_missing(values: Sequence[Any], missing: Collection[str]) -> list[Any]:
    """Return values with None in place of those that stand for a missing one."""
    numbers = {float(word) for word in missing if _is_number(word)}
    return [None if v in missing or (v in numbers and v is not True) else v for v in values]


def _is_number(word: str) -> bool:
    return isinstance(read_cell(word), float)


def read_cell(cell: str, missing: Collection[str] = ()) -> float | bool | str | None:
    """Return what a cell of a text file holds: number, yes/no, word, or None if it is missing."""
    cell = cell.strip()
    if is_missing(cell, missing):
        return None
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    try:
        return to_number(cell)
    except ValueError:
        return cell


def read_field(cell: str) -> int | float | bool | str | None:
    """Return what a cell holds, for readers: as :func:`read_cell`, but words stay as they are.

    So do digits that begin with a zero, as postcodes do, and whole numbers are whole.
    """
    text, value = cell.strip(), read_cell(cell)
    if isinstance(value, str) or _CODE.fullmatch(text):
        return cell
    whole = isinstance(value, float) and text.lstrip("+-").isdecimal()
    return int(text) if whole else value


# ---- stacking ------------------------------------------------------------------------------


def stack_rows(
    rows: list[Any],
    kind: str,
    n_features: int | None,
    written: Mapping[str, Writing] | None = None,
    categories: Collection[str] = (),
) -> Any:
    """Return rows as the X of a chunk.

    A row is a text, an array (D,), or sparse: a pair of columns (n,) and values (n,). For
    ``written`` and ``categories``, of tables, see :class:`Columns`.
    """
    if kind == "text":
        return rows
    if kind == "table":
        found = {name: objects([row[name] for row in rows]) for name in rows[0]}
        return Columns(found, written, categories)
    if not isinstance(rows[0], tuple):
        X = np.array(rows, dtype=np.float64)
        return sparse.csr_matrix(X) if kind == "counts" else X
    columns = [row[0] for row in rows]
    ends = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([row[1] for row in rows]).astype(np.float64)
    parts = (values, np.concatenate(columns).astype(np.int64), ends)
    matrix = sparse.csr_matrix(parts, shape=(len(rows), n_features or 0))
    matrix.sum_duplicates()
    return matrix if kind == "counts" else matrix.toarray()


def stack_chunks(parts: Sequence[Any]) -> Any:
    """Return the X of several chunks as one."""
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    if isinstance(parts[0], Columns):
        written = {name: one for part in parts for name, one in part.written.items()}
        found = {k: np.concatenate([part[k] for part in parts]) for k in parts[0]}
        return Columns(found, written, parts[0].categories)
    return np.vstack(parts) if isinstance(parts[0], np.ndarray) else sparse.vstack(parts, "csr")


def some_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows of the X of a chunk."""
    if isinstance(X, Columns):
        return X.take(rows)
    return [X[i] for i in rows] if isinstance(X, list) else X[rows]


# ---- times ---------------------------------------------------------------------------------


def read_time(value: Any, labels: bool = False, day_first: bool | None = None) -> Time:
    """Return a time as a float or, if it is a date, as datetime64 in microseconds of UTC.

    Texts are numbers if they can be, else dates such as ``2024-05``, ``2024-05-31`` or
    ``2024-05-31T18:30:00+02:00``, in UTC unless they name an offset, or dates as people write them,
    such as ``31.5.2024`` (see :func:`evermix.io.sources.dates.read_date`, also for ``day_first``).
    ``May 2024`` is the first of May. With ``labels`` texts of up to 40 characters that begin with
    a letter are returned as they are. Raises ValueError for anything else.
    """
    text = value.strip() if isinstance(value, str) else ""
    if labels and _LABEL.fullmatch(text) and text.lower() not in _MISSING | _INFINITE:
        return text
    with suppress(ValueError, OverflowError):
        if isinstance(value, str):
            value = _from_text(text, day_first)
        if isinstance(value, date):
            return _from_date(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
            return float(value)
    got = "none" if value in (None, "") else f"{value!r:.60}"
    if lacks_century(text):
        got += " (write its year with four digits, so that it is clear what is the year)"
    label = ", or a label of up to 40 characters that begins with a letter" if labels else ""
    raise ValueError(
        "expected a finite number, or a date such as 2024-05-31, 2024-05-31T18:30:00Z or "
        f"{_EXAMPLES[day_first]}{label}, got {got}"
    )


def typical_time(values: Sequence[Any]) -> Time | None:
    """Return the first time of the kind that most values have: number, date, or else label.

    Missing values say nothing; None if there are no others.
    """
    day_first = find_order(values) is not False  # which decides of no kind
    found: dict[type, list[Time]] = {}
    for value in values:
        if value is None or (isinstance(value, str) and is_missing(value)):
            continue
        try:
            time = read_time(value, day_first=day_first)
        except ValueError:
            time = str(value)
        found.setdefault(type(time), []).append(time)
    dated = found.pop(np.datetime64, [])
    most = max([*found.values(), dated], key=len)
    return most[0] if most else None


def _from_text(text: str, day_first: bool | None) -> float | date:
    try:
        return to_number(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(f"{text}-01" if _MONTH.fullmatch(text) else text)
    except ValueError:
        month = read_month(text)
        return read_date(text, day_first) if month is None else month


def _from_date(value: date) -> np.datetime64:
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")
