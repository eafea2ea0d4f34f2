"""Small things that people stumble over: plurals, headings, encodings, what comes first."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import evermix as em
from evermix.cli.options.commands import options_of
from evermix.cli.options.settings import Settings
from evermix.cli.runs.going_on import command_to_go_on
from evermix.io.sources import SourceError, open_source
from helpers.commands import evermix


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(60, 2))
    lines = [f"{a},{b}" for a, b in x.tolist()]
    (tmp_path / "one.csv").write_text("\n".join(["a,b", *lines, "", ""]))
    return tmp_path


def test_one_is_no_plural_and_all_are_not_the_largest(folder):
    said = evermix("fit", "one.csv", "--out", "labels.csv").stderr
    assert "60 rows, 1 blank or bad row skipped; 1 cluster; " in said
    assert "ELBO" not in said and "log predictive" not in said
    shown = evermix("info", "one.evermix").stdout
    assert shown.startswith("1 cluster ") and "The largest" not in shown
    assert shown.index("what sets it apart" if "apart" in shown else "share") < shown.index("kind ")
    assert "one.html shows 1 cluster." in evermix("report", "one.evermix").stderr
    assert "<title>1 cluster in 60 rows</title>" in (folder / "one.html").read_text()


def test_a_file_of_another_encoding_is_said_to_be_one(tmp_path):
    (tmp_path / "t.csv").write_bytes("city,x\nKöln,1\nBonn,2\n".encode("latin1"))
    with pytest.raises(SourceError, match="line 2: expected text in UTF-8.* --encoding latin-1"):
        list(open_source(tmp_path / "t.csv", kind="table").chunks(0, 9))


def test_a_family_is_no_word_and_texts_are_to_be_counted():
    with pytest.raises(ValueError, match=r"got 'gausian'. Families are .*em.Gaussian\(\)"):
        em.Mixture("gausian").fit(np.eye(3))
    texts = pd.DataFrame({"text": ["a b", "b c"]}).text
    for model in (em.TopicModel(), em.Mixture()):
        with pytest.raises(TypeError, match="CountVectorizer"):
            model.fit(texts)


def test_info_names_clusters_that_grow(folder):
    """Also those that are too small for the table."""
    words = ["paper jam tray", "reset link expired", "battery fan screen"]
    rows = [{"text": f"{words[i % 3]} {i % 7}"} for i in range(300)]
    rows += [{"text": f"badge door reader {i % 7}"} for i in range(40)]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    evermix("stream", "t.jsonl", "--out", "c.jsonl")
    found = json.loads(evermix("info", "c.jsonl.evermix", "--json", "--top", "1").stdout)
    assert len(found["clusters"]) == 1 and len(found["growing"]) == 1
    assert set(found["growing"][0]["words"]) >= {"badge", "door", "reader"}
    shown = evermix("info", "c.jsonl.evermix").stdout
    assert re.search(rf"growing +{found['growing'][0]['id']}: (badge|door|reader), ", shown)


def test_info_names_clusters_that_fade(folder):
    """Not as growing, although most of their rows are among the latest."""
    words = ["paper jam tray", "reset link expired", "battery fan screen"]
    rows = [{"text": f"{words[i % 3]} {i % 7}"} for i in range(400)]
    rows[330:360] = [{"text": f"badge door reader {i % 7}"} for i in range(30)]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    evermix("stream", "t.jsonl", "--out", "c.jsonl")
    found = json.loads(evermix("info", "c.jsonl.evermix", "--json").stdout)
    assert not found.get("growing") and len(found["fading"]) == 1
    shown = evermix("info", "c.jsonl.evermix").stdout
    assert re.search(rf"fading +{found['fading'][0]['id']}: (badge|door|reader), ", shown)
    assert "growing" not in shown


@pytest.mark.filterwarnings("default")
def test_columns_of_dates_are_no_names_of_rows(folder):
    lines = [f"{i * i % 17 / 4 + i / 1000},{i % 28 + 1:02}/05/2024,C{i}" for i in range(60)]
    (folder / "t.csv").write_text("\n".join(["x,day,code", *lines, ""]))
    said = evermix("fit", "t.csv", "--out", "labels.csv").stderr.splitlines()
    (dates,) = [line for line in said if "'day' holds dates: it is ignored." in line]
    assert "--ignore COLUMN" in dates and "--id-field" not in dates
    (names,) = [line for line in said if "'code' holds too many different words" in line]
    assert "--category COLUMN keeps one" in names and "--id-field" in names
    evermix("fit", "t.csv", "--out", "labels.csv", "--overwrite", "--category", "code")
    assert set(em.load("t.evermix").levels_) == {"code"}


def test_a_split_without_rows_names_the_option(folder):
    evermix("fit", "one.csv", "--out", "labels.csv")
    id = int(em.load("one.evermix").cluster_ids_[0])
    said = " ".join(evermix("edit", "one.evermix", "split", id, status=1).stderr.split())
    assert "this model keeps no rows of its clusters: give some with --rows SOURCE." in said


def test_a_file_in_another_encoding_is_not_to_be_skipped(folder):
    lines = ["a,b,name", *[f"{i},{i % 7},{'Ann' if i % 2 else 'Jörg'}" for i in range(20)], ""]
    (folder / "latin.csv").write_text("\n".join(lines))
    evermix("fit", "latin.csv", "--out", "labels.csv", "--checkpoint", "latin.evermix")
    (folder / "latin.csv").write_bytes("\n".join(lines).encode("latin-1"))
    (folder / "latin.jsonl").write_bytes('{"text": "für"}\n{"text": "was"}\n'.encode("latin-1"))
    for words in (
        ("fit", "latin.csv"),
        ("fit", "latin.jsonl"),
        ("predict", "latin.evermix", "latin.csv"),
        ("stream", "latin.csv", "--out", "s.jsonl"),
        ("stream", "latin.jsonl", "--out", "t.jsonl"),
    ):
        said = evermix(*words, status=1).stderr
        assert "--encoding latin-1" in said and "--skip-bad" not in said, words


def test_an_empty_file_and_one_column_are_told_plainly(folder):
    (folder / "empty.csv").write_text("")
    assert (
        "the file is empty. Give a file with rows." in evermix("fit", "empty.csv", status=1).stderr
    )
    (folder / "alone.csv").write_text("x\n" + "".join(f"{i * i % 37 / 7}\n" for i in range(60)))
    assert "rows of 1 number." in evermix("fit", "alone.csv", "--out", "l.csv").stderr


def test_a_name_that_no_cluster_has_is_told_with_those_that_there_are(folder):
    evermix("fit", "one.csv", "--out", "labels.csv")
    said = evermix("edit", "one.evermix", "rename", "puncture", "x", status=1).stderr
    assert "no cluster has the name 'puncture'. No cluster has a name yet" in said
    id = int(em.load("one.evermix").cluster_ids_[0])
    evermix("edit", "one.evermix", "rename", id, "punctures")
    said = evermix("edit", "one.evermix", "rename", "puncture", "x", status=1).stderr
    assert "Did you mean 'punctures'? The names are 'punctures'." in said


def test_a_bad_row_to_predict_names_the_option_that_leaves_it_out(folder):
    evermix("fit", "one.csv", "--out", "labels.csv")
    (folder / "bad.csv").write_text("a,b\n1,2\n3\n4,5\n")
    said = evermix("predict", "one.evermix", "bad.csv", status=1).stderr
    assert "line 3" in said and "leave out bad rows with --skip-bad." in said
    assert len(evermix("predict", "one.evermix", "bad.csv", "--skip-bad").stdout.split("\n")) == 3


def test_the_command_to_go_on_names_who_looks_on(folder):
    """The page and the webhook are not in the checkpoint."""
    address = "http://127.0.0.1:9/new clusters"
    given = {"source": ["one.csv"], "checkpoint": "m.evermix", "out": "o", "follow": True}
    given |= {"live": 8123, "webhook": address}
    options = options_of("stream")
    settings = Settings(options, dict.fromkeys(option.name for option in options) | given)
    said = command_to_go_on("stream", settings)
    assert f"--live 8123 --webhook '{address}' --resume --follow" in said


@pytest.mark.filterwarnings("always")
def test_a_column_that_is_not_there_is_missing_in_all_rows(folder):
    """What is left decides."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=200)
    rows = [f"{'ab'[k]},{x + 9 * k}" for k, x in zip(kinds, rng.normal(size=200), strict=True)]
    (folder / "table.csv").write_text("\n".join(["letter,x", *rows]))
    evermix("fit", "table.csv", "--out", "labels.csv")
    (folder / "few.csv").write_text("x\n0\n9\n")
    found = evermix("predict", "table.evermix", "few.csv")
    assert (
        "warning: the table lacks the column 'letter': it is missing in all rows." in found.stderr
    )
    (folder / "few.csv").write_text("letter,x\n,0\n,9\n")
    blank = evermix("predict", "table.evermix", "few.csv", "--quiet").stdout
    assert blank == found.stdout
    found = [json.loads(line) for line in blank.splitlines()]
    assert found[0]["cluster"] != found[1]["cluster"]
    assert min(line["probability"] for line in found) > 0.9
