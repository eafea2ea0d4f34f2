"""A long run of ``evermix stream --follow`` with forgetting: memory and time per row stay flat.

``python -m benchmarks.soak --rows 3000000`` feeds short documents to a file that is followed; their
subjects change on the way. Once the file is rotated, and once the command is killed and resumed. It
prints JSON: megabytes and microseconds per row along the way, rows lost and doubled.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SUBJECTS, WORDS, LENGTH = 40, 60, 8
PARTS = 60  # in which the rows are written
FLAT_FROM, FLAT_WITHIN = 100_000, 50.0  # rows, and megabytes


def documents(first: int, last: int) -> str:
    """Return rows of short texts; half of the subjects are replaced every 500,000 rows."""
    rng = np.random.default_rng(first)
    epoch = first // 500_000
    subjects = rng.integers(SUBJECTS, size=last - first)
    subjects = np.where(subjects % 2, subjects + SUBJECTS * epoch, subjects)
    words = rng.integers(WORDS, size=(last - first, LENGTH))
    lines = []
    for i in range(last - first):
        text = " ".join(_word(subjects[i] * WORDS + word) for word in words[i])
        lines.append(json.dumps({"id": first + i, "text": text}))
    return "\n".join(lines) + "\n"


def _word(number: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[(number // 26**k) % 26] for k in range(5))


class Service:
    """The command, started and restarted on one file."""

    def __init__(self, folder: Path, options: list[str]) -> None:
        self.out, self._folder = folder / "out.jsonl", folder
        files = ["--out", str(self.out), "--checkpoint", str(folder / "model.evermix")]
        self._command = [sys.executable, "-m", "evermix", "stream", str(folder / "log.jsonl")]
        self._command += ["--quiet", *files]
        self._answered = self._read = 0
        self._process = subprocess.Popen([*self._command, "--follow", *options])

    def kill(self) -> None:
        """Kill the command, and start it again from its checkpoint."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = subprocess.Popen([*self._command, "--resume"])
        time.sleep(5.0)  # the output is cut to the checkpoint before rows are answered again

    def wait_for(self, rows: int) -> None:
        """Wait until so many rows have lines."""
        while self.answered() < rows:
            if self._process.poll() is not None:
                raise RuntimeError(f"the command has ended with {self._process.returncode}")
            time.sleep(0.2)

    def answered(self) -> int:
        """Return the number of lines so far."""
        if not self.out.exists():
            return 0
        with self.out.open("rb") as file:
            if os.path.getsize(self.out) < self._read:  # it was cut
                self._answered = self._read = 0
            file.seek(self._read)
            while block := file.read(2**24):
                self._answered += block.count(b"\n")
                self._read += len(block)
        return self._answered

    def seconds(self) -> float:
        """Return the processor time that the command has taken since it was started."""
        times = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Return the memory that the command holds now."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> int:
        """End the command, and return its status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(timeout=120)


def soak(rows: int, options: list[str]) -> dict[str, object]:
    """Run everything and return what was measured."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log, service = folder / "log.jsonl", Service(folder, options)
        measured = []
        for part in range(PARTS):
            first, last = rows * part // PARTS, rows * (part + 1) // PARTS
            text = documents(first, last)
            if part == PARTS // 3:
                log.rename(folder / "log.jsonl.1")
            began = service.seconds()
            with log.open("a") as file:
                file.write(text)
            if part == 2 * PARTS // 3:
                service.kill()
                began = 0.0
            service.wait_for(last)
            seconds = service.seconds() - began
            microseconds = 1e6 * seconds / (last - first)
            measured.append({"rows": last, "megabytes": service.megabytes(), "us": microseconds})
        status = service.stop()
        with service.out.open() as file:
            ids = [json.loads(line)["id"] for line in file]
    late = [step for step in measured if step["rows"] >= min(FLAT_FROM, rows // 2)]
    memory, times = ([step[key] for step in late] for key in ("megabytes", "us"))
    third = max(len(times) // 3, 1)
    return {
        "rows": rows,
        "in order": ids == list(range(rows)),
        "status": status,
        "megabytes more": max(memory) - memory[0],
        "flat": max(memory) - memory[0] <= FLAT_WITHIN,
        "processor time per row, last third over first": float(
            np.median(times[-third:]) / np.median(times[:third])
        ),
        "along the way": measured,
    }


def main() -> None:
    """Run the soak and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--half-life", default="20000")
    arguments, options = parser.parse_known_args()
    print(
        json.dumps(soak(arguments.rows, ["--half-life", arguments.half_life, *options]), indent=1)
    )


if __name__ == "__main__":
    main()
