"""The lines of answers: what a stream says of each row, and fields of rows beside answers."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time
from typing import Any

from evermix.cli.options.settings import Settings
from evermix.cli.output.lines import rounded
from evermix.estimators import Mixture
from evermix.estimators.answers import row_answers
from evermix.io.sources import Chunk, Source

Answer = dict[str, Any]
NO_IDS = (
    "rows have no id but their number: --id-field COLUMN names a column that holds ids, which is "
    "then no feature"
)
_RENAMED = {"name": "cluster_name"}  # of answers, beside fields, which often have a name too


class Beside:
    """Writes the fields of rows before their answers.

    A field that is called like an answer gets ``row_`` before its name. The id is left out where a
    field holds it.

    Parameters
    ----------
    settings : Settings
        Those of a command with ``--keep-fields``.
    columns : sequence of str
        What an answer may hold.
    """

    def __init__(self, settings: Settings, columns: Sequence[str]) -> None:
        self.kept: bool = settings.keep_fields
        self._id = settings.id_field
        self.columns = list(columns)
        if self.kept:
            self.columns = [_RENAMED.get(name, name) for name in columns if name != "id"]

    @staticmethod
    def reading(settings: Settings) -> dict[str, Any]:
        """Return how a source is read: CSV files keep cells as they are, others get values."""
        as_text = settings.out.lower().endswith(".csv")
        return {"fields": "text" if as_text else "values"} if settings.keep_fields else {}

    def check(self, source: Source) -> None:
        """Raise ValueError if rows have no fields."""
        if self.kept and not source.has_fields:
            raise ValueError(
                "--keep-fields is for rows with named fields: JSON lines, CSV and Parquet. Leave "
                "it out; answers name the numbers of rows."
            )

    def row_lines(
        self, mix: Mixture, chunk: Chunk, clock: int, faded: Sequence[int], provisional: bool
    ) -> Iterator[Answer]:
        """Yield the lines of a chunk that was just learnt; see :func:`row_answers`."""
        lines = row_answers(
            mix, chunk.ids, clock, faded=faded, provisional=provisional, offsets=chunk.offsets
        )
        plain = (line | {"probability": rounded(line["probability"])} for line in lines)
        return self.lines(plain, chunk.fields)

    def lines(self, answers: Iterable[Answer], fields: Iterable[Answer] | None) -> Iterator[Answer]:
        """Yield answers, with the fields of their rows if these are kept."""
        if fields is None:
            yield from answers
            return
        for answer, row in zip(answers, fields, strict=True):
            found = {_RENAMED.get(name, name): value for name, value in answer.items()}
            if self._id in row:
                found.pop("id", None)
            taken = {*self.columns, *found}
            yield {f"row_{n}" if n in taken else n: _plain(v) for n, v in row.items()} | found


def has_no_ids(settings: Settings, source: Source) -> bool:
    """Whether columns have names, and none of them is that of the ids."""
    return source.header is not None and settings.id_field not in source.header


def _plain(value: Any) -> Any:
    """Return a value of a Parquet file as JSON can hold it."""
    return value.isoformat() if isinstance(value, date | time) else value
