"""Parquet files: a text column, a column of vectors, or numeric columns."""

import importlib
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._extras import install
from evermix.io.similar_names import did_you_mean, no_such
from evermix.io.sources.blocks import Block, BlockSource
from evermix.io.sources.dialect import LATER, LOOK, Writing, forms_of, other_forms, shows_decimals
from evermix.io.sources.durations import UNITS, find_durations, in_unit, unit_of
from evermix.io.sources.errors import RowError
from evermix.io.sources.options import Kind
from evermix.io.sources.strings import PLAIN, read_number
from evermix.io.sources.values import (
    Columns,
    Numbers,
    Time,
    no_number,
    objects,
    say_missing,
    without_missing,
)


class Parquet(BlockSource):
    """A ``.parquet`` file, read in batches; needs pyarrow (``pip install evermix[arrow]``).

    The text field, if there is such a column, is the text; else the vector field, a column of
    lists, is the vector; else every column but the id and the time field is a feature, and where
    some hold words or yes/no the file is a table. Strings such as ``$1,234.50`` and ``17.7%`` are
    numbers there, if nearly all of the first ones of their column are (``strings.py``). Without an
    id field a row's id is its index from 0.
    """

    suffixes = (".parquet",)
    splittable = True
    has_fields = True
    n_features: int

    def survey(self) -> None:
        """Find out what the file holds."""
        file = self._open()
        self.header = names = file.schema_arrow.names
        self.options = options = self.options.among(names)
        self.check_required(names)
        self.n_rows = file.metadata.num_rows
        if self.n_rows == 0:
            raise self.no_rows("expected at least one row, the file has none.")
        self._id = [options.id_field] if options.id_field in names else []
        self._time = [] if options.time_field is None else [options.time_field]
        text = options.text_field in names and options.kind != "table"
        self._lists = options.vector_field in names and not text
        own = [options.text_field, options.vector_field, *self._id, *self._time]
        self.check_different(names, own if text or self._lists else None)
        self._find_times(file)
        if text:
            self.kind = self.choose_kind("text")
            self._used = [options.text_field]
            return
        others = [n for n in names if n not in (*self._id, *self._time, *options.ignore)]
        if self._lists:
            self._used = [options.vector_field]
        else:
            self._used = self.known_features(others, partial(self._first, file))
        self.columns = None if self._lists else self._used
        self.kind = self._kind_of_columns(file.schema_arrow)
        self._written = self._find_written(file) if self.kind == "table" else {}
        self.set_written(self._written)
        if self.kind != "table":
            self._check_numeric(file.schema_arrow)
        if self.kind != "table" and not self._lists:
            self._used = self.columns = self._without_row_numbers(file)
        self.set_features(self._list_width(file) if self._lists else len(self._used))

    def _open(self) -> Any:
        arrow = _import("pyarrow")
        try:
            return _import("pyarrow.parquet").ParquetFile(self.path)
        except FileNotFoundError as error:
            raise self.error(f"there is no such file.{did_you_mean(self.path)}") from error
        except (arrow.ArrowException, OSError) as error:
            raise self.error(f"expected a complete Parquet file ({error}).") from error

    def _find_times(self, file: Any) -> None:
        """Find out from the first time whether times are dates."""
        names = file.schema_arrow.names
        for name in self._time:
            if name not in names:
                raise self.error(no_such("column", name, names, "--time-field"))
            for batch in file.iter_batches(batch_size=256, columns=[name]):
                self._times(batch.column(0))
                if self.dated is not None:
                    return
            raise self.error(f"expected numbers or dates in column {name!r}, found none.")

    def written_times(self) -> Iterator[Any]:
        """Yield what the column of times holds."""
        for batch in self._open().iter_batches(columns=self._time):
            yield from batch.column(0).to_pylist()

    def _times(self, column: Any) -> tuple[list[Time], dict[int, str]]:
        """Return the times of rows, and what is wrong with rows that have none."""
        types = _import("pyarrow.types")
        if types.is_timestamp(column.type) or types.is_date(column.type):
            stamps = column.cast("timestamp[us]", safe=False)  # in UTC
            values = stamps.to_numpy(zero_copy_only=False).tolist()
        else:
            values = column.to_pylist()
        times, problems = list[Time](), dict[int, str]()
        for row, value in enumerate(values):
            try:
                times.append(self.parse_time(value))
            except RowError as error:
                problems[row] = str(error)
                times.append(0.0)
        return times, problems

    def _kind_of_columns(self, schema: Any) -> Kind:
        """Return what rows are: a table if columns hold words or yes/no."""
        types, words = _import("pyarrow.types"), False
        if self._lists:
            return self.choose_kind("vectors", "counts")
        for found in (schema.field(name).type for name in self._used):
            words |= types.is_string(found) or types.is_large_string(found)
            words |= types.is_boolean(found) or types.is_dictionary(found)
            words |= types.is_duration(found)
        if words or self.options.missing or self.options.category:
            return self.choose_kind("table")
        return self.choose_kind("vectors", "counts", "table")

    def _find_written(self, file: Any) -> dict[str, Writing]:
        """Return how numbers are written, by column of strings that are written numbers."""
        types, schema = _import("pyarrow.types"), file.schema_arrow
        first = next(file.iter_batches(batch_size=LOOK, columns=self._used))
        columns, options = dict[str, list[Any]](), self.options
        written = dict[str, Writing]()
        for name in (name for name in self._used if name not in options.category):
            kind = schema.field(name).type
            if types.is_string(kind) or types.is_large_string(kind):
                columns[name] = self._deciding(file, name)
            if (durations := find_durations(first.column(name))) is not None:
                known = options.units.get(name)
                written[name] = Writing(".", known if known in UNITS else unit_of(durations))
        found = self.writings(columns)
        numbers = (name for name, one in found.items() if one or name in options.numbers)
        return written | {name: found[name] or PLAIN for name in numbers}

    def _deciding(self, file: Any, name: str) -> list[Any]:
        """Return the first strings of a column, and later numbers of forms that these have not."""
        batches = file.iter_batches(batch_size=LOOK, columns=[name])
        columns = (batch.column(0).to_pylist() for batch in islice(batches, LATER // LOOK))
        first, found = next(columns), dict[str, str]()
        if forms_of(first) and not shows_decimals(list(filter(None, first))):
            for values in columns:
                found |= forms_of(values)
        return first + other_forms(found, first)

    def _first(self, file: Any, name: str) -> Numbers:
        """Return the first numbers of a column; none if it does not hold numbers."""
        column = next(file.iter_batches(batch_size=LOOK, columns=[name])).column(0)
        types = _import("pyarrow.types")
        is_numeric = types.is_integer(column.type) or types.is_floating(column.type)
        return _floats(column) if is_numeric else np.empty(0)

    def _without_row_numbers(self, file: Any) -> list[str]:
        """Return the features without those that number the rows."""
        first = next(file.iter_batches(batch_size=LOOK, columns=self._used))
        columns = {name: _floats(first.column(name)) for name in self._used}
        return self.without_row_numbers(columns)

    def _check_numeric(self, schema: Any) -> None:
        types = _import("pyarrow.types")
        for name in self._used:
            found = schema.field(name).type
            if self._lists and (types.is_list(found) or types.is_fixed_size_list(found)):
                found = found.value_type
            elif self._lists:
                raise self.error(f"expected lists of numbers in column {name!r}, got {found}.")
            if not (types.is_integer(found) or types.is_floating(found)):
                raise self.error(f"expected numbers in column {name!r}, got {found}.")

    def _list_width(self, file: Any) -> int:
        """Return the length of the first list that is not null."""
        for batch in file.iter_batches(batch_size=256, columns=self._used):
            for length in _lengths(batch.column(0)):
                if length >= 0:
                    return int(length)
        raise self.error(f"expected vectors in column {self._used[0]!r}, all are null.")

    def blocks(self, start: int, size: int) -> Iterator[Block]:
        """Yield the rows from ``start`` on, ``size`` at a time."""
        file = self._open()
        groups = [file.metadata.row_group(g) for g in range(file.num_row_groups)]
        ends = np.cumsum([group.num_rows for group in groups])
        kept = np.flatnonzero(ends > start)  # whole row groups are skipped unread
        if kept.size == 0:
            return
        first = int(ends[kept[0]]) - groups[kept[0]].num_rows
        expected = list(dict.fromkeys([*self._used, *self._id, *self._time]))
        expected = (self.header or []) if self.options.fields else expected
        batches = file.iter_batches(batch_size=size, row_groups=kept.tolist(), columns=expected)
        for rows in self._aligned(batches, start - first, size):
            yield self._block(start, rows)
            start += rows.num_rows

    def _aligned(self, batches: Iterator[Any], lead: int, size: int) -> Iterator[Any]:
        """Yield the rows after the first ``lead`` ones, ``size`` at a time.

        Row groups begin anywhere; blocks must begin where they would without a resume.
        """
        arrow, held = _import("pyarrow"), None
        for batch in batches:
            rows = arrow.Table.from_batches([batch.slice(min(lead, batch.num_rows))])
            lead -= batch.num_rows - rows.num_rows
            held = rows if held is None else arrow.concat_tables([held, rows])
            while held.num_rows >= size:
                yield _one_batch(held.slice(0, size))
                held = held.slice(size)
        if held is not None and held.num_rows:
            yield _one_batch(held)

    def _block(self, first: int, batch: Any) -> Block:
        ids = batch.column(self._id[0]).to_pylist() if self._id else None
        X, problems = self._features(batch)
        fields = batch.to_pylist() if self.options.fields else None
        if not self._time:
            return Block(first, X, ids, problems, fields=fields)
        times, wrong = self._times(batch.column(self._time[0]))
        return Block(first, X, ids, wrong | problems, times, fields)

    def _features(self, batch: Any) -> tuple[Any, dict[int, str]]:
        """Return the X of rows, and what is wrong with those that could not be put into it."""
        if self.kind == "text":
            return _texts(batch.column(self._used[0]))
        if self.kind == "table":
            problems: dict[int, str] = {}
            columns = {
                name: self._values(name, batch.column(name), problems) for name in self._used
            }
            return Columns(columns, self.written, self.options.category), problems
        if self._lists:
            return self._vectors(batch.column(self._used[0]))
        return np.column_stack([_floats(batch.column(name)) for name in self._used]), {}

    def _values(self, name: str, column: Any, problems: dict[int, str]) -> NDArray[Any]:
        """Return the values of a column of a table.   Consumes: problems, by row."""
        durations = find_durations(column) if name in self._written else None
        if durations is not None:
            numbers = in_unit(durations, self._written[name].unit).tolist()
            return objects([None if number != number else number for number in numbers])
        values = without_missing(column.to_pylist(), self.options.missing)
        if name in self._written:
            for row, cell in enumerate(values):
                try:
                    values[row] = None if cell is None else read_number(cell, self._written[name])
                except ValueError:
                    values[row] = None
                    remedy = self._written[name].remedy(str(cell))
                    remedy = f" {remedy}" if remedy else say_missing([str(cell)])
                    problems[row] = no_number(repr(name), cell) + remedy
        if name in self.options.category:
            values = [None if value is None else str(value) for value in values]
        return objects(values)

    def _vectors(self, column: Any) -> tuple[Numbers, dict[int, str]]:
        """Return lists as an array (n, D), with zeros where the length is wrong."""
        lengths = _lengths(column)
        right = lengths == self.n_features
        X = np.zeros((len(lengths), self.n_features))
        lists = column.filter(_import("pyarrow").array(right))
        X[right] = _floats(lists.flatten()).reshape(-1, self.n_features)
        problems = {
            int(i): f"expected {self.n_features} numbers, got {max(lengths[i], 0)}."
            for i in np.flatnonzero(~right)
        }
        return X, problems


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"reading Parquet needs pyarrow: {install('arrow')}") from error


def _one_batch(table: Any) -> Any:
    return table.combine_chunks().to_batches()[0]


def _lengths(column: Any) -> NDArray[np.int64]:
    """Return the lengths of lists, -1 for null."""
    lengths = _import("pyarrow.compute").list_value_length(column)
    return lengths.fill_null(-1).to_numpy(zero_copy_only=False)


def _floats(column: Any) -> Numbers:
    """Return a numeric column as float64, nan for null."""
    return column.cast("float64", safe=False).to_numpy(zero_copy_only=False)


def _texts(column: Any) -> tuple[list[str], dict[int, str]]:
    texts = column.to_pylist()
    problems = {
        i: f"expected a string, got {text!r:.60}."
        for i, text in enumerate(texts)
        if not isinstance(text, str)
    }
    return texts, problems
