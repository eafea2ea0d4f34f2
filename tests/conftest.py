"""What every test needs."""

import os
import signal
import subprocess
import sys

import pytest

collect_ignore = ["helpers/preloaded.py"]  # what begins to work as soon as it is imported

# Files that take long: they begin first, so that parallel workers end together.
LONG = (
    "distributed",
    "topics",
    "test_readme",
    "test_docs",
    "test_quality_battery",
    "test_skeletons",
    "estimators/test_sklearn",
)


def pytest_configure(config):
    """Import ArviZ, if it is there, before parallel workers do.

    Its first import of a day writes a file, which fails in one of two processes at once.
    """
    if getattr(config.option, "numprocesses", None):
        subprocess.run([sys.executable, "-c", "import arviz"], capture_output=True, check=False)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not any(f"tests/{name}" in item.nodeid for name in LONG))


@pytest.fixture(scope="session", autouse=True)
def default_signal_handlers():
    """Give this process, and all that it starts, Python's own handlers.

    Interrupts may be ignored when the tests start, as they are in background jobs, and processes
    inherit that from each other.
    """
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def children():
    """Runs of the command line in processes of their own, which can be killed."""
    if os.name != "posix":
        pytest.skip("needs POSIX signals")
    from helpers import children

    return children
