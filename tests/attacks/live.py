"""How soon rows of an open pipe are answered: ``python -m tests.attacks.live --rows 60``.

Rows come one by one; each must have an answer, in order, before much more than ``--max-wait``.
"""

import argparse
import json
import subprocess
import sys
import threading
import time

import numpy as np

WORDS = np.array("printer paper jam password reset expired login link screen cable".split())


def texts(n, seed=0):
    """Rows of two subjects."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        half = WORDS[:5] if rng.random() < 0.5 else WORDS[5:]
        yield {"id": i, "text": " ".join(rng.choice(half, size=6))}


def vectors(n, seed=0):
    """Rows of two clusters."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        yield {"id": i, "vector": (rng.normal(size=3) + 9 * rng.integers(2)).round(3).tolist()}


KINDS = {"text": texts, "vectors": vectors}


def measure(kind, rows, every, options=()):
    """Return the seconds until each row after the first was answered, and the answers."""
    command = [sys.executable, "-m", "evermix", "stream", "-", "--quiet", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    sent, answers, begun = [], [], threading.Event()

    def read():
        for line in process.stdout:
            answers.append((time.monotonic(), json.loads(line)))
            begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    for row in KINDS[kind](rows):
        sent.append(time.monotonic())
        process.stdin.write(json.dumps(row).encode() + b"\n")
        assert begun.wait(timeout=300), "the first row was never answered"  # programs start slowly
        time.sleep(every)
    deadline = time.monotonic() + 60
    while len(answers) < rows and time.monotonic() < deadline:
        time.sleep(0.01)
    on_open_pipe = len(answers)
    process.stdin.close()
    reader.join()
    process.stdout.close()
    assert process.wait() == 0 and on_open_pipe == rows, f"{on_open_pipe} of {rows} rows answered"
    assert [answer["id"] for _, answer in answers] == list(range(rows))
    seconds = [got - was for was, (got, _) in zip(sent, answers, strict=True)]
    return np.array(seconds[1:]), [answer for _, answer in answers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two rows")
    parser.add_argument("--kind", choices=KINDS, default="text")
    arguments, options = parser.parse_known_args()
    seconds, _ = measure(arguments.kind, arguments.rows, arguments.every, options)
    found = {"median": float(np.median(seconds)), "longest": float(seconds.max())}
    print(json.dumps({"rows": arguments.rows, "every": arguments.every, **found}))


if __name__ == "__main__":
    main()
