"""Parts side by side: in order, whatever the threads, and the BLAS is left as it was."""

import multiprocessing
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from evermix._threads import cuts, side_by_side


def blas_threads():
    return [
        lib.num_threads for lib in ThreadpoolController().select(user_api="blas").lib_controllers
    ]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(threads):
    with threadpool_limits(threads):
        assert side_by_side(lambda x: x * x, range(20)) == [x * x for x in range(20)]
        assert side_by_side(abs, [-1]) == [1]
        assert side_by_side(abs, []) == []


def test_threads_share_the_items_and_the_blas_has_one_meanwhile():
    meet = threading.Barrier(2, timeout=30)

    def part(_):
        meet.wait()  # unless both are at work at once, this fails
        return threading.get_ident(), max(blas_threads())

    with threadpool_limits(2):
        if max(blas_threads(), default=1) < 2:
            pytest.skip("the BLAS has one thread")
        found = side_by_side(part, range(2))
        assert set(blas_threads()) == {2}
    assert len({ident for ident, _ in found}) == 2
    assert {count for _, count in found} == {1}


def test_many_callers_at_once_leave_the_blas_as_it_was():
    with threadpool_limits(2):
        before = blas_threads()
        callers = [
            threading.Thread(
                target=lambda: [side_by_side(np.sum, [np.ones(9)] * 4) for _ in range(50)]
            )
            for _ in range(4)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert blas_threads() == before


def test_an_error_is_raised_and_nothing_is_left_behind():
    def part(x):
        if x == 3:
            raise ValueError("three")
        return x

    with threadpool_limits(2):
        before = blas_threads()
        with pytest.raises(ValueError, match="three"):
            side_by_side(part, range(8))
        assert blas_threads() == before
        assert side_by_side(part, [1, 2]) == [1, 2]


def test_parts_may_have_parts():
    with threadpool_limits(2):
        got = side_by_side(lambda x: side_by_side(abs, [x, -x]), range(16))
    assert got == [[x, x] for x in range(16)]


def _child(answer):
    with threadpool_limits(2):
        answer.put(side_by_side(abs, [-1, -2, -3]))


def test_a_forked_process_has_threads_of_its_own():
    with threadpool_limits(2):
        side_by_side(abs, range(4))
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=_child, args=(answer,))
    child.start()
    assert answer.get(timeout=60) == [1, 2, 3]
    child.join()


@pytest.mark.parametrize("n", [0, 1, 7, 100, 101])
@pytest.mark.parametrize("size", [0, 1, 8, 1000])
def test_cuts_cover_all_rows_once(n, size):
    parts = cuts(n, size)
    assert np.array_equal(np.concatenate([np.arange(n)[part] for part in parts]), np.arange(n))
    assert all(part.stop - part.start <= max(size, 1) for part in parts)
