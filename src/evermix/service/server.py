"""The process that serves: its address, its token, and how it ends."""

import gc
import ipaddress
import os
import signal
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from evermix.service.app import RequestLimits, Service
from evermix.service.models import Models
from evermix.service.webhooks import Webhook
from evermix.service.worker import Limits

SHORTEST_TOKEN = 16
GRACE = 30  # seconds for requests that are being answered when the service is stopped


def check_access(host: str, token: str | None) -> None:
    """Raise ValueError if others could use the service, or the token could be guessed."""
    if token is None and not _is_local(host):
        raise ValueError(
            f"--host {host} lets other machines use the service, so it needs a --token (or "
            "EVERMIX_TOKEN), which every request must bring."
        )
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
        raise ValueError(
            f"the token must have {SHORTEST_TOKEN} or more letters of ASCII, got {len(token)}. "
            'Make one with: python -c "import secrets; print(secrets.token_urlsafe())"'
        )


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    folder: Path,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    requests: RequestLimits,
    listening: Callable[[str], None],
    webhook: str | None = None,
) -> None:
    """Serve the models of a folder until a signal ends it.

    ``listening`` is called with the address when requests can come.
    """
    check_access(host, token)
    names = "X does not have valid feature names"  # vectors come in the order of the columns
    warnings.filterwarnings("ignore", names, UserWarning)
    hook = None if webhook is None else Webhook(webhook)
    service = Service(Models(folder, limits, hook), requests)
    with bound(host, port) as place:
        config = uvicorn.Config(service.app(token), **settings_of(GRACE))
        server = uvicorn.Server(config)
        service.stopping = lambda: server.should_exit
        for number in (signal.SIGTERM, signal.SIGINT):  # raised again when all is done
            signal.signal(number, lambda *_: None)
        shown = f"[{host}]" if ":" in host else host
        listening(f"http://{shown}:{place.getsockname()[1]}")
        spare_collections()
        server.run(sockets=[place])
    if not server.started:
        raise OSError("the service could not be started.")


def spare_collections() -> None:
    """Let Python look for cycles among what is new only, and not several times in a request.

    A batch of a thousand rows makes thousands of lists and dicts, all of which go at its end.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)


def settings_of(grace: int) -> dict[str, Any]:
    """Return how requests are served, and how many seconds they have to end in."""
    return {
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "lifespan": "on",
        "ws": "none",
        "timeout_graceful_shutdown": grace,
    }


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    The protocol is named, since asyncio looks for it before it turns off Nagle's algorithm, which
    would hold every answer back for some 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere it would let others listen there too
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((host, port))
        place.listen(1024)
    except OSError as error:
        place.close()
        raise OSError(f"cannot listen at {host}:{port}: {error.strerror or error}.") from error
    return place
