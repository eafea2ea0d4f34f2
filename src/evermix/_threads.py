"""Threads for array maths: parts of a task in parallel, each with one thread of the BLAS.

A BLAS runs each product in parallel, but everything between two products runs on one thread. It is
faster to cut the rows once, into parts that fit into a processor's cache; and the results do not
depend on the number of threads.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE = 2  # the number of parts is a multiple of this, so that two threads are both busy


def cuts(n: int, size: int) -> list[slice]:
    """Cut n rows into one part, or a multiple of ``AT_ONCE``, of equal length up to ``size``.

    The parts do not depend on the number of threads, and neither do sums over them.
    """
    parts = 1 if n <= size else -(-n // (AT_ONCE * max(size, 1))) * AT_ONCE
    parts = min(parts, max(n, 1))
    return [slice(part * n // parts, (part + 1) * n // parts) for part in range(parts)]


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the results of a function for each item, in order.

    As many threads as the BLAS would use work on the items, so ``threadpool_limits`` and variables
    such as OPENBLAS_NUM_THREADS apply. Only one call at a time gets these threads; other calls, and
    calls from within the function, use a single thread.
    """
    items = list(items)
    todo = deque(range(len(items)))
    results: dict[int, Result] = {}

    def work() -> None:
        while True:
            try:
                place = todo.popleft()
            except IndexError:
                return
            try:
                results[place] = function(items[place])
            except BaseException:
                todo.clear()  # the other threads may stop
                raise

    with blas_alone() as threads:
        helpers = _help(work, min(threads, len(items)) - 1)
        try:
            work()
        finally:
            todo.clear()
            busy = [helper for helper in helpers if not helper.cancel()]
            wait(busy)
        for helper in busy:
            helper.result()
    return [results[place] for place in range(len(items))]


def _help(work: Callable[[], None], count: int) -> list[Future[None]]:
    """Start the work on some more threads, each with one thread of the BLAS."""

    def limited() -> None:
        with _blas().limit(limits=1):  # some libraries have a limit per thread
            work()

    helpers: list[Future[None]] = []
    try:
        for _ in range(count):
            helpers.append(_pool().submit(limited))
    except RuntimeError:  # the interpreter is shutting down, or there are no more threads
        pass
    return helpers


@contextmanager
def blas_alone() -> Iterator[int]:
    """Limit the BLAS to one thread; yields the number of threads that may work instead."""
    if not _BUSY.acquire(blocking=False):
        yield 1
        return
    try:
        threads = _blas_threads()
        with _blas().limit(limits=1):
            # In some libraries the limits of another thread apply.
            yield threads if _blas_threads() == 1 else 1
    finally:
        _BUSY.release()


def _blas_threads() -> int:
    return max((library.num_threads or 1 for library in _blas().lib_controllers), default=1)


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of the BLAS libraries; to find them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool() -> ThreadPoolExecutor:
    """Return a pool of threads; starting one takes as long as a small part."""
    return ThreadPoolExecutor(os.cpu_count(), "evermix")


_BUSY = threading.Lock()


def _renew() -> None:
    """Reset the lock and the pool in a child process, which has no threads of its parent."""
    global _BUSY
    _BUSY = threading.Lock()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew)
