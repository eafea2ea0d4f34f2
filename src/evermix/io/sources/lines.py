"""Lines of files and of standard input, as bytes, and a digest of those that were read."""

import gzip
import os
import select
import sys
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b, file_digest
from io import BufferedReader
from typing import Any, NamedTuple, TypeAlias

from evermix._limits import MAX_LINE
from evermix.io.similar_names import did_you_mean
from evermix.io.sources.encodings import AsUtf8, find_encoding, without_mark
from evermix.io.sources.errors import SourceError

PAUSE = b""
"""Comes in place of a line when a live source has had none for some time."""
LOOK = 1024  # bytes that are looked at to see whether a file is text
ZEROS = 4  # zero bytes among them that no text has, not even one with damaged rows
NO_TEXT = b"%PDF-", b"PK\x03\x04", b"\x1f\x8b"  # how other files begin: also zip and gzip
BLOCK = 2**16  # bytes to read at a time
SKIPPED = 2**20  # bytes of a line that are passed over at a time

Digest: TypeAlias = tuple[int, str]
"""How many bytes were read of a file, and their digest."""


class Prefix:
    """The bytes that were read of a file, from its start on.

    Parameters
    ----------
    path : str
        For messages.
    expected : (int, str) or None
        How many bytes an earlier run has read, and their digest.
    """

    def __init__(self, path: str, expected: Digest | None = None) -> None:
        self.path = path
        self.size = 0
        self._hash = blake2b(digest_size=32)
        self._expected = expected

    def add(self, line: bytes) -> None:
        """Add a line. SourceError: the bytes that were read before are other ones now."""
        self.size += len(line)
        if self._expected is not None and self.size >= self._expected[0]:
            self._check(line)
        self._hash.update(line)

    def _check(self, line: bytes) -> None:
        """Compare the prefix, which ends in or with this line, with what was read before."""
        assert self._expected is not None
        size, digest = self._expected
        cut = len(line) - (self.size - size)
        head = self._hash.copy()
        head.update(line[:cut])
        # A last line without its newline may have been read before, as a whole one.
        if head.hexdigest() != digest or line[cut:] not in (b"", b"\n", b"\r\n"):
            raise changed(self.path)
        self._expected = None

    def end(self) -> None:
        """Raise SourceError if the file ends before the place where an earlier run was."""
        if self._expected is not None and self._expected[0] > self.size:
            raise SourceError(
                f"{self.path}: its first {self._expected[0]:,} bytes were read already, now it has "
                f"only {self.size:,}. {REMEDY}"
            )

    @property
    def digest(self) -> Digest:
        """How many bytes there are, and their digest."""
        return self.size, self._hash.hexdigest()


REMEDY = "Restore the old files, or start again (on the command line: --overwrite)."


def changed(path: str) -> SourceError:
    """Return the error of a file whose rows are not those that were read before."""
    return SourceError(f"{path}: its rows were read already, and were changed since. {REMEDY}")


