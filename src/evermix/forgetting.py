"""Exponential forgetting, for streams that change: the older a row, the less it counts.

Scores read the statistics of every cluster, so scaling a cluster only when a row arrives would save
nothing. Instead all clusters are scaled at once, 16 times in a half-life. In between, weights are
off by at most 4.4 %. The times of scaling depend on the rows alone, not on how a stream is cut into
batches.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

TICKS = 16  # scalings in a half-life
ROUNDS = 4  # times in a half-life that faded clusters are dropped and equal ones joined


class Stretch(NamedTuple):
    """Rows between two scalings.

    Attributes
    ----------
    rows : slice
    factor : float
        All clusters are multiplied by this before the first row.
    round : bool
        Whether to drop and join clusters before the first row.
    faded : float
        The time of the last scaling, this one included.
    """

    rows: slice
    factor: float
    round: bool
    faded: float


@dataclass(frozen=True)
class Exponential:
    """An observation counts for half as much after every half-life.

    Parameters
    ----------
    half_life : float or timedelta
        A number is in observations, or in the unit of ``times`` if these are given with the rows.
        A ``timedelta`` (of the standard library or of NumPy) is for times that are dates.
    dated : bool
        Whether ``half_life`` is in seconds, for times that are dates; a ``timedelta`` sets it.

    Notes
    -----
    The mass and the statistics of all clusters are scaled 16 times in a half-life. Four times in a
    half-life, clusters with less than half an observation left are dropped, and clusters that have
    become the same are joined, if the engine does so.

    Examples
    --------
    >>> from datetime import timedelta
    >>> Exponential(half_life=timedelta(days=7))
    Exponential(half_life=604800.0, dated=True)
    """

    half_life: float
    dated: bool = False

    def __post_init__(self) -> None:
        given = self.half_life
        if isinstance(given, timedelta | np.timedelta64):
            object.__setattr__(self, "dated", True)
            given = np.timedelta64(given) / np.timedelta64(1, "s")
        number = isinstance(given, int | float | np.integer | np.floating)
        if isinstance(given, bool) or not number:
            raise TypeError(
                f"half_life must be a number or a timedelta, got {self.half_life!r}: "
                "em.Exponential(half_life=1000) is in observations."
            )
        if not (math.isfinite(given) and given > 0):
            raise ValueError(f"half_life must be finite and above 0, got {self.half_life!r}.")
        object.__setattr__(self, "half_life", float(given))

    def stretches(self, times: NDArray[Any], faded: float | None) -> Iterator[Stretch]:
        """Cut rows with these non-decreasing times (N,) where clusters must be scaled.

        ``faded`` is the time of the last scaling; None if there were no rows yet.
        """
        at, tick = 0, self.half_life / TICKS
        while at < len(times):
            now = float(times[at])
            before = now if faded is None else faded
            due = now >= before + tick  # rounded as below, so that cuts do not matter
            factor = 2.0 ** -((now - before) / self.half_life) if due else 1.0
            tidy = due and self._round(now) > self._round(before)
            faded = now if due else before
            end = int(np.searchsorted(times, faded + tick))
            end = max(end, at + 1)  # the sum may be rounded
            yield Stretch(slice(at, end), factor, tidy, faded)
            at = end

    def _round(self, now: float) -> float:
        return float(np.floor(ROUNDS * now / self.half_life))  # may be infinite

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the object of :meth:`to_spec`."""
        return cls(**spec)
