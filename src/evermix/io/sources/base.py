"""What every source has: rows in chunks, checked once, and an offset to resume at.

Rows are counted from 0 in the order of the file, blank and bad ones included, so an offset means
the same place whatever was skipped. Sources keep no file open and can be pickled: wherever one is
unpickled, it reads the file at the same path.

A file format is a subclass of :class:`FileSource` that names its suffixes; ``records.py`` and
``blocks.py`` have the two bases for it.
"""

import shlex
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from evermix._warning import warn
from evermix._words import counted
from evermix.io.similar_names import did_you_mean, no_such
from evermix.io.sources.chunk import Chunk, Mark, Rejected
from evermix.io.sources.dates import find_order, is_open
from evermix.io.sources.dialect import Writing, agreed_unit, as_written
from evermix.io.sources.errors import (
    ONE_PER_LINE,
    ONE_TEXT_PER_LINE,
    NoRows,
    OtherWriting,
    RowError,
    SourceError,
    WrongKind,
    too_many,
)
from evermix.io.sources.options import Kind, Options
from evermix.io.sources.row_numbers import REMEDY, WHAT, are_row_numbers
from evermix.io.sources.strings import writings_of
from evermix.io.sources.values import Time, read_time, typical_time

_COMPLAINTS_KEPT = 5


