"""Outputs whose names promise another format, merges of one cluster, and no compiler: one line."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evermix.cli.output import output_files
from helpers.commands import evermix, write_tickets

ANSWERS = ".csv or .parquet or .jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("outputs")
    x = np.random.default_rng(0).normal(size=(80, 2)) + 9 * (np.arange(80) % 2)[:, None]
    (path / "x.csv").write_text("\n".join(["a,b", *(f"{a},{b}" for a, b in x.tolist()), ""]))
    write_tickets(path / "t.jsonl", 30)
    before = os.getcwd()
    os.chdir(path)
    evermix("fit", "x.csv", "--out", "labels.csv", "--checkpoint", "m.evermix")
    os.chdir(before)
    return path


@pytest.mark.parametrize(
    ("command", "out", "written"),
    [
        (["fit", "x.csv"], "o.xlsx", ANSWERS),
        (["fit", "x.csv"], "o.csv.gz", ANSWERS),
        (["predict", "m.evermix", "x.csv"], "o.HTML", ANSWERS),
        (["stream", "x.csv"], "o.tsv", ".csv or .jsonl"),
        (["report", "m.evermix"], "rep.txt", ".html or .htm"),
        (["report", "m.evermix"], "rep.pdf", ".html or .htm"),
        (["topics", "t.jsonl", "--time-field", "year"], "topics.csv", ".json"),
    ],
)
def test_a_name_of_a_format_that_is_not_written_is_refused(
    folder, monkeypatch, command, out, written
):
    monkeypatch.chdir(folder)
    before = sorted(os.listdir(folder))
    said = evermix(*command, "--out", out, status=1).stderr
    assert (
        f"--out {out}: files that end in {out[out.rindex('.') :].lower()} are not written" in said
    )
    assert f"a name that ends in {written}." in said
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("command", ["stream", "fit"])
def test_a_run_goes_on_with_a_file_that_an_earlier_version_has_named(
    folder, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    arguments = [command, str(folder / "x.csv"), "--out", "lab.txt", "--checkpoint", "m.evermix"]
    more = {"stream": ["--limit", 40], "fit": []}[command]
    with monkeypatch.context() as earlier:
        earlier.setattr(output_files, "_OTHERS", frozenset())
        evermix(*arguments, *more)
    evermix(*arguments, *more, "--resume")
    other = [word.replace("lab.txt", "other.txt") for word in arguments]
    said = evermix(*other, *more, "--resume", status=1).stderr
    assert "other.txt: files that end in .txt are not written" in said
    said = evermix(*arguments, *more, "--overwrite", status=1).stderr
    assert "lab.txt: files that end in .txt are not written" in said


@pytest.mark.parametrize("ids", [["0", "0"], ["0"]])
def test_one_cluster_is_not_merged(folder, monkeypatch, ids):
    monkeypatch.chdir(folder)
    before = (folder / "m.evermix").read_bytes()
    said = evermix("edit", "m.evermix", "merge", *ids, status=1).stderr
    assert "merge takes the ids of two or more different clusters, such as merge 4 7" in said
    assert f"got {' '.join(ids)}." in said and "merge_clusters" not in said
    assert (folder / "m.evermix").read_bytes() == before


def test_without_the_compiler_there_is_one_line(folder):
    command = [sys.executable, "-m", "evermix", "fit", "x.csv", "--out", "no.csv"]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 1 and "unset NUMBA_DISABLE_JIT" in run.stderr
    assert run.stderr.count("\n") == 1
