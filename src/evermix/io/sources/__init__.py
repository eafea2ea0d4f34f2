"""Sources: rows from files and from standard input, in chunks of bounded memory.

One file per format, found by the suffix of a file's name. A format of your own is a subclass of
:class:`RecordSource` or :class:`BlockSource`, in any module that is imported before a file is
opened.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from typing import Any

from evermix.io.brokers import is_address
from evermix.io.similar_names import did_you_mean

# Importing a format makes it known.
from evermix.io.sources import arrays, bag_of_words, csv, parquet, svmlight  # noqa: F401
from evermix.io.sources.base import FileSource, find_format
from evermix.io.sources.blocks import Block, BlockSource
from evermix.io.sources.chunk import Chunk, Mark
from evermix.io.sources.errors import NoRows, OtherWriting, RowError, SourceError
from evermix.io.sources.follow import SUFFIXES
from evermix.io.sources.jsonl import JsonLines
from evermix.io.sources.options import Kind, Options
from evermix.io.sources.records import Record, RecordSource, Row
from evermix.io.sources.several import AS_TABLES, Several, Source, files_named, names_several

__all__ = [
    "Block",
    "BlockSource",
    "Chunk",
    "Kind",
    "Mark",
    "Options",
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
    follow: bool = False,
    **options: Any,
) -> Source:
    """Open a file, several files, or standard input, as rows to cluster.

    The name decides the format: ``.jsonl`` or ``.ndjson`` (JSON lines), ``docword.*.txt`` (UCI
    bag of words), ``.svmlight`` or ``.libsvm``, ``.csv`` or ``.tsv``, ``.npy``, ``.npz`` (SciPy
    sparse), ``.parquet``, or a format of your own; text formats also with ``.gz``. ``"-"`` is JSON
    lines on standard input, ``"kafka://host:port/topic"``, ``"redis://host:port/stream"`` and
    ``"nats://host:port/stream/subject"`` are JSON objects that a broker holds.

    Several files are read one after another as one source. They must hold rows of the same kind
    with the same columns; but columns that a file of a table lacks are missing in its rows. Files
    without rows are left out.

    Parameters
    ----------
    path : path-like, or a sequence of these
        The file, or ``"-"``; a folder, or a pattern such as ``"parts/*.parquet"``, for the files
        in it, sorted by name; or several of these.
    follow : bool
        Whether to wait for more rows of JSON lines at the end of files, and for files that take
        their place or appear in folders, as ``tail -F`` does.
    **options
        How to read it: fields of :class:`Options`, such as ``kind="vectors"``.

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
    reading, paths = Options(**options), [path] if isinstance(path, str | os.PathLike) else path
    names = [os.fspath(some) for some in paths]
    if follow:
        return _follow(names, reading)
    if paths is not path and (is_address(names[0]) or not names_several(names[0])):
        return _open_file(names[0], reading)
    return _open_all(files_named(names), reading)


def _follow(names: Sequence[str], options: Options) -> JsonLines:
    """Open files, folders and patterns whose JSON lines are followed."""
    for name in names:
        if name.lower().endswith(SUFFIXES) or os.path.isdir(name):
            continue
        other = os.path.exists(name) or has_magic(name) or is_address(name)
        if not (other or os.path.splitext(name)[1]):
            raise SourceError(
                f"{name}: there is no such folder.{did_you_mean(name, folders=True)} Files named "
                f"{' or '.join(SUFFIXES)} need not be there to be followed, but folders must: make "
                "it first."
            )
        raise SourceError(
            f"{name}: only JSON lines can be followed: files named {' or '.join(SUFFIXES)}, "
            "patterns that end so, and folders. What comes from a program is read from -."
        )
    return JsonLines(names[0], replace(options, followed=tuple(names)))


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
        except OtherWriting:
            raise
        except SourceError as error:
            if not sources:
                raise
            first = sources[0]
            numbers = first.columns is not None and first.kind != "table"
            kind = "rows of a table" if first.kind == "table" else first.kind
            raise SourceError(
                f"{error} All files of a source must hold rows of the same kind; those of the "
                f"first, {first.path}, are {kind}.{AS_TABLES if numbers else ''}"
            ) from error
        sources.append(source)
        found = {name: name in source.codes for name in source.columns or ()}
        digits = {**options.digits, **found}
        options = replace(
            options, units=source.units, decimals=source.decimals, unsure=source.unsure
        )
        ignore = (*options.ignore, *source.row_numbers)
        options = replace(options, kind=source.kind, digits=digits, ignore=ignore)
    if not sources:
        raise empty
    return Several(sources)


def _open_file(path: str, options: Options) -> FileSource:
    live = path == "-" or is_address(path)
    return JsonLines(path, options) if live else find_format(path)(path, options)
