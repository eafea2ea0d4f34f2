"""`evermix topics --follow`: files that grow, in processes of their own, which are killed too."""

import json
import os
import re
import signal
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.io import checkpoint

WORDS = {"sea": "ship wave salt harbour sail", "sky": "cloud wing wind feather moon"}
NEW = ["--time-field", "year", "--burn-in", "6", "--draws", "4"]
FILES = ["--checkpoint", "all.evermix", "--out", "topics.json", "--trace", "trace.jsonl"]
YEARS = range(2000, 2006)


def texts(year):
    """Lines of 25 documents of a year; the sky comes up."""
    rng = np.random.default_rng(year)
    lines = []
    for number in range(25):
        words = WORDS["sky" if rng.random() < (year - 1999) / 7 else "sea"].split()
        text = " ".join(rng.choice(words, size=10))
        lines.append(json.dumps({"id": f"{year}.{number}", "text": text, "year": year}) + "\n")
    return "".join(lines)


def append(folder, *years):
    with (folder / "log.jsonl").open("a") as file:
        file.write("".join(map(texts, years)))


def follow(children, folder, *more, **settings):
    arguments = ["topics", "log.jsonl", "--follow", *FILES, *more]
    return children.start(folder, *arguments, **settings)


def wait_for(folder, *times):
    """Wait until the checkpoint knows these times, after a fit."""
    path, known, end = folder / "all.evermix", None, time.monotonic() + 100
    while known != list(times):
        assert time.monotonic() < end, (known, (folder / "stderr").read_text())
        time.sleep(0.1)
        if path.exists():
            model = em.load(path)
            done = model.gone_on_ or model.n_draws_ == 4
            known = model.times_.tolist() if done else None


def stop(children, process, number=signal.SIGINT):
    os.kill(process.pid, number)
    return children.finish(process)


@pytest.fixture(scope="module")
def undisturbed(children, tmp_path_factory):
    """The folder of a run that nothing disturbed, with the years up to 2004 learnt."""
    folder = tmp_path_factory.mktemp("whole")
    append(folder, 2000, 2001)
    process = follow(children, folder, *NEW)
    wait_for(folder, 2000, 2001)
    append(folder, *YEARS[2:])
    wait_for(folder, *YEARS[:-1])
    assert stop(children, process) == 130
    return folder


def test_a_time_is_learnt_when_another_one_begins(undisturbed):
    model = em.load(undisturbed / "all.evermix")
    assert model.times_.tolist() == [2000, 2001, 2002, 2003, 2004] and model.gone_on_
    assert model.evolution_.shape[0] == 5
    said = (undisturbed / "stderr").read_text()
    assert "2003: 25 documents learnt" in said and "2005:" not in said
    assert "Stopped after 125 documents. Go on with: evermix topics log.jsonl" in said
    assert said.rstrip().endswith("--resume --follow")
    found = json.loads((undisturbed / "topics.json").read_text())
    assert found["times"] == model.times_.tolist() and found["documents"] == 25
    assert found["documents_in_all"] == 125 == sum(model.n_documents_)
    assert found["words_in_all"] > found["words"]
    info = CliRunner().invoke(app, ["info", str(undisturbed / "all.evermix"), "--json"]).stdout
    assert json.loads(info)["draws"] == found["draws"] == model.n_draws_


def test_it_is_what_partial_fit_learns(undisturbed, tmp_path):
    """A year after another: from a fit of the first two."""
    append(tmp_path, 2000, 2001)
    place = tmp_path / "log.jsonl", "--checkpoint", tmp_path / "a.evermix"
    arguments = ["topics", *map(str, place), *NEW, "--out", str(tmp_path / "a.json")]
    said = CliRunner().invoke(app, arguments)
    assert said.exit_code == 0, said.stderr
    for year in (2002, 2003, 2004):
        (tmp_path / f"{year}.jsonl").write_text(texts(year))
        new = [str(tmp_path / f"{year}.jsonl"), *map(str, place[1:]), "--resume", "--out"]
        said = CliRunner().invoke(app, ["topics", *new, str(tmp_path / f"{year}.json")])
        assert said.exit_code == 0, said.stderr
    one, two = em.load(tmp_path / "a.evermix"), em.load(undisturbed / "all.evermix")
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.evolution_, two.evolution_)


