"""Malformed and hostile requests to a service: none may fail with 500, change anything or get in.

``python -m tests.attacks.requests --count 3000 --seed 0`` sends requests that are wrong by
construction: without the token or with another one, with names and paths that try to leave the
folder, with bodies that are torn, too large, too deep, too slow or of other types, and as no HTTP
at all. The files of the service must be the same at the end, byte for byte. It prints JSON.
"""

import argparse
import io
import json
import random
import socket
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from helpers.services import JSON, Running, vectors

TOKEN, MOST = "0123456789abcdef-secret", 20_000
ROW = {"vector": [1.0, 2.0], "id": "one"}
PATHS = ["/models/a/observations", "/models/a/predict", "/models/a/explain"]
EDITS = ["rename", "merge", "split", "pin", "unpin", "undo"]
NAMES = ["..", ".", "%2e%2e", "..%2f..%2fetc", "a%2f..%2fb", "A", "a.b", "%00", "a%00", "-a", "_"]
NAMES += ["a" * 65, "%c3%a9", "con:", "a%20b", "~", "%2e%2e%2fa", "..\\a", "%5c", "%ff", "a;b"]
JUNK = [None, True, False, -1, 1.5, 10**400, "", "x", "\u0000", [], {}, [[]], [None], {"a": []}]


class Hostile:
    """Makes requests that must be refused, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.kinds = [
            self.token, self.path, self.name, self.torn, self.number, self.nested, self.row,
            self.edit, self.settings, self.large, self.form, self.method, self.length, self.noise,
            self.array,
        ]  # fmt: skip

    def next(self) -> tuple[str, bytes]:
        """Return the kind of a request, and its bytes."""
        kind = self.chance.choice(self.kinds)
        return kind.__name__, kind()

    def request(
        self, method: str, path: str, body: bytes = b"", token: str = TOKEN, **headers: str
    ) -> bytes:
        lines = {
            "Host": "127.0.0.1",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "Authorization": f"Bearer {token}",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body

    def post(self, body: bytes | str) -> bytes:
        whole = body.encode() if isinstance(body, str) else body
        return self.request("POST", self.chance.choice(PATHS), whole)

    def junk(self) -> object:
        return self.chance.choice(JUNK)

    def token(self) -> bytes:
        """A request that would be right with the token."""
        wrong = [
            "",
            "x",
            TOKEN[:-1],
            TOKEN + "0",
            TOKEN.upper(),
            " ",
            "\xff",
            TOKEN[::-1],
            "a" * 5000,
        ]
        path, token = self.chance.choice(PATHS), self.chance.choice(wrong)
        scheme = self.chance.choice(["Bearer", "Basic", "bearer ", "Token", ""])
        value = f"{scheme} {token}"
        return self.request("POST", path, json.dumps(ROW).encode(), Authorization=value)

    def path(self) -> bytes:
        name = self.chance.choice(NAMES)
        tail = self.chance.choice(["", "/clusters", "/history", "/events", "/../../etc/passwd"])
        start = self.chance.choice(
            ["/models/", "//models/", "/models/a/clusters/", "/", "/models//"]
        )
        return self.request("GET", f"{start}{name}{tail}")

    def name(self) -> bytes:
        return self.request("PUT", f"/models/{self.chance.choice(NAMES)}", b'{"kind": "vectors"}')

    def torn(self) -> bytes:
        whole = json.dumps([ROW] * self.chance.randint(1, 5)).encode()
        cut = self.chance.randint(1, len(whole) - 1)
        return self.post(
            whole[:cut] + self.chance.choice([b"", b"\xff", b"\x00", b"}}", b"\xed\xa0"])
        )

    def number(self) -> bytes:
        value = self.chance.choice(
            ["NaN", "Infinity", "-Infinity", "1e999", "-1e400", "1" + "0" * 400, "0x1", "1_0", "01",
             "+1", "1e301", "- 1", ".5", "1." + "9" * 5000 + "e400", "9" * 6000]
        )  # fmt: skip
        return self.post(f'{{"vector": [1.0, {value}]}}')

    def array(self) -> bytes:
        """An array that NumPy has not written, or of other values or columns."""
        X, file = np.ones((3, self.chance.choice([2, 5]))), io.BytesIO()
        if X.shape[1] == 2:
            X[1, 1] = self.chance.choice([np.nan, np.inf, -1e301])
        np.save(file, X.astype(self.chance.choice(["<f8", "<f8", ">f8", "<c16", "<U9"])))
        whole = file.getvalue()
        wrong = [
            whole,
            whole[: self.chance.randint(0, len(whole) - 1)],
            whole.replace(b"(3, ", b"(%d, " % self.chance.randint(4, 10**9)),
            whole.replace(b"'descr': '", b"'descr': '|O"),
            whole.replace(b"{'", b"__import__('os').getcwd()#"),
            b"PK\x03\x04" + whole,
            self.chance.randbytes(200),
        ]
        path = self.chance.choice(PATHS) + self.chance.choice(["", "?id=a", "?id="])
        body = self.chance.choice(wrong)
        return self.request("POST", path, body, Content_Type="application/x-npy")

    def nested(self) -> bytes:
        n = self.chance.randint(900, 9000)
        opening, closing = self.chance.choice([("[", "]"), ('{"a":', "}")])
        n = min(n, MOST // (len(opening) + 1) - 10)
        return self.post('{"vector": ' + opening * n + "1" + closing * n + "}")

    def row(self) -> bytes:
        one = self.chance.choice(["vector", "record", "text", "x", "id", "observations"])
        value = {one: self.junk()}
        if self.chance.random() < 0.5:
            value["id"] = self.chance.choice([{}, [], "", True, 1.5, "a" * 201, [1]])
        if self.chance.random() < 0.3:
            value[self.chance.choice(["vector", "text"])] = self.chance.choice([[True, 1.0], 5])
        return self.post(json.dumps(self.chance.choice([value, [value], [ROW, value]])))

    def edit(self) -> bytes:
        bad = [None, -1, 99999, 10**300, True, "0", [0], {}, 1.5]
        action = self.chance.choice(EDITS)
        ids = [self.chance.choice(bad) for _ in range(self.chance.randint(0, 3))]
        body = {"clusters": ids} if action == "merge" else {"cluster": self.chance.choice(bad)}
        if action == "rename":
            body["name"] = self.chance.choice(["x", 5, "\u0000", "a" * 300, {}])
        if self.chance.random() < 0.2:
            body["force"] = True
        return self.request("POST", f"/models/a/{action}", json.dumps(body).encode())

    def settings(self) -> bytes:
        name = self.chance.choice(["kind", "max_clusters", "half_life", "seed", "hash", "engine"])
        bad = [-1, True, "x", [], {}, 10**30, 0.5] + ["os.system"] * (name != "seed")
        body = {"kind": "texts", name: self.chance.choice(bad)}
        if name == "half_life" or self.chance.random() < 0.2:
            body = {"kind": self.chance.choice(["images", None, 5, ["texts"]])}
        return self.request("PUT", "/models/other", json.dumps(body).encode())

    def large(self) -> bytes:
        return self.post(b" " * (MOST + self.chance.randint(1, 5000)) + json.dumps(ROW).encode())

    def form(self) -> bytes:
        form = self.chance.choice(["", "text/plain", "application/xml", "json", "a" * 3000, "*/*"])
        body = json.dumps(ROW).encode()
        return self.request("POST", PATHS[0], body, Content_Type=form)

    def method(self) -> bytes:
        method = self.chance.choice(
            ["DELETE", "PATCH", "OPTIONS", "TRACE", "PUT", "CONNECT", "FOO"]
        )
        return self.request(method, self.chance.choice([*PATHS, "/models", "/metrics", "/ready"]))

    def length(self) -> bytes:
        """A body of another length than was said, or in chunks that are none."""
        body = json.dumps(ROW).encode()
        said = self.chance.choice(["-1", "x", "1e3", "5", "999999999999999999999", "0", ""])
        if self.chance.random() < 0.3:
            return self.request("POST", PATHS[0], b"zz\r\n", Transfer_Encoding="chunked")
        return self.request("POST", PATHS[0], body, Content_Length=said)

    def noise(self) -> bytes:
        n = self.chance.randint(1, 400)
        return self.chance.choice(
            [self.chance.randbytes(n), b"GET\r\n\r\n", b"\r\n" * n, b"GET /models HTTP/9.9\r\n\r\n",
             b"GET " + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
             b"\x16\x03\x01" + self.chance.randbytes(n),
             b"GET /models HTTP/1.1\r\n" + b"a: b\r\n" * 2000 + b"\r\n"]
        )  # fmt: skip


def status_of(port: int, request: bytes, whole: bool) -> int:
    """Send bytes and return the status of the answer; 0 if the connection was closed without.

    Unless the request is ``whole``, the service is reported that nothing more will come.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        try:
            connection.sendall(request)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(65536)
        except ConnectionError:
            return 0
    first = answer.split(b"\r\n", 1)[0].split()
    return int(first[1]) if len(first) > 1 else 0


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of all models."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "models").rglob("*"))
        if path.is_file() and path.parent != folder / "models"
    }


