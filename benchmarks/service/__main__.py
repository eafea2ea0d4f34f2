"""How much a service takes: ``python -m benchmarks.service --seconds 60`` prints JSON.

For texts, for vectors and for the same vectors as arrays (``application/x-npy``) a service is
started in a process of its own. For --seconds it gets batches of --batch documents from two
connections, in --rounds parts; after each part this process learns the same batches with the
library alone, without HTTP, log and novelty, so that both meet the machine in the same mood.
``ratio`` is the throughput of the service by that of the library, of all rounds together,
``ratios`` of each. Then it gets, for as long, one document after another from each of --clients
connections. ``megabytes`` is the memory of the service after each tenth of the time, the clusters
being bounded.
"""

import argparse
import http.client
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np

from evermix.service.plans import Plan

HEADERS, ARRAY = {"Content-Type": "application/json"}, {"Content-Type": "application/x-npy"}
Found = dict[str, Any]
KINDS = {"texts": "texts", "vectors": "vectors", "arrays": "vectors"}
TOPICS, WORDS, LENGTH, COLUMNS = 20, 4000, 30, 8


def texts(n: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return documents of 30 words about 20 subjects."""
    shares = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.02), TOPICS)
    cumulative = np.cumsum(shares, axis=1)
    names = np.array([f"{a}{b}{c}" for a in "bdfg" for b in _SYLLABLES for c in _SYLLABLES])[:WORDS]
    subjects = rng.integers(0, TOPICS, n)
    places = [np.searchsorted(cumulative[k], rng.random(LENGTH)) for k in subjects]
    return [{"text": " ".join(names[np.minimum(some, WORDS - 1)])} for some in places]


_SYLLABLES = [f"{a}{b}{c}" for a in "lmnr" for b in "aeiou" for c in "kt"]


def vectors(n: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Return rows of eight numbers around 20 places."""
    centres = np.random.default_rng(0).normal(size=(TOPICS, COLUMNS), scale=9.0)
    X = centres[rng.integers(0, TOPICS, n)] + rng.normal(size=(n, COLUMNS))
    return [{"vector": x} for x in X.round(4).tolist()]


def encoded(kind: str, rows: list[dict[str, Any]]) -> bytes:
    """Return the body of a request with these rows."""
    if kind != "arrays":
        return json.dumps(rows if len(rows) > 1 else rows[0]).encode()
    file = io.BytesIO()
    np.save(file, np.array([row["vector"] for row in rows]))
    return file.getvalue()


class Served:
    """A service that is asked by this process."""

    def __init__(self, folder: Path, kind: str) -> None:
        command = [sys.executable, "-m", "evermix", "serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        self.port = int(line.rsplit(":", 1)[1])
        connection = self.connection()
        self._headers = ARRAY if kind == "arrays" else HEADERS
        settings = json.dumps(Plan(KINDS[kind]).to_spec())
        connection.request("PUT", "/models/load", settings, HEADERS)
        assert connection.getresponse().status == 201
        connection.close()
        time.sleep(0.5)

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection that stays open."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def megabytes(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def cpu(self) -> float:
        """Return the processor time of it, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, bodies: list[bytes], clients: int, seconds: float) -> Found:
        """Send bodies in turn until the time is over."""
        lock, numbers, times, statuses = Lock(), count(), list[float](), dict[int, int]()
        memory, end = list[float](), time.perf_counter() + seconds

        def send() -> None:
            connection = self.connection()
            while not times or time.perf_counter() < end:
                with lock:
                    body = bodies[next(numbers) % len(bodies)]
                start = time.perf_counter()
                connection.request("POST", "/models/load/observations", body, self._headers)
                response = connection.getresponse()
                response.read()
                took = time.perf_counter() - start
                with lock:
                    times.append(took)
                    statuses[response.status] = statuses.get(response.status, 0) + 1
            connection.close()

        start, cpu = time.perf_counter(), self.cpu()
        threads = [Thread(target=send) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for i in range(10):
            time.sleep(max(start + (i + 1) * seconds / 10 - time.perf_counter(), 0))
            memory.append(round(self.megabytes(), 1))
        for thread in threads:
            thread.join()
        return {
            "requests": len(times),
            "seconds": round(time.perf_counter() - start, 2),
            "cpu_seconds": round(self.cpu() - cpu, 2),
            "times": times,
            "statuses": statuses,
            "megabytes": memory,
        }

    def stop(self) -> None:
        """End it in peace."""
        self.process.terminate()
        assert self.process.wait(60) == 0


class Alone:
    """The library alone, which learns batches one after another."""

    def __init__(self, kind: str, batches: list[list[dict[str, object]]]) -> None:
        plan = Plan(KINDS[kind])
        self.mix, self._counter, self._next = plan.mixture(), plan.counter(), 0
        self._batches = [[next(iter(row.values())) for row in batch] for batch in batches]

    def learn(self, n: int) -> tuple[float, float]:
        """Learn n batches, and return the seconds and the processor time."""
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(n):
            rows = self._batches[self._next % len(self._batches)]
            self._next += 1
            if self._counter is None:
                self.mix.partial_fit(np.array(rows))
                continue
            for part in self._counter.stream([str(row) for row in rows]):
                if part.freed:
                    self.mix.forget_columns(part.freed)
                self.mix.partial_fit(part.X)
        return time.perf_counter() - start, time.process_time() - cpu


def in_turn(service: Served, alone: Alone, bodies: list[bytes], args: argparse.Namespace) -> Found:
    """Let both learn batches, first one and then the other, so many rounds."""
    service.load(bodies[:1], 1, 0.01)
    alone.learn(1)
    served, library = list[Found](), list[tuple[float, float]]()
    for _ in range(args.rounds):
        served.append(service.load(bodies, 2, args.seconds / args.rounds))
        library.append(alone.learn(served[-1]["requests"]))
    n = args.batch * np.array([found["requests"] for found in served])
    ours = {what: np.array([f[what] for f in served]) for what in ("seconds", "cpu_seconds")}
    theirs = dict(zip(ours, np.transpose(library), strict=True))
    times = [took for found in served for took in found["times"]]
    return {
        "batches": {
            **summary(times),
            "rows_per_second": round(n.sum() / ours["seconds"].sum()),
            "statuses": dict(sum((Counter(found["statuses"]) for found in served), Counter())),
            "megabytes": [found["megabytes"][-1] for found in served],
        },
        "library": {"rows_per_second": round(n.sum() / theirs["seconds"].sum())},
        "clusters": int(alone.mix.n_clusters_),
        "ratio": round(theirs["seconds"].sum() / ours["seconds"].sum(), 2),
        "ratios": (theirs["seconds"] / ours["seconds"]).round(2).tolist(),
        "ratio_of_cpu": round(theirs["cpu_seconds"].sum() / ours["cpu_seconds"].sum(), 2),
    }


def measure(kind: str, args: argparse.Namespace) -> Found:
    """Return what a service and the library alone take of a kind of rows."""
    rng = np.random.default_rng(args.seed)
    rows = (texts if kind == "texts" else vectors)(args.batch * 20, rng)
    batches = [rows[at : at + args.batch] for at in range(0, len(rows), args.batch)]
    with tempfile.TemporaryDirectory() as place:
        service = Served(Path(place), kind)
        bodies = [encoded(kind, batch) for batch in batches]
        many = in_turn(service, Alone(kind, batches), bodies, args)
        single = [encoded(kind, [row]) for row in rows]
        one = service.load(single, args.clients, args.seconds)
        service.stop()
    rate = {"rows_per_second": round(one["requests"] / one["seconds"])}
    kept = {what: one[what] for what in ("seconds", "cpu_seconds", "statuses", "megabytes")}
    return {"one_document": {**summary(one["times"]), **rate, **kept}, **many}


def summary(times: list[float]) -> Found:
    """Return how long requests took."""
    p50, p99 = np.percentile(times, [50, 99]) * 1e3
    return {
        "requests": len(times),
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "longest_ms": round(max(times) * 1e3, 2),
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    args = parser.parse_args()
    found = {kind: measure(kind, args) for kind in args.kinds}
    print(json.dumps({"load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    main()