def test_kills_change_nothing(children, tmp_path, undisturbed):
    """In the fit, while more comes than it was begun with, and between years."""
    append(tmp_path, 2000, 2001)
    kill = children.Kill(tmp_path / "trace.jsonl", 300)
    process = follow(children, tmp_path, *NEW, "--every", "1", kill=kill)
    assert children.finish(process) == -signal.SIGKILL
    append(tmp_path, 2002)
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(texts(2003)[:1000])  # in the middle of a line
    process = follow(children, tmp_path, "--resume")
    wait_for(tmp_path, 2000, 2001, 2002)
    assert stop(children, process, signal.SIGKILL) == -signal.SIGKILL
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(texts(2003)[1000:])
    append(tmp_path, 2004)
    process = follow(children, tmp_path, "--resume")
    wait_for(tmp_path, *YEARS[:4])
    assert stop(children, process, signal.SIGTERM) == 143
    (tmp_path / "log.jsonl").rename(tmp_path / "log.jsonl.1")  # which is read to its end
    append(tmp_path, 2005)
    process = follow(children, tmp_path, "--resume")
    wait_for(tmp_path, *YEARS[:-1])
    assert stop(children, process) == 130
    (one, header), (two, other) = (
        checkpoint.read(folder / "all.evermix") for folder in (tmp_path, undisturbed)
    )
    assert one.keys() == two.keys() and header["rngs"] == other["rngs"]
    for name, values in one.items():
        assert values.tobytes() == two[name].tobytes(), name
    traces = [(folder / "trace.jsonl").read_bytes() for folder in (tmp_path, undisturbed)]
    assert traces[0] == traces[1]
    reports = [
        json.loads((folder / "topics.json").read_text()) for folder in (tmp_path, undisturbed)
    ]
    assert reports[0] | {"source": ""} == reports[1] | {"source": ""}


def refused(folder, monkeypatch, *arguments):
    monkeypatch.chdir(folder)
    said = CliRunner().invoke(app, ["topics", *arguments])
    assert said.exit_code == 1
    return said.stderr


def test_what_cannot_be_followed_is_refused(undisturbed, tmp_path, monkeypatch):
    append(tmp_path, 2000, 2001)
    for arguments, message in (
        (["log.jsonl", "--follow", "--prior", "hdp"], "--follow learns .* --time-field"),
        (["-", "--follow", "--time-field", "year"], "standard input"),
    ):
        said = refused(tmp_path, monkeypatch, *arguments, "--checkpoint", "a.evermix")
        assert re.search(message, said.replace("\n", " ")), said
    again = ["log.jsonl", *FILES, "--resume"]
    assert "follows" in refused(undisturbed, monkeypatch, *again)
    monkeypatch.chdir(tmp_path)
    plain = ["log.jsonl", "--checkpoint", "b.evermix", "--out", "b.json", *NEW]
    assert CliRunner().invoke(app, ["topics", *plain]).exit_code == 0
    said = refused(tmp_path, monkeypatch, *plain[:5], "--resume", "--follow")
    assert "was begun without --follow" in said


def test_a_run_that_learns_nothing_of_another_file_leaves_all_as_it_was(children, tmp_path):
    """Also if the file does not exist; the documents of its only time wait."""
    (tmp_path / "log.jsonl").write_text(texts(2000) + texts(2001))
    assert children.run(tmp_path, "topics", "log.jsonl", *FILES, *NEW) == 0
    before = (tmp_path / "all.evermix").read_bytes()
    files = ["--checkpoint", "all.evermix", "--out", "new.json", "--trace", "trace.jsonl"]
    errors = tmp_path / "stderr"
    for name in ("new.jsonl", "2002.jsonl"):
        if name == "2002.jsonl":
            (tmp_path / name).write_text(texts(2002))
        errors.unlink(missing_ok=True)  # what the last process said
        process = children.start(tmp_path, "topics", name, *files, "--resume", "--follow")
        end, said = time.monotonic() + 100, ""
        while "once one of another time has come" not in said and time.monotonic() < end:
            time.sleep(0.05)
            said = errors.read_text() if errors.exists() else ""
        time.sleep(0.5)
        assert stop(children, process) == 130
        said = errors.read_text()
        assert "Traceback" not in said and f"topics {name}" in said
        assert ("new.jsonl does not exist yet." in said) == (name == "new.jsonl")
        assert (tmp_path / "all.evermix").read_bytes() == before
    (tmp_path / "2002.jsonl").write_text(texts(2002) + texts(2003))
    process = children.start(tmp_path, "topics", "2002.jsonl", *files, "--resume", "--follow")
    wait_for(tmp_path, 2000, 2001, 2002)
    assert stop(children, process) == 130
