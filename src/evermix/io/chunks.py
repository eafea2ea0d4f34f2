"""Rows that do not fit into memory, in chunks that can be read again and again."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evermix.io.sources.base import Source
from evermix.io.sources.blocks import BlockSource
from evermix.io.sources.formats import RecordSource
from evermix.io.sources.several import Several

ROWS = 4096  # that a source reads at a time
_Open = RecordSource | BlockSource | Several


class Chunks:
    """Rows that come in chunks, and come anew each time they are asked for.

    ``Mixture.fit`` and ``Mixture.resume`` take them in the place of an array. Engines cut batches
    of their own from them, whatever the chunks are, and one chunk and one batch are in memory at a
    time. Reading goes forward; going back means to begin anew. So an engine that visits batches in
    a random order (:class:`StochasticVB`) reads most rows many times: give it a memory map
    (``np.load(path, mmap_mode="r")``), which needs no chunks.

    Parameters
    ----------
    source : callable, iterable or Source
        A function without arguments that returns an iterator over chunks; or anything that can be
        iterated over more than once, such as a list of arrays; or what
        :func:`evermix.io.sources.open_source` returns. A chunk is whatever ``fit`` takes: an array,
        a CSR matrix or a data frame of rows. All of them have the same columns, and must stay as
        they are until the next one was given.

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
        if isinstance(source, Iterator):
            raise TypeError(
                f"rows must come anew in every lap, and {source!r} can be read only once. Give "
                "the function that makes it: em.Chunks(make), not em.Chunks(make())."
            )
        known = isinstance(source, Iterable | _Open) or callable(source)
        if not known:
            raise TypeError(
                "wanted a function that returns an iterator over chunks, an iterable of chunks or "
                f"an open source, got {source!r}."
            )
        if isinstance(source, _Open) and source.kind == "text":
            raise TypeError(
                "the source holds texts; wanted rows of numbers. Turn the texts into counts first."
            )
        self._source: Any = source

    def __iter__(self) -> Iterator[Any]:
        source = self._source
        if isinstance(source, _Open):
            return (chunk.X for chunk in source.chunks(start=0, size=ROWS))
        return iter(source if isinstance(source, Iterable) else source())
