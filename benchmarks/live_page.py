"""The live page of a service under load, and its picture in the docs; both need Chromium.

PYTHONPATH=src:tests python -m benchmarks.live_page load
PYTHONPATH=src:tests python -m benchmarks.live_page picture docs/images/live.png
"""

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from helpers.browser import Browser
from helpers.services import Running

SUBJECTS = {
    "login": "password login reset account email locked code sign",
    "billing": "invoice charge refund card payment twice amount receipt",
    "delivery": "parcel delivery late courier address tracking lost shipped",
    "crash": "app crash freeze update screen phone restart error",
    "returns": "return size exchange broken box label shop seam",
    "price": "discount coupon price cheaper sale basket total voucher",
    "support": "agent waiting rude helpful answer call hotline minutes",
    "outage": "server down outage offline timeout unreachable status region",
}
FILLING = "please again today order hello thanks still since".split()
WATCH = """
    window.frames_ = []; window.tasks = []; let last = performance.now();
    requestAnimationFrame(function next(now) {
        frames_.push(now - last); last = now; requestAnimationFrame(next); });
    new PerformanceObserver(list => tasks.push(...list.getEntries().map(one => one.duration)))
        .observe({type: 'longtask'});
"""


def tickets(n: int) -> list[dict[str, str]]:
    """Return short texts; new subjects come up one after the other, and one becomes rare."""
    rng, names, found = np.random.default_rng(0), list(SUBJECTS), []
    for i in range(n):
        share = np.ones(len(names))
        share[3 + int(6 * i / n) :] = 0.0
        share[1] *= 1.8 - 1.7 * i / n
        share[7] *= 2.5
        words = SUBJECTS[str(rng.choice(names, p=share / share.sum()))].split()
        text = " ".join([*rng.choice(words, 7), str(rng.choice(FILLING))])
        found.append({"text": text})
    return found


def learn(service: Running, rows: list[dict[str, str]], batch: int, pause: float = 0.0) -> None:
    """Send rows in batches."""
    for at in range(0, len(rows), batch):
        status, answer = service.post("/models/tickets/observations", rows[at : at + batch])
        assert status == 200, answer
        time.sleep(pause)


def begin(folder: Path) -> Running:
    """Start a service with a model of tickets."""
    service = Running(folder)
    service.make("tickets", "texts", hash=2048)
    return service


def page(service: Running) -> str:
    """Return the address of the page."""
    return f"http://127.0.0.1:{service.port}/#tickets"


def picture(folder: Path, path: Path) -> None:
    """Write a picture of the page after 4,000 tickets."""
    service = begin(folder)
    rows = tickets(4000)
    learn(service, rows[:3700], 60)
    _, answer = service.get("/models/tickets/clusters?words=true")
    for cluster in answer["clusters"]:
        name = next(n for n, words in SUBJECTS.items() if cluster["words"][0] in words)
        service.post("/models/tickets/rename", {"cluster": cluster["id"], "name": name})
    with Browser() as browser:
        browser.open(page(service), 1200, 1420)
        browser.wait_for("document.querySelectorAll('#list button').length > 2")
        learn(service, rows[3700:], 30, 0.2)
        time.sleep(3.0)
        browser.picture(path, whole=False)
        assert browser.errors == [], browser.errors
    service.stop()


def load(folder: Path, events: int, seconds: float) -> dict[str, float]:
    """Return how long frames took while so many events came, beside rows that were learnt."""
    service = begin(folder)
    learn(service, tickets(1500), 60)
    ids = [one["id"] for one in service.get("/models/tickets/clusters")[1]["clusters"]]
    writers, done = 8, [0] * 8
    end = time.monotonic() + seconds

    def rename(writer: int) -> None:
        while done[writer] < events // writers and time.monotonic() < end + 30:
            due = end - seconds + seconds * done[writer] / (events // writers)
            time.sleep(max(due - time.monotonic(), 0))
            number = writer + writers * done[writer]
            body = {"cluster": ids[number % len(ids)], "name": f"name {number}"}
            done[writer] += service.post("/models/tickets/rename", body)[0] == 200

    with Browser() as browser:
        browser.open(page(service))
        browser.wait_for("document.querySelectorAll('#list button').length > 2")
        time.sleep(2.0)
        browser.run(WATCH)
        before = service.get("/models/tickets")[1]["last_event"]
        began = time.monotonic()
        end = began + seconds
        threads = [threading.Thread(target=rename, args=(i,)) for i in range(writers)]
        for thread in threads:
            thread.start()
        for row in tickets(int(4 * seconds)):
            learn(service, [row], 1, 0.2)
            if time.monotonic() > end:
                break
        for thread in threads:
            thread.join()
        took = time.monotonic() - began
        frames, tasks = browser.run("[frames_, tasks]")
        told = service.get("/models/tickets")[1]["last_event"] - before
        assert browser.errors == [], browser.errors
    service.stop()
    return {
        "events": told,
        "seconds": round(took, 1),
        "frames": len(frames),
        "longest_frame_ms": round(max(frames[1:]), 1),
        "frames_over_100_ms": sum(frame > 100 for frame in frames[1:]),
        "median_frame_ms": round(float(np.median(frames)), 1),
        "longest_task_ms": max(tasks, default=0),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("load", "picture"))
    parser.add_argument("path", nargs="?", type=Path, default=Path("live.png"))
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.what == "picture":
            picture(Path(folder), arguments.path)
        else:
            print(json.dumps(load(Path(folder), arguments.events, arguments.seconds)))


if __name__ == "__main__":
    main()
