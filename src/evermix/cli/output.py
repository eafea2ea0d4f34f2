"""Files of JSON lines that a command writes, standard output among them."""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from evermix.io.trace import LineFile

__all__ = ["StandardOutput", "naming", "open_lines"]


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


def open_lines(path: str, at: int = 0) -> LineFile:
    """Open a file of JSON lines cut to ``at`` bytes, or standard output for ``"-"``."""
    return StandardOutput() if path == "-" else LineFile(path, at=at)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let errors of writing say which file it was."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno == errno.EPIPE:
            raise
        raise OSError(error.errno, error.strerror, path) from error
