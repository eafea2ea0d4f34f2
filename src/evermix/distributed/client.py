"""The way to a Dask cluster, and what to say if there is none."""

import inspect
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evermix.distributed import steady

SECONDS = 10  # to wait for a scheduler, and for the first worker


def current_client() -> Any:
    """Return the client that the program has made, or raise RuntimeError."""
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
    # Rows that are in memory here travel with the questions, on purpose.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
        if address is None:
            with _local_cluster() as cluster, Client(cluster) as client:
                yield client
            return
        try:
            client = Client(address, timeout=SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise ConnectionError(
                f"no Dask scheduler answers at {address} ({error}). Start one with `dask "
                "scheduler`, look at its address, or take a cluster on this machine (on the "
                "command line: --dask local)."
            ) from error
        with client:
            yield client


def _local_cluster() -> Any:
    """Return a cluster of one worker for each core, which leaves signals to the program."""
    from distributed import LocalCluster

    # As a text: workers import the rest when they need it, and so start sooner.
    preload = inspect.getsource(steady)
    return LocalCluster(threads_per_worker=1, dashboard_address=":0", preload=preload)
