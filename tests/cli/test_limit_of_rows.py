"""`evermix stream --limit N` learns N rows, and a source is read no further."""

import json
from pathlib import Path

import numpy as np
import pytest

import evermix as em
from evermix.io.sources import open_source
from helpers.commands import evermix, write_tickets

N = 300
BAD = 5, 6, 7, 30, 31, 120  # rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Rows of several formats, of which some are bad or blank."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)) + 9.0 * rng.integers(0, 2, size=(N, 1))
    X[list(BAD)] = np.nan
    np.save("a.npy", X)
    lines = [json.dumps({"vector": row}) if row[0] == row[0] else "" for row in X.tolist()]
    Path("a.jsonl").write_text("\n".join([*lines, ""]))
    Path("parts").mkdir()
    for number, rows in enumerate(np.split(X, [8, 9, 130])):
        np.save(f"parts/{number}.npy", rows)
    write_tickets("texts.jsonl", N)
    return tmp_path


@pytest.mark.parametrize("source", ["a.npy", "a.jsonl", "parts"])
@pytest.mark.parametrize("size", [7, 1000])
@pytest.mark.parametrize("limit", [1, 5, 6, 40, 290, N])
def test_sources_are_read_up_to_a_limit(folder, source, size, limit):
    whole = open_source(source, skip_bad=True)
    (every,) = whole.chunks(0, N)
    part = open_source(source, skip_bad=True)
    chunks = list(part.chunks(0, size, limit))
    ids = [id for chunk in chunks for id in chunk.ids]
    assert ids == every.ids[:limit] and max(len(chunk.ids) for chunk in chunks) <= size
    assert chunks[-1].offset == (chunks[-1].rows[-1] + 1 if limit < len(every.ids) else N)
    rest = [id for chunk in part.chunks(chunks[-1].offset, size) for id in chunk.ids]
    assert ids + rest == every.ids
    assert part.bad == (0 if source == "a.jsonl" else len(BAD))  # none is counted twice


@pytest.mark.parametrize("source", ["a.npy", "a.jsonl", "parts", "texts.jsonl"])
def test_a_stream_learns_so_many_rows_and_goes_on_after_them(folder, source):
    run = "stream", source, "--skip-bad", "--out", "out.jsonl"
    evermix(*run, "--limit", 100)
    assert em.load("out.jsonl.evermix").state_.clock == 100
    evermix(*run, "--limit", 130, "--resume")
    assert em.load("out.jsonl.evermix").state_.clock == 130
    evermix(*run, "--resume")
    ids = [json.loads(line)["id"] for line in Path("out.jsonl").read_text().splitlines()]
    assert ids == [
        id for chunk in open_source(source, skip_bad=True).chunks(0, N) for id in chunk.ids
    ]


def test_a_stream_that_begins_with_a_model_learns_so_many_rows(folder):
    em.Mixture(random_state=0).partial_fit(np.load("a.npy")[10:20]).save("early.evermix")
    run = "stream", "a.npy", "--skip-bad", "--model", "early.evermix", "--out", "out.jsonl"
    evermix(*run, "--limit", 25)
    assert em.load("out.jsonl.evermix").state_.clock == 35
