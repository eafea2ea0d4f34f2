"""The UCI bag-of-words format: three header lines, then one line per document and word."""

from collections.abc import Iterator
from itertools import chain, dropwhile, islice
from typing import NamedTuple

import numpy as np

from evermix.io.sources.errors import RowError
from evermix.io.sources.records import Record, RecordSource, Row

_HEADER = 3


class _Entry(NamedTuple):
    """A line of the body: its document from 0, and its word from 0 and count, or its error."""

    line: int
    document: int
    content: tuple[int, int] | RowError


class BagOfWords(RecordSource):
    """A ``docword.*.txt`` file: D, W and NNZ, then lines "document word count", numbered from 1.

    Documents come in order; one without lines is empty. The id of a document is its number. A
    line that cannot be read makes its document bad.
    """

    prefix = "docword."
    suffixes = (".txt",)
    packable = True
    counted = True
    n_rows: int
    n_features: int

    def survey(self) -> None:
        """Find out what the file holds."""
        self.kind = self.choose_kind("counts", "vectors")
        header = [line.split() for line in islice(self.lines.read(), _HEADER)]
        try:
            (rows,), (features,), (entries,) = [map(int, fields) for fields in header]
        except ValueError as error:
            raise self.error(
                "expected three header lines with the numbers of documents, words and entries, "
                f"got {[_shown(fields) for fields in header]}."
            ) from error
        if rows < 1:
            raise self.no_rows(f"expected at least one document, the header says {rows}.")
        self.set_features(features)
        self.n_rows, self._n_entries = rows, entries

    def records(self, start: int) -> Iterator[Record]:
        """Yield each document from ``start`` on with its entries, or with its error."""
        index, line = start, 0
        content: list[tuple[int, int]] | RowError = []
        for entry in chain(self._entries(start), [_Entry(0, self.n_rows, (0, 0))]):
            while index < entry.document:
                yield Record(index, line, content)
                index, line, content = index + 1, 0, []
            if isinstance(content, RowError):
                continue
            if isinstance(entry.content, RowError):
                line, content = entry.line, entry.content
            else:
                content.append(entry.content)

    def _entries(self, start: int) -> Iterator[_Entry]:
        """Yield the entries of the documents from ``start`` on."""

        def early(line: tuple[int, list[bytes]]) -> bool:
            return not start < _leading_number(line[1]) <= self.n_rows

        document = start
        for number, fields in dropwhile(early, self._body()) if start else self._body():
            try:
                document = self._document(fields, document)
                yield _Entry(number, document, self._word_count(fields))
            except RowError as error:
                yield _Entry(number, document, error)

    def _body(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the number and the fields of each line; too few of them are an error."""
        seen, number = 0, _HEADER
        for number, line in enumerate(islice(self.lines.read(), _HEADER, None), _HEADER + 1):
            fields = line.split()
            if fields:
                seen += 1
                yield number, fields
        # The last document may be cut, and those after it are unknown rather than empty.
        if seen < self._n_entries:
            raise self.error(
                f"expected {self._n_entries} entries as the header says, the file breaks off after "
                f"line {number} with {seen}. Fetch it again."
            )

    def _document(self, fields: list[bytes], current: int) -> int:
        document = _leading_number(fields)
        if not current < document <= self.n_rows:
            raise RowError(
                f"expected documents in order, here from {current + 1} to {self.n_rows}, "
                f"got {_shown(fields)!r}."
            )
        return document - 1

    def _word_count(self, fields: list[bytes]) -> tuple[int, int]:
        try:
            _, word, count = map(int, fields)
        except ValueError as error:
            raise RowError(
                f'expected "document word count" in whole numbers, got {_shown(fields)!r}.'
            ) from error
        if not 0 < word <= self.n_features:
            raise RowError(f"expected a word from 1 to {self.n_features}, got {word}.")
        if count < 0:
            raise RowError(f"expected counts >= 0, got {count}.")
        return word - 1, count

    def parse(self, record: Record) -> Row | None:
        """Return the row of a document."""
        if isinstance(record.data, RowError):
            raise record.data
        entries = np.array(record.data, dtype=np.int64).reshape(-1, 2)
        return Row(self.rows_before + record.row + 1, (entries[:, 0], entries[:, 1]))


def _leading_number(fields: list[bytes]) -> int:
    """Return the document that a line names, 0 (which is none) if it names none."""
    try:
        return int(fields[0])
    except ValueError:
        return 0


def _shown(fields: list[bytes]) -> str:
    return b" ".join(fields).decode("utf-8", "replace")[:60]
