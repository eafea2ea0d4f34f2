"""Rows of a fit that are held, mapped or read again: the same rows, and the same fits."""

import json
import math

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.cli.input import rows
from evermix.cli.input.rows import Held, Mapped, Reread, read_rows
from evermix.families import Gaussian, Multinomial
from evermix.io import checkpoint
from evermix.io.sources import SourceError, open_source
from evermix.io.text import Hashing

SOURCES = ["texts.jsonl", "vectors.jsonl", "points.csv", "points.npy", "small.npy", "counts.npy"]
SOURCES += ["counts.svmlight", "points.parquet"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with sources of every kind, all of them larger than one reading."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + rng.choice([-9.0, 9.0], size=(90, 1))
    counts = rng.poisson(0.3, size=(90, 40))
    np.save(tmp_path / "points.npy", X)
    np.save(tmp_path / "small.npy", X.astype(np.float32))
    np.save(tmp_path / "counts.npy", counts)
    np.savetxt(tmp_path / "points.csv", X, delimiter=",")
    with (tmp_path / "vectors.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"id": f"v{i}", "vector": list(x)}) + "\n" for i, x in enumerate(X)
        )
    with (tmp_path / "texts.jsonl").open("w") as file:
        words = rng.choice(["ship wave salt", "cloud wing wind"], size=(90, 4))
        file.writelines(json.dumps({"text": " ".join(line)}) + "\n" for line in words)
    with (tmp_path / "counts.svmlight").open("w") as file:
        for row in counts:
            entries = (f"{j + 1}:{value}" for j, value in enumerate(row) if value)
            file.write(f"1 {' '.join(entries)}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("evermix.cli.input.rows.ROWS", 25)
    _save_parquet(tmp_path / "points.parquet", X)
    return tmp_path


def _save_parquet(path, X):
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    pq.write_table(pa.table({"x": X[:, 0], "y": X[:, 1]}), path, row_group_size=40)


def read(name, most=math.inf, map_arrays=True, **options):
    return read_rows(open_source(name, **options), quiet=True, map_arrays=map_arrays, most=most)


def stacked(X):
    """Return rows that come part by part as one dense array."""
    parts = list(X) if isinstance(X, em.Chunks) else [X]
    return np.vstack([part.toarray() if sparse.issparse(part) else part for part in parts])


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_the_same_however_they_are_kept(folder, name):
    """Held, or read again any number of times."""
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    held, again = read(name, map_arrays=False), read(name, most=100)
    assert isinstance(held, Held) and isinstance(again, Mapped if ".npy" in name else Reread)
    family, text = "auto", Hashing(16) if name.startswith("texts") else None
    if name.startswith("counts"):
        family = Multinomial()
    wanted, found = held.features(family, text), again.features(family, text)
    for _ in range(2):
        assert np.array_equal(stacked(found), stacked(wanted))
        assert list(again.ids()) == list(held.ids())
    if text is not None:
        assert list(again.texts()) == list(held.texts())
    assert (again.n, again.skipped) == (held.n, held.skipped) == (90, 0)


def test_little_is_held_and_much_is_read_again(folder):
    assert isinstance(read("points.csv", most=90 * 2 * 8), Held)
    assert isinstance(read("points.csv", most=90 * 2 * 8 - 1), Reread)
    assert isinstance(read("points.npy", most=100, map_arrays=False), Reread)


def test_whole_numbers_that_are_vectors_are_not_mapped(folder):
    """A mixture would take them for counts."""
    found = read("counts.npy", kind="vectors")
    assert isinstance(found, Held)
    assert found.features(Gaussian(), None).dtype == np.float64


def test_bad_rows_are_left_out_of_every_reading_and_reported_once(folder):
    X = np.load("points.npy")
    X[[3, 60]] = np.nan
    np.save("points.npy", X)
    found = read("points.npy", skip_bad=True)
    assert isinstance(found, Reread) and not isinstance(found, Mapped)
    kept = np.delete(np.arange(90), [3, 60])
    for _ in range(2):
        assert list(found.ids()) == kept.tolist()
        assert np.array_equal(stacked(found.features("auto", None)), X[kept])
    assert (found.n, found.skipped, len(found.complaints)) == (88, 2, 2)


@pytest.mark.parametrize(("kept", "now"), [(85, "85"), (95, "more")])
def test_a_source_that_changes_is_noticed(folder, kept, now):
    found = read("points.csv", most=100)
    lines = (folder / "points.csv").read_text().splitlines()
    (folder / "points.csv").write_text("\n".join((2 * lines)[:kept]) + "\n")
    with pytest.raises(SourceError, match=f"had 90 rows, now it has {now}"):
        list(found.features("auto", None))


@pytest.mark.parametrize("engine", ["memoizedvb", "fullvb", "stochasticvb"])
@pytest.mark.parametrize("name", ["texts.jsonl", "points.parquet", "small.npy", "counts.svmlight"])
def test_a_fit_finds_the_same_however_its_rows_are_kept(folder, monkeypatch, engine, name):
    """Bit for bit: the model, the lines and what a resumed fit goes on to."""
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    options = ["--engine", engine, "--quiet", "--truncation", "4"]
    options += [] if engine == "stochasticvb" else ["--tol", "0"]
    options += [] if engine == "fullvb" else ["--batch-size", "40"]
    mapped = rows._mapped
    for most, out in ((2**28, "held"), (100, "again")):
        monkeypatch.setattr("evermix.cli.commands.fit.HELD_BYTES", most)
        monkeypatch.setattr(rows, "_mapped", mapped if out == "again" else lambda source: None)
        if out == "again" and engine != "stochasticvb":
            monkeypatch.setattr(rows, "Held", None)  # which cannot be called
        files = ["--out", f"{out}.jsonl", "--checkpoint", f"{out}.evermix"]
        run = CliRunner().invoke(app, ["fit", name, *options, "--laps", "2", *files])
        assert run.exit_code == 0, run.output
        run = CliRunner().invoke(app, ["fit", name, "--resume", "--laps", "4", *files, "--quiet"])
        assert run.exit_code == 0, run.output
    held, again = (checkpoint.read(f"{out}.evermix")[0] for out in ("held", "again"))
    assert [array for array in held if held[array].tobytes() != again[array].tobytes()] == []
    assert (folder / "held.jsonl").read_bytes() == (folder / "again.jsonl").read_bytes()
