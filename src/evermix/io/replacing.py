"""Files that are replaced in one step, and what killed writers leave behind."""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from evermix.io.locks import try_lock

_CLEANED: set[Path] = set()  # targets whose leftovers this process has removed


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """Yield a new file that replaces ``target`` in one step, unless the body fails.

    It lies beside the target, under a name that no writer on any host has, and is synced to the
    disk before it takes the target's place.
    """
    if target not in _CLEANED:
        remove_leftovers(target)
        _CLEANED.add(target)
    path, file = _created(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "posix":  # elsewhere a file that is open cannot be moved
                file.close()
            os.replace(path, target)
        sync_directory(target.parent)
    finally:
        with suppress(OSError):
            path.unlink()


def remove_leftovers(target: Path) -> None:
    """Remove the unfinished files of killed writers of ``target``.

    A writer locks its file, and the system takes the lock back when the writer ends, however it
    ends. Where files cannot be locked they stay.
    """
    unfinished = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for name in filter(unfinished.fullmatch, os.listdir(target.parent)):
            _remove_unlocked(target.with_name(name))


def _created(target: Path) -> tuple[Path, BinaryIO]:
    """Return a new file beside a target, locked, and its path."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        file = path.open("xb")
        free = True
        with suppress(OSError):  # not every file system has locks
            free = try_lock(file.fileno())
        if free and os.fstat(file.fileno()).st_nlink:
            return path, file
        file.close()  # another process took it for a leftover before it was locked


def _remove_unlocked(path: Path) -> None:
    """Remove a file if no process writes it."""
    with suppress(OSError):
        if os.name != "posix":  # elsewhere a file that is open cannot be removed
            path.unlink()
            return
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if try_lock(descriptor):
                path.unlink()
        finally:
            os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Sync a rename in this directory to the disk, where the system can sync directories."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
