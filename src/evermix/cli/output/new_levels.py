"""Which levels of rows a model has never met."""

from collections import Counter
from typing import Any

from evermix._words import counted, listed
from evermix.estimators.data.levels import Levels, codes_of
from evermix.io.sources.values import Columns

SHOWN = 5  # levels of a column


class NewLevels:
    """Counts the rows that have levels which were never met, by column.

    Parameters
    ----------
    levels : mapping of str to sequence
        Those of the model, by column.
    """

    def __init__(self, levels: Levels) -> None:
        self._met = {name: len(some) for name, some in levels.items()}
        self._levels = {name: list(some) for name, some in levels.items()}
        self._rows: dict[str, Counter[int]] = {name: Counter() for name in levels}

    def take(self, X: Any) -> None:
        """Count those of some rows."""
        for name in self._met.keys() & X.keys() if isinstance(X, Columns) else ():
            codes, self._levels[name] = codes_of(name, X[name], self._levels[name], learning=True)
            self._rows[name].update(codes[codes >= self._met[name]].astype(int).tolist())

    def described(self) -> list[str]:
        """Return how many rows have such levels, and which, for each column that has some."""
        return [self._of(name) for name, rows in self._rows.items() if rows]

    def _of(self, name: str) -> str:
        rows = self._rows[name]
        words = [str(self._levels[name][code]) for code in sorted(rows)]
        shown = listed(words, SHOWN)
        return f"{name}: {counted(rows.total(), 'row')} with levels that were never met: {shown}"