def digest_file(path: str) -> str:
    """Return the digest of all bytes of a file."""
    with open(path, "rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=32)).hexdigest()


class Reading(NamedTuple):
    """How the lines of a source are read.

    Attributes
    ----------
    marked : bool
        Whether a digest of what was read is wanted.
    whole : callable or None
        Whether a last line without a newline is whole; others may still be being written, and are
        left out. None: all last lines are whole.
    max_line : int
        Most bytes of a line; longer ones are cut.
    encoding : str or None
        Of a file; its lines come in UTF-8. None: that, unless the file begins with the mark of
        another one. Numbers of bytes are those in UTF-8.
    """

    marked: bool = False
    whole: Callable[[bytes], bool] | None = None
    max_line: int = MAX_LINE
    encoding: str | None = None


def bounded_lines(readline: Callable[[int], bytes], limit: int) -> Iterator[bytes]:
    """Yield the lines of a file; those with more than ``limit`` bytes are cut, but stay too long.

    ``readline`` reads up to so many bytes of a line. The bytes that end a line count.
    """
    for line in iter(partial(readline, limit + 1), b""):
        rest = b"" if len(line) <= limit or line.endswith(b"\n") else readline(SKIPPED)
        while rest and not rest.endswith(b"\n"):
            rest = readline(SKIPPED)
        yield line + b"\n" if rest else line


class FileLines:
    """The lines of a file; a name that ends in ``.gz`` is unpacked on the way.

    Attributes
    ----------
    expected : (int, str) or None
        What an earlier run has read of the file, which is compared.
    unfinished : bool
        Whether the last line was left out, since it may still be being written.
    """

    skips = True
    offset: str | None = None
    expected: Digest | None = None
    unfinished = False
    _prefix: Prefix | None = None

    def __init__(self, path: str, reading: Reading) -> None:
        self.path = path
        self._packed = path.lower().endswith(".gz")
        self._reading = reading

    def read(self) -> Iterator[bytes]:
        """Yield lines from the beginning."""
        number, prefix = 0, Prefix(self.path, self.expected)
        marked, whole, limit, _ = self._reading
        marked = marked or self.expected is not None
        self._prefix = prefix if marked else None
        self.unfinished = False
        try:
            with self._open() as file:
                self._check_text(file.peek(LOOK)[:LOOK])
                for line in bounded_lines(file.readline, limit):
                    number += 1
                    ends = line.endswith(b"\n") or self._packed
                    if not ends and whole is not None and not whole(line):
                        self.unfinished = bool(line.strip())
                        break
                    if marked:
                        prefix.add(line)
                    yield line
                    if not ends and whole is not None:
                        break  # what comes now belongs to the same line
                prefix.end()
        except UnicodeError as error:
            encoding = getattr(error, "encoding", self._reading.encoding)
            reason = getattr(error, "reason", error)
            raise SourceError(
                f"{self.path}: after line {number} comes what is no {encoding} ({reason}). Name "
                "the encoding that the file has, or none if it is UTF-8 (on the command line: "
                "--encoding)."
            ) from error
        except FileNotFoundError as error:
            meant = did_you_mean(self.path)
            raise SourceError(f"{self.path}: there is no such file.{meant}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceError(
                f"{self.path}: expected a complete gzip file, it breaks off after line {number} "
                f"({error}). Fetch or pack it again."
            ) from error
        except OSError as error:
            raise SourceError(f"{self.path}: could not be read: {error.strerror}.") from error

    peek = read

    def _check_text(self, head: bytes) -> None:
        """Raise SourceError if a file that begins with these bytes is no text in UTF-8."""
        if head.count(b"\0") >= ZEROS or head.startswith(NO_TEXT):
            if (encoding := without_mark(head)) is not None:
                raise SourceError(
                    f"{self.path}: expected text in UTF-8, got {encoding.upper()} that does not "
                    f"say so at its beginning. Name it (on the command line: --encoding "
                    f"{encoding})."
                )
            raise SourceError(
                f"{self.path}: expected lines of text, got a file of another kind, such as a "
                "picture or an archive. Give the file that holds the rows, or end its name as its "
                "format does."
            )

    def mark(self) -> Any:
        """Return what was read so far, for a checkpoint; None unless that was wanted."""
        return None if self._prefix is None else self._prefix.digest

    def place(self, line: int) -> str:
        """Return the file and a line of it, from 1, for messages."""
        return f"{self.path}: line {line}"

    def _open(self) -> gzip.GzipFile | BufferedReader:
        file = gzip.open(self.path, "rb") if self._packed else open(self.path, "rb")
        encoding = self._reading.encoding or find_encoding(file.peek(LOOK))
        return file if encoding is None else BufferedReader(AsUtf8(file, encoding))


class LiveLines(ABC):
    """Lines that come while they are read, and a pause where none has come for some time.

    Parameters
    ----------
    max_wait : float or None
        Seconds until a pause; None if there shall be none.
    """

    skips = False
    """Whether rows that were read before come again, and must be skipped."""
    live = True
    """Whether lines may come one by one."""
    resumed = False
    """Whether these lines follow others that an earlier run has read."""
    offset: str | None = None
    """Where a broker has the last line that was read."""
    unfinished = False
    expected: Digest | None = None

    def __init__(self, max_wait: float | None) -> None:
        self.max_wait = max_wait
        self._due = float("inf")
        self._head: list[bytes] = []
        self._coming = self.coming()
        self.restart()

    @abstractmethod
    def coming(self) -> Iterator[bytes]:
        """Yield lines as they come, and pauses."""

    def restart(self, spent: float = 0.0) -> None:
        """Begin to wait anew; what was spent on the last rows is part of the time to answer."""
        if self.max_wait is not None:
            self._due = time.monotonic() + max(self.max_wait - spent, 0.0)

    def peek(self) -> Iterator[bytes]:
        """Yield lines from the beginning, and keep them for :meth:`read`."""
        yield from tuple(self._head)
        for line in self._coming:
            if line is not PAUSE:
                self._head.append(line)
                yield line

    def read(self) -> Iterator[bytes]:
        """Yield lines from the beginning, and pauses."""
        head, self._head = self._head, []
        for line in head:
            self.passed(line)
            yield line
        for line in self._coming:
            if line is not PAUSE:
                self.passed(line)
            yield line
        self.ended()

    def passed(self, line: bytes) -> None:  # noqa: B027  (optional)
        """Note that a line is read now."""

    def ended(self) -> None:  # noqa: B027  (optional)
        """Note that there are no more lines."""

    def mark(self) -> Any:
        """Return what was read so far, for a checkpoint."""
        return None

    def place(self, line: int) -> str:
        """Return where the last line that was read stands, for messages."""
        return f"-: line {line}"

    def remaining(self) -> float | None:
        """Return the seconds until the next pause; None if there is none."""
        return None if self.max_wait is None else max(self._due - time.monotonic(), 0.0)


class StandardInput(LiveLines):
    """The lines of standard input, which can be read only once.

    Parameters
    ----------
    max_wait : float or None
        See :class:`LiveLines`.
    reading : Reading
    continues : bool
        Whether the first line is not that of the source, but follows those of an earlier run.
    """

    def __init__(self, max_wait: float | None, reading: Reading, continues: bool) -> None:
        self.live = max_wait is not None and _comes_bit_by_bit()
        super().__init__(max_wait)
        self.skips, self.resumed = not continues, continues
        self._marked = reading.marked and not continues
        self._limit = reading.max_line
        self._prefix: Prefix | None = None

    def coming(self) -> Iterator[bytes]:
        """Yield lines as they come, and pauses."""
        if not self.live:
            yield from bounded_lines(sys.stdin.buffer.readline, self._limit)
            return
        descriptor, parts, size = sys.stdin.fileno(), list[bytes](), 0
        while True:
            if not select.select([descriptor], [], [], self.remaining())[0]:
                yield PAUSE
                continue
            block = os.read(descriptor, BLOCK)
            if not block:
                break
            *lines, rest = block.split(b"\n")
            if lines:
                if size <= self._limit:
                    parts.append(lines[0])
                yield b"".join(parts) + b"\n"
                for line in lines[1:]:
                    yield line + b"\n"
                parts, size = [], 0
            if size <= self._limit:  # of a line that is too long, the rest is not kept
                parts.append(rest)
                size += len(rest)
        if any(parts):
            yield b"".join(parts)

    def passed(self, line: bytes) -> None:
        """Note that a line is read now."""
        if self._marked:
            self._begun().add(line)

    def ended(self) -> None:
        """Raise SourceError if there were fewer lines than an earlier run has read."""
        self._begun().end()

    def _begun(self) -> Prefix:
        if self._prefix is None:
            self._prefix = Prefix("standard input", self.expected)
        return self._prefix

    def mark(self) -> Any:
        """Return what was read so far, for a checkpoint; None unless that was wanted."""
        return None if self._prefix is None else self._prefix.digest


def _comes_bit_by_bit() -> bool:
    """Whether standard input is a pipe, a terminal or the like, for which one can wait."""
    try:
        return os.name == "posix" and not os.path.isfile(sys.stdin.fileno())
    except (OSError, ValueError):  # it is closed, or not of the system
        return False
