"""The Dask cluster of ``--dask``, and rows on it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from math import inf
from typing import Any

from evermix._extras import install
from evermix.cli.input.rows import ROWS, Held, Rows, features, read_rows
from evermix.distributed.client import cluster_client
from evermix.distributed.partitions import Files, Piece, pieces_of, sent
from evermix.engines import Engine
from evermix.families.base import Family
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.text_counter import TextCounter

LOCAL = "local"


class Cluster:
    """A cluster, to which a connection is made when it is needed.

    Parameters
    ----------
    address : str
        Of the scheduler, or ``"local"`` for a cluster on this machine.
    stack : ExitStack
        Which ends the connection.
    """

    def __init__(self, address: str, stack: ExitStack) -> None:
        self._address, self._stack = address, stack

    def rows(self, source: Source, engine: Engine, quiet: bool) -> Rows:
        """Return all rows of a source, for an engine that can learn them on a cluster.

        ValueError: the engine cannot, or the rows are those of a table.
        """
        if not engine.divides:
            raise ValueError(
                f"the engine {type(engine).__name__.lower()} runs in one place: leave out --dask, "
                "or choose memoizedvb, fullvb, stochasticvb or ep."
            )
        if source.kind == "table":
            raise ValueError(
                "--dask takes no tables, whose columns have names and are of several kinds: leave "
                "it out, or fit em.Mixture to a Dask data frame in Python."
            )
        self._connect()
        pieces = pieces_of(source)
        if pieces:
            return Spread(source, pieces)
        return read_rows(source, quiet, map_arrays=False, most=inf, hold=Sent)

    def _connect(self) -> None:
        address = None if self._address == LOCAL else self._address
        try:
            self._stack.enter_context(cluster_client(address))
        except ImportError as error:
            raise ImportError(f"--dask needs Dask: {install('dask')}") from error


@contextmanager
def cluster(address: str | None) -> Iterator[Cluster | None]:
    """Provide the cluster of this address, if there is one; failures of workers become OSError."""
    if address is None:
        yield None
        return
    with ExitStack() as stack:
        try:
            yield Cluster(address, stack)
        except (MemoryError, RuntimeError) as error:  # of workers, with advice
            raise OSError(str(error)) from error


class Sent(Held):
    """Rows in memory, which are sent to the workers of a cluster."""

    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as a Dask collection."""
        return sent(super().features(family, text))


class Spread(Rows):
    """Rows that the workers of a cluster read."""

    def __init__(self, source: Source, pieces: list[Piece]) -> None:
        self._files = Files(pieces)
        if not self._files.n:
            raise SourceError("the source has no rows that can be learnt.")
        super().__init__(source, self._files.n, self._files.offset)
        self.complaints = self._files.complaints

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order, read here."""
        return self._source.chunks(0, ROWS)

    def ids(self) -> Iterator[Any]:
        """Yield the ids of the rows."""
        return self._files.ids()

    def features(self, family: str | Family, text: TextCounter | None) -> Any:
        """Return all rows as a Dask collection."""
        return self._files.rows(partial(features, family, text))
