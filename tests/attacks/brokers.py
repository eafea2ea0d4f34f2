"""Streams from brokers whose consumer is killed and whose broker goes away and comes back.

``python -m tests.attacks.brokers --messages 20000`` sends messages, some of them poison, to a Redis
and a NATS server and to the Kafka mock of librdkafka. `evermix stream` is killed three times
(kill -9), once right after the broker was restarted under it, and resumed each time. In the end
every message must be counted exactly once in the model and answered exactly once, in a file
(``--out``) or at the broker (``--to``), and every poison message must be in the dead-letter file
once. Redis and NATS are killed and started again with the data on their disk. The mock holds its
data in memory: its broker is taken down, which breaks all connections, and up again.

The last lines say how fast each broker is read, beside a file of the same rows.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import evermix as em
from helpers import broker_servers, children
from helpers.broker_servers import ANSWERS, BROKERS

POISON = (b'{"id": "broken', b"\xff\xfe", b'{"id": "none"}', b'{"vector": [1, 2, "three"]}')
EVERY_POISON = 250  # messages to one that is poison
FILES = ["--checkpoint", "model.evermix", "--trace", "trace.jsonl", "--dead-letter", "bad.jsonl"]
QUICK = ["--max-wait", "0.2", "--max-clusters", "20"]
PATIENCE = 300  # seconds for a part of the messages on a busy machine


def with_poison(messages):
    """Return messages with poison among them."""
    mixed = []
    for number, message in enumerate(messages):
        if not number % EVERY_POISON:
            mixed.append(POISON[number // EVERY_POISON % len(POISON)])
        mixed.append(message)
    return mixed


class Attack:
    """A stream from one broker, in a folder of its own."""

    def __init__(self, server, folder, messages, to_broker, seed=0, batch=100):
        self.server, self.folder, self.messages = server, folder, messages
        self.to_broker, self.random = to_broker, random.Random(seed)
        folder.mkdir()
        where = ["--to", server.address(ANSWERS)] if to_broker else ["--out", "out.jsonl"]
        sizes = ["--batch", str(batch), "--every", str(4 * batch)]
        self.arguments = ["--from", server.address(), *where, *FILES, *QUICK, *sizes]

    def rows(self):
        """Return how many rows the trace speaks of."""
        path = self.folder / "trace.jsonl"
        try:
            last = path.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
            return json.loads(last)["clock"]
        except (OSError, ValueError, KeyError):
            return 0

    def start(self, *more):
        return children.start(self.folder, "stream", *self.arguments, "--resume", *more)

    def until(self, process, rows):
        """Wait until so many rows were learnt."""
        end = time.monotonic() + PATIENCE
        while self.rows() < rows:
            assert process.is_alive() and time.monotonic() < end, self.said()
            time.sleep(0.005)

    def kill(self, process):
        """Kill a process at a moment that nobody knows."""
        time.sleep(self.random.uniform(0, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL

    def said(self):
        return (self.folder / "stderr").read_text()

    def run(self):
        """Kill the consumer three times and restart the broker once, and let it end in peace."""
        n = len(self.messages)
        ends = [0, 2 * n // 5, n // 2, n]
        parts = [with_poison(self.messages[a:b]) for a, b in pairwise(ends)]
        self.poison = sum(map(len, parts)) - n
        self.server.send(parts[0])
        for share in (0.1, 0.25):
            process = self.start()
            self.until(process, share * n)
            self.kill(process)
        process = self.start()
        self.server.send(parts[1])
        self.until(process, 2 * n // 5 + 1)  # it reads what no process before it could have read
        self.server.restart()
        self.server.send(parts[2])
        self.until(process, 0.6 * n)  # the same process goes on with what came after
        self.kill(process)
        assert children.finish(self.start("--drain")) == 0, self.said()

    def check(self):
        """Every message is counted once, answered once, or in the dead-letter file once."""
        n = len(self.messages)
        model = em.load(self.folder / "model.evermix")
        assert model.state_.clock == n, f"{model.state_.clock} of {n} rows in the model"
        assert abs(model.state_.tally.mass.sum() - n) < 1e-6 * n
        answers = children.lines(self.folder / "out.jsonl") if not self.to_broker else None
        answers = answers or [json.loads(data) for data in self.server.read()]
        ids = sorted(answer["id"] for answer in answers)
        assert ids == list(range(n)), f"{len(ids)} answers, {len(set(ids))} different ones"
        bad = children.lines(self.folder / "bad.jsonl")
        places = {line["place"] for line in bad}
        assert len(bad) == len(places) == self.poison, f"{len(bad)} of {self.poison} bad rows"


def measure(server, folder, messages):
    """Return the seconds for a file of rows, and for the same rows from a broker."""
    folder.mkdir()
    (folder / "rows.jsonl").write_bytes(b"\n".join(messages) + b"\n")
    server.make("speed")
    server.send(messages, "speed")
    seconds = []
    for source in (["rows.jsonl"], ["--from", server.address("speed"), "--drain"]):
        files = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--overwrite"]
        began = time.monotonic()
        status = children.run(folder, "stream", *source, *files, "--max-clusters", "20")
        seconds.append(time.monotonic() - began)
        assert status == 0, (folder / "stderr").read_text()
        assert len(children.lines(folder / "out.jsonl")) == len(messages)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=BROKERS, help="one of the brokers")
    arguments = parser.parse_args()
    messages, failures = broker_servers.rows(arguments.messages, arguments.seed), 0
    for name in [arguments.only] if arguments.only else BROKERS:
        for to_broker in (False, True):
            with tempfile.TemporaryDirectory() as place:
                folder, began = Path(place), time.monotonic()
                server = BROKERS[name](folder / "server")
                try:
                    for topic in (broker_servers.TOPIC, ANSWERS):
                        server.make(topic)
                    attack = Attack(server, folder / "run", messages, to_broker, arguments.seed)
                    attack.run()
                    attack.check()
                    found = {"messages": len(messages), "kills": 3, "restarts": 1, "wrong": 0}
                except AssertionError as error:
                    found, failures = {"wrong": str(error)[-500:]}, failures + 1
                found["seconds"] = round(time.monotonic() - began, 1)
                target = "broker" if to_broker else "file"
                print(json.dumps({"broker": name, "answers to": target, **found}), flush=True)
                if not to_broker:
                    file, broker = measure(server, folder / "speed", messages)
                    speed = {"file rows/s": len(messages) / file, "rows/s": len(messages) / broker}
                    speed = {key: round(value) for key, value in speed.items()}
                    print(json.dumps({"broker": name, **speed, "ratio": round(file / broker, 2)}))
                server.stop()
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
