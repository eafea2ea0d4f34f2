"""Rows of a source: opened, turned into numbers, and held, mapped or read again for a fit."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from evermix._warning import warn
from evermix._xp import Array
from evermix.cli.console import progress_bar
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.estimators.data.tables import CellError, check_most_are_there, columns_in_words
from evermix.families.base import Family
from evermix.io.chunks import Chunks
from evermix.io.similar_names import no_such, same_but_case
from evermix.io.sources import Chunk, Source, SourceError, open_source
from evermix.io.sources.arrays import DenseArray
from evermix.io.sources.bad_rows import of_bad_row
from evermix.io.sources.several import Several, joined
from evermix.io.sources.values import Columns
from evermix.io.text import Hashing, RareWords, Vocabulary
from evermix.io.text_counter import StopWords, TextCounter

COLUMNS = "ignore", "missing", "category"  # options on columns of tables
ROWS = 4096  # read at a time where all are wanted
FIELD = 64  # bytes that a value of a table takes, about


def open_rows(
    settings: Settings,
    n_features: int | None,
    time_labels: bool = False,
    known: Sequence[str] | None = None,
    **reading: Any,
) -> Source:
    """Open the source of these settings; rows must have ``n_features`` if that is given.

    ``known`` are the columns of tables that a model has learnt, and ``reading`` are more arguments
    of :func:`evermix.io.sources.open_source`.
    """
    sources = settings.sources
    columns: dict[str, Any] = {name: tuple(settings.values.get(name) or ()) for name in COLUMNS}
    named = [name for name in ("id_field", "text_field") if name in settings.given]
    source = open_source(
        sources[0] if len(sources) == 1 else sources,
        kind=reading.pop("kind", settings.kind),
        text_field=settings.text_field,
        vector_field=settings.vector_field,
        id_field=settings.id_field,
        time_field=settings.time_field,
        date_order=settings.date_order,
        n_features=n_features,
        skip_bad=settings.skip_bad,
        time_labels=time_labels,
        max_features=settings.max_features,
        max_line=settings.max_line,
        encoding=settings.encoding,
        required=tuple(settings.values[name] for name in named),
        units=reading.pop("units", settings.values.get("units", {})),
        beside=reading.pop("beside", "vector_field" in settings.given),
        **columns,
        **reading,
    )
    _check_columns(settings, columns, source)
    if isinstance(source, Several) and source.kind == "table":
        _check_files(source, known)
    return source


def _check_files(source: Several, known: Sequence[str] | None) -> None:
    """Warn of columns that some files of a table lack, or raise ValueError if they lack most.

    Those that the model does not know say nothing.
    """
    columns = source.columns or []
    wanted = [source.sources[0].columns or [], columns] if known is None else [known]
    others = [one for one in source.sources if set(one.columns or ()) != set(columns)]
    for one, names in product(others, wanted):
        check_most_are_there(one.columns or [], names, one.path)
    for one in others:
        own = one.columns or []
        gone = [n for n in columns if n not in own and (known is None or n in known)]
        if gone:
            what, are = columns_in_words(gone)
            others_have = {n for o in source.sources if o is not one for n in o.columns or ()}
            own_alone = [n for n in own if n not in others_have]
            same = f" It may be the {columns_in_words(own_alone)[0]}, which no other file has."
            warn(
                f"{one.path} lacks the {what}, which other files have: {are} missing in all of "
                f"its rows.{same * (len(gone) == len(own_alone) == 1)}"
            )


def _check_columns(settings: Settings, columns: dict[str, Any], source: Source) -> None:
    """Raise ValueError unless a table has the columns that the command line names."""
    given = {name: words for name, words in columns.items() if name in settings.given and words}
    if given and source.header is None:
        raise ValueError(
            f"--{next(iter(given))} is for tables whose columns have names: CSV with a header, "
            f"Parquet, or JSON lines with --kind table. {settings.sources[0]} has none; leave it "
            "out."
        )
    for name in ("ignore", "category"):
        header = source.header or []
        for word in given.get(name, ()):
            if same_but_case(word, header) not in header:
                raise ValueError(f"--{name}: {no_such('column', word, header)}")


def features(family: str | Family, text: TextCounter | None, X: Any) -> Any:
    """Return the X of a chunk as numbers in the form that the family takes."""
    if isinstance(X, list):
        if text is None:
            raise ValueError(
                "the source holds texts, but the model was made of numbers and has no vocabulary. "
                "Give a source of counts or vectors."
            )
        X = text.counts(X)
    dense = isinstance(family, Family) and not family.sparse
    return X if not dense or isinstance(X, np.ndarray | Columns) else X.toarray()


@contextmanager
def naming_lines(source: Source, chunk: Chunk) -> Iterator[None]:
    """Add the file and the line to the error on a cell of the rows of a chunk."""
    try:
        yield
    except CellError as error:
        raise SourceError(f"{source.place(int(chunk.rows[error.row]))}: {error}") from error


def take_units(mix: Mixture, source: Source) -> None:
    """Let a mixture know the units of the columns of arrays; tables bring them.   Consumes: mix."""
    if source.columns is not None and source.kind != "table" and source.written:
        mix.written_ = vars(mix).get("written_", {}) | source.written


def make_text_counter(settings: Settings, texts: Iterable[str], remedy: str) -> TextCounter:
    """Return a hashing if one was chosen, and otherwise a vocabulary learnt on these texts.

    ``remedy`` names the options that may help where there are no words to learn.
    """
    stop_words = stop_words_of(settings)
    min_df = settings.values.get("min_df")  # of topics alone
    if settings.hash is not None:
        return Hashing(settings.hash, stop_words)
    try:
        return Vocabulary.learn(
            texts,
            max_words=settings.vocabulary,
            min_count=min_df or 2,
            min_df=min_df or 1,
            stop_words=stop_words,
        )
    except ValueError as error:
        way = f" On the command line: {remedy}." if isinstance(error, RareWords) else ""
        raise ValueError(f"no vocabulary could be learnt: {error}{way}") from error


def stop_words_of(settings: Settings) -> StopWords:
    """Return the stop words that a setting names: English ones, none, or those of a file."""
    given = settings.values.get("stop_words", "english")
    if given in ("english", "function", "none"):
        return None if given == "none" else given
    try:
        text = Path(given).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(
            "--stop-words wants english, function, none or a file of words, got "
            f"{given} ({error.strerror})."
        ) from error
    return sorted(set(text.lower().split()))


class Rows(ABC):
    """The rows of a source that was read once.

    Attributes
    ----------
    n : int
        Number of rows.
    skipped : int
        Number of rows that were blank or bad, and are left out.
    complaints : list of str
        What was wrong with the first few of these.
    """

    def __init__(self, source: Source, n: int, offset: int) -> None:
        self.n = n
        self.skipped = offset - n
        self.complaints = list(source.complaints)  # later readings would complain again
        self._source = source

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order."""

    def texts(self) -> Iterator[str]:
        """Yield the texts of a source of texts."""
        for chunk in self.chunks():
            yield from chunk.X if chunk.texts is None else chunk.texts

    def ids(self) -> Iterator[Any]:
        """Yield the ids of the rows."""
        for chunk in self.chunks():
            yield from chunk.ids

    def fields(self) -> Iterator[dict[str, Any]]:
        """Yield all fields of the rows, of a source that keeps them."""
        for chunk in self.chunks():
            yield from chunk.fields or []

    def naming_lines(self) -> AbstractContextManager[None]:
        """Add the file and the line to errors on a cell of the features."""
        return nullcontext()

    @abstractmethod
    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as numbers, in a form that a mixture can be fitted to."""


class Held(Rows):
    """Rows in memory."""

    def __init__(self, source: Source, chunks: list[Chunk]) -> None:
        self._all = joined(chunks)
        super().__init__(source, len(self._all.ids), self._all.offset)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order."""
        yield self._all

    def naming_lines(self) -> AbstractContextManager[None]:
        """Add the file and the line to errors on a cell of the features."""
        return naming_lines(self._source, self._all)

    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as an array or CSR matrix (n, D)."""
        return features(family, text, self._all.X)


class Reread(Rows):
    """Rows that are parsed again whenever they are needed."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order, if they are as many as before."""
        found = 0
        for chunk in self._source.chunks(0, ROWS):
            found += len(chunk.ids)
            if found > self.n:
                break
            yield chunk
        if found != self.n:
            raise SourceError(
                f"the source has changed while it was fitted: it had {self.n:,} rows, now it has "
                f"{'more' if found > self.n else f'{found:,}'}. Put the old file back, or start "
                "again with --overwrite."
            )

    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as chunks that are read again for every lap."""
        return Chunks(lambda: (features(family, text, chunk.X) for chunk in self.chunks()))


class Mapped(Reread):
    """Rows of a ``.npy`` file without bad ones, of which the system holds what it has room for."""

    def __init__(self, source: Source, X: Array) -> None:
        super().__init__(source, len(X), len(X))
        self._X = X

    def ids(self) -> Iterator[Any]:
        """Yield the ids of the rows."""
        yield from range(self.n)

    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as a memory map (n, D)."""
        return self._X


