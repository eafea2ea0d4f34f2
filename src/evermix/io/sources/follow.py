"""Files that grow, are rotated and appear while they are read, as ``tail -F`` follows them."""

import glob
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from io import BufferedReader
from typing import TypeAlias

from evermix.io.sources.chunk import Mark
from evermix.io.sources.errors import SourceError
from evermix.io.sources.lines import BLOCK, PAUSE, SKIPPED, LiveLines

SUFFIXES = (".jsonl", ".ndjson")
SHORTEST, SHARE = 0.05, 0.1  # seconds between two looks, and the share of time that they may take
OPEN = 64  # files to keep open, so that those that are renamed and deleted are read to their end

Key: TypeAlias = tuple[int, int]
"""Device and inode of a file."""


class Followed:
    """A file that is being read, whatever its name is by now.

    Attributes
    ----------
    known : str
        The name under which it was begun, which may be that of another file by now.
    path : str
        The name under which it was last seen.
    inode : int
    length : int
        Bytes that it had when it was last seen.
    size, rows : int
        Bytes and lines that were read.
    moved : bool
        Whether it has none of the names that are followed any more.
    """

    def __init__(self, known: str, path: str, found: os.stat_result) -> None:
        self.known, self.path = known, path
        self.inode, self.length = found.st_ino, found.st_size
        self.moved = False
        self.restart()

    def restart(self) -> None:
        """Read the file from its start."""
        self.size = self.rows = 0
        self._hash = blake2b(digest_size=32)
        self._last = b""  # what was read just before the place to go on
        self._mark: Mark | None = None
        self._seen: tuple[int, bool] | None = None

    def recall(self, mark: Mark) -> bool:
        """Go on after what was read before; False if the file does not begin with that."""
        self.restart()
        left = mark.size
        with open(self.path, "rb") as file:
            while left and (block := file.read(min(left, BLOCK))):
                self._hash.update(block)
                left, self._last = left - len(block), block
        if left or self._hash.hexdigest() != mark.digest:
            return False
        self.size, self.rows = mark.size, mark.rows or 0
        return True

    def mark(self) -> Mark:
        """Return what was read so far, for a checkpoint."""
        if self._mark is None:
            digest = self._hash.hexdigest()
            self._mark = Mark(self.known, self.size, self.rows, digest, self.inode)
        return self._mark

    @property
    def news(self) -> bool:
        """Whether something has happened to the file since its lines were last read."""
        return self._seen != (self.length, self.moved) and self.length != self.size

    def lines(
        self, file: BufferedReader, whole: Callable[[bytes], bool], limit: int
    ) -> Iterator[bytes]:
        """Yield the lines after those that were read, each of which counts as read from then on.

        A line without a newline waits, unless the file was moved and ``whole`` is true of it. Lines
        with more than ``limit`` bytes are cut, but stay too long.
        """
        self._seen = self.length, self.moved
        file.seek(self.size - len(self._last))
        if file.read(len(self._last)) != self._last:
            warnings.warn(f"{self.path}: was truncated, and is read from its start.", stacklevel=2)
            self.restart()
            file.seek(0)
        if self._last and not self._last.endswith(b"\n") and file.peek(1)[:1] == b"\n":
            self._add(file.read(1), rows=0)  # of a line that was whole without it
        while line := file.readline(limit + 1):
            if len(line) > limit and not line.endswith(b"\n"):
                if not self._pass_over(line, file):
                    return
                yield line + b"\n"
                continue
            if not line.endswith(b"\n") and not (self.moved and whole(line)):
                return  # what comes now belongs to the same line
            self._add(line)
            yield line

    def _pass_over(self, line: bytes, file: BufferedReader) -> bool:
        """Read a line that begins like this to its end; False if it has none yet."""
        digest, size = self._hash.copy(), self.size
        while line:
            digest.update(line)
            size += len(line)
            if line.endswith(b"\n"):
                self._hash, self.size, self.rows = digest, size, self.rows + 1
                self._last, self._mark = line, None
                return True
            line = file.readline(SKIPPED)
        return False

    def _add(self, line: bytes, rows: int = 1) -> None:
        self._hash.update(line)
        self.size, self.rows, self._last = self.size + len(line), self.rows + rows, line
        self._mark = None


