"""Counts of words by topic in the form in which sweeps move them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Ints
from evermix.kernels.topics.dishes import WordTopics


class Slots(NamedTuple):
    """Words of the topics of a chain, with room for more topics.

    Where most words lie in the past, writing these down takes longer than a sweep over the others.
    So one sweep leaves them to the next, together with the slots that have become empty.
    """

    counts: NDArray[Any]  # (U, C) or (U, 0), see Dishes: of words that are in the documents
    lists: WordTopics  # the same by word
    totals: Ints  # (C,) words of the topic in each slot, of all kinds
    place: Ints  # (K,) slot of each topic, ascending
    used: int  # number of slots up to the last one that was ever in use

    @property
    def empty(self) -> Ints:
        """Slots without a topic, among those in use."""
        empty = np.ones(self.used, dtype=bool)
        empty[self.place] = False
        return np.flatnonzero(empty)

    def spread(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return what topics have (..., K) by slots in use; empty ones have zeros."""
        if len(self.place) == self.used:
            return x
        spread: NDArray[Any] = np.zeros((*x.shape[:-1], self.used), dtype=x.dtype)
        spread[..., self.place] = x
        return spread