class FileSource(ABC):
    """One file of some format. Subclasses that name suffixes are known to ``open_source``.

    Derive from :class:`~evermix.io.sources.RecordSource` or
    :class:`~evermix.io.sources.BlockSource`, not from this class.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    """How file names of this format end, such as ``(".jsonl", ".ndjson")``."""
    prefix: ClassVar[str] = ""
    """How file names of this format begin, if that matters."""
    packable: ClassVar[bool] = False
    """Whether files may also be packed, with ``.gz`` after the suffix."""
    splittable: ClassVar[bool] = False
    """Whether any run of rows can be read without reading the rows before it."""
    has_fields: ClassVar[bool] = False
    """Whether rows have named fields, so that one of them can hold times."""

    has_lines: ClassVar[bool] = False
    """Whether files are text, which may be encoded in several ways."""

    kind: Kind
    """What the rows are: ``"text"``, ``"counts"``, ``"vectors"`` or ``"table"``."""
    n_features: int | None = None
    """Number of columns D; None for text."""
    codes: tuple[str, ...] = ()
    """Names of the features whose digits are names, such as postcodes."""
    row_numbers: tuple[str, ...] = ()
    """Names of columns of numbers that are no features, since they number the rows."""
    n_rows: int | None = None
    """Number of rows, bad and blank ones included; None until all were read."""
    columns: list[str] | None = None
    """Names of the features, if they have names."""
    header: list[str] | None = None
    """Names of all columns, those of ids, times and what is ignored included, if it has any."""
    rows_before: int = 0
    """Rows of the files before this one, which numbers that serve as ids count too."""
    dated: bool | None = None
    """Whether times are dates; None if there are no times."""
    labelled: bool = False
    """Whether times are labels."""
    _typical: Time | None = None  # one of the kind that times have
    _day_first: bool | None = None  # in dates that leave it open; None until one was seen
    beside: bool = False
    """Whether texts come with the vectors."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.suffixes:
            _FORMATS.append(cls)

    def __init__(self, path: str, options: Options) -> None:
        self.path = path
        self.options = options
        self.n_features = options.n_features
        self.bad = 0  # rows skipped so far
        self.complaints: list[str] = []  # what was wrong with the first few of them
        self.rejected: list[Rejected] = []  # all of them, until somebody takes them, if wanted
        self.units = dict(options.units)  # of columns of numbers, by name
        self.decimals = dict(options.decimals)  # what stands before them, where they show it
        self.unsure = set(options.unsure)  # columns that leave this open
        if options.time_field is not None and not self.has_fields:
            raise self.error(
                f"expected times in {options.time_field!r}, but rows of this format have no named "
                "fields. Give JSON lines, CSV or Parquet, or no time_field (on the command "
                "line: --time-field)."
            )
        if options.encoding is not None and not self.has_lines:
            raise self.error(
                "an encoding is for files of text, such as CSV and JSON lines. Leave it out (on "
                "the command line: --encoding)."
            )
        self.survey()

    @abstractmethod
    def survey(self) -> None:
        """Find out what the file holds: set ``kind``, ``n_features`` and ``n_rows`` if known."""

    @abstractmethod
    def chunks(self, start: int, size: int, limit: int | None = None) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty.

        With a ``limit`` (at least 1), it is not read further than so many rows reach.
        """

    @abstractmethod
    def place(self, row: int) -> str:
        """Return the file and the line or row of the row with this index, for messages."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows, bad and blank ones included; reads the file if need be."""

    @abstractmethod
    def has_row(self, row: int) -> bool:
        """Whether there is a row of this index; reads no further than that."""

    @abstractmethod
    def mark(self, offset: int, read: Any) -> Mark:
        """Return what a checkpoint notes of this file, if its first ``offset`` rows were read.

        ``read`` is what the chunk that ends there has said.
        """

    @abstractmethod
    def recall(self, mark: Mark) -> None:
        """Check, now or while it is read, that the file begins as it did when it was marked.

        SourceError: it was changed.
        """

    def marks(self, offset: int, read: Any) -> list[Mark]:
        """Return marks of the files that hold the first ``offset`` rows, for a checkpoint."""
        return [self.mark(offset, read)]

    @property
    def written(self) -> dict[str, Writing]:
        """How numbers are written, by column, where people have written them."""
        return as_written(self.units, self.decimals, self.unsure)

    @property
    def live(self) -> bool:
        """Whether rows come while they are read, and chunks may be empty while none comes."""
        return False

    @property
    def unfinished(self) -> bool:
        """Whether the last line was left out, since it may still be being written."""
        return False

    @classmethod
    def align(cls, sources: Sequence[Any]) -> None:
        """Make files of this format that are read as one source agree on their columns."""
        del sources

    # ---- for subclasses ----------------------------------------------------------------------

    def error(self, message: str) -> SourceError:
        """Return an error that names the file."""
        return SourceError(f"{self.path}: {message}")

    def no_rows(self, message: str) -> NoRows:
        """Return the error of a file without rows."""
        return NoRows(f"{self.path}: {message} Give a file with rows.")

    def choose_kind(self, *allowed: Kind) -> Kind:
        """Return the kind that the user wants, or the first of those that the file can hold."""
        kind = self.options.kind or allowed[0]
        if kind not in allowed:
            names = " or ".join(f'"{name}"' for name in allowed)
            raise WrongKind(f'{self.path}: this format can be read as {names}, not as "{kind}".')
        return kind

    def check_required(self, names: Collection[str], what: str = "column") -> None:
        """Raise SourceError unless all columns that the user has named are among these."""
        for name in self.options.required:
            if name not in names:
                flags = {"text_field": "--text-field", "id_field": "--id-field"}
                flag = next((f for o, f in flags.items() if getattr(self.options, o) == name), "")
                raise self.error(no_such(what, name, names, flag))

    def known_features(
        self, names: list[str], numbers: Callable[[str], NDArray[np.float64]]
    ) -> list[str]:
        """Return those of the features of these names that are known, if all of them are there.

        Warns of others, unless they number or name the rows by the first ``numbers`` of a column,
        NaN in place of what is none.
        """
        known = list(self.options.features)
        if not known or not set(known) <= set(names):
            return names
        others = (name for name in names if name not in known)
        unknown = [n for n in others if not are_row_numbers(n, numbers(n), learning=False)]
        if unknown:
            warn(
                f"the model does not know the columns {', '.join(map(repr, unknown))} of "
                f"{self.path}, which are ignored."
            )
        return known

    def without_row_numbers(self, columns: Mapping[str, NDArray[np.float64]]) -> list[str]:
        """Return the names of features, by their first values, that do not number the rows.

        Where the model knows its features, these are all.
        """
        names = list(columns)
        if self.options.features or self.options.n_features is not None:
            return names
        found = [name for name, values in columns.items() if are_row_numbers(name, values)]
        if not found or len(found) == len(names):
            return names
        hold = "columns {} hold" if len(found) > 1 else "column {} holds"
        it = "they are" if len(found) > 1 else "it is"
        warn(f"{hold.format(', '.join(map(repr, found)))} {WHAT}: {it} ignored. {REMEDY}")
        self.row_numbers = tuple(found)
        return [name for name in names if name not in found]

    def check_different(self, names: Sequence[str], read: Collection[str] | None) -> None:
        """Raise SourceError if columns that are read have the same name.

        ``read`` are the names of the text or vector, the id and the time, if no others are read.
        """
        kept = self.options.fields is not None
        some = read if read is not None else set(names).difference(self.options.ignore)
        counts = Counter(name for name in names if kept or name in some)
        twice = [name for name, n in counts.items() if n > 1]
        if twice:
            leave_out = " ".join(f"--ignore {shlex.quote(name)}" for name in twice)
            ways = "" if kept or read is not None else ", or leave them out with ignore"
            ways += f" (on the command line: {leave_out})" if ways else ""
            raise self.error(
                f"the columns of a table need different names, got {twice} twice. Rename one of "
                f"each{ways}."
            )

    def set_features(self, found: int) -> None:
        """Take the number of columns from the file; it must agree with one that the user gave."""
        expected = self.options.n_features
        if found == 0:
            raise self.error("expected at least one feature, the rows have none.")
        if expected is not None and expected != found:
            raise WrongKind(
                f"{self.path}: expected {counted(expected, 'feature')}, the file has {found}."
            )
        if found > self.options.max_features:
            raise self.error(f"{too_many(self.options.max_features)}, the file has {found:,}.")
        self.n_features = found

    def writings(
        self, columns: Mapping[str, Sequence[Any]], delimiter: str = ",", typed: bool = True
    ) -> dict[str, Writing | None]:
        """Return how the numbers of columns are written, see :func:`writings_of`.

        OtherWriting: not as in rows before, and on another scale.
        """
        known, learnt = self.options.written, {*self.options.features, *self.options.numbers}
        try:
            return writings_of(columns, self.options.missing, delimiter, typed, known, learnt)
        except ValueError as error:
            raise OtherWriting(f"{self.path}: {error}") from None

    def set_written(self, written: Mapping[str, Writing]) -> None:
        """Note how numbers are written. SourceError: a column had another unit before."""
        for name, (decimal, unit, unsure) in written.items():
            try:
                both = agreed_unit(name, self.units.get(name, ""), unit)
            except ValueError as error:
                raise self.error(str(error)) from None
            self.units |= {name: both} if both else {}
            self.decimals[name] = decimal
            (self.unsure.add if unsure else self.unsure.discard)(name)

    def parse_time(self, value: Any) -> Time:
        """Return the time that a row's time field holds. RowError: it is not a time."""
        if self._day_first is None and is_open(value):
            self._day_first = self._find_order(value)
        if self.dated is None and (typical := self._typical_time(value)) is not None:
            self.dated, self.labelled = isinstance(typical, np.datetime64), isinstance(typical, str)
            self._typical = typical
        try:
            time = read_time(value, self.labelled, self._day_first)
        except ValueError as error:
            raise RowError(f"{error} in {self.options.time_field!r}.") from error
        dated, labelled = isinstance(time, np.datetime64), isinstance(time, str)
        if (dated, labelled) != (self.dated, self.labelled):
            expected = "a date" if self.dated else "a label" if self.labelled else "a number"
            others = "most rows" if self.options.time_labels else "the first row"
            year = dated != self.dated and (_may_be_year(time) or _may_be_year(self._typical))
            raise RowError(
                f"expected {expected} in {self.options.time_field!r} as in {others}, got "
                f"{value!r:.60}.{' Write all as years, or all as dates.' * year}"
            )
        return time

    def _typical_time(self, value: Any) -> Time | None:
        """Return a time of the kind that times have: most of them where labels may be among them.

        Otherwise it is that of this ``value``; None if it has none.
        """
        labels = self.options.time_labels
        time = typical_time([value])
        if time is None or not labels:
            return None if isinstance(time, str) else time
        values = list[Any]()
        with suppress(SourceError):  # it is raised where the rows are read
            values += [] if self.live else self.written_times()
        return typical_time(values or [value])

    def written_times(self) -> Iterator[Any]:
        """Yield what the time field of rows holds, from the first on; nothing of live sources."""
        yield from ()

    def apart(self) -> Self:
        """Return a copy that reads the file on its own, whatever else is being read."""
        other = copy(self)
        other.__dict__.pop("lines", None)
        return other

    def _find_order(self, value: str) -> bool:
        """Return whether the day comes first in dates such as 6/4/2025."""
        if self.options.date_order is not None:
            return self.options.date_order == "day"
        found = None
        with suppress(SourceError):  # it is raised where the rows are read
            found = find_order(self.written_times())
        if found is None:  # rows of live sources cannot be looked at before they come
            found = find_order([value])
        if found is None:
            raise self.error(
                f"the day or the month may come first in {value!r} in "
                f"{self.options.time_field!r}, and no row shows which. Say so with date_order "
                "(on the command line: --date-order day, or --date-order month)."
            )
        return found

    def reject(self, error: SourceError, *, bad: Rejected | None = None) -> None:
        """Raise the error of a bad row, or count the row if bad rows are skipped."""
        if not self.options.skip_bad:
            raise error
        if bad is not None and self.options.dead_letters:
            self.rejected.append(bad._replace(row=self.rows_before + bad.row))
        self.bad += 1
        if len(self.complaints) < _COMPLAINTS_KEPT:
            self.complaints.append(str(error))


