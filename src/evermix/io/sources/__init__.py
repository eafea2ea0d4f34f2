"""Sources: rows from files and from standard input, in chunks of bounded memory."""

import os
from collections.abc import Callable
from pathlib import Path

from evermix.io.sources.arrays import DenseArray, SparseMatrix
from evermix.io.sources.bag_of_words import BagOfWords
from evermix.io.sources.base import Chunk, Kind, Options, Source, SourceError
from evermix.io.sources.delimited import Delimited
from evermix.io.sources.jsonl import JsonLines
from evermix.io.sources.parquet import Parquet
from evermix.io.sources.svmlight import SvmLight

__all__ = ["Chunk", "Kind", "Source", "SourceError", "open_source"]

_BY_SUFFIX: dict[str, Callable[[str, Options], Source]] = {
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
    path: str | os.PathLike[str],
    *,
    kind: Kind | None = None,
    text_field: str = "text",
    vector_field: str = "vector",
    id_field: str = "id",
    n_features: int | None = None,
    skip_bad: bool = False,
) -> Source:
    """Open a file, or standard input, as rows to cluster.

    The name decides the format: ``.jsonl`` or ``.ndjson`` (JSON lines), ``docword.*.txt`` (UCI
    bag of words), ``.svmlight`` or ``.libsvm``, ``.csv``, ``.npy``, ``.npz`` (SciPy sparse),
    ``.parquet``; text formats also with ``.gz`` behind. ``"-"`` is JSON lines on standard input.

    Parameters
    ----------
    path : path-like
        The file, or ``"-"``.
    kind : {"text", "counts", "vectors"}, optional
        What the rows are; None lets the format and the first record say. Text comes as strings,
        counts as CSR matrices and vectors as dense arrays.
    text_field, vector_field, id_field : str
        Names of the fields or columns that hold a row's text, vector and id.
    n_features : int, optional
        Number of features that the rows must have, as known from an earlier part of the stream.
    skip_bad : bool
        Whether bad rows are counted and left out; otherwise the first one raises.

    Returns
    -------
    source : Source
        Yields its rows by ``source.chunks(start, size)``.

    Raises
    ------
    SourceError
        The file cannot be read, is empty or is of no known format; or, here or while chunks are
        read, a row is bad.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/points.npy", np.eye(3))
    ...     source = open_source(f"{folder}/points.npy")
    ...     [(chunk.ids, chunk.offset) for chunk in source.chunks(start=0, size=2)]
    [([0, 1], 2), ([2], 3)]
    """
    options = Options(kind, text_field, vector_field, id_field, n_features, skip_bad)
    name = Path(path).name.lower()
    if os.fspath(path) == "-":
        return JsonLines("-", options)
    plain = name.removesuffix(".gz")
    if plain.startswith("docword.") and plain.endswith(".txt"):
        return BagOfWords(os.fspath(path), options)
    reader = _BY_SUFFIX.get(Path(plain).suffix)
    if reader is None or (plain != name and reader not in _PACKABLE):
        raise SourceError(
            f"{path}: wanted a file named docword.*.txt or with one of the suffixes "
            f"{', '.join(_BY_SUFFIX)} (text formats also with .gz), or - for standard input."
        )
    return reader(os.fspath(path), options)
