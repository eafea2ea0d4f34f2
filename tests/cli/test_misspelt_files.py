"""Where there is no file of a name, the most similar one is named."""

import numpy as np
import pytest

from evermix.io.similar_names import did_you_mean
from helpers.commands import evermix, write_tickets


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("files")
    write_tickets(path / "tickets.jsonl", n=60)
    (path / "people.csv").write_text("a,b\n" + "1,2\n3,4\n" * 40)
    np.save(path / "points.npy", np.random.default_rng(0).normal(size=(60, 2)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        evermix("stream", "tickets.jsonl", "--out", "answers.jsonl", "--checkpoint", "a.evermix")
    return path


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (("stream", "tickts.jsonl", "--out", "x.jsonl"), "tickets.jsonl"),
        (("stream", "Tickets.JSONL", "--out", "x.jsonl"), "tickets.jsonl"),
        (("fit", "peple.csv", "--out", "x.jsonl"), "people.csv"),
        (("fit", "point.npy", "--out", "x.jsonl"), "points.npy"),
        (("fit", "people", "--out", "x.jsonl"), "people.csv"),
        (("info", "a.evermx"), "a.evermix"),
        (("info", "a"), "a.evermix"),
        (("predict", "a.evermixx", "tickets.jsonl"), "a.evermix"),
        (("predict", "a.evermix", "ticket.jsonl", "--out", "x.jsonl"), "tickets.jsonl"),
        (("report", "a.evermix", "--rows", "ticktes.jsonl"), "tickets.jsonl"),
    ],
    ids=str,
)
def test_the_most_similar_name_is_named(command, meant):
    said = evermix(*command, status=1).stderr
    assert f"Did you mean '{meant}'?" in " ".join(said.split())


def test_what_is_like_nothing_is_not_guessed(folder):
    assert "Did you mean" not in evermix("fit", "zebra.npz", "--out", "x", status=1).stderr
    assert (
        did_you_mean(folder / "nowhere" / "a.csv")
        == f" There is no folder {str(folder / 'nowhere')!r}."
    )
    assert did_you_mean(folder / "people.csv" / "a.csv") == ""
    assert did_you_mean(folder / "peoples.csv") == " Did you mean 'people.csv'?"


def test_the_same_end_makes_no_names_alike(tmp_path):
    for name in ("labels.csv", "pl.evermix", "b.evermix", "rows.csv.gz"):
        (tmp_path / name).touch()
    for name in ("abs.csv", "a.evermix", "nope.evermix", "data.csv.gz"):
        assert did_you_mean(tmp_path / name) == ""
        assert did_you_mean(tmp_path / name, ".evermix") == ""
    assert did_you_mean(tmp_path / "row.csv") == " Did you mean 'rows.csv.gz'?"


def test_hidden_files_are_not_meant(tmp_path):
    (tmp_path / ".word.out.csv.lock").touch()
    assert did_you_mean(tmp_path / "word.out.csv") == ""
    (tmp_path / ".word.csv").touch()
    assert did_you_mean(tmp_path / ".wrd.csv") == " Did you mean '.word.csv'?"


def test_a_misspelt_source_comes_before_files_that_exist(tmp_path, folder, monkeypatch):
    """The names of outputs follow from that of the source, so that they may be there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text((folder / "people.csv").read_text())
    evermix("fit", "people.csv", "--out", "labels.csv")
    for command in (("fit", "people.cvs"), ("predict", "people.evermix", "people.cvs")):
        said = evermix(*command, "--out", "labels.csv", status=1).stderr
        assert "people.cvs: there is no such file or folder. Did you mean 'people.csv'?" in said
    said = evermix("fit", "people.csv", "--seed", 1, status=1).stderr
    assert "--checkpoint must be a new file, and people.evermix exists already" in said