_FORMATS: list[type[FileSource]] = []
_SPREADSHEETS = ".xlsx", ".xls", ".xlsm", ".ods"


def find_format(path: str) -> type[FileSource]:
    """Return the format that a file's name belongs to.

    Of several, the one with the longest prefix, then the one that was defined last. So a format of
    the user's own can replace one of ours.
    """
    name = Path(path).name.lower()
    plain = name.removesuffix(".gz")
    matching = [
        format
        for format in reversed(_FORMATS)
        if plain.startswith(format.prefix)
        and plain.endswith(format.suffixes)
        and (plain == name or format.packable)
    ]
    if matching:
        return max(matching, key=lambda format: len(format.prefix))
    if not Path(path).exists():
        raise SourceError(f"{path}: there is no such file or folder.{did_you_mean(path)}")
    if plain.endswith(_SPREADSHEETS):
        raise SourceError(
            f"{path}: evermix does not read spreadsheets. Save it as CSV, or fit it in "
            f"Python: em.Mixture().fit(pandas.read_excel({path!r}))."
        )
    if plain.endswith(".evermix"):
        raise SourceError(
            f"{path} is a model, which holds no rows: `evermix stream ROWS --model {path}` goes on "
            f"with it, `evermix predict {path} ROWS` answers."
        )
    remedies = {".json": f" {ONE_PER_LINE}", ".txt": f" {ONE_TEXT_PER_LINE}"}
    known = {f"{format.prefix}*{suffix}" for format in _FORMATS for suffix in format.suffixes}
    raise SourceError(
        f"{path}: unknown format. Known file names are {', '.join(sorted(known))} (formats of text "
        "also with .gz), and - for standard input. A module that defines a format of your "
        f"own must be imported first.{remedies.get(Path(plain).suffix, '')}"
    )


def _may_be_year(time: Time | None) -> bool:
    return isinstance(time, float) and time.is_integer() and 1000 <= time <= 2999
