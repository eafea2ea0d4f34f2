"""The checkpoint of an earlier run, while one that shall replace it begins."""

import os
from pathlib import Path
from typing import Self


class Replacing:
    """Puts an old checkpoint aside for a ``with`` block, and back if the block fails.

    It goes for good when the block ends or the object is called, as an observer of a fit: then
    something was learnt. A run that is killed before leaves no checkpoint under the name, so that
    one that is resumed does not take the old one for its own.

    Parameters
    ----------
    checkpoint : Path
        The file, which need not be there.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._aside = checkpoint.with_name(f".{checkpoint.name}.old")
        self._held = False
        self._gone = False

    def __enter__(self) -> Self:
        self._held = self._checkpoint.exists()
        if self._held:
            os.replace(self._checkpoint, self._aside)
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is None:
            self()
        elif self._held and not self._gone:
            os.replace(self._aside, self._checkpoint)

    def __call__(self, *told: object) -> None:
        """Remove the old checkpoint, and what a run that was killed has left of one."""
        if not self._gone:
            self._aside.unlink(missing_ok=True)
            self._gone = True
