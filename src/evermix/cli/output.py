"""Standard output as a file of JSON lines."""

import sys

from evermix.io.trace import LineFile

__all__ = ["StandardOutput", "open_lines"]


class StandardOutput(LineFile):
    """Standard output as a file of JSON lines; what was written cannot be taken back."""

    def __init__(self) -> None:
        self.path = "-"
        self._file = sys.stdout.buffer

    def position(self) -> int:
        """Write everything out; there is no place to go back to."""
        self._file.flush()
        return 0

    def close(self) -> None:
        """Write what is left."""
        self._file.flush()


def open_lines(path: str, at: int = 0) -> LineFile:
    """Open a file of JSON lines cut to ``at`` bytes, or standard output for ``"-"``."""
    return StandardOutput() if path == "-" else LineFile(path, at=at)
