"""When a run may be interrupted, and when a checkpoint is due."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

MIN_SECONDS = 5.0  # between two checkpoints
MIN_RATIO = 10.0  # of that time to the seconds that a checkpoint takes to write


class Stopped(Exception):
    """A signal ends the program.

    Attributes
    ----------
    status : int
        The exit status for it: 130 for an interrupt, 143 for a termination.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


class Interrupts:
    """Delays SIGINT and SIGTERM while rows are learnt, and obeys them in between.

    Within the ``with`` block of the object a signal is only remembered; within that of
    :meth:`allowed` it, or one remembered before, raises :class:`Stopped`. Signals that were ignored
    when the program started, as interrupts are in background jobs of scripts, stay ignored.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._allowed = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Let signals end the block."""
        self._allowed = True
        try:
            self._obey()
            yield
        finally:
            self._allowed = False

    def _remember(self, number: int, frame: FrameType | None) -> None:
        del frame
        self._number = number
        if self._allowed:
            self._obey()

    def _obey(self) -> None:
        if self._number is not None:
            raise Stopped(self._number)


class CheckpointTimer:
    """Decides when a checkpoint is due: so seldom that writing them costs little."""

    def __init__(self) -> None:
        self._written, self._seconds = time.monotonic(), 0.0

    @property
    def due(self) -> bool:
        """Whether the last checkpoint was long enough ago."""
        return time.monotonic() - self._written >= max(MIN_SECONDS, MIN_RATIO * self._seconds)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Measure how long it takes to write a checkpoint."""
        began = time.monotonic()
        yield
        self._written = time.monotonic()
        self._seconds = self._written - began
