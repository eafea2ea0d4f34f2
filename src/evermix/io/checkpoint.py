"""The file of a checkpoint: named arrays and a JSON header, in one safetensors file.

What a model puts into it is :class:`evermix.state.State` (its ``to_arrays``) and the settings of
its estimator. Any safetensors library can read the file. The header is JSON text in the file's
metadata under the key ``"evermix"``, with the caller's entries and two more: ``"format"``, the
number of the layout, and ``"evermix"``, the version that wrote the file.
"""

import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

FORMAT = 1
"""Number of the layout that this version writes; it reads this one and all before."""

_KEY = "evermix"


class CheckpointError(OSError):
    """A checkpoint could not be written, or a file is not a checkpoint that can be read."""


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
    (array([0., 1., 2.]), 3, 1)
    """
    target = Path(path).resolve()
    content = _serialised(arrays, header)  # raises before anything is written
    # Unique among live writers; the file of a killed writer is overwritten some day.
    temporary = target.with_name(f".{target.name}.{threading.get_native_id()}.tmp")
    try:
        _write_through(temporary, content)
        os.replace(temporary, target)
        _sync_directory(target.parent)
    except OSError as error:
        raise CheckpointError(
            f"could not write the checkpoint {target}: {error.strerror or error}. "
            "An older checkpoint there is unchanged. Free some space or choose another path, then "
            "save again."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


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
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            header = _checked_header(path, file.metadata())
            arrays = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except CheckpointError:
        raise
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint {path}; check the path.") from error
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is not a complete evermix checkpoint ({error}). It was cut short or written "
            "by another program; use an earlier copy."
        ) from error
    except OSError as error:
        raise CheckpointError(f"could not read the checkpoint {path}: {error}.") from error
    return arrays, header


def _serialised(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Iterator[bytes]:
    """Return the file's bytes, array by array, so that they are never in memory all at once.

    They are the length of the table of contents in 8 bytes, the table, and the arrays: those of
    wide dtypes first, so that all are aligned, then by name.
    """
    plain = {name: np.asarray(values) for name, values in arrays.items()}
    names = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    full = {**header, "format": FORMAT, "evermix": version("evermix")}
    table: dict[str, Any] = {"__metadata__": {_KEY: json.dumps(full, sort_keys=True)}}
    end = 0
    for name in names:
        values = plain[name]
        begin, end = end, end + values.nbytes
        offsets = {"data_offsets": [begin, end]}
        table[name] = {"dtype": _dtype_name(name, values), "shape": list(values.shape), **offsets}
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    parts = (_little_endian(plain[name]) for name in names)
    return chain([len(text).to_bytes(8, "little"), text], parts)


def _dtype_name(name: str, values: NDArray[Any]) -> str:
    """Return the name that safetensors has for the dtype of an array."""
    letters = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}
    bits = 8 * values.itemsize
    if values.dtype.kind not in letters or bits > 64:
        raise TypeError(
            f"a checkpoint holds arrays of booleans, integers and floats; {name!r} has dtype "
            f"{values.dtype}. Convert it, or put it into the header."
        )
    letter = letters[values.dtype.kind]
    return letter if letter == "BOOL" else f"{letter}{bits}"


def _little_endian(values: NDArray[Any]) -> bytes:
    return np.asarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()


def _write_through(path: Path, content: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for part in content:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    """Sync a rename in this directory to the disk, where the system can sync directories."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked_header(
    path: str | os.PathLike[str], metadata: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return the header. CheckpointError: another program or a newer evermix wrote the file."""
    try:
        header = json.loads((metadata or {})[_KEY])
        number = int(header["format"])
    except (KeyError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path} is a safetensors file without an evermix header: another program wrote it. "
            "Give a file that Mixture.save or `evermix stream` wrote."
        ) from error
    if number > FORMAT:
        raise CheckpointError(
            f"{path} was written by a newer evermix (format {number}, this one reads up to "
            f"{FORMAT}): upgrade evermix."
        )
    return dict(header)
