"""`evermix fit --dask` on a real cluster: the same lines as without, whatever is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.distributed.client import cluster_client
from evermix.distributed.partitions import Piece
from evermix.io.sources import SourceError, open_source
from helpers.variants import slow_but

pytest.importorskip("dask")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(630, 3)) + 4.0 * np.eye(3)[RNG.integers(3, size=630)]
FULL = ["--engine", "fullvb", "--truncation", "5", "--laps", "4", "--tol", "0"]
ENGINES = {
    "full": FULL,
    "memoized": ["--engine", "memoizedvb", "--batch-size", "50", "--stride", "2", "--no-births"]
    + ["--start", "random", "--truncation", "5", "--laps", "4", "--tol", "0"],
    "stochastic": ["--engine", "stochasticvb", "--batch-size", "50", "--truncation", "5"]
    + ["--laps", "2"],
    "ep": ["--engine", "ep", "--batch-size", "50", "--stride", "2", "--laps", "3"],
}


@pytest.fixture(scope="module")
def address():
    with cluster_client(None) as client:
        client.wait_for_workers(2)
        yield client.scheduler.address


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with rows in three Parquet files that name them."""
    (tmp_path / "parts").mkdir()
    for number, rows in enumerate(np.split(X, [100, 400])):
        columns = {"id": [f"r{number}-{i}" for i in range(len(rows))]}
        columns |= {name: rows[:, j] for j, name in enumerate("abc")}
        parquet.write_table(pa.table(columns), tmp_path / "parts" / f"{number}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(name, *arguments, status=0):
    """Run a fit with files of this name."""
    files = ["--out", f"{name}.jsonl", "--checkpoint", f"{name}.evermix"]
    result = CliRunner().invoke(app, ["fit", *map(str, arguments), *files])
    assert result.exit_code == status, result.output
    return result.stderr


def lines(name):
    with open(f"{name}.jsonl") as file:
        return [json.loads(line) for line in file]


def test_tables_are_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "x,city\n" + "1.5,Rome\n7.5,Oslo\n" * 20
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(rows)
    for files in (["a.csv"], ["a.csv", "b.csv"]):
        said = fit("out", *files, "--engine", "memoizedvb", "--dask", "local", status=1)
        assert "--dask takes no tables" in said


def assert_same(one, other):
    ours, theirs = lines(one), lines(other)
    for key in ("id", "cluster"):
        assert [row[key] for row in ours] == [row[key] for row in theirs]
    for key in ("probability", "log_density"):
        np.testing.assert_allclose(
            [row[key] for row in ours], [row[key] for row in theirs], rtol=1e-5, atol=1e-8
        )
    first, second = em.load(f"{one}.evermix"), em.load(f"{other}.evermix")
    if not isinstance(first.engine, em.EP):
        assert first.lower_bound_ == pytest.approx(second.lower_bound_, rel=1e-9)


@pytest.mark.parametrize("engine", slow_but(["memoized"], ENGINES))
def test_parts_on_a_cluster_give_what_they_give_here(folder, address, engine):
    fit("here", "parts", *ENGINES[engine])  # first: workers then read the kernels it compiles
    said = fit("there", "parts", *ENGINES[engine], "--dask", address)
    assert "630 rows" in said and lines("there")[-1]["id"] == "r2-229"
    assert_same("there", "here")


def write_source(kind):
    """Write rows of a kind, and return what to give as SOURCE."""
    if kind == "array":
        np.save("points.npy", X.astype(np.float32))
        return "points.npy"
    if kind == "texts":  # without ids
        words = np.array("ship wave salt sail cloud wing wind moon".split())
        os.mkdir("texts")
        for number, n in enumerate((40, 5, 80)):
            topics = RNG.integers(2, size=(n, 1))
            texts = words[4 * topics + RNG.integers(4, size=(n, 9))]
            rows = [json.dumps({"text": " ".join(text)}) for text in texts]
            with open(f"texts/{number}.jsonl", "w") as file:
                file.write("\n".join(rows) + "\n\n")
        return "texts"
    with open("counts.svmlight", "w") as file:  # which are sent
        for row in RNG.poisson(2.0, size=(120, 4)):
            file.write("1 " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) + "\n")
    return "counts.svmlight"


@pytest.mark.parametrize("kind", ["array", "texts", "counts"])
def test_every_kind_of_source(folder, address, monkeypatch, kind):
    monkeypatch.setattr("evermix.distributed.partitions.ROWS", 100)  # several pieces
    source = write_source(kind)
    fit("here", source, *FULL)
    fit("there", source, *FULL, "--dask", address)
    assert_same("there", "here")


