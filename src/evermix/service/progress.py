"""How far a model is, sent to readers of its events a few times a second."""

from typing import Any

from evermix.service.served import Served

FEWEST = 256  # points after which all are sent again, since older ones get coarser meanwhile


class Progress:
    """What one reader has got, and what is new.

    Parameters
    ----------
    model : Served
    """

    def __init__(self, model: Served) -> None:
        self._model, self._sent = model, 0
        self._first: int | None = None
        self._told: tuple[int, ...] | None = None

    def news(self) -> dict[str, Any] | None:
        """Return how far the model is, and the points of its timeline that are new or have changed.

        They take the place of those that the reader has from ``first`` on. None: nothing is new.
        """
        core = self._model.core
        now = core.sequence, core.rows, core.events.number
        if now == self._told:
            return None
        self._told = now
        points = core.timeline.after(self._first if self._sent < FEWEST else None)
        whole = not points or points[0]["first"] != self._first
        self._sent = 0 if whole else self._sent + len(points)
        self._first = points[-1]["first"] if points else None
        return {
            "sequence": core.sequence,
            "rows": core.rows,
            "clusters": self._model.clusters,
            "waiting": self._model.waiting,
            "provisional": core.provisional,
            "first": 0 if whole else points[0]["first"],
            "points": points,
        }
