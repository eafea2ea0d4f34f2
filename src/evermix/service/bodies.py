"""The bodies of requests: strict JSON, and observations in it."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import orjson

KINDS = "vectors", "records", "texts"
TIMES = DATES, NUMBERS = "dates", "numbers"
FIELDS = {"vector": "vectors", "record": "records", "text": "texts"}
LONGEST_ID = 200
_LENGTHS = frozenset(range(1, LONGEST_ID + 1))
LARGEST = 1e300  # numbers, so that sums stay finite
MOST_COLUMNS = 10_000
_SPELLINGS = {  # how batches of vectors begin, and what stands between two of them
    b'[{"vector": [': b']}, {"vector": [',  # as json.dumps of Python writes them
    b'[{"vector":[': b']},{"vector":[',  # as JSON.stringify of JavaScript does
}
_END = b"]}]"


class BodyError(ValueError):
    """A body that cannot be taken."""


@dataclass(frozen=True)
class Observations:
    """Rows of one kind.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    rows : array (n, D) or list
        Vectors, dicts of values, or texts.
    ids : list of str or None
        By which rows that come twice are known.
    single : bool
        Whether it was one observation, and not a batch of them.
    times : list or None
        The ``time`` of each, as it came, None where there is none; None if no row has one.
    listed : bool
        Whether times came in a list of their own, beside the observations.
    """

    kind: str
    rows: Any
    ids: list[str | None]
    single: bool = False
    times: list[Any] | None = None
    listed: bool = False

    def part(self, places: Sequence[int]) -> "Observations":
        """Return some of the rows."""
        vectors = self.kind == "vectors"
        rows = self.rows[list(places)] if vectors else [self.rows[i] for i in places]
        times = None if self.times is None else [self.times[i] for i in places]
        ids = [self.ids[i] for i in places]
        return Observations(self.kind, rows, ids, self.single, times, self.listed)


def parsed(body: bytes) -> Any:
    """Return what JSON says, or raise BodyError."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BodyError(f"the body must be JSON: {error}.") from error


def parsed_object(body: bytes, allowed: Sequence[str]) -> dict[str, Any]:
    """Return a JSON object that has no other entries than these, or raise BodyError."""
    value = parsed(body) if body.strip() else {}
    if not isinstance(value, dict):
        raise BodyError(f"the body must be a JSON object, got {shown(value)}.")
    unknown = sorted(set(value) - set(allowed))
    if unknown:
        raise BodyError(f"the body may hold {', '.join(allowed)}, got also {unknown[0]!r:.80}.")
    return value


def observations(body: bytes, form: str, most: int) -> Observations:
    """Return the observations of a body, ``most`` at most, or raise BodyError."""
    if form == "jsonl":
        lines = [line for line in body.split(b"\n") if line.strip()]
        check_number(len(lines), most)
        return _of_rows([_line(i, line) for i, line in enumerate(lines)], _numeric(body))
    if (X := _usual_batch(body, most)) is not None:
        return Observations("vectors", X, [None] * len(X))
    value = parsed(body)
    if isinstance(value, dict) and "observations" in value:
        if not value.keys() <= {"observations", "times"}:
            raise BodyError("beside observations the body may hold times, and nothing else.")
        times, value = value.get("times"), value["observations"]
        if not isinstance(value, list):
            raise BodyError(f"observations must be a list, got {shown(value)}.")
        if times is not None:
            check_number(len(value), most)
            return _with_times(_of_rows(value, _numeric(body)), times)
    if isinstance(value, list):
        check_number(len(value), most)
        return _of_rows(value, _numeric(body))
    return _of_rows([value], single=True)


def _with_times(given: Observations, times: Any) -> Observations:
    """Return observations with the times of a list of its own."""
    if not isinstance(times, list) or len(times) != len(given.ids):
        raise BodyError("times must be a list with one for each observation.")
    if given.times is not None:
        raise BodyError("times must be in the observations or in a list of their own, not in both.")
    return replace(given, times=times, listed=True)


def shown(value: Any) -> str:
    """Return a value for messages."""
    names = {dict: "an object", list: "a list", str: "a string", type(None): "null"}
    return names.get(type(value)) or f"{value!r:.40}"


