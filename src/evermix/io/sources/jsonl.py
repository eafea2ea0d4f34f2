"""JSON lines: one record per line, with a text, a vector or the values of a row of a table."""

import json
import logging
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from evermix.io.similar_names import no_such, one_of
from evermix.io.sources.dialect import LATER, forms_of, other_forms, shows_decimals
from evermix.io.sources.dialect import LOOK as FIRST
from evermix.io.sources.encodings import NOT_UTF8
from evermix.io.sources.errors import IN_ONE_LINE, ONE_PER_LINE, RowError, SourceError, WrongKind
from evermix.io.sources.json_table import JsonTable, flat, reached
from evermix.io.sources.lines import LiveLines
from evermix.io.sources.options import Kind
from evermix.io.sources.records import Record, RecordSource, Row, numbered
from evermix.io.sources.values import Numbers

LOG = logging.getLogger("evermix")
LOOK = 10  # records among which a text and other fields are looked for


class JsonLines(RecordSource):
    """Records such as ``{"id": 7, "text": "..."}`` or ``{"vector": [0.5, 2.0]}``, one per line.

    The first good record decides which of the two the source holds. Fields may be in objects
    inside: the text field ``fields.summary`` is that of ``{"fields": {"summary": "..."}}``. As kind
    "table" all fields are columns of a table, see
    :class:`~evermix.io.sources.json_table.JsonTable`. A record without an id gets its index, from 0
    as in all formats, or its offset if it comes from a broker. The path
    ``"-"`` is standard input.
    """

    suffixes = (".jsonl", ".ndjson")
    packable = True
    has_fields = True
    _table: JsonTable
    _met: bool = False  # whether a row had the text or vector
    _awaited: tuple[str, ...] = ()  # fields that the user has named, of which no row was seen yet

    def survey(self) -> None:
        """Find out what the file holds, unless it goes on with rows that are known."""
        if isinstance(self.lines, LiveLines):
            self._awaited = self.options.required
        if isinstance(self.lines, LiveLines) and self.lines.resumed and self.options.kind:
            self.kind = self.options.kind
            self.beside = self.options.beside and self.kind == "vectors"
            return
        if self.options.kind == "table":
            self._survey_table()
            return
        self.kind = self.options.kind or self._guess()
        self.beside = self.options.beside and self.kind == "vectors" and self._has_texts()
        self.check_first(numbered(self.lines.peek(), 0))
        if self.options.required and not isinstance(self.lines, LiveLines):
            self.check_required(self._first_fields(), "field")

    def _survey_table(self) -> None:
        """Find out which columns the table has, and what they hold."""
        if isinstance(self.lines, LiveLines):
            raise WrongKind(
                f"{self.path}: rows of a table must be in files that are whole. JSON lines that "
                "come while they are read hold texts or vectors."
            )
        rows = list[dict[str, Any]]()
        for line in islice(self.lines.peek(), FIRST):
            with suppress(RowError):
                rows.append(flat(_decoded(line), self.options.ignore))
        self.options = self.options.among(list(dict.fromkeys(n for row in rows for n in row)))
        self.kind = "table"
        self._table = JsonTable(rows, self._later(rows), self.options, self.writings)
        self.columns, self.header = self._table.names, self._table.header or None
        self.set_written(self._table.written)
        self.check_first(numbered(self.lines.peek(), 0))
        self.check_required(self._table.header, "field")

    def _later(self, first: list[dict[str, Any]]) -> dict[str, list[str]]:
        """Return strings of later rows by field, a number of each form that first ones have not.

        Fields that have shown how their numbers are written have none.
        """
        known, found = dict[str, list[str]](), dict[str, dict[str, str]]()
        for name in {name: None for row in first for name in row}:
            cells = [row[name] for row in first if isinstance(row.get(name), str)]
            if forms_of(cells) and not shows_decimals(cells):
                known[name], found[name] = cells, {}
        with suppress(SourceError):  # it is raised where the rows are read
            for record in islice(self.apart().records(0), FIRST, LATER) if known else ():
                with suppress(RowError):
                    fields = flat(_decoded(record.data), self.options.ignore)
                    for name in known.keys() & fields.keys():
                        found[name] |= forms_of([fields[name]])
        return {name: other_forms(found[name], cells) for name, cells in known.items()}

    def _first_fields(self) -> list[str]:
        """Return the fields that the first records have."""
        found = set[str]()
        for line in islice(self.lines.peek(), LOOK):
            with suppress(RowError):
                found |= self._read(line).keys()
        return sorted(found)

    def _guess(self) -> Kind:
        """Return the kind of the first record that has one of the two fields."""
        options = self.options
        for line in self.lines.peek():
            fields: dict[str, Any] = {}
            with suppress(RowError):
                self.check_length(line)
                fields = self._read(line)
            if options.beside and options.vector_field in fields:
                return "vectors"
            if options.text_field in fields:
                return "text"
            if options.vector_field in fields:
                return "vectors"
            if line.strip() and not self.options.skip_bad:
                break
        return "text"

    def _has_texts(self) -> bool:
        """Whether one of the first records has a text."""
        for line in islice(self.lines.peek(), LOOK):
            with suppress(RowError):
                if self.options.text_field in self._read(line):
                    return True
        return False

    def written_times(self) -> Iterator[Any]:
        """Yield what the field of times holds, unless lines come while they are read."""
        if isinstance(self.lines, LiveLines):
            return
        for record in self.apart().records(0):
            with suppress(RowError):
                yield self._read(record.data).get(str(self.options.time_field))

    def parse(self, record: Record) -> Row | None:
        """Return the row of a record, None if it is blank."""
        if not record.data.strip():
            return None
        whole, options = _decoded(record.data), self.options
        fields = self._with_named(whole)
        if self._awaited:
            self._notice(fields)
        value = self._value(fields)
        number = self.lines.offset or self.rows_before + record.row
        name = fields.get(options.id_field, number)
        time = options.time_field
        if time is not None and time not in fields:
            raise RowError(no_such("field", time, flat(whole), "--time-field"))
        return Row(
            name,
            value,
            None if time is None else self.parse_time(fields[time]),
            _text(fields.get(options.text_field, ""), options.text_field) if self.beside else None,
            fields=self._kept(whole) if options.fields else None,
        )

    def _read(self, line: bytes) -> dict[str, Any]:
        """Return the fields of a line, those that the user has named among them."""
        return self._with_named(_decoded(line))

    def _with_named(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return fields with those under the names that the user has given them.

        These are in objects inside, as in ``fields.summary``, or differ in case. Of a table all
        fields in objects inside have such names.
        """
        if self.options.kind == "table":
            return flat(fields, self._whole)
        named = [self.options.text_field, self.options.vector_field, *self.options.named.values()]
        found = {name: reached(fields, name) for name in named if name not in fields}
        found = {name: value for name, value in found.items() if value is not None}
        return fields | found if found else fields

    @property
    def _whole(self) -> tuple[str, ...]:
        """Fields of a table that are none of objects inside: what is there would be a mistake."""
        return (*self.options.ignore, *self._table.header)

    def _value(self, fields: dict[str, Any]) -> Any:
        """Return the text, the vector or the values by column of a record."""
        if self.kind == "table":
            return self._table.row(fields)
        options = self.options
        field = options.text_field if self.kind == "text" else options.vector_field
        if field not in fields:
            there, flag = flat(fields), f"--{self.kind.removesuffix('s')}-field"
            texts = _texts(there) if self.kind == "text" else []
            if self._met:  # so the field has the right name, and this row lacks it
                raise RowError(no_such("field", field, there, flag, []))
            likely = "" if one_of(field, texts or there) else _likely(there)
            raise RowError(
                f"{no_such('field', field, there, flag, texts or None)} Name the field with the "
                "text or vector with --text-field or --vector-field, or read all fields as columns "
                f"of a table with --kind table (in Python: text_field, vector_field, kind).{likely}"
            )
        self._met = True
        return (_text if self.kind == "text" else _numbers)(fields[field], field)

    def _kept(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a row; of a table all that the first rows have, in their order."""
        if self.kind == "table":
            fields = flat(fields, self._whole)
            return {name: fields.get(name) for name in self._table.header}
        return fields

    def _notice(self, fields: dict[str, Any]) -> None:
        """Warn if the first row of a live source has no field that the user has named."""
        for name in self._awaited:
            if name not in fields and name != self.options.text_field:
                LOG.warning(
                    f"warning: the first row has no field {name!r}; its fields are "
                    f"{', '.join(map(repr, sorted(fields)))}. Rows without it are called by their "
                    "numbers."
                )
        self._awaited = ()

    def is_whole(self, line: bytes) -> bool:
        """Whether a last line without a newline is whole: no part of a JSON object is one.

        A list is no row, and so an error that says what to do.
        """
        try:
            return isinstance(json.loads(line), dict | list)
        except (ValueError, RecursionError):
            return False

    def place(self, row: int) -> str:
        """Return the file and the line; standard input cannot be read again for it."""
        return f"{self.path}: line {row + 1}"


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except UnicodeDecodeError as error:
        raise RowError(f"expected a JSON object {NOT_UTF8}") from error
    except (ValueError, RecursionError) as error:
        reason = f"expected a JSON object, got what cannot be read ({error})."
        raise RowError(reason + _remedy(line)) from error
    if not isinstance(fields, dict):
        raise RowError(f"expected a JSON object, got {type(fields).__name__}." + _remedy(line))
    return fields


def _remedy(line: bytes) -> str:
    """Return what to do with a line that begins a list of objects, or one of several lines."""
    if line.strip() == b"{":
        return f" {IN_ONE_LINE}"
    return f" {ONE_PER_LINE}" if line.lstrip().startswith(b"[") else ""


def _likely(fields: dict[str, Any]) -> str:
    """Return the option that names the longest text, if one of the fields holds several words."""
    longest = max(_texts(fields), key=lambda name: len(fields[name]), default=None)
    return "" if longest is None else f" Did you mean --text-field {shlex.quote(longest)}?"


def _texts(fields: dict[str, Any]) -> list[str]:
    """Return the names of fields that hold several words."""
    return [k for k, v in fields.items() if isinstance(v, str) and len(v.split()) > 1]


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise RowError(f"expected a string in {field!r}, got {value!r:.60}.")
    return value


def _numbers(value: Any, field: str) -> Numbers:
    """Return a JSON value as float64 (n,); strings are refused even if they look like numbers."""
    try:
        vector = np.array(value)
    except ValueError:
        vector = np.array(None)
    if vector.ndim != 1 or vector.size == 0 or vector.dtype.kind not in "iuf":
        raise RowError(f"expected a list of numbers in {field!r}, got {value!r:.60}.")
    return vector.astype(np.float64)