class FollowedFiles(LiveLines):
    """The lines of files that grow, and of files that appear in folders.

    A file that was renamed is read to its end, and then the new one of its name. A file that was
    truncated is read from its start. A file that took the place of another is no new one if it
    begins with what was read of that. Lines wait until they have a newline.

    Parameters
    ----------
    sources : sequence of str
        Files, which need not be there yet, folders and patterns.
    marks : sequence of Mark
        Where an earlier run was in each file.
    max_wait : float or None
        See :class:`LiveLines`.
    whole : callable
        Whether a last line of a file that was renamed is whole without a newline.
    skip_lost : bool
        Whether to go on without files of an earlier run that cannot be found any more.
    max_line : int
        Most bytes of a line; longer ones are cut.
    drain : bool
        Whether to end where there are no more lines, instead of waiting for them.
    """

    live = True

    def __init__(
        self,
        sources: Sequence[str],
        marks: Sequence[Mark],
        max_wait: float | None,
        whole: Callable[[bytes], bool],
        skip_lost: bool,
        max_line: int,
        drain: bool = False,
    ) -> None:
        self._sources, self._whole, self._skip_lost = sources, whole, skip_lost
        self._max_line, self._drain = max_line, drain
        self._files: dict[Key, Followed] = {}  # in the order in which they are read
        self._open: dict[Key, BufferedReader] = {}
        self._last: Followed | None = None
        self.resumed = bool(marks)
        for number, mark in enumerate(marks):
            later = {other.path for other in marks[number + 1 :]}
            self._recall(mark, replaced=mark.path in later)
        super().__init__(max_wait)

    # ---- lines -------------------------------------------------------------------------------

    def coming(self) -> Iterator[bytes]:
        """Yield lines as they come, and pauses."""
        try:
            while True:
                began, quiet = time.monotonic(), True
                self._look()
                for key, file in list(self._files.items()):
                    for line in self._new_lines(key, file):
                        quiet, self._last = False, file
                        yield line
                if quiet and self._drain:
                    return
                if quiet and self.remaining() == 0.0:
                    yield PAUSE
                elif quiet:
                    rest = max(SHORTEST, (time.monotonic() - began) / SHARE)
                    time.sleep(min(rest, self.remaining() or rest))
        finally:
            for key in list(self._open):
                self._open.pop(key).close()

    def _new_lines(self, key: Key, file: Followed) -> Iterator[bytes]:
        """Yield the lines of a file that were not read yet."""
        if not (file.news or file.moved):
            return
        handle = self._handle(key, file)
        if handle is not None:
            file.length = os.fstat(handle.fileno()).st_size
            if file.news:
                yield from file.lines(handle, self._whole, self._max_line)
        elif file.moved:
            del self._files[key]  # nothing more of it can be read

    def place(self, line: int) -> str:
        """Return where the last line that was read stands, for messages."""
        file = self._last
        return f"line {line}" if file is None else f"{file.path}: line {file.rows}"

    def mark(self) -> list[Mark]:
        """Return what was read of each file, for a checkpoint."""
        return [file.mark() for file in self._files.values() if file.size]

    # ---- files -------------------------------------------------------------------------------

    def _look(self) -> None:
        """Find files that are new, have grown or have another name."""
        present: set[Key] = set()
        for path in names_followed(self._sources):
            try:
                found = os.stat(path)
            except OSError:
                continue
            key = found.st_dev, found.st_ino
            file = self._files.get(key)
            if file is None:
                self._adopt(path, key, found)
            else:
                file.length = found.st_size
                if key not in present:
                    file.known = file.path = path
            present.add(key)
        for key, file in self._files.items():
            file.moved = key not in present

    def _adopt(self, path: str, key: Key, found: os.stat_result) -> None:
        """Follow a file that is new under its name."""
        file = Followed(path, path, found)
        before = [some for some, other in self._files.items() if other.known == path]
        if before:
            old = self._files[before[-1]]
            if old.size and file.recall(old.mark()):  # a copy, or an editor has saved it
                self._drop(before[-1])
            else:
                file.restart()
        for some in before[:-1]:
            self._drop(some)  # of two rotations ago
        self._files[key] = file

    def _drop(self, key: Key) -> None:
        del self._files[key]
        if key in self._open:
            self._open.pop(key).close()

    def _handle(self, key: Key, file: Followed) -> BufferedReader | None:
        """Return a file opened; None if it cannot be found any more."""
        handle = self._open.pop(key, None)
        for path in (file.path, *_siblings(file.path)) if handle is None else ():
            try:
                handle = open(path, "rb")
            except OSError:
                continue
            found = os.fstat(handle.fileno())
            if (found.st_dev, found.st_ino) == key:
                file.path = path
                break
            handle.close()
            handle = None
        if handle is not None:
            self._open[key] = handle
            if len(self._open) > OPEN:
                self._open.pop(next(iter(self._open))).close()
        return handle

    def _recall(self, mark: Mark, replaced: bool) -> None:
        """Find the file of a mark again, under its name or another one in its folder.

        ``replaced`` says that another file of the same name was begun after it.
        """
        others = _siblings(mark.path)
        others.sort(key=lambda path: _inode(path) != mark.inode)
        for path in (mark.path, *others):
            alike = path.startswith(mark.path) or _inode(path) == mark.inode
            if not alike or not os.path.isfile(path) or os.path.getsize(path) < mark.size:
                continue
            found = os.stat(path)
            file = Followed(mark.path, path, found)
            if (found.st_dev, found.st_ino) not in self._files and file.recall(mark):
                self._files[found.st_dev, found.st_ino] = file
                return
        if replaced or mark.path not in self._sources:
            return  # it was read to its end, or taken out of a folder
        lost = (
            f"{mark.path}: {mark.size:,} bytes of it were read, and neither it nor a file beside "
            "it begins with these any more. Rows that were added to it since cannot be found."
        )
        if not self._skip_lost:
            raise SourceError(
                f"{lost} Put the old file back beside it, under any name that begins like its own; "
                "or go on without these rows (on the command line: --skip-bad)."
            )
        warnings.warn(lost, stacklevel=2)


def names_followed(sources: Iterable[str]) -> Iterator[str]:
    """Yield the names of the files that are followed, where sources are files, folders, patterns.

    A single file need not be there.
    """
    for source in sources:
        if os.path.isdir(source):
            found = [os.path.join(source, name) for name in os.listdir(source)]
        elif glob.has_magic(source) and not os.path.exists(source):
            found = glob.glob(source, recursive=True)
        else:
            yield source
            continue
        for path in sorted(found):
            name = os.path.basename(path)
            if name.endswith(SUFFIXES) and not name.startswith((".", "_")):
                yield path


def _siblings(path: str) -> list[str]:
    """Return the other files in the folder of a file."""
    folder = os.path.dirname(path)
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name != os.path.basename(path)]


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
