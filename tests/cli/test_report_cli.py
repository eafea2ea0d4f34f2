"""``evermix report`` writes one HTML file on a model of any kind."""

import json
import re

import numpy as np
import pytest

import evermix as em
from evermix.report.page import NEW_ROWS
from helpers.commands import TICKETS, evermix, write_tickets


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets("texts.jsonl")
    return tmp_path


def content(path):
    page = path.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_a_stream_is_reported_with_its_words_rows_and_trace(folder):
    run = ["--out", "out", "--checkpoint", "t.evermix", "--trace", "trace.jsonl", "--quiet"]
    evermix("stream", "texts.jsonl", *run, "--batch", 50)
    said = evermix("report", "t.evermix").stderr
    plain = content(folder / "t.html")
    assert said.startswith(f"evermix: t.html shows {len(plain['items'])} clusters")
    assert set(plain["items"][0]["words"]) <= set(" ".join(TICKETS).split())
    more = ["--rows", "texts.jsonl", "--trace", "trace.jsonl", "--title", "Tickets"]
    evermix("report", "t.evermix", *more, "--out", "more.html")
    whole = content(folder / "more.html")
    assert whole["title"] == "Tickets" and whole["flow"]["x"][-1] > 250
    for page in (plain, whole):
        titles = [chart["title"] for chart in page["charts"]]
        assert page["flow"]["x"] and NEW_ROWS in titles


def test_a_second_report_says_which_file_is_there(folder):
    evermix("stream", "texts.jsonl", "--out", "out", "--checkpoint", "t.evermix", "--quiet")
    evermix("report", "t.evermix")
    said = evermix("report", "t.evermix", status=1).stderr
    assert "the report must be a new file, and t.html exists already. Choose another name" in said
    assert "--out NAME" in said and "--overwrite" in said
    said = evermix("report", "t.evermix", "--out", "t.html", status=1).stderr
    assert "--out must be a new file" in said
    evermix("report", "t.evermix", "--overwrite")
    evermix("report", "t.evermix", "--out", "u.html")


def test_typical_rows_have_their_ids_and_texts(folder):
    run = ["--out", "out", "--checkpoint", "t.evermix", "--quiet"]
    evermix("stream", "texts.jsonl", *run)
    evermix("report", "t.evermix", "--rows", "texts.jsonl")
    lines = map(json.loads, (folder / "texts.jsonl").read_text().splitlines())
    texts = {str(line["id"]): line["text"] for line in lines}
    for item in content(folder / "t.html")["items"]:
        for name, (text,) in item["examples"]:
            assert texts[name.removeprefix("row ")] == text
    evermix("report", "t.evermix", "--out", "kept.html")  # rows that the model keeps
    words = content(folder / "kept.html")["items"][0]["examples"][0][1]
    assert {word.split(" × ")[0] for word in words} <= set(" ".join(TICKETS).split())
    rows = [f"p{i},{i % 2 * 9 + i / 100},{'ab'[i % 2]}" for i in range(100)]
    (folder / "people.csv").write_text("\n".join(["who,x,kind", *rows, ""]))
    evermix("fit", "people.csv", "--id-field", "who", "--quiet", "--out", "labels")
    evermix("report", "people.evermix", "--rows", "people.csv")
    item, other = content(folder / "people.html")["items"]
    assert all(re.fullmatch(r"p\d+", name) for name, _ in item["examples"])
    scores = [{column: score for column, _, score in each["scores"]} for each in (item, other)]
    assert scores[0]["x"] * scores[1]["x"] < 0 and scores[0]["kind"] == 1.0


def test_topics_are_reported_with_their_words_and_times(folder):
    sampling = ["--burn-in", 20, "--draws", 10, "--time-field", "year", "--quiet"]
    evermix("topics", "texts.jsonl", *sampling, "--out", "t.json", "--checkpoint", "t.evermix")
    evermix("report", "t.evermix")
    data = content(folder / "t.html")
    assert data["noun"] == "topic" and data["flow"]["x"] == [2000, 2001, 2002]
    assert set(data["items"][0]["words"]) <= set(" ".join(TICKETS).split())
    said = evermix("report", "t.evermix", "--rows", "texts.jsonl", "--overwrite", status=1).stderr
    assert "--rows and --trace are for mixtures" in said


def test_mixtures_over_time_are_reported(folder):
    rng = np.random.default_rng(0)
    mix = em.DependentMixture(burn_in=10, draws=10, random_state=0)
    mix.fit(rng.normal(size=(60, 2)), times=np.repeat([1, 2, 3], 20)).save("d.evermix")
    page = evermix("report", "d.evermix", "--out", "-").stdout
    assert page.startswith("<!doctype html>") and page.endswith("</html>\n")


def test_files_are_not_replaced_or_mistaken(folder):
    em.Mixture().fit(np.random.default_rng(0).normal(size=(60, 2))).save("m.evermix")
    assert "With --rows FILE it shows typical rows too" in evermix("report", "m.evermix").stderr
    assert "m.html exists already" in evermix("report", "m.evermix", status=1).stderr
    evermix("report", "m.evermix", "--overwrite")
    same = evermix("report", "m.evermix", "--out", "m.evermix", status=1).stderr
    assert "must be different files" in same
    wrong = ["--trace", "texts.jsonl", "--overwrite"]
    assert "not a trace" in evermix("report", "m.evermix", *wrong, status=1).stderr
