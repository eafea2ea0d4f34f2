"""The service explains rows as `evermix explain` does."""

import json
from pathlib import Path

import numpy as np
import pytest

from evermix.service.adopting import read
from evermix.service.bodies import BodyError, observations
from evermix.service.core import Core
from evermix.service.explaining import explained
from evermix.service.openapi import description
from evermix.service.plans import Plan
from helpers.commands import evermix, write_tickets

ROWS = {
    "texts": [{"text": "printer zebra paper", "id": "a"}, {"text": "zebra giraffe", "id": "b"}],
    "records": [{"width": 9.5, "colour": "red"}, {"width": None, "colour": "blue"}],
    "vectors": [{"vector": [9.0, 8.5]}, {"vector": [400.0, -3.0]}],
}


def write_lines(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_rows(kind):
    """Write rows.jsonl, from which a model is learnt."""
    rng = np.random.default_rng(0)
    if kind == "texts":
        write_tickets("rows.jsonl")
        return
    X = rng.normal(size=(200, 2)) + 9.0 * rng.integers(0, 2, size=(200, 1))
    colours = np.where(X[:, 1] > 4.5, "red", "blue")
    records = [{"width": x, "colour": str(c)} for x, c in zip(X[:, 0], colours, strict=True)]
    write_lines("rows.jsonl", records if kind == "records" else [{"vector": list(x)} for x in X])


@pytest.mark.parametrize("command", ["fit", "stream"])
@pytest.mark.parametrize("kind", ROWS)
def test_the_service_explains_rows_as_the_command_line_does(tmp_path, monkeypatch, kind, command):
    monkeypatch.chdir(tmp_path)
    write_rows(kind)
    write_lines("asked.jsonl", ROWS[kind])
    table = ["--kind", "table"] if kind == "records" else []
    evermix(command, "rows.jsonl", *table, "--out", "out.jsonl", "--checkpoint", "m.evermix")
    said = evermix("explain", "m.evermix", "asked.jsonl", "--json").stdout.splitlines()
    sent = [{"record": row} for row in ROWS[kind]] if kind == "records" else ROWS[kind]
    given = observations(json.dumps(sent).encode(), "json", 10)
    answers = explained(read(Path("m.evermix")), given, None)
    for line, answer in zip(map(json.loads, said), answers, strict=True):
        expected = {name: line.pop(name) for name in ("novelty", "id")}
        assert answer.pop("novelty") == pytest.approx(expected["novelty"])
        assert answer.pop("id", expected["id"]) == expected["id"]
        assert json.loads(json.dumps(answer)) == line


def test_explanations_are_as_the_description_says():
    """The entries of each; "id" is there where the row has one."""
    core = Core.new(Plan("vectors"))
    core.mix.partial_fit(np.random.default_rng(0).normal(size=(100, 2)))
    (answer,) = explained(core, observations(b'{"vector": [1, 2], "id": 7}', "json", 1), None)
    schema = description(10)["components"]["schemas"]["Explanation"]
    assert schema["properties"].keys() == answer.keys() == {"id", *schema["required"]}
    each = schema["properties"]["contributions"]["items"]
    assert all(each["properties"].keys() == one.keys() for one in answer["contributions"])


def test_nothing_is_explained_before_anything_is_learnt():
    given = observations(b'{"vector": [1, 2]}', "json", 1)
    with pytest.raises(BodyError, match="has learnt nothing yet"):
        explained(Core.new(Plan("vectors")), given, None)
