"""How what was learnt fades, for streams that change.

Every observation counts for less the older it is. Scores read the statistics of every cluster, so
nothing would be gained by scaling them only where a row arrives; instead all are scaled at once,
now and then: whenever another 16th of the half-life has passed. In between, weights are off by at
most 4.4 %, and no cluster costs anything. The moments depend on the rows alone, not on how a stream
is cut into batches.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Self

import numpy as np

from evermix._xp import Array

TICKS = 16  # times in a half-life that all is scaled
ROUNDS = 4  # times in a half-life that faded clusters are dropped, and equal ones joined


class Stretch(NamedTuple):
    """Rows between two moments of scaling.

    Attributes
    ----------
    rows : slice
    factor : float
        What everything is multiplied by before the first of them.
    round : bool
        Whether it is time to tidy up, before the first of them.
    faded : float
        When everything was last scaled, after that.
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
        A number is in observations, or in the unit of ``times`` where these are given with the
        rows. A ``timedelta`` (of the standard library or of NumPy) is for times that are dates.
    dated : bool
        Whether ``half_life`` is in seconds, for times that are dates; a ``timedelta`` sets it.

    Notes
    -----
    The mass and the statistics of all clusters are scaled 16 times in a half-life. Four times in a
    half-life, clusters of which less than half an observation is left are dropped, and clusters
    that have become the same are joined, where the engine does such things.

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

    def stretches(self, times: Array, faded: float | None) -> Iterator[Stretch]:
        """Cut rows with these times (N,), none before the last, where it is time to scale.

        ``faded`` is when everything was last scaled; None if there were no rows yet.
        """
        at, tick = 0, self.half_life / TICKS
        while at < len(times):
            now = float(times[at])
            before = now if faded is None else faded
            due = now >= before + tick  # rounded as below, else cuts would matter
            factor = 2.0 ** -((now - before) / self.half_life) if due else 1.0
            tidy = due and self._round(now) > self._round(before)
            faded = now if due else before
            end = int(np.searchsorted(times, faded + tick))
            end = max(end, at + 1)  # the sum may be rounded
            yield Stretch(slice(at, end), factor, tidy, faded)
            at = end

    def _round(self, now: float) -> float:
        return float(np.floor(ROUNDS * now / self.half_life))  # which may be infinite

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return what :meth:`to_spec` described."""
        return cls(**spec)
