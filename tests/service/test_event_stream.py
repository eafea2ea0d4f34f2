"""Readers of events that go away."""

import asyncio
import json
import socket
import struct
import time
from threading import Thread

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from evermix.service.event_stream import CHUNK, event_stream
from evermix.service.events import Events
from evermix.service.server import bound, settings_of


@pytest.fixture
def serving():
    """Events, and the port of a server that streams those behind number 0."""
    events = Events()

    async def answer(request):
        return StreamingResponse(event_stream(events, 0, lambda: server.should_exit))

    place = bound("127.0.0.1", 0)
    app = Starlette(routes=[Route("/", answer)])
    server = uvicorn.Server(uvicorn.Config(app, **settings_of(grace=1)))
    thread = Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    yield events, place.getsockname()[1]
    server.should_exit = True
    thread.join()
    place.close()


def _reader(port):
    reader = socket.create_connection(("127.0.0.1", port))
    reader.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    said = b""
    while b"retry" not in said:
        said += reader.recv(1000)
    return reader


def test_nothing_is_written_to_those_who_have_gone(serving, caplog):
    events, port = serving
    for _ in range(5):
        reader = _reader(port)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader.close()  # with a reset
        for cluster in range(500):
            events.add(type="birth", cluster=cluster)
        time.sleep(0.1)
    assert not [record for record in caplog.records if "socket.send" in record.getMessage()]


def test_all_events_come_in_order_once():
    events = Events()

    async def read(n):
        stream = event_stream(events, 0, lambda: False)
        found = [await anext(stream)]
        while found[-1].count("\n\n") and sum(text.count("data: ") for text in found) < n:
            found.append(await anext(stream))
            if len(found) == 2:
                for cluster in range(700):
                    events.add(type="birth", cluster=cluster)
        await stream.aclose()
        return found

    for cluster in range(700):
        events.add(type="birth", cluster=cluster)
    found = asyncio.run(read(1400))
    assert all(text.count("data: ") <= CHUNK for text in found)
    lines = "".join(found).split("\n")
    data = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert [event["number"] for event in data] == list(range(1, 1401))
    assert [line[4:] for line in lines if line.startswith("id: ")] == list(map(str, range(1, 1401)))
