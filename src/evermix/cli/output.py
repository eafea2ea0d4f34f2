"""Files of JSON lines that a command writes, standard output among them."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from evermix.io.trace import LineFile

__all__ = ["Device", "StandardOutput", "naming", "open_lines"]


class StandardOutput(LineFile):
    """Standard output as a file of JSON lines; what was written cannot be taken back."""

    def __init__(self) -> None:
        self.path = "-"
        self._file = sys.stdout.buffer

    def position(self) -> int:
        """Write everything out; there is no place to go back to."""
        self._file.flush()
        return 0

    def close(self) -> None:
        """Write what is left."""
        self._file.flush()


class Device(StandardOutput):
    """A device or pipe, such as ``/dev/null``, as a file of JSON lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = open(path, "wb")

    def close(self) -> None:
        """Write what is left and close the device."""
        self._file.close()


def open_lines(path: str, at: int = 0) -> LineFile:
    """Open a file of JSON lines cut to ``at`` bytes, or standard output for ``"-"``."""
    if path == "-":
        return StandardOutput()
    if os.path.exists(path) and not os.path.isfile(path):
        return Device(path)
    return LineFile(path, at=at)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let errors of writing say which file it was."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno == errno.EPIPE:
            raise
        raise OSError(error.errno, error.strerror, path) from error