def whole(value: Any) -> Any:
    """Return a whole number as an int, also if it is written as 3.0, and others as they are."""
    return int(value) if type(value) is float and value.is_integer() else value


def columns(rows: Sequence[dict[str, Any]], known: Sequence[str] = ()) -> dict[str, Any]:
    """Return records as a table; a field that a record does not have is missing there."""
    names = dict.fromkeys(known)
    for row in rows:
        names |= dict.fromkeys(row)
    table: dict[str, Any] = {}
    for name in names:
        table[name] = np.empty(len(rows), dtype=object)
        table[name][:] = [row.get(name) for row in rows]
    return table


def _line(i: int, line: bytes) -> Any:
    try:
        return parsed(line)
    except BodyError as error:
        raise BodyError(f"line {i + 1}: {error}") from error


def _numeric(body: bytes) -> bool:
    """Whether there is no true or false in a body, which arrays would take for 1 and 0."""
    return _wordless(body) or (b"true" not in body and b"false" not in body)


def _wordless(body: bytes) -> bool:
    """Whether there is no true, false or null, nor any other word with a letter u or l."""
    return b"u" not in body and b"l" not in body


def _usual_batch(body: bytes, most: int) -> Any:
    """Return a batch of vectors without ids as an array (n, D); None of any other body.

    All numbers are read as one list, with null where a vector ends, which takes half of the time
    of an object and a list for each. Since there is no other null, and nothing but numbers beside
    them, the body is the batch that its beginning says.
    """
    head = next(filter(body.startswith, _SPELLINGS), None)
    if head is None or not body.endswith(_END) or not _wordless(body):
        return None
    between = _SPELLINGS[head]
    rows = body[len(head) : -len(_END)].replace(between, b",null,".ljust(len(between)))
    try:
        values = orjson.loads(b"[%b,null]" % rows)
    except orjson.JSONDecodeError:
        return None
    D = values.index(None)
    n, rest = divmod(len(values), D + 1)
    if rest or n > most or D > MOST_COLUMNS or values[D :: D + 1] != [None] * n:
        return None
    del values[D :: D + 1]
    return _matrix(values, n)


def _matrix(values: list[Any], n: int) -> Any:
    """Return numbers as an array (n, D); None if there are others than numbers up to ``LARGEST``.

    There is no boolean among them. ``numpy.array``, which finds a type first, takes longer.
    """
    X = np.empty(len(values))
    try:
        struct.pack_into(f"{len(values)}d", X.data, 0, *values)
    except struct.error:
        return None
    return X.reshape(n, -1) if np.abs(X).max() <= LARGEST else None


def _of_rows(values: list[Any], numeric: bool = False, single: bool = False) -> Observations:
    """Return the observations that JSON values are; ``numeric``: none of them is a boolean."""
    if not values:
        raise BodyError("there are no observations in the body.")
    if numeric and (found := _plain_observations(values)) is not None:
        return Observations("vectors", *found, single)
    kinds, rows, ids, times = set[str](), list[Any](), list[str | None](), list[Any]()
    for i, value in enumerate(values):
        try:
            kind = _kind(value)
            ids.append(checked_id(value.get("id")))
        except BodyError as error:
            raise error if single else BodyError(f"observation {i}: {error}") from error
        kinds.add(kind)
        rows.append(value[kind])
        times.append(value.get("time"))
    if len(kinds) > 1:
        names = " and ".join(sorted(FIELDS[kind] for kind in kinds))
        raise BodyError(f"observations must be of one kind, got {names}.")
    (kind,) = kinds
    for i, row in enumerate(rows):
        try:
            _CHECKS[kind](row)
        except BodyError as error:
            raise error if single else BodyError(f"observation {i}: {error}") from error
    if kind == "vector":
        lengths = sorted(set(map(len, rows)))
        if len(lengths) > 1:
            raise BodyError(f"vectors must have one length, got {lengths[:5]}.")
        rows = np.array(rows, dtype=np.float64)  # type: ignore[assignment]
    some = times if any(time is not None for time in times) else None
    return Observations(FIELDS[kind], rows, ids, single, some)


