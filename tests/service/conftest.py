"""Services in processes of their own."""

import os

import pytest

pytest.importorskip("starlette")
pytest.importorskip("orjson")
pytest.importorskip("uvicorn")


@pytest.fixture
def start(tmp_path):
    """Start services in a folder; they end with the test."""
    if os.name != "posix":
        pytest.skip("needs POSIX signals")
    from helpers.services import Running

    running = []

    def begin(*options, **limits):
        running.append(Running(tmp_path, *options, **limits))
        return running[-1]

    yield begin
    for service in running:
        if service.process.is_alive():
            service.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service that the tests of a file share, with small limits."""
    if os.name != "posix":
        pytest.skip("needs POSIX signals")
    from helpers.services import Running

    running = Running(
        tmp_path_factory.mktemp("service"),
        *("--max-body", "150000", "--max-batch", "500", "--max-wait", "2"),
    )
    yield running
    running.stop()
