"""The file of a checkpoint: named arrays and a JSON header, in one safetensors file.

What a model puts into it is :class:`evermix.state.State` (its ``to_arrays``) and the settings of
its estimator. Any safetensors library can read the file. Its metadata has two entries:
``"evermix"`` is the header as JSON text, with the caller's entries and two more, ``"format"``, the
number of the layout, and ``"evermix"``, the version that wrote the file. ``"digest"`` is the
BLAKE2b digest (32 bytes, in hex) of the whole file with zeros in the place of the digest, which is
the first entry of the file. Files of format 1 have none.
"""

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from importlib.metadata import version
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix.io.replacing import replacing
from evermix.io.similar_names import did_you_mean

FORMAT = 2
"""Number of the layout that this version writes; it reads this one and all before."""

_KEY, _DIGEST = "evermix", "digest"
_BLANK = b"0" * 64  # in the place of the digest while it is computed
_START = b'{"__metadata__":{"digest":"'  # what stands before it
_LONGEST = 100_000_000  # bytes of a table of contents; other readers of safetensors have this limit
_DEEPEST = 50  # lists and dicts within each other in a header
_PIECE = 2**22  # bytes that are read or written at a time
_DTYPES = {
    "BOOL": np.dtype(bool),
    **{f"I{8 * n}": np.dtype(f"<i{n}") for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": np.dtype(f"<u{n}") for n in (1, 2, 4, 8)},
    **{f"F{8 * n}": np.dtype(f"<f{n}") for n in (2, 4, 8)},
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class CheckpointError(OSError):
    """A checkpoint could not be written, or a file is not a checkpoint that can be read."""


class _Damaged(ValueError):
    """What is wrong with a file."""


def write(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Save arrays and a header, all or nothing: afterwards the file is the old or the new one.

    The content goes to a temporary file beside ``path``, is synced to the disk, and then replaces
    ``path`` in one step. Equal content gives equal bytes.

    Parameters
    ----------
    path : path-like
        File to write or replace. A symbolic link is followed.
    arrays : mapping of str to array
        Booleans, integers and floats of any shape, also 0-d and empty.
    header : mapping
        JSON-ready entries. ``"format"`` and ``"evermix"`` are set here.

    Raises
    ------
    CheckpointError
        The disk is full, or the directory cannot be written. The old file is unchanged.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/model.evermix", {"mass": np.arange(3.0)}, {"clock": 3})
    ...     arrays, header = read(f"{folder}/model.evermix")
    >>> arrays["mass"], header["clock"], header["format"]
    (array([0., 1., 2.]), 3, 2)
    """
    target = Path(path).resolve()
    plain = {name: np.asarray(values) for name, values in arrays.items()}
    # Those of wide dtypes first, so that all are aligned, then by name.
    names = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    text = _table({name: plain[name] for name in names}, header)  # raises before anything changes
    try:
        with replacing(target) as file:
            digest = blake2b(digest_size=len(_BLANK) // 2)
            content = (_bytes(plain[name]) for name in names)
            for part in chain([len(text).to_bytes(8, "little"), text], content):
                for piece in _pieces(part):
                    digest.update(piece)
                    file.write(piece)
            file.seek(8 + len(_START))
            file.write(digest.hexdigest().encode())
    except OSError as error:
        raise CheckpointError(
            f"could not write the checkpoint {target}: {error.strerror or error}. "
            "An older checkpoint there is unchanged. Free some space or choose another path, then "
            "save again."
        ) from error


def read(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Load the arrays and the header of a checkpoint.

    Returns
    -------
    arrays : dict of str to array
        Writable arrays with the dtypes and shapes that were saved.
    header : dict
        The saved header with ``"format"`` and ``"evermix"``.

    Raises
    ------
    CheckpointError
        There is no such file, it is damaged, another program wrote it, or a newer evermix did.
    """
    with _opened(path) as file:
        return _content(path, file)


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a checkpoint alone, whose arrays are not looked at; see :func:`read`."""
    with _opened(path) as file:
        return _contents_of(path, file).header


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[FileIO]:
    """Open a checkpoint; whatever is wrong with it becomes a CheckpointError."""
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise CheckpointError(f"could not read the checkpoint {path}: {_not_a_file(path)}")
        with open(path, "rb", buffering=0) as file:
            yield file
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        meant = did_you_mean(path, ".evermix")
        raise CheckpointError(f"there is no checkpoint {path}; check the path.{meant}") from error
    except (_Damaged, RecursionError) as error:
        raise CheckpointError(
            f"{path} is not a complete evermix checkpoint ({error}). It was cut short, damaged or "
            "written by another program; use an earlier copy."
        ) from error
    except OSError as error:
        raise CheckpointError(f"could not read the checkpoint {path}: {error}.") from error


def _not_a_file(path: str | os.PathLike[str]) -> str:
    """Return what is there instead, and which file may be meant."""
    if not os.path.isdir(path):
        return "it is not a file."
    inside = sorted(name for name in os.listdir(path) if name.endswith(".evermix"))
    if not inside:
        return "it is a folder, and there is no file *.evermix in it."
    return f"it is a folder. Give the file in it, {os.path.join(path, inside[0])}."


# ---- writing -------------------------------------------------------------------------------


def _table(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> bytes:
    """Return the table of contents, with a blank digest."""
    full = {**header, "format": FORMAT, "evermix": version("evermix")}
    metadata = {_DIGEST: _BLANK.decode(), _KEY: json.dumps(full, sort_keys=True)}
    table: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, values in arrays.items():
        begin, end = end, end + values.nbytes
        offsets = {"data_offsets": [begin, end]}
        table[name] = {"dtype": _dtype_name(name, values), "shape": list(values.shape), **offsets}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _LONGEST:
        raise ValueError(
            f"the settings and names in a checkpoint may take {_LONGEST} bytes, these take "
            f"{len(text)}. Shorten the names of columns, or leave them out."
        )
    return text


def _dtype_name(name: str, values: NDArray[Any]) -> str:
    """Return the name that safetensors has for the dtype of an array."""
    dtype = values.dtype.newbyteorder("<")
    if dtype not in _NAMES:
        raise TypeError(
            f"a checkpoint holds arrays of booleans, integers and floats; {name!r} has dtype "
            f"{values.dtype}. Convert it, or put it into the header."
        )
    return _NAMES[dtype]


def _bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array as they stand in a file."""
    plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return plain.reshape(-1).view(np.uint8)


def _pieces(content: Any) -> list[memoryview]:
    """Cut bytes, so that each piece is still in fast memory when it is used again."""
    whole = memoryview(content)
    return [whole[at : at + _PIECE] for at in range(0, len(whole), _PIECE)]


# ---- reading -------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """An array in the table of contents."""

    begin: int
    end: int
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class _Contents(NamedTuple):
    """What stands before the arrays: length and text of the table, and what they say."""

    first: bytes
    text: bytearray
    metadata: dict[str, Any]
    entries: list[_Entry]
    header: dict[str, Any]


def _contents_of(path: str | os.PathLike[str], file: FileIO) -> _Contents:
    """Read the table of contents, and check that the arrays fill the rest of the file."""
    size, first = os.fstat(file.fileno()).st_size, file.read(8)
    length = int.from_bytes(first, "little")
    if length > _LONGEST:  # no part of a checkpoint begins so
        raise CheckpointError(
            f"{path} is not an evermix model. Give a file that `evermix stream`, `fit` or `topics` "
            f"wrote as its checkpoint, or that save wrote in Python{_beside(path)}."
        )
    if len(first) < 8 or length > size - 8:
        raise _Damaged("its table of contents is not whole")
    text = bytearray(length)
    _read_into(file, memoryview(text))
    try:
        table = _parsed(text)
        metadata = table.pop("__metadata__", {})
        entries = sorted(_entry(name, fields) for name, fields in table.items())
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise _Damaged(f"its table of contents cannot be read: {error}") from error
    header = _checked_header(path, metadata)
    ends = [*(entry.end for entry in entries), size - 8 - length]
    if [0, *ends] != [*(entry.begin for entry in entries), ends[-1], ends[-1]]:
        raise _Damaged("its arrays do not fill it")
    return _Contents(first, text, metadata, entries, header)


def _content(
    path: str | os.PathLike[str], file: FileIO
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and header, in memory of a small multiple of the file."""
    first, text, metadata, entries, header = _contents_of(path, file)
    place = slice(len(_START), len(_START) + len(_BLANK))
    stored, text[place] = bytes(text[place]), _BLANK
    digest = blake2b(first + text, digest_size=len(_BLANK) // 2)
    arrays = {entry.name: _array(file, entry, digest) for entry in entries}
    signed = text.startswith(_START) and digest.hexdigest().encode() == stored
    if not signed and (header["format"] > 1 or _DIGEST in metadata):
        raise _Damaged("its content is not that of the digest in it")
    return dict(sorted(arrays.items())), header


def _beside(path: str | os.PathLike[str]) -> str:
    """Return the name of a checkpoint that may have been made of a file, for a message."""
    names = Path(f"{os.fspath(path)}.evermix"), Path(path).with_suffix(".evermix")
    found = [name for name in names if name.is_file() and name != Path(path)]
    return f", such as {found[0]}" if found else ""


def _parsed(text: bytes | bytearray | str) -> Any:
    """Return what JSON says, or raise ValueError if it would take far more memory than its text."""
    plain = text if isinstance(text, str) else text.decode()
    if plain.count("[") + plain.count("{") > 1000 + len(plain) // 8:
        raise ValueError("there is little in it but brackets")
    return json.loads(plain)


def _entry(name: str, fields: dict[str, Any]) -> _Entry:
    """Return an entry of the table of contents, or raise unless it is well formed."""
    dtype, shape, (begin, end) = _DTYPES[fields["dtype"]], fields["shape"], fields["data_offsets"]
    if any(type(number) is not int or number < 0 for number in (*shape, begin, end)):
        raise ValueError(f"shape and place of {name!r} must be whole numbers >= 0")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{name!r} does not have the size of its shape")
    return _Entry(begin, end, name, dtype, tuple(shape))


def _array(file: FileIO, entry: _Entry, digest: Any) -> NDArray[Any]:
    """Read an array, and add its bytes to a digest."""
    try:
        values = np.empty(entry.shape, dtype=entry.dtype)
        flat = values.reshape(-1).view(np.uint8)
    except ValueError as error:  # too many dimensions, or an empty one that is too long
        raise _Damaged(f"{entry.name!r} cannot have the shape {entry.shape}") from error
    for piece in _pieces(flat):
        _read_into(file, piece)
        digest.update(piece)
    if entry.dtype == bool and flat.max(initial=0) > 1:
        raise _Damaged(f"{entry.name!r} must hold booleans")
    return values.astype(entry.dtype.newbyteorder("="), copy=False)


def _read_into(file: FileIO, place: memoryview) -> None:
    """Fill memory from a file."""
    while len(place):
        count = file.readinto(place)
        if not count:
            raise _Damaged("it ends too early")
        place = place[count:]


def _checked_header(path: str | os.PathLike[str], metadata: Any) -> dict[str, Any]:
    """Return the header. CheckpointError: another program or a newer evermix wrote the file."""
    try:
        header = _parsed(metadata[_KEY])
        number = header["format"]
        if type(number) is not int or number < 1:
            raise ValueError(f"{number!r} is no format")
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path} is a safetensors file without an evermix header: another program wrote it. "
            "Give a file that Mixture.save or `evermix stream` wrote."
        ) from error
    if number > FORMAT:
        raise CheckpointError(
            f"{path} was written by a newer evermix (format {number}, this one reads up to "
            f"{FORMAT}): upgrade evermix."
        )
    if _deeper_than(_DEEPEST, header):
        raise _Damaged(f"its header is nested more than {_DEEPEST} deep")
    return dict(header)


def _deeper_than(depth: int, value: Any) -> bool:
    """Whether lists and dicts are nested more than this deep."""
    parts = value.values() if isinstance(value, dict) else value
    inner = [part for part in parts if isinstance(part, dict | list)]
    return depth == 0 or any(_deeper_than(depth - 1, part) for part in inner)
