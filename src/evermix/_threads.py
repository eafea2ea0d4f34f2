"""Threads for array maths: parts of a task side by side, each on one thread of the BLAS.

A BLAS shares out each product by itself, but all between two products runs on one thread. Parts
that stay in a processor's own memory from the first operation to the last are better cut once, by
hand; and what they return does not depend on the number of threads.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["cuts", "side_by_side"]

Item = TypeVar("Item")
Result = TypeVar("Result")


AT_ONCE = 2  # parts that threads may work on at the same time, at least


def cuts(n: int, size: int) -> list[slice]:
    """Cut n rows into parts of at most ``size``: one, or a multiple of ``AT_ONCE`` of them.

    They do not depend on the number of threads, nor does what is summed over them.
    """
    parts = 1 if n <= size else -(-n // (AT_ONCE * max(size, 1))) * AT_ONCE
    parts = min(parts, max(n, 1))
    return [slice(part * n // parts, (part + 1) * n // parts) for part in range(parts)]


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return what a function makes of each item, in their order.

    As many threads as the BLAS would use go through the items, so ``threadpool_limits`` and
    OPENBLAS_NUM_THREADS and the like hold for them as well.
    """
    items = list(items)
    todo = deque(range(len(items)))
    results: dict[int, Result] = {}

    def work() -> None:
        while todo:
            try:
                place = todo.popleft()
            except IndexError:  # another thread took the last one
                return
            results[place] = function(items[place])

    with _BLAS.alone() as threads:
        helpers = min(threads, len(items)) - 1
        futures = [_pool().submit(work) for _ in range(helpers)]
        try:
            work()
        finally:
            todo.clear()  # all taken, unless there was an error
            for future in futures:
                if not future.cancel():  # those that are busy elsewhere are not waited for
                    future.result()
    return [results[place] for place in range(len(items))]


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that wait for work: to start one takes as long as a small part."""
    return ThreadPoolExecutor(os.cpu_count(), "evermix")


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child process has none of them


class _Blas:
    """Keeps the BLAS on one thread as long as anyone wants it; its setting is the process's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._threads = 1
        self._limits: Any = None

    @contextmanager
    def alone(self) -> Iterator[int]:
        """Keep the BLAS on one thread; gives the number that it would have used."""
        with self._lock:
            if self._users == 0:
                blas = _blas()
                found = [library.num_threads for library in blas.lib_controllers]
                self._threads = max(found, default=1)
                self._limits = blas.limit(limits=1) if self._threads > 1 else None
            self._users += 1
            threads = self._threads
        try:
            yield threads
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0 and self._limits is not None:
                    self._limits.restore_original_limits()


_BLAS = _Blas()


@cache
def _blas() -> ThreadpoolController:
    """Return what sets the threads of the BLAS; to find its libraries takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")
