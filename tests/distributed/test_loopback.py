"""A cluster on this machine cannot be reached from others."""

import pytest

pytest.importorskip("dask")
psutil = pytest.importorskip("psutil")

from evermix.distributed.client import cluster_client  # noqa: E402


def _listening(process):
    return {
        connection.laddr
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_all_servers_of_a_local_cluster_listen_on_the_loopback_address():
    """Scheduler, nannies and workers, and their HTTP servers."""
    this = psutil.Process()
    before = _listening(this)
    with cluster_client(None) as client:
        client.wait_for_workers(1)
        children = this.children(recursive=True)
        found = [_listening(process) for process in (this, *children)]
    here = found[0] - before
    assert len(here) >= 3  # the scheduler, its HTTP server, a nanny
    assert sum(len(sockets) >= 2 for sockets in found[1:]) >= 1  # a worker and its HTTP server
    addresses = {socket.ip for socket in here.union(*found[1:])}
    assert addresses <= {"127.0.0.1", "::1"}
