"""Sources: rows from files and from standard input, in chunks of bounded memory."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from evermix.io.sources.arrays import DenseArray, SparseMatrix
from evermix.io.sources.bag_of_words import BagOfWords
from evermix.io.sources.base import Chunk, Kind, NoRows, Options, Source, SourceError
from evermix.io.sources.blocks import BlockSource
from evermix.io.sources.csv import Delimited
from evermix.io.sources.jsonl import JsonLines
from evermix.io.sources.parquet import Parquet
from evermix.io.sources.formats import RecordSource
from evermix.io.sources.several import Several, listed, names_several
from evermix.io.sources.svmlight import SvmLight

__all__ = ["Chunk", "Kind", "Source", "SourceError", "open_source"]

_BY_SUFFIX: dict[str, Callable[[str, Options], RecordSource | BlockSource]] = {
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
    ".svmlight": SvmLight,
    ".libsvm": SvmLight,
    ".csv": Delimited,
    ".npy": DenseArray,
    ".npz": SparseMatrix,
    ".parquet": Parquet,
}
_PACKABLE = (JsonLines, SvmLight, Delimited)


def open_source(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    kind: Kind | None = None,
    text_field: str = "text",
    vector_field: str = "vector",
    id_field: str = "id",
    time_field: str | None = None,
    n_features: int | None = None,
    skip_bad: bool = False,
    time_labels: bool = False,
) -> Source:
    """Open a file, several files, or standard input, as rows to cluster.

    The name decides the format: ``.jsonl`` or ``.ndjson`` (JSON lines), ``docword.*.txt`` (UCI
    bag of words), ``.svmlight`` or ``.libsvm``, ``.csv``, ``.npy``, ``.npz`` (SciPy sparse),
    ``.parquet``; text formats also with ``.gz`` behind. ``"-"`` is JSON lines on standard input.

    Several files are read one after another as one source. They hold rows of the same kind with
    the same columns; files without rows are left out.

    Parameters
    ----------
    path : path-like, or a sequence of these
        The file, or ``"-"``; a folder, or a pattern such as ``"parts/*.parquet"``, for the files
        in it, sorted by name; or several of these.
    kind : {"text", "counts", "vectors"}, optional
        What the rows are; None lets the format and the first record say. Text comes as strings,
        counts as CSR matrices and vectors as dense arrays.
    text_field, vector_field, id_field : str
        Names of the fields or columns that hold a row's text, vector and id.
    time_field : str, optional
        Name of the field or column that holds a row's time: a number, or a date in ISO 8601, in UTC
        unless it says otherwise. All rows have one, and all are of the same kind.
    n_features : int, optional
        Number of features that the rows must have, as known from an earlier part of the stream.
    skip_bad : bool
        Whether bad rows are counted and left out; otherwise the first one raises.
    time_labels : bool
        Whether times may be labels too, such as "spring": texts of up to 40 characters that
        begin with a letter.

    Returns
    -------
    source : Source
        Yields its rows by ``source.chunks(start, size)``.

    Raises
    ------
    SourceError
        A file cannot be read, is of no known format or unlike the first one; nothing matches, or
        there are no rows; or, here or while chunks are read, a row is bad.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/points.npy", np.eye(3))
    ...     source = open_source(f"{folder}/points.npy")
    ...     [(chunk.ids, chunk.offset) for chunk in source.chunks(start=0, size=2)]
    [([0, 1], 2), ([2], 3)]
    """
    options = Options(
        kind, text_field, vector_field, id_field, time_field, n_features, skip_bad, time_labels
    )
    if not isinstance(path, str | os.PathLike):
        return _open_all(listed([os.fspath(some) for some in path]), options)
    path = os.fspath(path)
    if names_several(path):
        return _open_all(listed([path]), options)
    return _open_file(path, options)


def _open_all(paths: Iterable[str], options: Options) -> Several:
    """Open files that hold rows like the first of them."""
    sources: list[RecordSource | BlockSource] = []
    empty = SourceError("wanted at least one file to read, got none.")
    for path in paths:
        try:
            source = _open_file(path, options)
        except NoRows as error:
            empty = error
            continue
        except SourceError as error:
            if not sources:
                raise
            raise SourceError(
                f"{error} All files of a source must hold rows of the same kind; those of the "
                f"first, {sources[0].path}, are {options.kind}."
            ) from error
        sources.append(source)
        options = replace(options, kind=source.kind)
    if not sources:
        raise empty
    return Several(sources)


def _open_file(path: str, options: Options) -> RecordSource | BlockSource:
    if path == "-":
        return JsonLines("-", options)
    name = Path(path).name.lower()
    plain = name.removesuffix(".gz")
    if plain.startswith("docword.") and plain.endswith(".txt"):
        return BagOfWords(path, options)
    reader = _BY_SUFFIX.get(Path(plain).suffix)
    if reader is None or (plain != name and reader not in _PACKABLE):
        if not Path(path).exists():
            raise SourceError(f"{path}: there is no such file or folder.")
        raise SourceError(
            f"{path}: wanted a file named docword.*.txt or with one of the suffixes "
            f"{', '.join(_BY_SUFFIX)} (text formats also with .gz), or - for standard input."
        )
    return reader(path, options)
