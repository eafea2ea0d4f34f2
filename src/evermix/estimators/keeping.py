"""The old model stays until there is a new one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _never(error: BaseException) -> bool:
    return False


@contextmanager
def or_as_before(estimator: Any, keeps: Callable[[BaseException], bool] = _never) -> Iterator[None]:
    """Put the old model back where rows are no good, or a fit fails before it has learnt something.

    Parameters
    ----------
    estimator : estimator
    keeps : callable
        Says whether there is a new model worth keeping, when something has failed.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        if not keeps(error):
            vars(estimator).clear()
            vars(estimator).update(before)
        raise
