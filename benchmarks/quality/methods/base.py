"""What a method of the battery is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.sets.base import LabelledSet

__all__ = ["Answer", "Method", "NotThere", "standardised"]


class NotThere(RuntimeError):
    """A method needs a package, or a part of evermix, that is not there."""


class Answer(NamedTuple):
    """What a method says of a set.

    Parameters
    ----------
    labels : int array (N,)
        Names of clusters; -1 is noise, which is scored as one cluster more, but not counted.
    k : int or None
        Number of clusters; None counts the labels.
    """

    labels: np.ndarray
    k: int | None = None


@dataclass(frozen=True)
class Method:
    """A way from rows to labels.

    Parameters
    ----------
    name : str
    group : str
        ``ours``, ``peers`` or ``river``.
    kinds : tuple of str
        Kinds of sets that it is for.
    run : callable
        From a set and a seed to the answer.
    suits : callable
        Whether it is for this set, too.
    warm : bool
        Whether it has to be run once on a few rows before it is timed, because it compiles.
    """

    name: str
    group: str
    kinds: tuple[str, ...]
    run: Callable[[LabelledSet, int], Answer]
    suits: Callable[[LabelledSet], bool] = lambda one: True
    warm: bool = False


def standardised(X: np.ndarray) -> np.ndarray:
    """Return the rows with mean 0 and variance 1 in every column that is not constant."""
    return StandardScaler().fit_transform(X)
