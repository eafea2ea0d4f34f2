"""Locks on files, so that each has one writer at a time.

The system takes a lock back when the process that holds it ends, however it ends.
"""

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class LockedError(OSError):
    """Another process writes the file."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file, and return False if another process has locked it.

    OSError: the file system has no locks. On Windows nothing is locked.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class FileLocks(ExitStack):
    """The files that a process has locked, until the ``with`` block of the object ends.

    A file that is written in place is itself locked, so that all its names and links stand for one
    lock. A file that is replaced in one step, such as a checkpoint, is locked by a file
    ``.NAME.lock`` beside it, which holds the number of the process and is removed at the end. A
    process that is killed leaves it; the next one takes it over.

    Attributes
    ----------
    makes_files : bool
        Whether files that are written in place are made to be locked. Otherwise, for commands that
        make them in the end, those that are not there are locked like files that are replaced.
    """

    makes_files = True

    def __init__(self) -> None:
        super().__init__()
        self._held: set[Path] = set()
        self._failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *exception: Any) -> bool | None:
        self._failed = kind is not None
        return super().__exit__(kind, *exception)

    def add(self, path: str | Path, *, replaced: bool = False) -> None:
        """Lock a file, unless it is locked here already or is a device or pipe.

        LockedError: another process has locked it. A file that is not there is made, and goes again
        if the block fails while it is empty.
        """
        target = Path(path).resolve()
        if target in self._held or (target.exists() and not target.is_file()):
            return
        replaced = replaced or not (self.makes_files or target.exists())
        beside = target.with_name(f".{target.name}.lock")
        if not replaced and beside.exists():  # of a process that makes the file, or was killed
            os.close(self._locked(path, beside, True))
            with suppress(OSError):
                beside.unlink()
        place = beside if replaced else target
        new = not place.exists()
        descriptor = self._locked(path, place, replaced)
        self._held.add(target)
        self.callback(self._release, descriptor, place, new, replaced)
        if replaced:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())

    def _locked(self, path: str | Path, place: Path, replaced: bool) -> int:
        """Return a descriptor of a file that is locked now; ``path`` is for messages."""
        descriptor = _open_locked(place)
        if descriptor is None:
            raise LockedError(
                f"{path} is being written by {_holder(place, replaced)}. Wait until it has ended, "
                "or choose another place."
            )
        return descriptor

    def _release(self, descriptor: int, place: Path, new: bool, replaced: bool) -> None:
        """Give a lock back, and remove a file that was only made for it."""
        found = os.fstat(descriptor)
        unused = new and self._failed and not found.st_size
        with suppress(OSError):
            if (replaced or unused) and os.path.samestat(found, place.stat()):
                place.unlink()
        os.close(descriptor)


def _open_locked(place: Path) -> int | None:
    """Return a descriptor of a file, made if need be and locked; None if another has locked it."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        free = True
        with suppress(OSError):  # not every file system has locks
            free = try_lock(descriptor)
        if free and os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
        if not free:
            return None  # otherwise the process that held it has removed it just now


def _holder(place: Path, replaced: bool) -> str:
    """Return which process has locked a file, as far as that can be known."""
    with suppress(OSError):
        inode = str(place.stat().st_ino)
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == inode:
                return f"process {fields[4]}"
    if replaced:
        with suppress(OSError, ValueError):
            return f"process {int(place.read_text())}"
    return "another process"
