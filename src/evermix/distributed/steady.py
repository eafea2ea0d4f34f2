"""Preloaded by the workers of a cluster on this machine: the program speaks for them.

Ctrl-C reaches every process of a terminal, and systems that end a job tell all of its processes.
The program then ends its step, for which it needs the workers, and ends them itself. What goes
wrong in a task comes back to the program, which tells it.
"""

import logging
import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Called by Dask when a worker starts."""
    del worker
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    logging.getLogger("distributed.worker").addFilter(_says_more)


def _says_more(record: logging.LogRecord) -> bool:
    return "Compute Failed" not in record.getMessage()
