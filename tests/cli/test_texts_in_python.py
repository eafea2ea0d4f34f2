"""Models of texts that the command line has learnt take texts in Python, too."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

import evermix as em
from helpers.commands import evermix, write_tickets

NEW = [
    "a refund of the payment, please",
    "paper in the tray of the printer",
    "quantum chromodynamics of hadrons",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets("texts.jsonl")
    with open("new.jsonl", "w") as file:
        file.writelines(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(NEW))
    return tmp_path


def predicted(model, *options):
    evermix("predict", model, "new.jsonl", "--out", "p.jsonl", "--quiet", "--overwrite", *options)
    with open("p.jsonl") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(
    "command", [("stream",), ("stream", "--hash", 64), ("fit",)], ids=["stream", "hash", "fit"]
)
def test_a_mixture_answers_as_the_command_line_does(folder, command):
    run = ("texts.jsonl", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    evermix(*command, *run)
    lines, mix = predicted("m.evermix"), em.load("m.evermix")
    for texts in (NEW, tuple(NEW), np.array(NEW), np.array(NEW, dtype=object)):
        assert mix.predict(texts).tolist() == [line["cluster"] for line in lines]
    best = mix.predict_proba(NEW).max(axis=1)
    assert best == pytest.approx([line["probability"] for line in lines], rel=1e-5)
    density = [line["log_density"] for line in lines if line["log_density"] is not None]
    assert mix.score_samples(NEW[: len(density)]) == pytest.approx(density, rel=1e-5)
    assert len(density) == (3 if "--hash" in command else 2)  # no word of the third is known
    novelty = [line["novelty"] for line in lines]
    assert mix.novelty(NEW) == pytest.approx(novelty, rel=1e-4)
    assert mix.predict_proba(NEW, new_cluster=True)[:, -1] == pytest.approx(novelty, rel=1e-4)
    wanted = [-1 if line["novelty"] > 0.5 else line["cluster"] for line in lines]
    assert mix.predict(NEW, novelty=0.5).tolist() == wanted
    why = mix.explain(NEW[0])
    assert why.cluster == lines[0]["cluster"] and why == mix.explain([NEW[0]])
    for text, each in zip(NEW, novelty, strict=True):
        assert mix.explain(text).novelty == pytest.approx(each, rel=1e-4)
    assert mix.coarse(1, NEW).tolist() == [min(mix.cluster_ids_)] * 3


def test_an_explanation_in_python_tells_that_words_are_new(folder):
    evermix("stream", "texts.jsonl", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    mix, unknown = em.load("m.evermix"), " quark gluon meson baryon lepton boson neutrino"
    known, new = (mix.explain(NEW[0] + words) for words in ("", unknown))
    assert "looks new" not in repr(known) and "looks new" in repr(new)
    assert new.novelty == mix.novelty([NEW[0] + unknown])[0] > 0.5
    (words,) = [each for each in new.contributions if each.name == "(unknown words)"]
    assert words.value == 7 and words.log_odds < 0 and new.other == -1
    for why in new, known, mix.explain(NEW[0] + unknown, against=known.other):
        total = sum(each.log_odds for each in why.contributions)
        assert abs(total - why.log_odds) < 1e-9 * abs(why.log_odds)
    with open("new.jsonl", "w") as file:
        file.write(json.dumps({"text": NEW[0] + unknown}))
    shown = evermix("explain", "m.evermix", "new.jsonl")
    assert "(unknown words) = 7" in shown.stdout and "a new cluster rather than" in shown.stdout


def test_what_is_saved_in_python_keeps_its_words(folder):
    evermix("stream", "texts.jsonl", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    lines, mix = predicted("m.evermix"), em.load("m.evermix")
    copy.deepcopy(mix).rename(lines[0]["cluster"], "money").save("named.evermix")
    again = predicted("named.evermix")
    assert [line["cluster"] for line in again] == [line["cluster"] for line in lines]
    assert again[0]["name"] == "money"


def test_texts_are_answered_and_not_learnt(folder):
    evermix("stream", "texts.jsonl", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    mix = em.load("m.evermix")
    with pytest.raises(TypeError, match=r"got texts\. text_counter_\.counts\(texts\) counts"):
        mix.partial_fit(NEW)
    mix.partial_fit(mix.text_counter_.counts(NEW))
    with pytest.raises(TypeError, match="got texts. Count the words"):
        em.Mixture().fit(NEW)
    mix.fit(np.random.default_rng(0).poisson(1.0, size=(50, 40)))
    with pytest.raises(TypeError, match="got texts. Count the words"):
        mix.predict(NEW)


NEAR_MISSES = [
    ("one text", r"got one text: give \[text\]"),
    (pd.Series(["a parcel", None]), "row 1 holds no text, got (None|nan): leave it out"),
    ([None, "x"], "row 0 holds no text, got None"),
    (["x", float("nan"), None], "row 1 holds no text, got nan"),
    ([None], "row 0 holds no text, got None"),
    ([{"id": 1, "body": "x"}], r"got a dict in row 0: .*, \[row\['body'\] for row in X\]"),
    ({"body": ["x", "y"]}, r"got a dict: give the texts alone, X\['body'\]\."),
    ({"body": "x"}, r"got a dict: give the texts alone, \[X\['body'\]\]"),
    ({"body": ["x", None]}, r"got a dict: give the texts alone, X\['body'\]\."),
    ({"n": [1, 2]}, "got a dict that holds none"),
    ([{"id": 1}], "got a dict in row 0 that holds none"),
    (pd.DataFrame({"n": [1, 2], "body": ["x", None]}), r"got a table: .* X\['body'\]\."),
    ([["x"], ["y"]], r"got a list of one in row 0: .* \[row\[0\] for row in X\]"),
    (np.array([["x"], ["y"]]), r"got a list of one in row 0: .* \[row\[0\] for row in X\]"),
]


def test_what_is_almost_texts_is_told_as_such(folder):
    evermix("stream", "texts.jsonl", "--out", "o", "--checkpoint", "m.evermix", "--quiet")
    mix = em.load("m.evermix")
    for X, said in NEAR_MISSES:
        for ask in mix.predict, mix.novelty, mix.predict_proba, mix.score_samples:
            with pytest.raises(TypeError, match="X must be a list of texts, .*" + said):
                ask(X)
    assert len(mix.predict(["a parcel", ""])) == 2
    with pytest.raises(ValueError, match="X must be a list of texts, got none"):
        mix.predict([])
    with pytest.raises(ValueError, match="Expected 2D array"):
        mix.predict([1.0, 2.0])
    counts = mix.text_counter_.counts(NEW)
    assert mix.predict(counts.toarray().tolist()).tolist() == mix.predict(NEW).tolist()


def test_topic_models_answer_texts(folder):
    fast = ["--burn-in", 20, "--draws", 5, "--seed", 0, "--prior", "hdp", "--quiet"]
    evermix("topics", "texts.jsonl", "--out", "t.json", "--checkpoint", "t.evermix", *fast)
    topics = em.load("t.evermix")
    shares = topics.transform(NEW[:2])
    np.testing.assert_array_equal(shares, topics.transform(topics.text_counter_.counts(NEW[:2])))
    with pytest.raises(TypeError, match=r"got one text: give \[text\]"):
        topics.transform(NEW[0])
    with pytest.raises(TypeError, match="row 1 holds no text"):
        topics.transform([NEW[0], None])
    topics.save("again.evermix")
    np.testing.assert_array_equal(shares, em.load("again.evermix").transform(NEW[:2]))
    assert len(predicted("again.evermix")) == len(predicted("t.evermix")) > 0


def test_a_model_of_vectors_with_texts_wants_vectors(folder):
    rng = np.random.default_rng(0)
    with open("v.jsonl", "w") as file:
        for i in range(200):
            row = {"text": NEW[i % 2], "emb": (9.0 * (i % 2) + rng.normal(size=2)).tolist()}
            file.write(json.dumps(row) + "\n")
    run = ("--vector-field", "emb", "--out", "o", "--checkpoint", "v.evermix", "--quiet")
    evermix("stream", "v.jsonl", *run)
    with pytest.raises(ValueError, match="learnt from vectors: give those that came with the"):
        em.load("v.evermix").predict(NEW)
