"""Tables of pandas, polars and Arrow, and dicts of columns, as rows of numbers.

Columns are taken by name, in any order. Levels of categories get codes; what is missing (None, NaN,
empty strings and blanks) becomes NaN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._warning import warn
from evermix._words import listed
from evermix._xp import Floats
from evermix.estimators.data.levels import (
    Levels,
    categories,
    codes_of,
    is_gone,
    is_gone_among_numbers,
)
from evermix.families import Categorical, Mixed
from evermix.io.similar_names import each_of, one_of

ALIKE = 0.8  # how similar names are of which one is taken for the other, misspelt
NAMED = 8  # columns that a message names
GAPS = 0.2  # share of rows with gaps in a block of several columns, above which there is a warning
LIBRARIES = {"pandas", "polars", "pyarrow"}


class CellError(ValueError):
    """A cell of a table cannot be read.

    Attributes
    ----------
    row : int
        Where it is.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class Column(NamedTuple):
    """A column of a table."""

    kind: str  # "number", "yes/no", "level" or "date"
    values: NDArray[Any]  # floats, NaN where they are missing; or objects, None where they are


class Table:
    """The columns of a table by name.

    Parameters
    ----------
    X : table of pandas, polars or Arrow, or dict of columns
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        given = list(X) if isinstance(X, Mapping) else list(getattr(X, "column_names", X.columns))
        self._keys = {str(key): key for key in given}
        self.names = [str(key) for key in given]
        if len(self._keys) < len(given) or not given:
            twice = sorted({name for name in self.names if self.names.count(name) > 1})
            raise ValueError(f"the columns of a table need different names, got {twice} twice.")

    def __len__(self) -> int:
        return len(self.column(self.names[0]).values)

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        return _column(self.raw(name))

    def raw(self, name: str) -> Any:
        """Return the column of this name as its library holds it."""
        key = self._keys[name]
        return self._X.column(key) if hasattr(self._X, "column_names") else self._X[key]

    def key(self, name: str) -> Any:
        """Return what the table itself calls a column."""
        return self._keys[name]


def is_table(X: Any) -> bool:
    """Whether this is a table whose columns may be of different kinds."""
    if isinstance(X, Mapping):
        return True
    kinds = [cls.__module__.partition(".")[0] for cls in type(X).__mro__]
    if type(X).__name__ == "LazyFrame" and "polars" in kinds:
        raise TypeError("X must be a table in memory, got a LazyFrame. Give X.collect().")
    return any(kind in LIBRARIES for kind in kinds) and hasattr(X, "columns")


def _column(found: Any) -> Column:
    """Return a column by what it holds."""
    values = _array(found)
    if values.dtype.kind in "mM":
        return Column("date", values)
    if values.dtype.kind in "iuf":
        return Column("number", values.astype(np.float64))
    if values.dtype.kind == "b":
        return Column("yes/no", values.astype(np.float64))
    objects = np.array(
        [None if is_gone(value) else value for value in values.tolist()], dtype=object
    )
    known = [value for value in objects if value is not None]
    if known and all(isinstance(value, date | timedelta) for value in known):
        return Column("date", objects)
    if all(isinstance(value, bool) for value in known) and known:
        return Column("yes/no", objects.astype(np.float64))
    if all(isinstance(value, int | float | Decimal) for value in known):
        return Column("number", objects.astype(np.float64))
    return Column("level", objects)


def _array(found: Any) -> NDArray[Any]:
    """Return the values of a column of any library."""
    kind = getattr(getattr(found, "dtype", None), "kind", None)
    if kind in ("i", "u", "f") and type(found).__module__.partition(".")[0] == "pandas":
        return found.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(found, "to_pylist"):  # Arrow: numbers with holes are floats, all else objects
        values = found.to_numpy()
        return values if values.dtype.kind in "iufmM" else _objects(found.to_pylist())
    values = np.asarray(found)
    if values.ndim != 1:
        raise ValueError(f"the columns of a table must be one-dimensional, got {values.ndim}.")
    if values.dtype.kind not in "OSUT":
        return values
    # NumPy would make strings of the numbers of a list that has strings too.
    return _objects(list(found) if isinstance(found, list | tuple) else values.tolist())


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# ---- rows ------------------------------------------------------------------------------------


def check_seen(X: Floats, names: Sequence[Any], whole: bool) -> None:
    """Warn of rows (N, D) that hold no value, and raise ValueError if no row has one in a column.

    In streams, of which these rows are not the ``whole``, such a column may still get values.
    """
    gone = np.isnan(X)
    empty = [repr(names[j]) for j in np.flatnonzero(np.all(gone, axis=0)).tolist()]
    if empty and whole:
        one = len(empty) == 1
        raise ValueError(
            f"no row has a value in column{'s' * (not one)} {', '.join(empty)}. Leave "
            f"{'it' if one else 'them'} out."
        )
    rows = int(np.count_nonzero(gone.all(axis=1)))
    if rows:
        warn(
            f"{rows} of {len(X)} rows hold no value: which cluster they belong to follows from "
            "the sizes of the clusters alone.",
        )


def check_gaps(family: Mixed, X: Any, most: int | None = None) -> None:
    """Warn of blocks of columns that learn little, since many rows X (N, D) lack some of them.

    The first rows are looked at, ``most`` at most.
    """
    each = zip(family.blocks, family.columns_of_blocks, strict=True)
    wide = [one for one in each if len(one[0].names) > 1 and len(one[0].columns_alone()) == 1]
    gone, found = np.isnan(X[:most]) if wide else np.empty((0, 0)), []
    for block, columns in wide:
        some = gone[:, columns]
        lost = float(np.mean(some.any(axis=1) & ~some.all(axis=1)))
        if lost > GAPS:
            found.append((block, f"columns {quoted(block.names)} ({100 * lost:.0f} %)"))
    if not found:
        return
    block = found[0][0]
    alone = ", ".join(f"{name!r}: em.{type(block.family).__name__}()" for name in block.names[:2])
    alone += ", ..." if len(block.names) > 2 else ""
    warn(
        f"many rows lack a value in some of the {' and '.join(said for _, said in found)}. A block "
        "of several columns learns nothing from these rows: give each column a block of its own, "
        f"em.Mixed({{{alone}}})."
    )


def in_order_of(X: Any, family: Mixed) -> Mixed:
    """Return the family for rows whose columns have the order of a table X, if it has none."""
    if family.order is not None:
        return family
    given, names = Table(X).names, set(map(str, family.names))
    order = [name for name in given if name in names]
    return replace(family, order=order) if len(order) == len(names) else family


def encoded(
    family: Mixed,
    X: Any,
    levels: Levels,
    learning: bool,
    first: bool = False,
    may_lack: bool = True,
) -> tuple[Floats, Levels]:
    """Return rows (N, D) of a table in the columns of a family, and the levels by column.

    Levels that are not known get codes of their own if the rows are to be learnt, and else all the
    same one, behind those that are known. The ``first`` table must have the columns of the family;
    others may have more, and fewer if they ``may_lack`` some.
    """
    table = Table(X)
    names = [str(name) for name in family.names]
    given = [name for name in table.names if name not in family.ignored]
    if first:
        check_first_names(given, names)
    else:
        check_names(given, names, may_lack)
    parts, found = [], dict(levels)
    for name in names:
        column = table.column(name) if name in given else Column("number", _nothing(len(table)))
        if column.kind == "date":
            raise TypeError(
                f"column {name!r} holds dates or durations. Turn them into numbers in a unit of "
                "your choice, or leave the column out."
            )
        block = next(block for block in family.blocks if name in map(str, block.names))
        if isinstance(block.family, Categorical):
            codes, known = codes_of(name, column.values, found.get(name, ()), learning)
            found[name] = known
            parts.append(codes)
        else:
            parts.append(_numbers(name, column))
    return np.column_stack(parts), {name: found[name] for name in categories(family)}


def check_first_names(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise ValueError unless a table has all columns that are wanted, and no others."""
    unknown = [name for name in given if name not in wanted]
    if missing := [name for name in wanted if name not in given]:
        raise _lacking(missing, given, unknown)
    if unknown:
        raise ValueError(
            f"the table has columns that the model does not know: {quoted(unknown)}. Leave them "
            "out, or give them a block in em.Mixed and fit."
        )


