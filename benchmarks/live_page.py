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
from typing import Any

import numpy as np

import evermix as em
from evermix.service.watched import About, Watch, Watched
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
    window.gaps = []; let last = performance.now();
    requestAnimationFrame(function next(now) {
        gaps.push(now - last); last = now; requestAnimationFrame(next); });
"""
TRACED = "disabled-by-default-devtools.timeline"
SLICE = 8.0  # seconds that are traced, which costs much


class Traced(Browser):
    """A browser that collects what its threads do."""

    def __init__(self) -> None:
        super().__init__()
        self.trace: list[dict[str, Any]] = []
        self.traced = False

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Tracing.dataCollected":
            self.trace += event["params"]["value"]
        self.traced |= event.get("method") == "Tracing.tracingComplete"
        super()._note(event)


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


def load(events: int, seconds: float) -> dict[str, Any]:
    """Return how long tasks of the page took while so many events came, and rows were learnt.

    Other programs that are at work make frames long; the time that tasks of the page have
    computed, which is traced for the last seconds, does not depend on them.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=20.0, size=(40, 8))

    def rows(n: int) -> Any:
        return centres[rng.integers(0, 40, size=n)] + rng.normal(size=(n, 8))

    mix = em.Mixture(em.FixedGaussian(1.0, 500.0), em.DP(5.0), em.ADF(lookback=0))
    watched = Watched(mix, 0, About("vectors", "made"), lambda: (None, {}))
    watch = Watch("made", watched, 0)

    def learn_rows(n: int) -> None:
        with watched.learning(n):
            mix.partial_fit(rows(n))
        watched.turn()

    counts = {"wanted": 0, "sent": 0}
    ended = threading.Event()

    def stream() -> None:
        while not ended.is_set():
            for number in range(counts["sent"], counts["wanted"]):
                kind = {"type": "birth", "cluster": number % 40}
                watched.core.events.add(**kind, time=time.time(), clock=watched.core.clock)
                watched.core.timeline.mark("birth", number % 40)
            counts["sent"] = counts["wanted"]
            learn_rows(2)
            time.sleep(0.05)

    for _ in range(100):
        learn_rows(50)
    thread = threading.Thread(target=stream, daemon=True)
    thread.start()
    with Traced() as browser:
        browser.open(f"{watch.address}/#made")
        browser.wait_for("document.querySelectorAll('#list button').length > 2")
        time.sleep(3.0)
        browser.run(WATCH)
        began, tracing = time.monotonic(), False
        while counts["wanted"] < events:
            past = time.monotonic() - began
            if past > seconds - SLICE and not tracing:
                browser.call("Tracing.start", traceConfig={"includedCategories": [TRACED]})
                tracing = True
            counts["wanted"] = min(events, int(events * past / seconds))
            time.sleep(0.02)
        took = time.monotonic() - began
        gaps = browser.run("gaps")
        browser.call("Tracing.end")
        while not browser.traced:
            browser.run("1")  # which takes in what was traced
            time.sleep(0.1)
        ended.set()
        thread.join()
        assert browser.errors == [], browser.errors
    watch.close()
    rate = {"events": counts["sent"], "seconds": round(took, 1)}
    return rate | _tasks(browser.trace, gaps)


def _tasks(trace: list[dict[str, Any]], gaps: list[float]) -> dict[str, Any]:
    """Return what there is to say of the tasks of the page, in milliseconds."""
    named = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in trace if e.get("name") == "thread_name"
    }
    tasks = [
        e
        for e in trace
        if e.get("name") == "RunTask"
        and "dur" in e
        and named.get((e["pid"], e["tid"])) == "CrRendererMain"
    ]
    computed = sorted(e.get("tdur", 0) / 1000 for e in tasks)
    return {
        "tasks": len(tasks),
        "computed_most": round(computed[-1], 1),
        "computed_99.9_percent": round(computed[int(0.999 * len(computed))], 1),
        "took_most": round(max(e["dur"] for e in tasks) / 1000, 1),
        "frames": len(gaps),
        "frames_over_100": sum(gap > 100 for gap in gaps[1:]),
        "longest_gap": round(max(gaps[1:]), 1),
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
            print(json.dumps(load(arguments.events, arguments.seconds)))


if __name__ == "__main__":
    main()
