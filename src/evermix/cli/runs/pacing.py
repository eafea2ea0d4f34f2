"""How often checkpoints are written where the user does not say."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 5.0  # seconds between two checkpoints, at least
SHARE = 10.0  # and so many times the seconds that one takes to write


class Pace:
    """Says when a checkpoint is due: so seldom that writing them costs little."""

    def __init__(self) -> None:
        self._written, self._seconds = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        """Whether the last checkpoint was long enough ago."""
        return time.monotonic() - self._written >= max(PAUSE, SHARE * self._seconds)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Note how long it takes to write a checkpoint."""
        began = time.monotonic()
        yield
        self._written = time.monotonic()
        self._seconds = self._written - began
