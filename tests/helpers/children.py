"""Runs of the command line in processes of their own, which can be killed."""

import itertools
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from contextlib import chdir, contextmanager
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import NamedTuple

import numpy as np

import evermix as em
from evermix.io import checkpoint
from helpers import file_operations

# The server imports everything once; each child is a fresh fork of it.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "evermix.cli",
        "evermix.cli.commands.stream",
        "evermix.cli.commands.fit",
        "evermix.cli.commands.topics",
        "evermix.cli.commands.serve",
        "evermix.service.server",  # where it is installed
        "helpers.preloaded",
    ]
)


@cache
def _run_server() -> None:
    """Start the server where it finds all modules to import."""
    with chdir(Path(__file__).parents[1]):
        forkserver.ensure_running()


def _begin(target, *arguments):
    _run_server()
    process = _context.Process(target=target, args=arguments)
    process.start()
    return process


class Kill(NamedTuple):
    """A signal to be sent as soon as a file has so many bytes."""

    path: Path
    size: int
    number: int = signal.SIGKILL


def start(
    folder: Path,
    *arguments: str,
    stdin: Path | None = None,
    file_limit: int | None = None,
    kill: Kill | None = None,
    unlearnt: bool = False,
    die_at: int | None = None,
    user: int | None = None,
):
    """Start ``evermix`` in a folder; what it says goes to the files "stdout" and "stderr".

    With ``unlearnt`` it is killed where it would begin to learn, with ``die_at`` in the n-th of its
    operations on files (see ``file_operations``). ``user`` is who it becomes.
    """
    settings = stdin, file_limit, kill, unlearnt, die_at, user
    return _begin(_main, folder, arguments, *settings)


def finish(process) -> int:
    """Wait for a process and return its exit status, negative for a signal."""
    process.join(timeout=120)
    assert process.exitcode is not None, "the command did not end"
    return process.exitcode


def run(folder: Path, *arguments: str, **settings) -> int:
    return finish(start(folder, *arguments, **settings))


@contextmanager
def writer(path: Path):
    """A process that writes checkpoints until it is killed, and a pipe that tells of each."""
    reports, end = _context.Pipe(duplex=False)
    process = _begin(_write_forever, path, end)
    end.close()
    try:
        yield process, reports
    finally:
        process.kill()
        process.join()
        reports.close()


def _write_forever(path: Path, reports) -> None:
    for clock in itertools.count(1):
        checkpoint.write(path, {"big": np.full(200_000, clock)}, {"clock": clock})
        reports.send(clock)


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_same_run(one: Path, other: Path) -> None:
    """Two folders hold the same model, bit for bit, the same output and the same trace."""
    arrays, header = checkpoint.read(one / "model.evermix")
    others, other_header = checkpoint.read(other / "model.evermix")
    assert arrays.keys() == others.keys()
    for name in arrays:
        assert arrays[name].dtype == others[name].dtype
        assert arrays[name].tobytes() == others[name].tobytes(), name
    assert header["state"] == other_header["state"]
    assert header["extra"].get("text") == other_header["extra"].get("text")
    assert (one / "out.jsonl").read_bytes() == (other / "out.jsonl").read_bytes()
    assert _steps(one) == _steps(other)
    if "stream" in header["extra"]:
        totals = [h["extra"]["stream"]["totals"] for h in (header, other_header)]
        assert totals[0] == totals[1]


def _steps(folder: Path) -> list[dict]:
    return [step | {"seconds": 0} for step in lines(folder / "trace.jsonl")]


def write_texts(path: Path, n: int, topics: int = 6, seed: int = 0) -> None:
    """Write n short texts; topics come up one after the other over the first half."""
    rng = np.random.default_rng(seed)
    words = np.array([f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"])
    with path.open("w") as file:
        for i in range(n):
            topic = rng.integers(1 + min(topics - 1, 2 * topics * i // n))
            chosen = rng.choice(words[20 * topic : 20 * topic + 25], size=12)
            file.write(json.dumps({"id": f"t{i}", "text": " ".join(chosen)}) + "\n")


def write_vectors(path: Path, n: int, seed: int = 0) -> None:
    """Save n points of three clusters that come up one after the other."""
    rng = np.random.default_rng(seed)
    centre = rng.integers(1 + np.minimum(2, 6 * np.arange(n) // n))
    np.save(path, rng.normal(size=(n, 3)) + 9.0 * np.eye(3)[centre])


def write_dated(path: Path, vectors: Path, seed: int = 0) -> None:
    """Write points with dates, an hour apart on average; all clusters move away, and once more."""
    rng = np.random.default_rng(seed)
    X = np.load(vectors)
    X += 30.0 * (3 * np.arange(len(X)) // len(X))[:, None]
    hours = np.cumsum(rng.exponential(size=len(X)))
    dates = np.datetime64("2024-01-01", "us") + (3600e6 * hours).astype("timedelta64[us]")
    with path.open("w") as file:
        for x, when in zip(X.tolist(), dates, strict=True):
            file.write(json.dumps({"vector": x, "when": str(when)}) + "\n")


def _main(
    folder: Path,
    arguments: tuple[str, ...],
    stdin: Path | None,
    file_limit: int | None,
    kill: Kill | None,
    unlearnt: bool,
    die_at: int | None,
    user: int | None,
) -> None:
    from evermix.cli import app

    os.chdir(folder)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    if stdin is not None:
        sys.stdin = stdin.open()
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    if kill is not None:
        threading.Thread(target=_watch, args=(kill,), daemon=True).start()
    if unlearnt:
        em.Mixture.fit = em.Mixture.partial_fit = em.TopicModel.fit = _die
    if user is not None:
        os.setuid(user)
    if die_at is None:
        app(arguments, prog_name="evermix")
        return
    with file_operations.counted(folder, die_at) as count:
        try:
            app(arguments, prog_name="evermix")
        finally:
            Path("operations").write_text(str(count()))


def _die(*_, **__) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watch(kill: Kill) -> None:
    """Send the signal when it is time, from inside: an observer outside may be scheduled late."""
    while not kill.path.exists() or kill.path.stat().st_size < kill.size:
        time.sleep(0.0002)
    os.kill(os.getpid(), kill.number)
