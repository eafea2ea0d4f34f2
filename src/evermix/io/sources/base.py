"""What every source is: rows in chunks of bounded size, checked once, with an offset to resume at.

A source either parses one record after another (``records.py``) or slices blocks of an array
(``blocks.py``). Both count rows from 0 in the order of the file, blank and bad ones included, so
that an offset means the same place whatever was skipped. Sources keep no file open and travel as
plain data: where one arrives, it reads the file of the same path.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from evermix._xp import Array
from evermix.io.sources.times import Time, read_time

Kind: TypeAlias = Literal["text", "counts", "vectors"]

_COMPLAINTS_KEPT = 5


class SourceError(ValueError):
    """A source cannot be read; the message names the file and the line or row."""


class NoRows(SourceError):
    """A file holds no row at all."""


class RowError(ValueError):
    """What is wrong with one row; the source adds the file and the place."""


class Chunk(NamedTuple):
    """Some consecutive rows of a source.

    Attributes
    ----------
    ids : list of length n
        The rows' own ids, or their numbers.
    X : list of str, CSR matrix (n, D) or array (n, D)
        Texts, counts or vectors, by the source's ``kind``. Numbers are float64.
    first : int
        Index of the first row that this chunk accounts for.
    offset : int
        Rows consumed after this chunk, bad and blank ones included: where to resume.
    rows : int64 array (n,)
        Index of each row.
    times : array (n,) or None
        When each was seen: float64, datetime64[us] in UTC, or str for labels; None if no field
        holds times.
    """

    ids: list[Any]
    X: Any
    first: int
    offset: int
    rows: Array
    times: Array | None = None


class Source(Protocol):
    """Rows that can be read in chunks, from any row on."""

    @property
    def kind(self) -> Kind:
        """What the rows are: ``"text"``, ``"counts"`` or ``"vectors"``."""

    @property
    def n_features(self) -> int | None:
        """Number of columns D; None for text."""

    @property
    def columns(self) -> list[str] | None:
        """Names of the features, where they have some."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, bad and blank ones included; None until a full read has told."""

    @property
    def dated(self) -> bool | None:
        """Whether the times of rows are dates; None if they have none."""

    @property
    def bad(self) -> int:
        """Number of rows that were bad and skipped so far."""

    @property
    def complaints(self) -> Sequence[str]:
        """What was wrong with the first few bad rows."""

    def chunks(self, start: int, size: int) -> Iterator[Chunk]:
        """Yield the rows from ``start`` on, at most ``size`` at a time; no chunk is empty."""

    def place(self, row: int) -> str:
        """Say where the row of this index stands, for people: the file, and the line or row."""


@dataclass(frozen=True)
class Options:
    """How to read a source; see :func:`evermix.io.sources.open_source`."""

    kind: Kind | None = None
    text_field: str = "text"
    vector_field: str = "vector"
    id_field: str = "id"
    time_field: str | None = None
    n_features: int | None = None
    skip_bad: bool = False
    time_labels: bool = False


class Checked:
    """The part that all sources share: what they are, and what to do with bad rows."""

    kind: Kind
    n_features: int | None = None
    n_rows: int | None = None
    columns: list[str] | None = None
    """Names of the features, where they have some."""
    before: int = 0
    """Rows of files that come before, which the numbers of rows count too."""
    dated: bool | None = None
    """Whether times are dates, as the first one says; None if there are no times."""
    labelled: bool = False
    """Whether times are labels, as the first one says."""
    named: ClassVar[bool] = False
    """Whether rows have fields or columns with names."""

    def __init__(self, path: str, options: Options) -> None:
        self.path = path
        self.options = options
        self.n_features = options.n_features
        self.bad = 0
        self.complaints: list[str] = []
        if options.time_field is not None and not self.named:
            raise self._error(
                f"wanted times in {options.time_field!r}, but rows of this format have no fields "
                "with names. Give JSON lines, CSV or Parquet, or no time_field (on the command "
                "line: --time-field)."
            )

    def _error(self, message: str) -> SourceError:
        return SourceError(f"{self.path}: {message}")

    def _empty(self, message: str) -> NoRows:
        return NoRows(f"{self.path}: {message}")

    def _choose(self, default: Kind, allowed: tuple[Kind, ...]) -> Kind:
        """Return the kind that the user asked for, if the format can hold it."""
        kind = self.options.kind or default
        if kind not in allowed:
            wanted = " or ".join(f'"{name}"' for name in allowed)
            raise self._error(f'this format can be read as {wanted}, not as "{kind}".')
        return kind

    def _set_features(self, found: int) -> None:
        """Take the number of columns from the file, which must agree with a given one."""
        wanted = self.options.n_features
        if found == 0:
            raise self._error("wanted at least one feature, the rows have none.")
        if wanted is not None and wanted != found:
            raise self._error(f"wanted {wanted} features, the file has {found}.")
        self.n_features = found

    def _time(self, value: Any) -> Time:
        """Return what stands in the time field of a row. RowError: it is no time."""
        try:
            time = read_time(value, self.options.time_labels)
        except ValueError as error:
            raise RowError(f"{error} in {self.options.time_field!r}.") from error
        dated, labelled = isinstance(time, np.datetime64), isinstance(time, str)
        if self.dated is None:
            self.dated, self.labelled = dated, labelled
        if (dated, labelled) != (self.dated, self.labelled):
            wanted = "a date" if self.dated else "a label" if self.labelled else "a number"
            raise RowError(
                f"wanted {wanted} in {self.options.time_field!r} as in the first row, got "
                f"{value!r:.60}."
            )
        return time

    def _complain(self, error: SourceError) -> None:
        """Raise, or count the complaint where bad rows are to be skipped."""
        if not self.options.skip_bad:
            raise error
        self.bad += 1
        if len(self.complaints) < _COMPLAINTS_KEPT:
            self.complaints.append(str(error))