def test_a_fit_goes_on_there_and_here(folder, address):
    """Begun on the cluster and ended without, and the other way round; the stride stays."""
    options = [option for option in ENGINES["memoized"] if option not in ("--stride", "2")]
    options[options.index("--laps") + 1] = "2"
    fit("one", "parts", *options, "--dask", address)
    fit("one", "parts", "--resume", "--laps", 5)
    fit("other", "parts", *options, "--stride", 2)
    fit("other", "parts", "--resume", "--laps", 5, "--dask", address)
    assert_same("one", "other")


@pytest.mark.parametrize("before", [0, 50])
def test_files_in_another_encoding_are_reported_as_without_a_cluster(folder, address, before):
    text = "1.5,2.5\n" * before + "1.5,caf\xe9\n" + "2.5,3.5\n" * 20
    for name in ("a.csv", "b.csv"):
        (folder / name).write_bytes(text.encode("latin-1"))
    for there in ([], ["--dask", address]):
        said = fit("bad", "a.csv", "b.csv", *FULL, *there, status=1)
        assert "--encoding" in said and "--skip-bad" not in said


def test_bad_rows_are_reported_or_left_out(folder, address):
    """Those of text files when they are counted, those of tables when they are read."""
    with open("bad.csv", "w") as file:
        file.writelines(f"{x},{y}\n" for x, y in X[:50, :2])
        file.write("1,nan\n\n2,3\n")
    rows = X[:60].copy()
    rows[7] = np.nan
    np.save("bad.npy", rows)
    for sources, place in ((["bad.csv", "bad.csv"], "line 51"), (["bad.npy"], "row 7")):
        said = fit("bad", *sources, *FULL, "--dask", address, status=1)
        assert said.startswith("evermix: error: ") and len(said.splitlines()) == 1
        assert place in said and "--skip-bad" in said
        said = fit("there", *sources, *FULL, "--skip-bad", "--dask", address, "--overwrite")
        assert re.search("blank or bad rows? skipped", said) and place in said
        fit("here", *sources, *FULL, "--skip-bad", "--overwrite")
        assert_same("there", "here")


def test_engines_that_run_in_one_place_say_so(folder):
    for engine in ("adf", "gibbs", "slice"):
        said = fit("x", "parts", "--engine", engine, "--dask", "local", status=1)
        assert f"the engine {engine} runs in one place: leave out --dask" in said


def test_a_scheduler_that_does_not_answer_is_one_line(folder, monkeypatch):
    monkeypatch.setattr("evermix.distributed.client.CONNECT_SECONDS", 1)
    said = fit("x", "parts", *FULL, "--dask", "tcp://127.0.0.1:9", status=1)
    assert said.startswith("evermix: error: no Dask scheduler answers at tcp://127.0.0.1:9")
    assert len(said.splitlines()) == 1


def test_a_file_that_workers_do_not_see_is_named(folder):
    piece = Piece(open_source("parts/0.parquet"))
    os.remove("parts/0.parquet")
    with pytest.raises(SourceError, match="a worker of the cluster sees no such file"):
        list(piece.chunks())


# ---- processes of their own --------------------------------------------------------------------


def begin(*arguments):
    """Start a fit that has many laps to go, and wait for its first checkpoint."""
    command = [sys.executable, "-m", "evermix", "fit", "parts", *ENGINES["memoized"], *arguments]
    command += ["--laps", "400", "--every", "1", "--out", "there.jsonl"]
    with open("said", "w") as said:
        process = subprocess.Popen(command, stderr=said, start_new_session=True)
    while process.poll() is None and not os.path.exists("there.evermix"):
        time.sleep(0.01)
    return process


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_run_that_is_ended_goes_on_as_if_it_was_not(folder, number):
    """A kill ends the program; an interrupt reaches it and its workers alike, as Ctrl-C does."""
    process = begin("--dask", "local", "--checkpoint", "there.evermix")
    send = os.killpg if number == signal.SIGINT else os.kill
    send(process.pid, number)
    assert process.wait(60) == (130 if number == signal.SIGINT else -number)
    with open("said") as file:
        said = file.read()
    if number == signal.SIGINT:
        chosen, stopped = said.splitlines()
        assert chosen.startswith("evermix: the family is Gaussian")
        assert stopped.startswith("evermix: Stopped after")
        assert said.endswith("--dask local --resume\n")
    laps = em.load("there.evermix").state_.lap + 3
    fit("there", "parts", "--resume", "--laps", laps)
    fit("here", "parts", *ENGINES["memoized"], "--laps", laps)
    assert_same("there", "here")
