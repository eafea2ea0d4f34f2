"""JSON lines: one record per line, with a text or a vector."""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.sources.base import Kind, Options, RowError
from evermix.io.sources.lines import FileLines, Lines, StandardInput
from evermix.io.sources.formats import Record, RecordSource, Row
from evermix.io.sources.values import fault, stack_dense


class JsonLines(RecordSource):
    """Records such as ``{"id": 7, "text": "..."}`` or ``{"vector": [0.5, 2.0]}``, one per line.

    The first good record says which of the two the source holds. A record without an id gets its
    line number, from 1. The path ``"-"`` is standard input.
    """

    named = True

    def __init__(self, path: str, options: Options) -> None:
        super().__init__(path, options)
        self._lines: Lines = StandardInput() if path == "-" else FileLines(path)
        self.kind = options.kind or self._guess()
        first = self._first_parsed(self._numbered(self._lines.peek(), 0))
        if self.kind != "text":
            self._set_features(len(first))

    def _guess(self) -> Kind:
        """Return what the first record holds that has one of the two fields."""
        for line in self._lines.peek():
            fields: dict[str, Any] = {}
            with suppress(RowError):
                fields = _decoded(line)
            if self.options.text_field in fields:
                return "text"
            if self.options.vector_field in fields:
                return "vectors"
            if line.strip() and not self.options.skip_bad:
                break
        return "text"

    def _records(self, start: int) -> Iterator[Record]:
        return self._numbered(self._lines.read(), start)

    def _numbered(self, lines: Iterator[bytes], start: int) -> Iterator[Record]:
        for index, line in enumerate(islice(lines, start, None), start):
            yield Record(index, index + 1, line)

    def _parse(self, record: Record) -> Row | None:
        if not record.data.strip():
            return None
        fields = _decoded(record.data)
        name = self.options.text_field if self.kind == "text" else self.options.vector_field
        if name not in fields:
            raise RowError(
                f"wanted the field {name!r}, got the fields {sorted(fields)}. "
                "Say which field to read with text_field or vector_field (on the command line: "
                "--text-field, --vector-field)."
            )
        value = fields[name]
        parsed = _text(value, name) if self.kind == "text" else self._vector(value, name)
        name, time = fields.get(self.options.id_field, self.before + record.line), None
        if self.options.time_field is not None:
            time = self._time(fields.get(self.options.time_field))
        return Row(name, parsed, time)

    def place(self, row: int) -> str:
        """Say where the row of this index stands; standard input cannot be read again for it."""
        return f"{self.path}: line {row + 1}"

    def _vector(self, value: Any, name: str) -> Array:
        vector = _numbers(value, name)
        if self.n_features is not None and len(vector) != self.n_features:
            raise RowError(f"wanted {self.n_features} numbers in {name!r}, got {len(vector)}.")
        complaint = fault(vector, range(len(vector)), self.kind)
        if complaint:
            raise RowError(complaint)
        return vector

    def _stack(self, values: list[Any]) -> Any:
        return values if self.kind == "text" else stack_dense(values, self.kind)


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RowError(f"wanted a JSON object, got what cannot be read ({error}).") from error
    if not isinstance(fields, dict):
        raise RowError(f"wanted a JSON object, got {type(fields).__name__}.")
    return fields


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise RowError(f"wanted a string in {name!r}, got {value!r:.60}.")
    return value


def _numbers(value: Any, name: str) -> Array:
    """Return a JSON value as float64 (n,); strings are refused even if they look like numbers."""
    try:
        vector = np.array(value)
    except ValueError:
        vector = np.array(None)
    if vector.ndim != 1 or vector.size == 0 or vector.dtype.kind not in "iuf":
        raise RowError(f"wanted a list of numbers in {name!r}, got {value!r:.60}.")
    return vector.astype(np.float64)
