"""Texts of words that a model has never met look new to ``evermix predict`` and to the service."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp

from evermix.estimators.files import load_with_extra
from evermix.estimators.mixture.new_words import proba_with_new_words
from evermix.io.text import Vocabulary, from_spec
from evermix.service.bodies import Observations
from evermix.service.core import Core
from evermix.service.plans import Plan
from helpers.commands import evermix, write_tickets

TEXTS = ["zebra elephants giraffe", "printer paper toner", "printer zebra zebra"]
MADE = {
    "fit": ["fit", "tickets.jsonl", "--out", "out.jsonl", "--checkpoint", "m.evermix"],
    "stream": ["stream", "tickets.jsonl", "--out", "out.jsonl", "--checkpoint", "m.evermix"],
}


@pytest.fixture(params=MADE)
def model(request, tmp_path, monkeypatch):
    """A model of short texts of three subjects, m.evermix."""
    monkeypatch.chdir(tmp_path)
    write_tickets(tmp_path / "tickets.jsonl")
    evermix(*MADE[request.param], "--text-field", "text", "--quiet")
    with open("rows.jsonl", "w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    return "m.evermix"


def found():
    """Return the lines of found.jsonl."""
    return [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()]


def test_unknown_words_look_new_on_the_command_line(model):
    said = evermix("predict", model, "rows.jsonl", "--out", "found.jsonl")
    assert "of their words are unknown." in said.output
    zebra, printer, both = found()
    assert zebra["novelty"] > 0.9 and printer["novelty"] < 0.01
    assert printer["novelty"] < both["novelty"] < zebra["novelty"]
    new = 1 + (both["novelty"] > 0.5)
    assert f"{new} look{'s' * (new == 1)} new: of no cluster" in said.output
    assert printer["cluster"] == both["cluster"]


@pytest.mark.parametrize("out", ["found.jsonl", "found.csv", "found.parquet"])
def test_a_text_without_a_known_word_has_no_density(model, out):
    """Else it would be the most likely of all."""
    evermix("predict", model, "rows.jsonl", "--out", out)
    read = {"jsonl": partial(pd.read_json, lines=True), "csv": pd.read_csv}
    lines = read.get(out.partition(".")[2], pd.read_parquet)(out)
    assert lines["log_density"].isna().tolist() == [True, False, False]
    assert (lines["log_density"][1:] < 0).all()


def test_a_fit_gives_texts_without_counted_words_no_density(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets(tmp_path / "tickets.jsonl")
    with open("tickets.jsonl", "a") as file:
        file.write(json.dumps({"text": "the and of"}) + "\n")
    evermix("fit", "tickets.jsonl", "--text-field", "text", "--out", "found.jsonl")
    *others, last = found()
    assert last["log_density"] is None
    assert all(line["log_density"] < 0 for line in others)


def test_the_service_says_the_same_of_a_file(model):
    evermix("predict", model, "rows.jsonl", "--out", "found.jsonl", "--quiet")
    mix, extra = load_with_extra(model, ())
    core = Core(Plan("texts", imported=model), mix, from_spec(extra["text"]))
    answers = core.predicted(Observations("texts", TEXTS, [None] * 3))
    for answer, line in zip(answers, found(), strict=True):
        np.testing.assert_allclose(answer["novelty"], line["novelty"], rtol=1e-5)


def test_unknown_words_have_the_law_of_a_larger_vocabulary(model):
    """Dirichlet-multinomial, by hand, with a column for each word that was never met."""
    mix, extra = load_with_extra(model, ())
    text = from_spec(extra["text"])
    fitted, words = mix._fitted(), [*text.words, "zebra", "elephants", "giraffe"]
    family, tally = fitted.point.model.family, fitted.engine.believed(fitted.point.state)
    rows = Vocabulary(words, "english").counts(TEXTS).toarray()
    size = np.maximum(family.n_features, text.n_features + np.array([[1], [0], [1]]))
    counts = np.zeros((tally.K + 1, len(words)))
    counts[:-1, : text.n_features] = tally.stats[:, : text.n_features]
    alpha, total = family.alpha, counts.sum(axis=1)
    log_p = gammaln(total + size * alpha)
    log_p -= gammaln(total + size * alpha + rows.sum(axis=1)[:, None])
    log_p += np.sum(gammaln(alpha + counts + rows[:, None]) - gammaln(alpha + counts), axis=2)
    log_p += fitted.engine.log_weights(fitted.point.model, fitted.point.state)
    expected = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
    proba = proba_with_new_words(mix, text.with_unknown(TEXTS))
    np.testing.assert_allclose(proba, expected, rtol=1e-6)
    alone = proba_with_new_words(mix, text.with_unknown(TEXTS[1:2]))
    np.testing.assert_allclose(alone, mix.predict_proba(text.counts(TEXTS[1:2]), True))


def test_a_fit_says_which_words_are_not_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tickets("tickets.jsonl", 60)
    run = ["--out", "out", "--overwrite"]
    assert "counted" not in evermix("fit", "tickets.jsonl", *run).stderr
    with open("tickets.jsonl", "a") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS[:1] + ["the of and"])
    said = evermix("fit", "tickets.jsonl", *run).stderr
    assert "1 % of the words are not counted: they occur only once; 2 rows have no counted" in said
    said = evermix("fit", "tickets.jsonl", *run, "--vocabulary", 9).stderr
    assert "only once or are not among the 9 most frequent ones; " in said
    said = evermix("fit", "tickets.jsonl", *run, "--hash", 64).stderr
    assert "evermix: 1 row has no counted word: its cluster means nothing" in said
