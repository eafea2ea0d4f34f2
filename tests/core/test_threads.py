"""Parts side by side: in order, whatever the threads, and the BLAS is left as it was."""

import multiprocessing
import os
import threading
import warnings

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from evermix._threads import cuts, side_by_side

pytestmark = pytest.mark.every_python


def blas_threads():
    return [
        lib.num_threads for lib in ThreadpoolController().select(user_api="blas").lib_controllers
    ]


def need_two():
    if min(blas_threads(), default=1) < 2:
        pytest.skip("the BLAS has one thread")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(threads):
    with threadpool_limits(threads):
        assert side_by_side(lambda x: x * x, range(20)) == [x * x for x in range(20)]
        assert side_by_side(abs, [-1]) == [1]
        assert side_by_side(abs, []) == []


def meeting():
    """Return a part that only ends when two threads are in it at once, and tells of itself."""
    meet = threading.Barrier(2, timeout=30)

    def part(_):
        meet.wait()
        return threading.get_ident(), max(blas_threads())

    return part


def test_threads_share_the_items_and_the_blas_has_one_meanwhile():
    with threadpool_limits(2):
        need_two()
        found = side_by_side(meeting(), range(2))
        assert set(blas_threads()) == {2}
    assert len({ident for ident, _ in found}) == 2
    assert {count for _, count in found} == {1}


def test_callers_that_overlap_leave_the_blas_as_it_was():
    """One enters first and leaves first; the other is served without the threads."""
    need_two()
    before, inside, leave = blas_threads(), threading.Event(), threading.Event()
    left, end = threading.Event(), threading.Event()

    def wait_inside(_):
        inside.set()
        assert leave.wait(30)
        return max(blas_threads())

    def first():
        counts.extend(side_by_side(wait_inside, [0]))
        left.set()
        end.wait(30)

    counts = []
    caller = threading.Thread(target=first)
    caller.start()
    assert inside.wait(30)

    def second(_):
        leave.set()
        assert left.wait(30)
        return True

    assert side_by_side(second, [0]) == [True]
    assert counts == [1]
    assert blas_threads() == before  # while the other caller is still there
    end.set()
    caller.join()
    with threadpool_limits(1):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_where_another_thread_sets_the_limits_parts_go_one_by_one():
    """threadpoolctl heeds the thread that came first; a part must never meet a busy BLAS."""
    need_two()
    found = []

    def other():
        idents = side_by_side(lambda _: (threading.get_ident(), max(blas_threads())), range(4))
        found.extend(idents)

    with threadpool_limits(2):
        caller = threading.Thread(target=other)
        caller.start()
        caller.join()
        assert set(blas_threads()) == {2}
    counts = {count for _, count in found}
    assert counts == {1} or len({ident for ident, _ in found}) == 1


def test_an_error_is_raised_and_nothing_is_left_behind():
    done = []

    def part(x):
        if x == 3:
            raise ValueError("three")
        done.append(x)
        return x

    with threadpool_limits(2):
        before = blas_threads()
        with pytest.raises(ValueError, match="three"):
            side_by_side(part, range(1000))
        assert blas_threads() == before
        assert len(done) < 1000  # the others stop too
        assert side_by_side(part, [1, 2]) == [1, 2]


@pytest.mark.parametrize("error", [IndexError, KeyboardInterrupt, StopIteration])
def test_errors_of_any_kind_are_raised(error):
    def part(x):
        raise error

    with pytest.raises(error):
        side_by_side(part, range(4))


def test_parts_may_have_parts():
    with threadpool_limits(2):
        got = side_by_side(lambda x: side_by_side(abs, [x, -x]), range(16))
    assert got == [[x, x] for x in range(16)]


def in_child(function):
    """Return what a function returns in a forked process."""
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks with threads
        child = context.Process(target=lambda: answer.put(function()))
        child.start()
    found = answer.get(timeout=60)
    child.join()
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_threads_of_its_own():
    with threadpool_limits(2):
        need_two()
        side_by_side(meeting(), range(2))  # the threads of this process are there
        found = in_child(lambda: side_by_side(meeting(), range(2)))
    assert len({ident for ident, _ in found}) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_forked_in_the_middle_of_work_is_not_stuck():
    inside, leave = threading.Event(), threading.Event()

    def wait_inside(_):
        inside.set()
        leave.wait(60)

    caller = threading.Thread(target=side_by_side, args=(wait_inside, [0]))
    caller.start()
    assert inside.wait(30)
    found = in_child(lambda: side_by_side(abs, [-1, -2, -3]))
    leave.set()
    caller.join()
    assert found == [1, 2, 3]


@pytest.mark.parametrize("n", [0, 1, 7, 100, 101])
@pytest.mark.parametrize("size", [0, 1, 8, 1000])
def test_cuts_cover_all_rows_once(n, size):
    parts = cuts(n, size)
    assert np.array_equal(np.concatenate([np.arange(n)[part] for part in parts]), np.arange(n))
    assert all(part.stop - part.start <= max(size, 1) for part in parts)
