"""A service that is killed again and again under load, and compared with one that was not.

``python -m tests.attacks.service --kills 50 --seed 0`` sends texts to one model and vectors to
another, in order, and vectors to a third from three clients at a time, while the service is killed
(SIGKILL) at random moments and started again. Requests without an answer are sent again. In the end
every row must have been learnt once, every acknowledged id must be known, and the first two models
must be those of a service that nothing has disturbed, bit for bit. It prints JSON.
"""

import argparse
import http.client
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from threading import Event, Thread

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from evermix.io import checkpoint
from helpers.services import Running, vectors

BATCH = 5
WORDS = "invoice refund card login password code parcel courier address".split()
LOST = OSError, http.client.HTTPException, ValueError  # what a client sees of a kill


def text_batch(number: int) -> list[dict]:
    rng = np.random.default_rng(number)
    texts = [" ".join(rng.choice(WORDS[3 * k : 3 * k + 3], 6)) for k in rng.integers(3, size=BATCH)]
    return [{"text": text, "id": f"{number} {i}"} for i, text in enumerate(texts)]


def vector_batch(number: int, client: int = 0) -> list[dict]:
    rows = vectors(BATCH, seed=number + 10**6 * client)
    return [row | {"id": f"{client} {number} {i}"} for i, row in enumerate(rows)]


class Attack:
    """Clients, and a service that is killed under them."""

    def __init__(self, folder: Path, every: str = "0.2") -> None:
        folder.mkdir()
        self.folder, self.every = folder, every
        self.service = Running(folder, "--every", every)
        for name, kind in (("texts", "texts"), ("vectors", "vectors"), ("crowd", "vectors")):
            self.service.make(name, kind)
        self.sent = {"texts": 0, "vectors": 0, "crowd 1": 0, "crowd 2": 0, "crowd 3": 0}
        self.again, self.over = 0, Event()

    def batch(self, client: str, number: int) -> tuple[str, list[dict]]:
        """Return the model and the rows of a batch."""
        if client == "texts":
            return "texts", text_batch(number)
        name, _, place = client.partition(" ")
        return name, vector_batch(number, int(place or 0))

    def send(self, client: str) -> None:
        """Send batches in order until it is over, each until it is acknowledged."""
        while not self.over.is_set():
            name, rows = self.batch(client, self.sent[client])
            while True:
                try:
                    status, answer = self.service.post(f"/models/{name}/observations", rows)
                    if status == 200 and len(answer["answers"]) == BATCH:
                        break
                    assert status in (429, 503), answer
                except LOST:
                    pass
                self.again += 1
                time.sleep(0.02)
            self.sent[client] += 1

    def run(self, kills: int, chance: random.Random) -> None:
        """Kill the service at random moments while all clients send."""
        threads = [Thread(target=self.send, args=(client,)) for client in self.sent]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            enough, end = sum(self.sent.values()) + chance.randint(0, 30), time.monotonic() + 5.0
            while sum(self.sent.values()) < enough and time.monotonic() < end:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.05))
            self.service.kill()
            self.service = Running(self.folder, "--every", self.every)
        self.over.set()
        for thread in threads:
            thread.join()

    def check(self) -> None:
        """Raise AssertionError unless all that was acknowledged was learnt once."""
        for name in ("texts", "vectors", "crowd"):
            clients = [client for client in self.sent if client.startswith(name)]
            rows = BATCH * sum(self.sent[client] for client in clients)
            assert self.service.get(f"/models/{name}")[1]["rows"] == rows, name
            for client in clients:
                for number in range(self.sent[client]):
                    answer = self.service.post(
                        f"/models/{name}/observations", self.batch(client, number)[1]
                    )[1]
                    assert all(each["duplicate"] for each in answer["answers"]), (client, number)
            assert self.service.get(f"/models/{name}")[1]["rows"] == rows, name


def undisturbed(folder: Path, attack: Attack) -> None:
    """Compare the models that were sent rows in order with those of a service without kills."""
    folder.mkdir()
    service = Running(folder)
    try:
        for name in ("texts", "vectors"):
            service.make(name, name)
            for number in range(attack.sent[name]):
                rows = attack.batch(name, number)[1]
                assert service.post(f"/models/{name}/observations", rows)[0] == 200
    finally:
        ended = service.stop(), attack.service.stop()
    assert ended == (0, 0)
    for name in ("texts", "vectors"):
        one, two = (
            checkpoint.read(place / "models" / name / "model.evermix")
            for place in (folder, attack.folder)
        )
        assert one[0].keys() == two[0].keys()
        for key, values in one[0].items():
            np.testing.assert_array_equal(two[0][key], values, err_msg=f"{name}: {key}")
        for key in ("rows", "remembered"):
            assert one[1]["extra"]["service"][key] == two[1]["extra"]["service"][key], key
        assert one[1]["extra"]["text"] == two[1]["extra"]["text"]


def attack(folder: Path, kills: int, seed: int) -> dict[str, object]:
    """Kill a service so often, and return what happened."""
    start, killed = time.perf_counter(), Attack(folder / "killed")
    try:
        killed.run(kills, random.Random(seed))
        killed.check()
        undisturbed(folder / "undisturbed", killed)
    finally:
        killed.over.set()
        killed.service.stop()
    said = {"kills": kills, "batches": killed.sent, "sent_again": killed.again}
    return said | {"lost": 0, "doubled": 0, "seconds": round(time.perf_counter() - start)}


def main() -> None:
    """Print what happened, or fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(attack(Path(folder), args.kills, args.seed)))


if __name__ == "__main__":
    main()
