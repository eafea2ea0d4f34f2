"""How to read a source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from evermix._limits import MAX_FEATURES, MAX_LINE
from evermix.io.similar_names import same_but_case
from evermix.io.sources.chunk import Mark
from evermix.io.sources.dialect import Writing, as_written

Kind: TypeAlias = Literal["text", "counts", "vectors", "table"]


@dataclass(frozen=True)
class Options:
    """How to read a source.

    Parameters
    ----------
    kind : {"text", "counts", "vectors", "table"}, optional
        What the rows are; None: what the format or the first record holds. Text comes as strings,
        counts as CSR matrices and vectors as dense arrays.
    text_field, vector_field, id_field : str
        Names of the fields or columns that hold a row's text, vector and id. These and all others
        that are named may differ in case from those of the source, if only one is meant. Fields of
        JSON objects inside are named with dots, such as ``fields.summary``.
    time_field : str, optional
        Name of the field or column that holds a row's time: a number, or a date such as 2024-05-31,
        31.5.2024 or 2024-05-31T18:30:00Z, in UTC unless it names an offset. All rows must have one,
        and all of the same kind.
    date_order : {"day", "month"}, optional
        What comes first in dates such as 6/4/2025. None: the first row of the file decides in which
        one of the two numbers is above 12. Dates with dots, such as 6.4.2025, begin with the day.
    n_features : int, optional
        Number of features that the rows must have, as known from an earlier part of the stream.
    skip_bad : bool
        Whether bad rows are counted and left out; otherwise the first one raises.
    time_labels : bool
        Whether times may be labels too, such as "spring": texts of up to 40 characters that
        begin with a letter.
    max_features : int
        Largest number of columns, and largest index in sparse formats, that is taken for no error.
    max_line : int
        Most bytes of a line; a longer one is a bad row, and not kept in memory.
    encoding : str, optional
        How files of text are encoded, such as ``"cp1252"``. None: in UTF-8, or as a byte order
        mark at their beginning says.
    beside : bool
        Whether JSON lines that have a vector are vectors, though they may have a text as well. The
        texts of vectors are in ``chunk.texts`` then.
    marked : bool
        Whether ``source.marks`` shall say what was read, for :meth:`recall` of a later run.
    complete : bool
        Whether a last line without a newline is a row. Otherwise it may still be being written, and
        is left out unless it is certainly whole, as a JSON object is.
    max_wait : float, optional
        Seconds after which a chunk of standard input, or of files that are followed, is yielded
        though it is not full, and even if it is empty.
    continues : bool
        Whether standard input goes on with rows after those of an earlier run, rather than
        beginning with these again.
    followed : tuple of str
        Files, folders and patterns that are followed.
    marks : sequence of Mark
        Of an earlier run that has followed the files, or read messages of a broker.
    ignore : tuple of str
        Columns of CSV and Parquet files that are no features, where there are such.
    missing : tuple of str
        What stands for a missing value in such files, beside blank cells and NA.
    category : tuple of str
        Columns whose numbers are names, such as postcodes, in such files.
    features : tuple of str
        Columns of CSV and Parquet files that are features, in this order, as known from rows
        before; where all of them are there, others are ignored.
    numbers : tuple of str
        Columns of such files that hold numbers, as known from rows before: there what is neither
        a number nor missing is a mistake, however few rows there are.
    codes : tuple of str, optional
        Columns of CSV files whose digits are names, as known from rows before. None: those of
        digits with leading zeros, all of the same length.
    digits : mapping of str to bool
        Columns of the CSV files that are read before as one source, and whether their digits are
        names; others are looked at, unless ``codes`` are known.
    drain : bool
        Whether messages of a broker, or lines of files that are followed, end where there is none
        left, rather than being waited for.
    broker_config : str, optional
        A JSON file with more settings for the client of a broker.
    dead_letters : bool
        Whether bad rows are also kept in ``source.rejected``.
    fields : {"text", "values"}, optional
        Whether ``chunk.fields`` keeps all fields of rows: cells of CSV files as they stand there,
        or read as numbers where they are; None: they are not kept.
    required : tuple of str
        Columns or fields that a source whose columns have names must have.
    units : mapping of str to str
        Units of columns, as known from an earlier part of the stream; other words are refused.
    decimals : mapping of str to str
        What stands before decimals in columns, as known from rows before, for numbers that leave it
        open whether they have decimals or thousands, such as 1.063.
    unsure : collection of str
        Those of these columns where all numbers so far leave it open.
    """

    kind: Kind | None = None
    text_field: str = "text"
    vector_field: str = "vector"
    id_field: str = "id"
    time_field: str | None = None
    date_order: Literal["day", "month"] | None = None
    n_features: int | None = None
    skip_bad: bool = False
    time_labels: bool = False
    max_features: int = MAX_FEATURES
    max_line: int = MAX_LINE
    encoding: str | None = None
    beside: bool = False
    marked: bool = False
    complete: bool = True
    max_wait: float | None = None
    continues: bool = False
    followed: tuple[str, ...] = ()
    marks: Sequence[Mark] = ()
    ignore: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    drain: bool = False
    broker_config: str | None = None
    dead_letters: bool = False
    fields: Literal["text", "values"] | None = None
    required: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, str] = field(default_factory=dict)
    unsure: Collection[str] = ()
    features: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    codes: tuple[str, ...] | None = None
    digits: Mapping[str, bool] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """The columns or fields that the user has named, by option; not those of the defaults."""
        names: dict[str, Any] = {option: getattr(self, option) for option in _NAMES}
        return {
            option: name
            for option, name in names.items()
            if name is not None and (name != getattr(Options, option) or name in self.required)
        }

    @property
    def written(self) -> dict[str, Writing]:
        """What stands before decimals in columns, where that is known of rows before."""
        return as_written({}, self.decimals, self.unsure)

    def among(self, names: Collection[str]) -> "Options":
        """Return options that call columns as they are called here, where only the case differs."""

        def all_of(some: Sequence[str]) -> tuple[str, ...]:
            return tuple(same_but_case(name, names) for name in some)

        found: dict[str, Any] = {o: same_but_case(name, names) for o, name in self.named.items()}
        lists: dict[str, Any] = {option: all_of(getattr(self, option)) for option in _LISTS}
        return replace(self, **found, **lists)


_NAMES = "text_field", "vector_field", "id_field", "time_field"
_LISTS = "ignore", "category", "required"