def _plain_observations(values: list[Any]) -> tuple[Any, list[Any]] | None:
    """Return vectors and ids of observations that are alike and right; None of any others.

    There is no boolean among them. A check of all at once takes a fraction of the time of one
    after another, which tells what is wrong.
    """
    if set(map(type, values)) != {dict} or len(sizes := set(map(len, values))) != 1:
        return None
    try:
        vectors = [value["vector"] for value in values]
        ids: list[Any] = [None] * len(values)
        if sizes != {1}:
            ids = [value["id"] for value in values]
    except KeyError:
        return None
    if not sizes <= {1, 2} or (sizes == {2} and not _plain_ids(ids)):
        return None
    X = _plain_vectors(vectors)
    return None if X is None else (X, ids)


def _plain_ids(ids: list[Any]) -> bool:
    """Whether all are strings, none of them empty or too long."""
    return set(map(type, ids)) == {str} and set(map(len, ids)) <= _LENGTHS


def _plain_vectors(rows: list[Any]) -> Any:
    """Return vectors as an array (n, D), None if there is something wrong with any."""
    if set(map(type, rows)) != {list} or len(set(map(len, rows))) != 1:
        return None
    if not 0 < len(rows[0]) <= MOST_COLUMNS:
        return None
    return _matrix(list(chain.from_iterable(rows)), len(rows))


def _kind(value: Any) -> str:
    """Return which of ``FIELDS`` an observation has; others than these do not matter."""
    if not isinstance(value, dict):
        raise BodyError(
            'an observation is an object such as {"vector": [0.5, 1.0], "id": "a1"}, got '
            f"{shown(value)}."
        )
    found = value.keys() & FIELDS.keys()
    if len(found) != 1:
        raise BodyError(
            "an observation must have one of vector, record and text, got "
            f"{', '.join(sorted(value)) or 'an empty object'!r:.120}."
        )
    return found.pop()


def checked_id(id: Any) -> str | None:
    """Return an id as a string, None if there is none, or raise BodyError."""
    if id is None:
        return None
    if type(number := whole(id)) is int:
        id = str(number)
    if not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID:
        raise BodyError(
            f"an id must be a string of 1 to {LONGEST_ID} letters, or a whole number, got "
            f"{shown(id)}."
        )
    return id


def _vector(row: Any) -> None:
    if not isinstance(row, list) or not 0 < len(row) <= MOST_COLUMNS:
        raise BodyError(f"a vector is a list of 1 to {MOST_COLUMNS} numbers, got {shown(row)}.")
    if not {int, float}.issuperset(map(type, row)):
        other = next(value for value in row if type(value) not in (int, float))
        raise BodyError(f"a vector must hold numbers, got {shown(other)}.")
    largest = max(max(row), -min(row))
    if largest > LARGEST:
        raise BodyError(f"numbers of a vector may be up to {LARGEST:g}, got {shown(largest)}.")


def _record(row: Any) -> None:
    if not isinstance(row, dict) or not 0 < len(row) <= MOST_COLUMNS:
        raise BodyError(
            f"a record is an object of 1 to {MOST_COLUMNS} named values, got {shown(row)}."
        )
    for name, value in row.items():
        number = type(value) in (int, float)
        if not name or (number and not -LARGEST <= value <= LARGEST):
            raise BodyError(f"{name!r:.80} in a record is {shown(value)}, which is too large.")
        if not number and not isinstance(value, str | bool | None):
            raise BodyError(
                f"values of a record are numbers, strings, true, false or null, got "
                f"{shown(value)} for {name!r:.80}."
            )


def _text(row: Any) -> None:
    if not isinstance(row, str):
        raise BodyError(f"a text must be a string, got {shown(row)}.")


_CHECKS: dict[str, Any] = {"vector": _vector, "record": _record, "text": _text}


def check_number(n: int, most: int) -> None:
    """Raise BodyError if there are too many observations."""
    if n > most:
        raise BodyError(f"a batch may hold {most:,} observations, got {n:,}. Send several.")
