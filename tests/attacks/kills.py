"""Runs that are killed in one of their operations on files, resumed, and compared with whole ones.

``python -m tests.attacks.kills --count 200 --seed 0`` kills `stream`, `fit` and `topics` at every
write, truncation, sync, rename and removal (or at some of them, chosen by chance, if there are more
than --count), some of them twice. What they leave in the end must be what a run leaves that was not
killed: the same model, bit for bit, each row once, the same trace, and no other file.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import children

FILES = ["--out", "out.jsonl", "--checkpoint", "model.evermix", "--trace", "trace.jsonl"]
COMMANDS = {
    "stream": ["--batch", "40", "--every", "80", "--warmup", "60"],
    "fit": ["--engine", "ep", "--laps", "6", "--tol", "0", "--every", "2"],
    "topics": ["--prior", "hdp", "--burn-in", "4", "--draws", "6", "--every", "4"],
}
TWICE = 0.3  # of the runs are killed again when they are resumed


class Whole:
    """Runs of every command that nothing has disturbed, and how many operations they took."""

    def __init__(self, folder: Path) -> None:
        children.write_texts(folder / "texts.jsonl", 240)
        self.arguments, self.places, self.operations = {}, {}, {}
        for command, options in COMMANDS.items():
            place = self.places[command] = folder / f"whole {command}"
            place.mkdir()
            self.arguments[command] = [command, str(folder / "texts.jsonl"), *options, *FILES]
            status = children.run(place, *self.arguments[command], die_at=0)
            assert status == 0, (place / "stderr").read_text()
            self.operations[command] = int((place / "operations").read_text())

    def check(self, command: str, folder: Path, moments: list[int]) -> None:
        """Kill a run at each of the moments, resume it, and compare it with the whole one."""
        folder.mkdir()
        for moment in moments:
            status = children.run(folder, *self.arguments[command], "--resume", die_at=moment)
            assert status in (0, -signal.SIGKILL), (folder / "stderr").read_text()
        status = children.run(folder, *self.arguments[command], "--resume")
        assert status == 0, (folder / "stderr").read_text()
        compare(self.places[command], folder)


def compare(whole: Path, folder: Path) -> None:
    """Raise AssertionError unless two folders hold the same results."""
    arrays, header = children.checkpoint.read(whole / "model.evermix")
    others, other = children.checkpoint.read(folder / "model.evermix")
    assert arrays.keys() == others.keys()
    for name in arrays:
        assert arrays[name].tobytes() == others[name].tobytes(), name
    for name in ("state", "rngs", "run"):
        assert header.get(name) == other.get(name), name
    assert (whole / "out.jsonl").read_bytes() == (folder / "out.jsonl").read_bytes()
    traces = [children.lines(place / "trace.jsonl") for place in (whole, folder)]
    one, two = ([step | {"seconds": 0} for step in trace] for trace in traces)
    assert one == two
    left = {path.name for path in folder.iterdir()} - {"stdout", "stderr", "operations"}
    assert left == {"model.evermix", "out.jsonl", "trace.jsonl"}, left


def chosen(operations: dict[str, int], count: int, seed: int) -> list[tuple[str, list[int]]]:
    """Return which runs to kill at which of their operations."""
    chance = random.Random(seed)
    every = [(command, n) for command, most in operations.items() for n in range(1, most + 1)]
    chance.shuffle(every)
    kills = []
    for command, moment in every[:count]:
        again = [chance.randint(1, operations[command])] if chance.random() < TWICE else []
        kills.append((command, [moment, *again]))
    while len(kills) < count:
        command = chance.choice(list(operations))
        kills.append((command, [chance.randint(1, operations[command]) for _ in range(2)]))
    return kills


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = Whole(folder)
        kills = chosen(whole.operations, arguments.count, arguments.seed)
        for number, (command, moments) in enumerate(kills):
            try:
                whole.check(command, folder / str(number), moments)
            except AssertionError as error:
                failures.append({"command": command, "moments": moments, "why": str(error)[:300]})
                print(json.dumps(failures[-1]), file=sys.stderr)
    counts = {"operations": whole.operations, "runs": len(kills), "failures": len(failures)}
    print(json.dumps(counts))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
