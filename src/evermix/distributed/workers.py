"""Workers: which there are, waiting for them, and what to say when they are gone."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from evermix.distributed.collections import Partition, stacked

ADVICE = (
    "If its log tells of memory: give workers more of it (memory_limit), use more workers, smaller "
    "partitions, or larger batches (batch_size), of which less is remembered; MemoizedVB can put "
    "that into files (spill)."
)
PATIENCE, POLL, LOOK = 60.0, 5.0, 1.0  # seconds to wait for a worker, and between two looks
PAUSE = 0.1  # seconds between two looks for workers
LOST = "Unable to contact Actor's worker"  # as Dask says


def workers_of(client: Any, least: int = 1) -> list[str]:
    """Return the addresses of the workers, as soon as there are so many.

    (A client's own ``wait_for_workers`` may overlook workers that have come back.)
    """
    until = time.monotonic() + PATIENCE
    while len(found := _present(client)) < least:
        if time.monotonic() > until:
            raise RuntimeError(
                f"the cluster at {client.scheduler.address} has had {len(found)} workers for "
                f"{PATIENCE:g} seconds, and {least} are needed. Start more: dask worker tcp://..."
            )
        time.sleep(PAUSE)
    return sorted(found)


def _present(client: Any) -> set[str]:
    """Return the addresses of workers; raise RuntimeError if the scheduler is gone."""
    try:
        return set(client.nthreads())
    except (OSError, AttributeError, RuntimeError) as error:
        raise RuntimeError(
            f"the connection to the Dask scheduler was lost ({error}). What was learnt up to the "
            "last checkpoint can go on, with a cluster or without."
        ) from error


def lengths_of(client: Any, parts: Sequence[Partition]) -> list[int]:
    """Return the number of rows of each partition; those that do not say it are computed."""
    unknown = client.compute([part.rows for part in parts if part.length is None])
    counted = client.map(_length, unknown)
    found = iter([result_of(client, count) for count in counted])
    return [next(found) if part.length is None else part.length for part in parts]


def _length(part: Any) -> int:
    rows = stacked(part)
    return 0 if isinstance(rows, list | tuple) else int(rows.shape[0])


def result_of(client: Any, future: Any) -> Any:
    """Return what a future computes; say what to do if that is more than workers can hold."""
    from distributed import KilledWorker

    paused = 0.0
    while True:
        try:
            return future.result(timeout=POLL)
        except TimeoutError:
            if future.status == "error":  # it is the error of the task itself
                raise
            # Workers that are short of memory begin nothing new, and wait for better times.
            paused = paused + POLL if client.run_on_scheduler(_all_paused) else 0.0
            if paused >= PATIENCE:
                raise MemoryError(f"the workers are short of memory. {ADVICE}") from None
        except (MemoryError, KilledWorker) as error:
            raise MemoryError(f"a worker could not go on: {error} {ADVICE}") from error


def _all_paused(dask_scheduler: Any) -> bool:
    states = [worker.status.name for worker in dask_scheduler.workers.values()]
    return bool(states) and all(state == "paused" for state in states)


def address_of(client: Any, future: Any) -> str:
    """Return where an actor is, as the scheduler knows; raise OSError if it is nowhere."""
    places = client.who_has([future]).get(future.key)
    if not places:
        raise OSError(LOST)
    return str(next(iter(places)))


def reply_of(client: Any, reply: Any, addresses: Iterable[str]) -> Any:
    """Return what an actor replies, if the workers at these addresses stay; else raise OSError.

    Dask itself may wait for ever, if a worker is lost at the wrong moment.
    """
    needed = set(addresses)
    while True:
        try:
            return reply.result(timeout=LOOK)
        except TimeoutError:
            if reply.done():  # it is the error of the task itself
                raise
            gone = needed - _present(client)
            if gone:
                raise OSError(f"{LOST}: {', '.join(sorted(gone))}") from None


def is_loss(error: BaseException) -> bool:
    """Whether an error says that a worker is gone, and the actor that it held."""
    from distributed.comm.core import CommClosedError

    told = str(error)
    return (
        isinstance(error, CommClosedError)
        or (isinstance(error, OSError) and LOST in told)
        or (isinstance(error, RuntimeError | ValueError) and "holding Actor was lost" in told)
    )
