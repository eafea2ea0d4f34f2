"""Lines of bytes from a file, a gzip file or standard input."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Protocol

from evermix.io.sources.base import SourceError


class Lines(Protocol):
    """Lines that can be looked at before they are read."""

    def peek(self) -> Iterator[bytes]:
        """Yield lines from the beginning without using them up."""

    def read(self) -> Iterator[bytes]:
        """Yield lines from the beginning."""


class FileLines:
    """The lines of a file; a name that ends in ``.gz`` is unpacked on the way."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> Iterator[bytes]:
        """Yield lines from the beginning."""
        number = 0
        try:
            with self._open() as file:
                for line in file:
                    number += 1
                    yield line
        except FileNotFoundError as error:
            raise SourceError(f"{self.path}: there is no such file.") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceError(
                f"{self.path}: wanted a whole gzip file, it breaks off after line {number} "
                f"({error}). Fetch or pack it again."
            ) from error
        except OSError as error:
            raise SourceError(f"{self.path}: could not be read: {error.strerror}.") from error

    peek = read

    def _open(self) -> gzip.GzipFile | BufferedReader:
        return gzip.open(self.path, "rb") if self.path.endswith(".gz") else open(self.path, "rb")


class StandardInput:
    """The lines of standard input, which can be read only once."""

    def __init__(self) -> None:
        self._head: list[bytes] = []

    def peek(self) -> Iterator[bytes]:
        """Yield lines from the beginning, and keep them for :meth:`read`."""
        yield from tuple(self._head)
        for line in sys.stdin.buffer:
            self._head.append(line)
            yield line

    def read(self) -> Iterator[bytes]:
        """Yield lines from the beginning."""
        yield from self._head
        self._head = []
        yield from sys.stdin.buffer
