"""Rows of other libraries: datasets, lazy tables, Arrow streams and DLPack objects.

What is not read yet comes in batches, so that it need not fit into memory. Libraries are known by
the names of their classes, so that none has to be imported.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

ROWS = 4096  # rows of a batch
HOST = (1, 3, 11)  # kinds of DLPack devices whose memory the host can read
LISTS = ("list", "fixed_size_list", "large_list", "array")


def batches_of(X: Any) -> Callable[[], Iterable[Any]] | None:
    """Return a function that reads the batches of a lazy object anew; None for all others.

    Lazy are a LazyFrame of polars, a Dataset or IterableDataset of HuggingFace, and an Arrow
    dataset. (An Arrow reader can be read only once.)
    """
    library, name = _kind(X)
    if library == "polars" and name == "LazyFrame":
        return lambda: _of_lazy_frame(X)
    if library == "datasets" and name in ("Dataset", "IterableDataset"):
        return lambda: X.with_format("arrow").iter(batch_size=ROWS)
    if library == "datasets" and name in ("DatasetDict", "IterableDatasetDict"):
        raise TypeError(f"wanted one part of the datasets {sorted(X)}, got all: give X['train'].")
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "scanner"):
        return lambda: X.to_batches(batch_size=ROWS)
    return None


def _of_lazy_frame(X: Any) -> Iterator[Any]:
    if hasattr(X, "collect_batches"):
        yield from X.collect_batches(chunk_size=ROWS, maintain_order=True)
        return
    start = 0
    while len(part := X.slice(start, ROWS).collect()):
        yield part
        start += ROWS


def loaded(X: Any) -> Any:
    """Return all rows of a lazy object, a stream of Arrow or a DLPack object; others unchanged.

    They are a table, or an array where the rows are vectors.
    """
    library, name = _kind(X)
    if library == "polars" and name == "LazyFrame":
        return as_rows(X.collect())
    if library == "pyarrow" and name == "RecordBatchReader":
        return as_rows(X.read_all())
    lazy = batches_of(X)
    if lazy is not None:
        return as_rows(_joined(list(lazy()), X))
    if _is_plain_dlpack(X):
        return _of_dlpack(X)
    return as_rows(X)


def as_rows(X: Any) -> Any:
    """Return a batch of Arrow as a table, a table with one column of vectors as an array (N, D).

    Everything else is returned unchanged.
    """
    library, name = _kind(X)
    if library == "pyarrow" and name == "RecordBatch":
        X = _arrow().Table.from_batches([X])
    if library == "pyarrow" and name in ("RecordBatch", "Table"):
        types = dict(zip(X.column_names, map(str, X.schema.types), strict=True))
    elif library == "polars" and name == "DataFrame":
        types = {column: str(dtype).lower() for column, dtype in X.schema.items()}
    else:
        return X
    vectors = [column for column, kind in types.items() if kind.startswith(LISTS)]
    if not vectors:
        return X
    if len(types) > 1:
        raise ValueError(
            f"column {vectors[0]!r} holds vectors, beside others: {sorted(types)}. Select it: rows "
            "are either vectors, or columns of numbers and words."
        )
    return _stacked(X[vectors[0]] if library == "polars" else X.column(0), library, vectors[0])


def _stacked(column: Any, library: str, name: str) -> NDArray[Any]:
    """Return a column of vectors as an array (N, D), or raise ValueError."""
    if library == "polars":
        listed = str(column.dtype).startswith("List")
        lengths = np.asarray(column.list.len()) if listed else np.zeros(1)  # arrays have one length
        flat, gone = np.asarray(column.explode()), column.null_count()
    else:
        from pyarrow import compute

        joined = column.combine_chunks()
        lengths = compute.list_value_length(joined).to_numpy(zero_copy_only=False)
        flat, gone = joined.flatten().to_numpy(zero_copy_only=False), column.null_count
    n = len(column)
    if gone or len(set(lengths.tolist())) > 1 or flat.size % max(n, 1):
        raise ValueError(
            f"the vectors of column {name!r} must all be there and have the same length."
        )
    return flat.reshape(n, -1) if n else np.empty((0, 0))


def _joined(parts: list[Any], X: Any) -> Any:
    """Return Arrow tables or batches as one table."""
    if not parts:
        raise ValueError(f"wanted at least one row, this {type(X).__name__} holds none.")
    arrow = _arrow()
    tables = [p if type(p).__name__ == "Table" else arrow.Table.from_batches([p]) for p in parts]
    return arrow.concat_tables(tables)


def _is_plain_dlpack(X: Any) -> bool:
    """Whether nothing is known of an object but that its memory can be shared."""
    if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__") or hasattr(X, "__array__"):
        return False
    return not array_api_compat.is_array_api_obj(X)


def _of_dlpack(X: Any) -> NDArray[Any]:
    kind = int(X.__dlpack_device__()[0]) if hasattr(X, "__dlpack_device__") else 1
    if kind not in HOST:
        raise TypeError(
            f"the rows are on a device (DLPack kind {kind}). Give them as an array of a library "
            "that is known: torch.from_dlpack(X) or cupy.from_dlpack(X)."
        )
    return np.from_dlpack(X)


def _kind(X: Any) -> tuple[str, str]:
    """Return the library that a class comes from, and the name of the class."""
    for kind in type(X).__mro__:
        library = kind.__module__.partition(".")[0]
        if library in ("polars", "datasets", "pyarrow"):
            return library, kind.__name__
    return "", ""


def _arrow() -> Any:
    import pyarrow

    return pyarrow
