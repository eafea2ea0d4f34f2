"""New clusters are told to another service, and clients are slowed down."""

import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest


@pytest.fixture
def listener():
    """A server on loopback, what it was told, and the statuses that it answers with first."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.told.append((self.path, json.loads(body)))
            self.send_response(server.statuses.pop(0) if server.statuses else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.told, server.statuses = [], []
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _until(true):
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


def test_births_are_told(start, listener):
    service = start("--webhook", f"http://127.0.0.1:{listener.server_port}/births?x=1")
    service.make("a", "texts")
    service.post("/models/a/observations", {"text": "apples pears plums cherries"})
    _until(lambda: listener.told)
    assert listener.told[0][0] == "/births?x=1"
    assert listener.told[0][1]["model"] == "a"
    assert listener.told[0][1]["event"]["type"] == "birth"
    _until(lambda: "evermix_webhook_sent_total 1" in service.get("/metrics")[1])
    service.kill()
    service = start("--webhook", f"http://127.0.0.1:{listener.server_port}/births")
    assert service.get("/models/a")[1]["rows"] == 1
    assert len(listener.told) == 1  # what is replayed is not told again


def test_what_fails_is_tried_again_and_redirects_are_not_followed(listener):
    from evermix.service.webhooks import Webhook

    hook = Webhook(f"http://127.0.0.1:{listener.server_port}", waits=(0.01, 0.01))
    hook.start()
    listener.statuses += [500, 302]
    hook.tell("a", {"type": "birth", "cluster": 1})
    hook.tell("a", {"type": "merge", "cluster": 1})
    _until(lambda: hook.sent)
    assert [path for path, _ in listener.told] == ["/"] * 3
    listener.statuses += [302] * 3
    hook.tell("a", {"type": "birth", "cluster": 2})
    _until(lambda: hook.failed)
    hook.stop()
    assert len(listener.told) == 6 and not any("elsewhere" in path for path, _ in listener.told)


def test_nobody_waits_for_a_webhook(monkeypatch):
    from evermix.service import webhooks

    monkeypatch.setattr(webhooks, "KEPT", 3)
    hook = webhooks.Webhook("http://127.0.0.1:9")  # not started: nobody takes what waits
    for cluster in range(5):
        hook.tell("a", {"type": "birth", "cluster": cluster})
    assert hook.dropped == 2


@pytest.mark.parametrize("address", ["ftp://a", "a", "http://", "http://me:secret@a", "file:///a"])
def test_wrong_addresses(address):
    from evermix.service.webhooks import Webhook

    with pytest.raises(ValueError, match="webhook must be an address"):
        Webhook(address)


def test_clients_are_slowed_down(start):
    service = start("--rate", "0.01")
    statuses = [service.get("/models")[0] for _ in range(12)]
    assert statuses[0] == 200 and statuses[-1] == 429 and service.headers["retry-after"] == "1"
    assert service.get("/health")[0] == 200


def test_each_address_has_its_own_rate(monkeypatch):
    from evermix.service import guard

    rates, now = guard.Rates(1.0), [0.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    assert [rates.takes("a") for _ in range(11)] == [True] * 10 + [False]
    assert rates.takes("b")
    now[0] = 2.5
    assert [rates.takes("a") for _ in range(3)] == [True, True, False]
