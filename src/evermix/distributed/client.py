"""The connection to a Dask cluster: clients, workers, and waiting for results."""

import inspect
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from evermix.distributed.collections import Partition, stacked

LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 10  # to wait for a scheduler
WORKER_SECONDS = 60.0  # to wait for workers to appear, or to have memory again
POLL_SECONDS, CHECK_SECONDS, PAUSE = 5.0, 1.0, 0.1  # between two looks at futures, actors, workers
LOST = "Unable to contact Actor's worker"  # Dask's own words
MEMORY_ADVICE = (
    "If its log mentions memory: give workers more of it (memory_limit), use more workers, smaller "
    "partitions, or larger batches (batch_size), of which less is remembered; MemoizedVB can put "
    "that into files (spill)."
)

# ---- clients -------------------------------------------------------------------------------


def current_client() -> Any:
    """Return the client that the program has made. RuntimeError: there is none."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise RuntimeError(
            "a Dask collection is learnt on a cluster, and this program is connected to none. "
            "Make a client first: distributed.Client() for a cluster on this machine, or "
            "distributed.Client('tcp://scheduler:8786'); or give the rows as an array."
        ) from None


@contextmanager
def cluster_client(address: str | None) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start a cluster on this machine.

    Raises
    ------
    ConnectionError
        If no scheduler answers.
    """
    import dask.config

    from distributed import Client

    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # errors are raised, too
    # Rows in the memory of this process are sent with the tasks on purpose.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
        if address is None:
            with _local_cluster() as cluster, Client(cluster) as client:
                yield client
            return
        try:
            client = Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {address} ({error}). Start one with `dask "
                "scheduler`, check its address, or use a cluster on this machine (on the "
                "command line: --dask local)."
            ) from error
        with client:
            yield client


def _local_cluster() -> Any:
    """Return a cluster of one worker for each core, which ignores Ctrl-C.

    All its servers listen on the loopback address: whoever reaches one of them can run code.
    """
    from distributed import LocalCluster

    # As text: workers import evermix when they need it, and so start sooner.
    preload = inspect.getsource(dask_setup)
    return LocalCluster(
        host=LOOPBACK,
        dashboard_address=f"{LOOPBACK}:0",
        worker_dashboard_address=f"{LOOPBACK}:0",
        threads_per_worker=1,
        preload=preload,
    )


def dask_setup(worker):  # type: ignore[no-untyped-def]
    """Prepare a local worker; Dask runs the source text of this function when a worker starts.

    Ctrl-C reaches every process of a terminal, and systems that end a job signal all its processes.
    The program needs its workers to finish the step, and ends them itself. Errors of tasks are
    raised in the program, so workers need not log them.
    """
    import logging
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    logging.getLogger("distributed.worker").addFilter(
        lambda record: "Compute Failed" not in record.getMessage()
    )


# ---- workers -------------------------------------------------------------------------------


def workers_of(client: Any, least: int = 1) -> list[str]:
    """Return the addresses of the workers, as soon as there are at least ``least``.

    (A client's own ``wait_for_workers`` may overlook workers that have come back.)
    """
    until = time.monotonic() + WORKER_SECONDS
    while len(found := _present(client)) < least:
        if time.monotonic() > until:
            raise RuntimeError(
                f"the cluster at {client.scheduler.address} has had {len(found)} workers for "
                f"{WORKER_SECONDS:g} seconds, and {least} are needed. Start more: "
                "dask worker tcp://..."
            )
        time.sleep(PAUSE)
    return sorted(found)


def _present(client: Any) -> set[str]:
    """Return the addresses of the workers. RuntimeError: the scheduler is gone."""
    try:
        return set(client.nthreads())
    except (OSError, AttributeError, RuntimeError) as error:
        raise RuntimeError(
            f"the connection to the Dask scheduler was lost ({error}). What was learnt up to the "
            "last checkpoint can be resumed, with a cluster or without."
        ) from error


def address_of(client: Any, future: Any) -> str:
    """Return the address of an actor's worker. OSError: the scheduler knows of none."""
    addresses = client.who_has([future]).get(future.key)
    if not addresses:
        raise OSError(LOST)
    return str(next(iter(addresses)))


def is_loss(error: BaseException) -> bool:
    """Whether an error means that a worker was lost, and its actor with it."""
    from distributed.comm.core import CommClosedError

    message = str(error)
    return (
        isinstance(error, CommClosedError)
        or (isinstance(error, OSError) and LOST in message)
        or (isinstance(error, RuntimeError | ValueError) and "holding Actor was lost" in message)
    )


# ---- results -------------------------------------------------------------------------------


def lengths_of(client: Any, parts: Sequence[Partition]) -> list[int]:
    """Return the number of rows of each partition; unknown ones are computed."""
    unknown = client.compute([part.rows for part in parts if part.length is None])
    counted = client.map(_length, unknown)
    found = iter([result_of(client, count) for count in counted])
    return [next(found) if part.length is None else part.length for part in parts]


def _length(part: Any) -> int:
    rows = stacked(part)
    return 0 if isinstance(rows, list | tuple) else int(rows.shape[0])


def result_of(client: Any, future: Any) -> Any:
    """Return the result of a future. MemoryError: workers cannot hold it."""
    from distributed import KilledWorker

    paused = 0.0
    while True:
        try:
            return future.result(timeout=POLL_SECONDS)
        except TimeoutError:
            if future.status == "error":  # the task itself raised it
                raise
            # Workers that are short of memory start nothing new, and wait.
            paused = paused + POLL_SECONDS if client.run_on_scheduler(_all_paused) else 0.0
            if paused >= WORKER_SECONDS:
                raise MemoryError(f"the workers are short of memory. {MEMORY_ADVICE}") from None
        except (MemoryError, KilledWorker) as error:
            raise MemoryError(f"a worker failed: {error} {MEMORY_ADVICE}") from error


def _all_paused(dask_scheduler: Any) -> bool:
    states = [worker.status.name for worker in dask_scheduler.workers.values()]
    return bool(states) and all(state == "paused" for state in states)


def reply_of(client: Any, reply: Any, addresses: Iterable[str]) -> Any:
    """Return the reply of an actor. OSError: a worker at one of these addresses was lost.

    Dask itself may wait for ever if a worker is lost at the wrong moment.
    """
    needed = set(addresses)
    while True:
        try:
            return reply.result(timeout=CHECK_SECONDS)
        except TimeoutError:
            if reply.done():  # it came just after the time was over, or the task raised this
                return reply.result()
            gone = needed - _present(client)
            if gone:
                raise OSError(f"{LOST}: {', '.join(sorted(gone))}") from None
