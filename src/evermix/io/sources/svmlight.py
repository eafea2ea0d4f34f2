"""The svmlight / libsvm format: a label, then pairs "index:value"."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.io.sources.base import Options, RowError, SourceError
from evermix.io.sources.lines import FileLines
from evermix.io.sources.formats import Record, RecordSource, Row
from evermix.io.sources.values import fault, stack_sparse


class SvmLight(RecordSource):
    """Lines such as ``1 3:2 17:1 # comment``; labels are not used, a row's id is its line number.

    The file is read once ahead, line by line, to learn the number of rows and of features and
    whether indices start at 0 or at 1 (at 0 if one of them is 0, as in scikit-learn).
    """

    n_features: int

    def __init__(self, path: str, options: Options) -> None:
        super().__init__(path, options)
        self.kind = self._choose("counts", ("counts", "vectors"))
        self._lines = FileLines(path)
        self.n_rows, lowest, highest = self._scan()
        if highest < 0:
            refuse = self._error if self.n_rows else self._empty
            raise refuse('wanted lines "label index:value ...", found no features.')
        self._base = min(lowest, 1)
        self.n_features = options.n_features or highest + 1 - self._base

    @staticmethod
    def align(sources: Sequence["SvmLight"]) -> None:
        """Let parts of the same rows, each of which names few indices, mean the same columns."""
        base = min(source._base for source in sources)
        highest = max(source.n_features + source._base for source in sources)
        for source in sources:
            source._base = base
            source.n_features = source.options.n_features or highest - base

    def _scan(self) -> tuple[int, int, int]:
        """Return the number of lines, the lowest and the highest index; bad lines come later."""
        n_rows, lowest, highest = 0, 1, -1
        try:
            for record in self._records(0):
                n_rows = record.row + 1
                try:
                    columns, _ = _pairs(record.data)
                except RowError:
                    continue
                lowest = min(lowest, *columns) if columns else lowest
                highest = max(highest, *columns) if columns else highest
        except SourceError:
            if not self.options.skip_bad:
                raise
        return n_rows, lowest, highest

    def _records(self, start: int) -> Iterator[Record]:
        for index, line in enumerate(islice(self._lines.read(), start, None), start):
            yield Record(index, index + 1, line)

    def _parse(self, record: Record) -> Row | None:
        if not record.data.partition(b"#")[0].strip():
            return None
        indices, values = _pairs(record.data)
        columns = np.array(indices, dtype=np.int64) - self._base
        outside = columns >= self.n_features
        if outside.any():
            raise RowError(
                f"wanted indices up to {self.n_features - 1 + self._base}, "
                f"got {columns[outside][0] + self._base}."
            )
        value = columns, self._checked(columns, np.array(values))
        return Row(self.before + record.line, value)

    def _checked(self, columns: Array, values: Array) -> Array:
        complaint = fault(values, columns + self._base, self.kind)
        if complaint:
            raise RowError(complaint)
        return values

    def _stack(self, values: list[Any]) -> Any:
        return stack_sparse(values, self.n_features, self.kind)


def _pairs(line: bytes) -> tuple[list[int], list[float]]:
    """Return the indices and values of a line."""
    fields = line.partition(b"#")[0].split()
    if fields and b":" in fields[0]:
        raise RowError(f"wanted a label first, got {fields[0]!r:.60}.")
    columns, values = [], []
    for field in fields[1:]:
        index, _, value = field.partition(b":")
        if index == b"qid":
            continue
        try:
            columns.append(int(index))
            values.append(float(value))
        except ValueError as error:
            raise RowError(f'wanted "index:value" with numbers, got {field!r:.60}.') from error
        if columns[-1] < 0:
            raise RowError(f"wanted indices >= 0, got {columns[-1]}.")
    return columns, values