def check_names(given: Sequence[str], wanted: Sequence[str], may_lack: bool = True) -> None:
    """Warn of columns that a table lacks, and of others than those that are wanted.

    Raises ValueError if it lacks one and may not, if it lacks more than half of them, or if one of
    another name may be meant.
    """
    unknown = [name for name in given if name not in wanted]
    missing = [name for name in wanted if name not in given]
    if missing and not may_lack:
        raise _lacking(missing, given, unknown)
    check_most_are_there(given, wanted)
    if missing:
        what, are = columns_in_words(missing)
        warn(f"the table lacks the {what}: {are} missing in all rows.")
    if unknown:
        warn(
            f"the model does not know the columns {quoted(unknown)} of the table, which are "
            "ignored.",
        )


def check_most_are_there(
    given: Sequence[str], wanted: Sequence[str], table: str = "the table"
) -> None:
    """Raise ValueError if a table lacks more than half of the columns that are wanted.

    Also if one of another name may be meant.
    """
    unknown = [name for name in given if name not in wanted]
    missing = [name for name in wanted if name not in given]
    remedy = ""
    if 2 * len(missing) > len(wanted):
        remedy = " At least half of the columns must be there."
    if any(one_of(name, unknown, ALIKE) for name in missing):
        remedy = " If it is the same, rename it; if not, add an empty column of the missing name."
    if remedy:
        raise _lacking(missing, given, unknown, remedy, table)


