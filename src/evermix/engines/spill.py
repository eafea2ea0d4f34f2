"""Arrays that lie in files instead of in memory.

The files have no names: they go when nothing refers to their arrays any more, also if the program
is killed. Many arrays share a file, since the number of open files is limited.
"""

import mmap
import os
import sys
import tempfile
import threading
from typing import Any

import numpy as np

from evermix._xp import Array

LEAST, MOST = 2**24, 2**30  # bytes in a file: each is twice as large as the one before
ALIGNED = 64


class Spill:
    """A folder where arrays are put.

    Parameters
    ----------
    folder : path-like
        Where the files lie; it must be there, and have room for the arrays.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: mmap.mmap | None = None
        self._used, self._size, self._process = 0, LEAST // 2, 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Spill, (self._folder,)  # a copy opens files of its own

    def put(self, values: Array) -> Array:
        """Return a copy of an array that lies in a file."""
        size = -(-values.nbytes // ALIGNED) * ALIGNED
        if not size:
            return values
        with self._lock:
            # A forked process must not write where its parent does.
            if self._process != os.getpid() or self._used + size > self._size:
                self._open(size)
            assert self._file is not None
            copy = np.ndarray(values.shape, values.dtype, self._file, self._used)
            self._used += size
        copy[...] = values
        return copy

    def _open(self, least: int) -> None:
        """Begin a new file; those before live on as long as their arrays."""
        size = max(min(2 * self._size, MOST), least)
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                if sys.platform == "linux":  # a full disk is told now, not by a crash later
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
                self._file = mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"could not make room for {size / 2**20:.0f} MB in the folder {self._folder} "
                f"({error.strerror}). Give another folder as spill, or None to keep what batches "
                "have said in memory",
            ) from error
        self._used, self._size, self._process = 0, size, os.getpid()
