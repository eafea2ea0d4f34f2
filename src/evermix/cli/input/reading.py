"""From the rows of a source to what a mixture takes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from evermix.cli.options.settings import Settings
from evermix.families.base import Family
from evermix.io.sources import Chunk, Source, SourceError, open_source
from evermix.io.text import TextCounter

ROWS = 4096  # read at a time where all are wanted


def features(family: str | Family, text: TextCounter | None, X: Any) -> Any:
    """Return the X of a chunk as numbers in the form that the family takes."""
    if isinstance(X, list):
        if text is None:
            raise ValueError(
                "the source holds texts, but the model was made of numbers and has no vocabulary. "
                "Give a source of counts or vectors."
            )
        X = text.counts(X)
    dense = isinstance(family, Family) and not family.sparse
    return X if not dense or isinstance(X, np.ndarray) else X.toarray()


def open_rows(
    settings: Settings, skip_bad: bool, n_features: int | None, time_labels: bool = False
) -> Source:
    """Open the source that the settings name; rows must have ``n_features`` if that is given."""
    return open_source(
        settings.source,
        kind=settings.kind,  # type: ignore[arg-type]
        text_field=settings.text_field,
        vector_field=settings.vector_field,
        id_field=settings.id_field,
        time_field=settings.time_field,
        n_features=n_features,
        skip_bad=skip_bad,
        time_labels=time_labels,
    )


def take(chunks: Iterator[Chunk], rows: int) -> list[Chunk]:
    """Return the first chunks that together have so many rows, or all there are."""
    taken: list[Chunk] = []
    try:
        while sum(len(chunk.ids) for chunk in taken) < rows:
            taken.append(next(chunks))
    except StopIteration:
        pass
    except SourceError as error:
        raise SourceError(
            f"{error} Nothing was learnt yet. Mend the row, or leave out bad rows with --skip-bad."
        ) from error
    return taken
