"""Texts that are clustered by vectors: of a function, or in a field beside the texts."""

import json
import re
import signal

import numpy as np
import pytest

import evermix as em
from helpers.commands import evermix

ROWS = 400
SUBJECTS = [["cat", "dog", "fur", "paw"], ["bank", "loan", "stock", "fund"]]
MODULE = """
import numpy as np

WORDS = {word: k for k, some in enumerate({subjects}) for word in some}

def embed(texts):
    X = np.zeros((len(texts), 2))
    for row, text in zip(X, texts):
        for j, word in enumerate(text.split()):
            row[WORDS[word]] += 1 + 0.01 * j + 0.001 * len(word)
    return X

flat = lambda texts: np.zeros(len(texts))
fewer = lambda texts: np.zeros((len(texts) - 1, 2))
holes = lambda texts: np.full((len(texts), 2), np.nan)
wider = lambda texts: np.ones((len(texts), 1 + len(texts) // 100))
no_array = lambda texts: "none"
number = 7
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with texts, and a module of embeddings, in which the command is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return written(tmp_path)


def written(path):
    (path / "own_embedding.py").write_text(MODULE.replace("{subjects}", repr(SUBJECTS)))
    rng = np.random.default_rng(0)
    with (path / "texts.jsonl").open("w") as both:
        for i in range(ROWS):
            subject = int(rng.integers(2))
            text = " ".join(rng.choice(SUBJECTS[subject], size=5))
            vector = (9.0 * np.eye(2)[subject] + rng.normal(size=2)).tolist()
            both.write(json.dumps({"id": i, "text": text, "emb": vector}) + "\n")
    return path


def words_of(path):
    described = json.loads(evermix("info", path, "--json").stdout)
    return [set(cluster["words"]) for cluster in described["clusters"]], described


@pytest.mark.parametrize("command", ["stream", "fit"])
@pytest.mark.parametrize(
    "option",
    [("--embed", "own_embedding:embed"), ("--vector-field", "emb")],
    ids=["embed", "field"],
)
def test_words_of_clusters_come_from_the_texts(folder, command, option):
    arguments = ("texts.jsonl", *option, "--out", "out.jsonl", "--checkpoint", "m.evermix")
    said = evermix(command, *arguments).stderr
    assert "the family is Gaussian: rows of 2 numbers" in said
    found, described = words_of("m.evermix")
    pure = [some for some in found if some]
    assert len(pure) >= 2
    assert all(some <= set(SUBJECTS[0]) or some <= set(SUBJECTS[1]) for some in pure)
    assert described["features"] == 2
    assert described["embedding"] == (option[1] if option[0] == "--embed" else None)
    assert "Gaussian" in described["family"] and described["chosen_since"]


def test_the_field_of_vectors_is_remembered(folder):
    """By all commands that read rows for a model, also where their texts have a name of their own.

    So they say what they say where both fields are named again.
    """
    lines = (folder / "texts.jsonl").read_text().replace('"text"', '"body"')
    (folder / "rows.jsonl").write_text(lines)
    named = "--vector-field", "emb", "--text-field", "body"
    evermix("stream", "rows.jsonl", *named, "--out", "out.jsonl", "--checkpoint", "m.evermix")
    for command in ("predict", "explain"):
        run = command, "m.evermix", "rows.jsonl"
        said = [evermix(*run, *more).stdout for more in ((), named[:2], named)]
        assert said[0] and len(set(said)) == 1
    assert "  words of cluster 0: " in said[0]  # of explain, beside columns without names
    why = json.loads(evermix("explain", "m.evermix", "rows.jsonl", "--json").stdout.split("\n")[0])
    assert set(why["words"]["0"]) <= {*SUBJECTS[0], *SUBJECTS[1]}
    evermix("edit", "m.evermix", "split", "0", "--rows", "rows.jsonl")
    evermix("report", "m.evermix", "--rows", "rows.jsonl", "--out", "page.html")
    assert (folder / "page.html").exists()


def test_quiet_says_nothing_of_the_family(folder):
    evermix("fit", "texts.jsonl", "--embed", "own_embedding:embed", "--out", "a.jsonl", "-q")
    assert not evermix("stream", "texts.jsonl", "--out", "b.jsonl", "-q").stderr


def test_a_checkpoint_alone_imports_nothing(folder):
    run = ("stream", "texts.jsonl", "--out", "out.jsonl", "--batch", "100", "--limit")
    evermix(*run, "200", "--embed", "own_embedding:embed")
    again = evermix(*run, "400", "--resume", status=1)
    assert "add --embed own_embedding:embed" in again.stderr
    other = evermix(*run, "400", "--resume", "--embed", "own_embedding:flat", status=1)
    assert "add --embed own_embedding:embed" in other.stderr
    evermix(*run, "400", "--resume", "--embed", "own_embedding:embed")
    model = em.load("out.jsonl.evermix")
    assert model.state_.clock == ROWS
    lost = evermix("predict", "out.jsonl.evermix", "texts.jsonl", "--out", "p.jsonl", status=1)
    assert "add --embed own_embedding:embed" in lost.stderr
    predict = ("predict", "out.jsonl.evermix", "texts.jsonl", "--out", "p.jsonl")
    evermix(*predict, "--embed", "own_embedding:embed")
    assert len((folder / "p.jsonl").read_text().splitlines()) == ROWS


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_embedding", "wants MODULE:FUNCTION, got 'own_embedding'"),
        ("no_such_module:embed", "no_such_module could not be imported"),
        ("own_embedding:missing", "missing must be a function"),
        ("own_embedding:number", "number must be a function .* got 7"),
        ("own_embedding:flat", r"a row for each of 400 texts, got shape \(400,\)"),
        ("own_embedding:fewer", r"a row for each of 400 texts, got shape \(399, 2\)"),
        ("own_embedding:holes", "finite numbers, got others for the text"),
        ("own_embedding:no_array", "returned no array"),
    ],
)
@pytest.mark.parametrize("command", ["stream", "fit"])
def test_bad_embeddings_are_named(folder, command, name, message):
    result = evermix(command, "texts.jsonl", "--embed", name, "--out", "out.jsonl", status=1)
    assert re.search(message, result.stderr)
    assert not (folder / "out.jsonl.evermix").exists()


def test_a_later_batch_must_have_the_same_width(folder):
    lines = (folder / "texts.jsonl").read_text() * 3
    (folder / "long.jsonl").write_text(lines)  # a first batch of 1,000 rows, and one of 200
    run = ("stream", "long.jsonl", "--out", "out.jsonl", "--embed", "own_embedding:wider")
    result = evermix(*run, status=1)
    assert "must return 11 numbers for each text, as before, got 3" in result.stderr
    assert em.load("out.jsonl.evermix").state_.clock == 1000


def test_only_texts_are_embedded(folder):
    np.save("x.npy", np.random.default_rng(0).normal(size=(50, 2)))
    result = evermix("fit", "x.npy", "--embed", "own_embedding:embed", status=1)
    assert "turns texts into vectors, and the source holds vectors" in result.stderr


@pytest.mark.parametrize(
    "option",
    [("--embed", "own_embedding:embed"), ("--vector-field", "emb")],
    ids=["embed", "field"],
)
def test_a_kill_changes_neither_clusters_nor_words(children, tmp_path, option):
    runs = []
    for name, kill in (("whole", False), ("killed", True)):
        path = tmp_path / name
        path.mkdir()
        written(path)
        run = ["stream", "texts.jsonl", *option, "--batch", "20", "--every", "40"]
        run += ["--out", "out.jsonl"]
        if kill:
            half = (tmp_path / "whole" / "out.jsonl").stat().st_size // 2
            half = children.Kill(path / "out.jsonl", half)
            assert children.run(path, *run, kill=half) == -signal.SIGKILL
            run += ["--resume"]
        assert children.run(path, *run) == 0, (path / "stderr").read_text()
        runs.append((path / "out.jsonl", words_of(path / "out.jsonl.evermix")[0]))
    assert runs[0][0].read_bytes() == runs[1][0].read_bytes()
    assert runs[0][1] == runs[1][1] and any(runs[0][1])
