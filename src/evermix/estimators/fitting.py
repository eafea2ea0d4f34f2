"""What the fits of all estimators share: observers, and undoing a fit that has failed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from evermix.engines.batch import Info

StepObserver: TypeAlias = Callable[[Any, Info], None]
"""Called as ``observer(mix, info)`` after every step, and in a fit after every lap."""

Observer = TypeVar("Observer", bound=Callable[..., None])


def check_observers(observers: Iterable[Observer]) -> tuple[Observer, ...]:
    """Return the observers as a tuple; raise TypeError if one of them cannot be called."""
    if not isinstance(observers, Iterable):
        raise TypeError(f"observers must be an iterable of callables, got {observers!r}.")
    chosen = tuple(observers)
    for observe in chosen:
        if not callable(observe):
            raise TypeError(f"observers must be callables of (mix, info), got {observe!r}.")
    return chosen


def _never(error: BaseException) -> bool:
    return False


@contextmanager
def restored_on_error(
    estimator: Any, keep: Callable[[BaseException], bool] = _never
) -> Iterator[None]:
    """Restore the attributes of an estimator if the block fails.

    Parameters
    ----------
    estimator : estimator
    keep : callable
        Called with the error; returns whether the new model is worth keeping nevertheless.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        if not keep(error):
            vars(estimator).clear()
            vars(estimator).update(before)
        raise
