"""How much a service takes: ``python -m benchmarks.service --seconds 60`` prints JSON.

For texts and for vectors a service is started in a process of its own. For --seconds it gets one
document after another from each of --clients connections, and for as long batches of --batch
documents from two. Then this process learns the same batches with the library alone, without HTTP,
log and novelty: ``ratio`` is the throughput of the service by that of the library. ``megabytes`` is
the memory of the service after each tenth of the time, the clusters being bounded.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from threading import Lock, Thread

import numpy as np

from evermix.service.plans import Plan

HEADERS = {"Content-Type": "application/json"}
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


class Served:
    """A service that is asked by this process."""

    def __init__(self, folder: Path, kind: str) -> None:
        command = [sys.executable, "-m", "evermix", "serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        self.port = int(line.rsplit(":", 1)[1])
        connection = self.connection()
        connection.request("PUT", "/models/load", json.dumps({"kind": kind}), HEADERS)
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

    def load(self, bodies: list[bytes], clients: int, seconds: float) -> dict[str, object]:
        """Send bodies in turn until the time is over."""
        lock, numbers, times, statuses = Lock(), count(), list[float](), dict[int, int]()
        memory, end = list[float](), time.perf_counter() + seconds

        def send() -> None:
            connection = self.connection()
            while not times or time.perf_counter() < end:
                with lock:
                    body = bodies[next(numbers) % len(bodies)]
                start = time.perf_counter()
                connection.request("POST", "/models/load/observations", body, HEADERS)
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
        p50, p99 = np.percentile(times, [50, 99]) * 1e3
        return {
            "requests": len(times),
            "seconds": round(time.perf_counter() - start, 2),
            "cpu_seconds": round(self.cpu() - cpu, 2),
            "p50_ms": round(float(p50), 2),
            "p99_ms": round(float(p99), 2),
            "statuses": statuses,
            "megabytes": memory,
        }

    def stop(self) -> None:
        """End it in peace."""
        self.process.terminate()
        assert self.process.wait(60) == 0


def direct(kind: str, batches: list[list[dict[str, object]]], repeats: int) -> dict[str, float]:
    """Learn batches with the library alone, the first of them untimed."""
    plan = Plan(kind)
    mix, counter = plan.mixture(), plan.counter()
    start = cpu = 0.0
    for i in range(repeats + 1):
        if i == 1:
            start, cpu = time.perf_counter(), time.process_time()
        rows = [next(iter(row.values())) for row in batches[i % len(batches)]]
        if counter is None:
            mix.partial_fit(np.array(rows))
            continue
        for part in counter.stream([str(row) for row in rows]):
            if part.freed:
                mix.forget_columns(part.freed)
            mix.partial_fit(part.X)
    return {
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "clusters": int(mix.n_clusters_),
    }


def measure(kind: str, args: argparse.Namespace) -> dict[str, object]:
    """Return what a service and the library alone take of a kind of rows."""
    rng = np.random.default_rng(args.seed)
    rows = (texts if kind == "texts" else vectors)(args.batch * 20, rng)
    batches = [rows[at : at + args.batch] for at in range(0, len(rows), args.batch)]
    with tempfile.TemporaryDirectory() as place:
        service = Served(Path(place), kind)
        warm = [json.dumps(batch).encode() for batch in batches]
        service.load(warm[:1], 1, 0.01)
        many = service.load(warm, 2, args.seconds)
        one = service.load([json.dumps(row).encode() for row in rows], args.clients, args.seconds)
        service.stop()
    alone = direct(kind, batches, int(many["requests"]))
    n = int(many["requests"]) * args.batch
    by_service, by_library = n / float(many["seconds"]), n / alone["seconds"]
    return {
        "one_document": one | {"rows_per_second": round(int(one["requests"]) / one["seconds"])},
        "batches": many | {"rows_per_second": round(by_service)},
        "library": alone | {"rows_per_second": round(by_library)},
        "ratio": round(by_service / by_library, 2),
        "ratio_of_cpu": round(alone["cpu_seconds"] / float(many["cpu_seconds"]), 2),
    }


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", default=["texts", "vectors"])
    args = parser.parse_args()
    found = {kind: measure(kind, args) for kind in args.kinds}
    print(json.dumps({"load": os.getloadavg()[0], **found}, indent=2))


if __name__ == "__main__":
    main()
