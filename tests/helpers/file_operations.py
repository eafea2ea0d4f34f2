"""The operations of this process on the files of a folder, counted, and its end in one of them."""

import builtins
import io
import os
import signal
from contextlib import contextmanager


@contextmanager
def counted(folder, die_at):
    """Count writes, truncations, syncs, renames and removals; yields a function for the number.

    The process kills itself in the ``die_at``-th of them, if that is not 0: in the middle of a
    write, and before any other operation.
    """
    place, done = str(folder), 0

    def here(path):
        return not isinstance(path, int) and os.path.abspath(path).startswith(place)

    def now():
        nonlocal done
        done += 1
        return done == die_at

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    class Raw(io.FileIO):
        def write(self, data):
            if now():
                super().write(memoryview(data).cast("B")[: len(memoryview(data).cast("B")) // 2])
                die()
            return super().write(data)

        def truncate(self, size=None):
            if now():
                die()
            return super().truncate(size)

    def opened(
        file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *others, **named
    ):
        if not set("wxa+") & set(mode) or not here(file) or others or named:
            return plain(file, mode, buffering, encoding, errors, newline, *others, **named)
        raw = Raw(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffer = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)

    def mortal(operation):
        def run(target, *arguments, **named):
            if (isinstance(target, int) or here(target)) and now():
                die()
            return operation(target, *arguments, **named)

        return run

    names, plain = ("fsync", "replace", "unlink", "write", "ftruncate"), builtins.open
    before = {name: getattr(os, name) for name in names}
    for name, operation in before.items():
        setattr(os, name, mortal(operation))
    builtins.open = io.open = opened
    try:
        yield lambda: done
    finally:
        builtins.open = io.open = plain
        for name, operation in before.items():
            setattr(os, name, operation)
