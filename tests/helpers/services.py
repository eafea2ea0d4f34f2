"""A running ``evermix serve``, used over its port."""

import http.client
import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np

from helpers import children

JSON, LINES = {"Content-Type": "application/json"}, {"Content-Type": "application/x-ndjson"}
PATIENCE = 120  # seconds that a process may take to start on a busy machine


class Running:
    """A service in a process of its own."""

    def __init__(self, folder: Path, *options: str, **limits) -> None:
        self.folder = folder
        (folder / "stderr").unlink(missing_ok=True)
        arguments = "serve", "models", "--port", "0", *options
        self.process = children.start(folder, *arguments, **limits)
        self.port = self._port()
        self.until_ready()

    def _port(self) -> int:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.is_alive():
            said = self.said()
            if found := re.search(r"at http://\S+:(\d+)\n", said):
                return int(found[1])
            time.sleep(0.02)
        raise AssertionError(f"the service did not start: {self.said()}")

    def said(self) -> str:
        path = self.folder / "stderr"
        return path.read_text() if path.exists() else ""

    def until_ready(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.get("/ready")[0] in (200, 401):
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"the service is not ready: {self.said()}")

    def ask(self, method, path, body=None, headers=JSON):
        """Return the status and the answer, parsed if it is JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read().decode()
            self.headers = dict(response.getheaders())
            plain = "json" not in response.getheader("Content-Type", "")
            return response.status, text if plain else json.loads(text)
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, value, **more):
        return self.ask("POST", path, json.dumps(value), **more)

    def make(self, name, kind, **settings):
        status, answer = self.ask("PUT", f"/models/{name}", json.dumps({"kind": kind, **settings}))
        assert status == 201, answer
        self.until_ready()

    def events(self, name, n, after=None):
        """Return the first n events that come."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"/models/{name}/events", headers=headers)
        response, found = connection.getresponse(), []
        assert response.status == 200
        while len(found) < n:
            line = response.readline().decode()
            assert line, "the stream has ended"
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
        connection.close()
        return found

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.join()

    def stop(self):
        """End it in peace, and return its status."""
        if self.process.is_alive():
            os.kill(self.process.pid, signal.SIGTERM)
        self.process.join(60)
        return self.process.exitcode


def vectors(n, seed=0):
    """Return observations around three places, with ids."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 3, size=(n, 1))
    return [{"vector": x.tolist(), "id": f"row {i}"} for i, x in enumerate(X)]
