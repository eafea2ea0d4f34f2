"""What sources hand on: rows in chunks, bad rows, and marks of what was read."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


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
        float64, datetime64[us] in UTC, or str for labels; None if no field holds times.
    read : object
        What ``source.marks`` wants to know of what was read up to here.
    texts : list of str or None
        Texts that come with the vectors X.
    offsets : list of str or None
        Where a broker has the rows.
    fields : list of dict or None
        All fields of the rows, as the source holds them, if they are kept.
    """

    ids: list[Any]
    X: Any
    first: int
    offset: int
    rows: NDArray[np.int64]
    times: NDArray[Any] | None = None
    read: Any = None
    texts: list[str] | None = None
    offsets: list[str] | None = None
    fields: list[dict[str, Any]] | None = None


class Rejected(NamedTuple):
    """A bad row: its index, its line or where the broker has it, what is wrong, and its bytes."""

    row: int
    place: str
    error: str
    data: bytes | None


class Mark(NamedTuple):
    """What a checkpoint notes of a file that was read.

    Attributes
    ----------
    path : str
    size : int
        Bytes that were read; of a format that is not made of lines, all bytes.
    rows : int or None
        Number of rows, if the file was read to its end.
    digest : str or None
        Of these bytes; older checkpoints have none.
    inode : int or None
        By which a file that is followed is known if it gets another name.
    offset : str or None
        Of a broker, the last message that was read; then ``path`` is its partition, ``size`` the
        number of messages that were read and ``digest`` that of the last one.
    """

    path: str
    size: int
    rows: int | None
    digest: str | None = None
    inode: int | None = None
    offset: str | None = None
