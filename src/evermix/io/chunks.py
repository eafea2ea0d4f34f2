"""Rows that do not fit into memory, in chunks that can be read again and again."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evermix.io.libraries import as_rows, batches_of
from evermix.io.sources import Source

ROWS = 4096  # rows that a source reads at a time


class Chunks:
    """Rows in chunks that can be iterated over again and again.

    ``Mixture.fit`` and ``Mixture.resume`` accept them instead of an array. Engines cut their own
    batches from them, whatever the chunks are; one chunk and one batch are in memory at a time.
    Chunks are read forward only, and going back starts from the first one. An engine that visits
    batches in random order (:class:`StochasticVB`) would read most rows many times: give it a
    memory map (``np.load(path, mmap_mode="r")``) instead.

    Parameters
    ----------
    source : callable, iterable, Source or lazy table
        A function without arguments that returns an iterator over chunks, or an Arrow
        ``RecordBatchReader``; or anything that can be iterated over more than once, such as a list
        of arrays; or what :func:`evermix.io.sources.open_source` returns; or a ``LazyFrame`` of
        polars, a dataset of HuggingFace or of Arrow, which are read in batches of 4,096 rows. A
        chunk is whatever ``fit`` accepts: an array, a CSR matrix, a data frame or an Arrow table
        of rows. All chunks must have the same columns, and must not be changed before the next one
        is requested.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> def days():
    ...     for day in range(7):
    ...         yield np.random.default_rng(day).normal(size=(100, 2))
    >>> mix = em.Mixture(engine=em.MemoizedVB(laps=3), random_state=0).fit(em.Chunks(days))
    >>> mix.n_clusters_, len(mix.labels_)
    (1, 700)
    """

    def __init__(self, source: Callable[[], Iterable[Any]] | Iterable[Any] | Source) -> None:
        if isinstance(source, Iterator) or type(source).__name__ == "RecordBatchReader":
            raise TypeError(
                f"every lap reads the rows again, but {source!r} can be read only once. Give the "
                "function that makes it: em.Chunks(make), not em.Chunks(make())."
            )
        source = batches_of(source) or source
        known = isinstance(source, Iterable | Source) or callable(source)
        if not known:
            raise TypeError(
                "expected a function that returns an iterator over chunks, an iterable of chunks "
                f"or an open source, got {source!r}."
            )
        if isinstance(source, Source) and source.kind == "text":
            raise TypeError(
                "the source holds texts; expected rows of numbers. Count their words first."
            )
        self._source: Any = source

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        if isinstance(source, Source):
            return (chunk.X for chunk in source.chunks(start=0, size=ROWS))
        return map(as_rows, source if isinstance(source, Iterable) else source())
