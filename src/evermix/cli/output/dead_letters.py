"""Bad rows of a stream, kept for a person to look at."""

import base64
from typing import Any

from evermix.cli.output.lines import Lines, naming
from evermix.io.sources import Source


class DeadLetters:
    """JSON lines of bad rows, if the user has named a file for them.

    Parameters
    ----------
    path : str or None
        The file; None if there shall be none.
    positions : dict
        How long the files of the run were when its checkpoint was made.
    """

    def __init__(self, path: str | None, positions: dict[str, int]) -> None:
        self._lines = None if path is None else Lines(path, positions.get("dead_letter"))

    def take(self, source: Source, offset: int) -> None:
        """Write the bad rows of a source before this one, and forget them."""
        if self._lines is None or not source.rejected:
            return
        later = [bad for bad in source.rejected if bad.row >= offset]
        with naming(self._lines.path):
            for bad in source.rejected:
                if bad.row < offset:
                    line = {"row": bad.row, "place": bad.place, "error": bad.error}
                    self._lines.write(line | _content(bad.data))
            self._lines.flush()
        source.rejected[:] = later

    def positions(self) -> dict[str, int]:
        """Force everything to the disk and return the length of the file, for a checkpoint."""
        return {} if self._lines is None else {"dead_letter": self._lines.position()}

    def close(self) -> None:
        """Close the file."""
        if self._lines is not None:
            self._lines.close()


def _content(data: bytes | None) -> dict[str, Any]:
    """Return the content of a row as text, or as base64 if it is none."""
    if data is None:
        return {}
    try:
        return {"content": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
