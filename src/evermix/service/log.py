"""The log of a model: requests since its last checkpoint, safe on the disk.

A log is one or more files ``log-NUMBER``, NUMBER being that of the first record in it. A file
begins with ``MAGIC``. Then come groups of records, each of which was synced to the disk as a whole:
the length of the group (4 bytes, little endian), the BLAKE2b digest (16 bytes) of its content, and
the content. A record in it is its length (4 bytes), a line of JSON, and then the body of the
request as it came.
"""

import json
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from evermix.io.replacing import sync_directory

MAGIC = b"evermix log 1\n"
DIGEST = 16
HEAD = 4 + DIGEST  # bytes before a group
_NAME = re.compile(r"log-(\d{20})")

Safe = Callable[[], object]
"""Waits until a record is safe on the disk, or raises LogError."""


class LogError(OSError):
    """The log could not be written, or is damaged."""


@dataclass(frozen=True)
class Record:
    """A request to a model.

    Attributes
    ----------
    number : int
        1, 2, 3, ... over the whole life of a model.
    time : float
        When it came, in seconds since 1970.
    action : str
        "learn", or something that people do to clusters, such as "merge".
    form : str
        How the body is written, "json", "jsonl" or "npy".
    body : bytes
    """

    number: int
    time: float
    action: str
    form: str
    body: bytes

    def to_bytes(self) -> bytes:
        """Return the record as it stands in a group."""
        head = {"number": self.number, "time": self.time, "action": self.action, "form": self.form}
        content = json.dumps(head).encode() + b"\n" + self.body
        return len(content).to_bytes(4, "little") + content

    @classmethod
    def of_group(cls, content: bytes) -> "Iterator[Record]":
        """Yield the records of a group whose digest is right."""
        while content:
            end = 4 + int.from_bytes(content[:4], "little")
            head, _, body = content[4:end].partition(b"\n")
            yield cls(**json.loads(head), body=body)
            content = content[end:]


class Log:
    """The log of one model.

    Parameters
    ----------
    folder : Path
        That of the model.

    Attributes
    ----------
    size : int
        Bytes in the file that is written now.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._broken = False
        self.size = self._written = 0  # of what is safe, and of what was written

    def records(self, after: int) -> Iterator[Record]:
        """Yield the records behind one, in order, and cut off one that was not written whole.

        LogError: something else is damaged, or records are missing.
        """
        files, expected = self._files(), after + 1
        for path in files:
            for record in _read(path, last=path == files[-1]):
                if record.number < expected:
                    continue
                if record.number > expected:
                    raise LogError(
                        f"{path}: records {expected} to {record.number - 1} are missing. Put the "
                        "files of the model back as they were, from one copy."
                    )
                expected += 1
                yield record

    def begin(self, number: int) -> None:
        """Start a new file, whose first record will have this number, and remove all others.

        Everything before must be in the checkpoint.
        """
        old, path = self._files(), self._folder / f"log-{number:020d}"
        try:
            file = path.open("wb", buffering=0)
            file.write(MAGIC)
            os.fsync(file.fileno())
            sync_directory(self._folder)
        except OSError as error:
            if path not in old:
                self._remove(path)
            raise LogError(f"could not begin {path}: {error.strerror or error}.") from error
        self.close()
        self._file, self.size = file, len(MAGIC)
        for other in old:
            if other != path:
                with suppress(OSError):
                    other.unlink()

    def _remove(self, path: Path) -> None:
        """Remove a file that was begun in vain: it must not stand behind records of another."""
        try:
            path.unlink(missing_ok=True)
        except OSError:
            self._broken = True

    def resume(self, number: int) -> None:
        """Go on with the last file; a new one, with this number, if there is none."""
        files = self._files()
        if not files:
            self.begin(number)
            return
        self._file = files[-1].open("r+b", buffering=0)
        self.size = self._file.seek(0, os.SEEK_END)
        if self.size < len(MAGIC):  # it was begun, but nothing had been written yet
            self._file.seek(0)
            self._file.write(MAGIC)
            self.size = len(MAGIC)

    def append(self, records: Sequence[Record]) -> None:
        """Write records and sync them to the disk, all or none.

        LogError: none is written. If that is not certain, the log refuses all that follow.
        """
        self.write(records)
        self.sync()

    def write(self, records: Sequence[Record]) -> None:
        """Write records, which are safe after :meth:`sync`.

        LogError: none is written. If that is not certain, the log refuses all that follow.
        """
        if self._broken or self._file is None:
            raise LogError("the log cannot be written since an earlier error. Restart the service.")
        group = b"".join(record.to_bytes() for record in records)
        rest = memoryview(len(group).to_bytes(4, "little") + _digest(group) + group)
        self._written = self.size + len(rest)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self._cut(self._file)
            raise LogError(f"the log cannot be written: {error.strerror or error}.") from error

    def sync(self) -> None:
        """Sync what was written to the disk, perhaps from another thread.

        LogError: it is taken back, and the log refuses all that follow.
        """
        assert self._file is not None
        try:
            os.fsync(self._file.fileno())
        except OSError as error:  # what is on the disk is not known from here on
            self._broken = True
            self._cut(self._file)
            raise LogError(f"the log cannot be synced: {error.strerror or error}.") from error
        self.size = self._written

    def _cut(self, file: BinaryIO) -> None:
        """Take back what was written after the last record."""
        try:
            file.truncate(self.size)
            file.seek(self.size)
            os.fsync(file.fileno())
        except OSError:
            self._broken = True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _files(self) -> list[Path]:
        return sorted(path for path in self._folder.iterdir() if _NAME.fullmatch(path.name))


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST).digest()


def _read(path: Path, last: bool) -> Iterator[Record]:
    """Yield the records of a file; in the last file, the last group need not be whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
        if magic != MAGIC:
            if last and MAGIC.startswith(magic):
                return
            raise LogError(f"{path} is not a log of evermix.")
        while (at := file.tell()) < size:
            head = file.read(HEAD)
            length = int.from_bytes(head[:4], "little")
            whole = 0 < length <= size - at - HEAD
            group = file.read(length) if whole else b""
            if not whole or _digest(group) != head[4:]:
                break
            yield from Record.of_group(group)
        else:
            return
        file.seek(at)
        torn = at + HEAD + length >= size or not any(file.read())  # zeros: never written
    if not (last and torn):
        raise LogError(
            f"{path} is damaged at byte {at:,}, and more stands behind it. Use an earlier copy "
            "of the model's folder."
        )
    warnings.warn(
        f"{path}: the last records were not written whole, so they were never acknowledged as "
        f"learnt. They are cut off at byte {at:,}.",
        RuntimeWarning,
        stacklevel=2,
    )
    with path.open("r+b") as rest:
        rest.truncate(at)
        os.fsync(rest.fileno())
