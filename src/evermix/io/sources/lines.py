"""Lines of bounded length: one that is too long is cut, and the rest of it is passed over."""

from collections.abc import Callable, Iterator
from functools import partial

SKIPPED = 2**20  # bytes of a line that are passed over at a time


def bounded_lines(readline: Callable[[int], bytes], limit: int) -> Iterator[bytes]:
    """Yield the lines of a file; of one with more than ``limit`` bytes the first ``limit + 1``.

    ``readline`` reads up to so many bytes of a line. The bytes that end a line count.
    """
    for line in iter(partial(readline, limit + 1), b""):
        yield line
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := readline(SKIPPED)) and not rest.endswith(b"\n"):
                pass