def read_rows(
    source: Source, quiet: bool, *, map_arrays: bool, most: float, hold: type[Held] = Held
) -> Rows:
    """Read a source to its end.

    Parameters
    ----------
    source : Source
    quiet : bool
        Whether to show no progress.
    map_arrays : bool
        Whether the rows of ``.npy`` files stay in the file.
    most : float
        Bytes of rows to hold; where there are more, they are to be read again.
    hold : type of Held
        What holds them.
    """
    mapped = _mapped(source) if map_arrays else None
    chunks: list[Chunk] = []
    n = offset = size = 0
    with progress_bar("reading", source.n_rows, quiet) as progress:
        try:
            for chunk in source.chunks(0, ROWS):
                n, offset, size = n + len(chunk.ids), chunk.offset, size + _size(chunk)
                if mapped is not None or size > most:
                    chunks.clear()
                else:
                    chunks.append(chunk)
                progress.update(chunk.offset)
        except SourceError as error:
            raise of_bad_row(error) from error
    if not n:
        raise SourceError("the source has no rows that can be learnt.")
    if chunks:
        return hold(source, chunks)
    if mapped is not None and n == len(mapped):
        return Mapped(source, mapped)
    return Reread(source, n, offset)


def _mapped(source: Source) -> Array | None:
    """Return the rows of a ``.npy`` file as a memory map, if a mixture would take them as meant."""
    if not isinstance(source, DenseArray):
        return None
    X = np.load(source.path, mmap_mode="r", allow_pickle=False)
    # A mixture may take whole numbers for counts, also with --kind vectors.
    return X if source.kind == "counts" or X.dtype.kind == "f" else None


def _size(chunk: Chunk) -> int:
    """Return about how many bytes a chunk takes."""
    X = chunk.X
    kept = sum(FIELD * len(row) for row in chunk.fields or [])
    if isinstance(X, list):
        return sum(map(len, X)) + kept
    if isinstance(X, np.ndarray):
        return X.nbytes + kept
    if isinstance(X, Columns):
        return FIELD * X.shape[0] * X.shape[1] + kept
    return X.data.nbytes + X.indices.nbytes + kept