def slow(port: int) -> int:
    """Send half of a body, and wait for the answer."""
    head = Hostile(0).request("POST", PATHS[0], b"", Content_Length="100")
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + b'{"vector":')
        answer = connection.recv(65536)
    return int(answer.split()[1])


def attack(folder: Path, count: int, seed: int, slow_bodies: int = 5) -> dict[str, object]:
    """Send requests, and raise AssertionError if one does harm."""
    folder.mkdir(exist_ok=True)
    service = Running(
        folder, "--token", TOKEN, "--max-body", str(MOST), "--max-wait", "1", "--every", "3600"
    )
    try:
        return _attacked(service, count, seed, slow_bodies)
    finally:
        service.kill()


def _attacked(service: Running, count: int, seed: int, slow_bodies: int) -> dict[str, object]:
    folder, known = service.folder, JSON | {"Authorization": f"Bearer {TOKEN}"}
    status, _ = service.ask("PUT", "/models/a", '{"kind": "vectors"}', known)
    assert status == 201
    while service.get("/ready", headers=known)[0] != 200:
        pass
    assert service.post("/models/a/observations", vectors(200), headers=known)[0] == 200
    before, facts = files(folder), service.get("/models", headers=known)
    hostile, found = Hostile(seed), Counter[str]()
    for number in range(count):
        kind, request = hostile.next()
        whole = kind not in ("noise", "length")
        status = status_of(service.port, request, whole)
        found[f"{kind} {status}"] += 1
        wrong = f"request {number} ({kind}) was answered with {status}: {request[:300]!r}"
        assert 400 <= status < 500 or (status == 0 and not whole), wrong
        assert kind != "token" or status in (400, 401), wrong
    for _ in range(slow_bodies):
        assert slow(service.port) == 408
    assert service.get("/models", headers=known) == facts
    assert files(folder) == before
    assert service.get("/health", headers={})[0] == 200
    assert "Traceback" not in service.said(), service.said()
    statuses = Counter[str]()
    for name, n in found.items():
        statuses[name.split()[1]] += n
    return {"requests": count, "slow": slow_bodies, "statuses": statuses, "kinds": found}


def main() -> None:
    """Print what was answered, or fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(attack(Path(folder), args.count, args.seed), sort_keys=True))


if __name__ == "__main__":
    main()