def _lacking(
    missing: Sequence[str],
    given: Sequence[str],
    unknown: Sequence[str],
    remedy: str = "",
    table: str = "the table",
) -> ValueError:
    """Return what is wrong with a table that lacks columns, and which may be meant by others."""
    return ValueError(
        f"{table} lacks the {columns_in_words(missing)[0]}. It has {quoted(given)}."
        f"{each_of(missing, unknown)}{remedy}"
    )


def known_columns(X: Any, names: Sequence[str] | None) -> Any:
    """Return a table with the columns that a model has names of, if it has more than these.

    Where some are missing it is returned as it is, for scikit-learn to complain.
    """
    given = [str(key) for key in getattr(X, "column_names", X.columns)]
    if names is None or not set(names) < set(given):
        return X
    check_names(given, list(names))
    return X.select(list(names)) if hasattr(X, "column_names") else X[list(names)]


def quoted(names: Sequence[str]) -> str:
    """Return the first names, in quotes, and how many more there are."""
    return listed(map(repr, names), NAMED)


def columns_in_words(names: Sequence[str]) -> tuple[str, str]:
    """Return columns, and what says of them that they are, in the number that there are.

    Examples
    --------
    >>> columns_in_words(["age"]), columns_in_words(["age", "city"])
    (("column 'age'", 'it is'), ("columns 'age', 'city'", 'they are'))
    """
    several = len(names) > 1
    return f"column{'s' * several} {quoted(names)}", "they are" if several else "it is"


def _nothing(n: int) -> Floats:
    return np.full(n, np.nan)


def without_marks(column: Column) -> Column:
    """Return a column by what it holds beside what stands for missing numbers, as ``-`` does."""
    return _column([None if is_gone_among_numbers(value) else value for value in column.values])


def _numbers(name: str, column: Column) -> Floats:
    if column.kind == "level":  # in which other columns would have words
        column = without_marks(column)
    if column.kind != "level":
        if len(rows := np.flatnonzero(np.isinf(column.values))):
            what = f"column {name!r} must hold finite numbers, got infinity in row {rows[0]}."
            raise CellError(what, int(rows[0]))
        return column.values
    row = first_word(column.values)
    raise no_numbers([(name, row, column.values[row])])


def first_word(values: NDArray[Any]) -> int:
    """Return the row of the first value (N,) that is there and no number."""
    return next(i for i, v in enumerate(values) if v is not None and not is_number(v))


def no_numbers(found: Sequence[tuple[str, int, Any]]) -> CellError:
    """Return the error on columns of numbers that hold something else: column, row and value."""
    name, row, value = found[0]
    what = f"column {name!r} must hold numbers, got {value!r:.60} in row {row}."
    if len(found) > 1:
        others = ", ".join(f"{v!r:.60} in row {i} of {column!r}" for column, i, v in found)
        what = f"columns must hold numbers, got {others}."
    return CellError(
        f"{what} Replace such a value by None if it is missing, correct it, or make the column a "
        "category (em.Mixed with em.Categorical).",
        row,
    )


def is_number(value: Any) -> bool:
    """Whether a value of a column is a number."""
    return isinstance(value, int | float)


def with_columns(X: Any, columns: Mapping[str, Floats]) -> Any:
    """Return a table like X with these columns (N,) in place of its own."""
    table = Table(X)
    changed = {table.key(name): values for name, values in columns.items()}
    if isinstance(X, Mapping):
        return {**X, **changed}
    if hasattr(X, "set_column"):  # Arrow
        for key, values in changed.items():
            X = X.set_column(X.column_names.index(key), key, [values])
        return X
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns([type(X[key])(key, values) for key, values in changed.items()])
    X = X.copy(deep=False)
    for key, values in changed.items():
        X[key] = values
    return X
