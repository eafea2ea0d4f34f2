"""The svmlight / libsvm format: a label, then pairs "index:value"."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evermix.io.sources.errors import RowError, SourceError, too_many
from evermix.io.sources.records import Record, RecordSource, Row


class SvmLight(RecordSource):
    """Lines such as ``1 3:2 17:1 # comment``; labels are not used, ids are indices from 0.

    The file is read once ahead, to learn the numbers of rows and of features and whether indices
    start at 0 or at 1 (at 0 if one of them is 0, as in scikit-learn).
    """

    suffixes = (".svmlight", ".libsvm")
    packable = True
    n_features: int

    def survey(self) -> None:
        """Find out what the file holds."""
        self.kind = self.choose_kind("counts", "vectors")
        self.n_rows, lowest, highest, bad = self._scan()
        if highest < 0 and bad is not None:
            raise bad
        if highest < 0:
            error = self.error if self.n_rows else self.no_rows
            raise error('expected lines "label index:value ...", found no features.')
        self.base = min(lowest, 1)
        self.n_features = self.options.n_features or highest + 1 - self.base

    @classmethod
    def align(cls, sources: Sequence[Any]) -> None:
        """Make files, each of which may name few indices, agree on their columns."""
        base = min(source.base for source in sources)
        highest = max(source.n_features + source.base for source in sources)
        for source in sources:
            source.base = base
            source.n_features = source.options.n_features or highest - base

    def _scan(self) -> tuple[int, int, int, SourceError | None]:
        """Return the number of lines, the lowest and the highest index, and what was bad first.

        Bad lines are skipped.
        """
        n_rows, lowest, highest, bad = 0, 1, -1, None
        try:
            for record in self.records(0):
                n_rows = record.row + 1
                try:
                    columns, _ = self._pairs(record.data)
                except RowError as error:
                    bad = bad or self.error(f"line {record.line}: {error}")
                    continue
                lowest = min(lowest, *columns) if columns else lowest
                highest = max(highest, *columns) if columns else highest
        except SourceError:
            if not self.options.skip_bad:
                raise
        return n_rows, lowest, highest, bad

    def parse(self, record: Record) -> Row | None:
        """Return the row of a record, None if it is blank."""
        if not record.data.partition(b"#")[0].strip():
            return None
        indices, values = self._pairs(record.data)
        columns = np.array(indices, dtype=np.int64) - self.base
        outside = columns >= self.n_features
        if outside.any():
            raise RowError(
                f"expected indices up to {self.n_features - 1 + self.base}, "
                f"got {columns[outside][0] + self.base}."
            )
        return Row(self.rows_before + record.row, (columns, np.array(values)))

    def column_name(self, column: int) -> str:
        """Return the index that the file has for a column."""
        return str(column + self.base)

    def _pairs(self, line: bytes) -> tuple[list[int], list[float]]:
        """Return the indices and values of a line, unless it is too long or they are too large."""
        self.check_length(line)
        columns, values = _pairs(line)
        if columns and max(columns) > self.options.max_features:
            raise RowError(f"{too_many(self.options.max_features)}, got the index {max(columns)}.")
        return columns, values


def _pairs(line: bytes) -> tuple[list[int], list[float]]:
    """Return the indices and values of a line."""
    fields = line.partition(b"#")[0].split()
    if fields and b":" in fields[0]:
        raise RowError(f"expected a label first, got {fields[0]!r:.60}.")
    columns, values = [], []
    for field in fields[1:]:
        index, _, value = field.partition(b":")
        if index == b"qid":
            continue
        try:
            columns.append(int(index))
            values.append(float(value))
        except ValueError as error:
            raise RowError(f'expected "index:value" with numbers, got {field!r:.60}.') from error
        if columns[-1] < 0:
            raise RowError(f"expected indices >= 0, got {columns[-1]}.")
    return columns, values
