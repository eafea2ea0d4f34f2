"""Threads for array maths: parts of a task side by side, each on one thread of the BLAS.

A BLAS shares out each product by itself, but all between two products runs on one thread. Parts
that stay in a processor's own memory from the first operation to the last are better cut once, by
hand; and what they return does not depend on the number of threads.
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

AT_ONCE = 2  # parts that threads may work on at the same time, at least


def cuts(n: int, size: int) -> list[slice]:
    """Cut n rows into parts of about the same length, at most ``size`` or 1.

    There is one part, or ``AT_ONCE`` of them for every so many parts of that size. They do not
    depend on the number of threads, nor does what is summed over them.
    """
    parts = 1 if n <= size else -(-n // (AT_ONCE * max(size, 1))) * AT_ONCE
    parts = min(parts, max(n, 1))
    return [slice(part * n // parts, (part + 1) * n // parts) for part in range(parts)]


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return what a function makes of each item, in their order.

    As many threads as the BLAS would use go through the items, so ``threadpool_limits`` and
    OPENBLAS_NUM_THREADS and the like hold for them as well. One call at a time has them; others,
    and calls from within parts, go through their items alone.
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
                todo.clear()  # nobody need go on
                raise

    with _blas_alone() as threads:
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
    """Let some threads do work as well, each with the BLAS on one thread."""

    def limited() -> None:
        with _blas().limit(limits=1):  # some libraries have a limit of their own in each thread
            work()

    helpers: list[Future[None]] = []
    try:
        for _ in range(count):
            helpers.append(_pool().submit(limited))
    except RuntimeError:  # the interpreter is about to end, or the system has no more threads
        pass
    return helpers


@contextmanager
def _blas_alone() -> Iterator[int]:
    """Keep the BLAS on one thread; gives the number of threads that may work instead."""
    if not _BUSY.acquire(blocking=False):
        yield 1
        return
    try:
        threads = _blas_threads()
        with _blas().limit(limits=1):
            # Another thread of the program may be the one whose limits count.
            yield threads if _blas_threads() == 1 else 1
    finally:
        _BUSY.release()


def _blas_threads() -> int:
    return max((library.num_threads or 1 for library in _blas().lib_controllers), default=1)


@cache
def _blas() -> ThreadpoolController:
    """Return what sets the threads of the BLAS; to find its libraries takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that wait for work: to start one takes as long as a small part."""
    return ThreadPoolExecutor(os.cpu_count(), "evermix")


_BUSY = threading.Lock()


def _renew() -> None:
    """A child process has none of its parent's threads, and nobody is busy in it."""
    global _BUSY
    _BUSY = threading.Lock()
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew)
