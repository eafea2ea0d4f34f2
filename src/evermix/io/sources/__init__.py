"""Sources: rows from files and from standard input, in chunks of bounded memory.

One file per format, found by the suffix of a file's name. A format of your own is a subclass of
:class:`RecordSource` or :class:`BlockSource`, in any module that is imported before a file is
opened.
"""

import os
from collections.abc import Sequence
from dataclasses import replace

# Importing a format makes it known.
from evermix.io.sources import arrays, bag_of_words, csv, parquet, svmlight  # noqa: F401
from evermix.io.sources.base import (
    MAX_FEATURES,
    MAX_LINE,
    Chunk,
    FileSource,
    Kind,
    Mark,
    NoRows,
    Options,
    RowError,
    SourceError,
    find_format,
)
from evermix.io.sources.follow import SUFFIXES
from evermix.io.sources.formats import Block, BlockSource, Record, RecordSource, Row
from evermix.io.sources.jsonl import JsonLines
from evermix.io.sources.several import Several, Source, listed, names_several

__all__ = [
    "Block",
    "BlockSource",
    "Chunk",
    "Kind",
    "Mark",
    "Record",
    "RecordSource",
    "Row",
    "RowError",
    "Source",
    "SourceError",
    "open_source",
]


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
    max_features: int = MAX_FEATURES,
    max_line: int = MAX_LINE,
    beside: bool = False,
    marked: bool = False,
    complete: bool = True,
    max_wait: float | None = None,
    continues: bool = False,
    follow: bool = False,
    marks: Sequence[Mark] = (),
) -> Source:
    """Open a file, several files, or standard input, as rows to cluster.

    The name decides the format: ``.jsonl`` or ``.ndjson`` (JSON lines), ``docword.*.txt`` (UCI
    bag of words), ``.svmlight`` or ``.libsvm``, ``.csv``, ``.npy``, ``.npz`` (SciPy sparse),
    ``.parquet``, or a format of your own; text formats also with ``.gz``. ``"-"`` is JSON lines on
    standard input.

    Several files are read one after another as one source. They must hold rows of the same kind
    with the same columns; files without rows are left out.

    Parameters
    ----------
    path : path-like, or a sequence of these
        The file, or ``"-"``; a folder, or a pattern such as ``"parts/*.parquet"``, for the files
        in it, sorted by name; or several of these.
    kind : {"text", "counts", "vectors"}, optional
        What the rows are; None: what the format or the first record holds. Text comes as strings,
        counts as CSR matrices and vectors as dense arrays.
    text_field, vector_field, id_field : str
        Names of the fields or columns that hold a row's text, vector and id.
    time_field : str, optional
        Name of the field or column that holds a row's time: a number, or a date in ISO 8601, in UTC
        unless it names an offset. All rows must have one, and all of the same kind.
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
    follow : bool
        Whether to wait for more rows of JSON lines at the end of files, and for files that take
        their place or appear in folders, as ``tail -F`` does.
    marks : sequence of Mark
        Of an earlier run that has followed the files.

    Returns
    -------
    source : Source
        Yields its rows by ``source.chunks(start, size)``.

    Raises
    ------
    SourceError
        A file cannot be read, has an unknown format or differs from the first one; no file
        matches; there are no rows; or, here or while chunks are read, a row is bad.

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
        kind,
        text_field,
        vector_field,
        id_field,
        time_field,
        n_features,
        skip_bad,
        time_labels,
        max_features,
        max_line,
        beside,
    )
    options = replace(options, marked=marked, complete=complete, max_wait=max_wait)
    if follow:
        return _follow([path] if isinstance(path, str | os.PathLike) else path, options, marks)
    options = replace(options, continues=continues)
    if not isinstance(path, str | os.PathLike):
        return _open_all(listed([os.fspath(some) for some in path]), options)
    path = os.fspath(path)
    if names_several(path):
        return _open_all(listed([path]), options)
    return _open_file(path, options)


def _follow(
    paths: Sequence[str | os.PathLike[str]], options: Options, marks: Sequence[Mark]
) -> JsonLines:
    """Open files, folders and patterns whose JSON lines are followed."""
    names = tuple(os.fspath(path) for path in paths)
    for name in names:
        if not (name.lower().endswith(SUFFIXES) or os.path.isdir(name)):
            raise SourceError(
                f"{name}: only JSON lines can be followed: files named {' or '.join(SUFFIXES)}, "
                "patterns that end so, and folders. What comes from a program is read from -."
            )
    return JsonLines(names[0], replace(options, followed=names, marks=tuple(marks)))


def _open_all(paths: Sequence[str], options: Options) -> Several:
    """Open files whose rows are of the same kind as those of the first."""
    sources: list[FileSource] = []
    empty = SourceError("expected at least one file to read, got none.")
    for number, path in enumerate(paths, 1):
        try:
            # A file that others follow is complete.
            complete = options.complete or number < len(paths)
            source = _open_file(path, replace(options, complete=complete))
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


def _open_file(path: str, options: Options) -> FileSource:
    return JsonLines("-", options) if path == "-" else find_format(path)(path, options)
