"""Texts beside vectors: what cards and reports show of them."""

import json

import numpy as np
import pytest

import evermix as em
from evermix.estimators.mixture.report import mixture_report

SUBJECTS = ["train late station", "phone screen battery", "cake oven flour"]


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, 240)
    X = rng.normal(size=(3, 40))[z] + 0.4 * rng.normal(size=(240, 40))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    texts = [f"{SUBJECTS[k]} again {i}" for i, k in enumerate(z)]
    return em.Mixture(random_state=0).fit(X), X, texts, z


def test_cards_have_the_words_and_texts_of_their_clusters(embedded):
    mix, X, texts, z = embedded
    labels = mix.predict(X)
    cards = mix.cards(X, texts=texts)
    assert len(cards) == 3
    for card in cards:
        (subject,) = np.unique(z[labels == card.id])
        assert set(card.words[:3]) == set(SUBJECTS[subject].split())
        assert [example.text for example in card.examples] == [
            texts[example.row] for example in card.examples
        ]
        assert texts[card.examples[0].row] in repr(card) and "words: " in repr(card)
        assert json.loads(json.dumps(card.to_dict()))["words"] == list(card.words)
        assert mix.card(card.id, X, texts=texts) == card
    assert all(card.words is None for card in mix.cards(X))


def test_the_report_names_clusters_by_the_words_of_their_texts(embedded, tmp_path):
    mix, X, texts, _ = embedded
    mix.report(tmp_path / "with.html", X, texts=texts)
    page = (tmp_path / "with.html").read_text()
    card = mix.cards(X, texts=texts)[0]
    assert json.dumps(list(card.words))[1:-1].replace(", ", ",") in page.replace(", ", ",")
    assert texts[card.examples[0].row] in page
    mix.report(tmp_path / "without.html", X)
    assert texts[card.examples[0].row] not in (tmp_path / "without.html").read_text()


@pytest.mark.parametrize("names", [None, [f"c{d}" for d in range(40)]])
def test_pages_leave_out_columns_that_are_many_and_have_no_names(embedded, names):
    mix, X, texts, _ = embedded
    bare = mixture_report(mix, X, names).items
    for item in bare:
        assert ("traits" in item, "scores" in item) == (names is not None,) * 2
        assert [bool(values) for _, values in item["examples"]] == [names is not None] * 3
        assert bool(item["words"]) == (names is not None)
    for item in mixture_report(mix, X, texts=texts).items:
        assert (
            item["words"] and [values[0] in texts for _, values in item["examples"]] == [True] * 3
        )
    over_time = em.DependentMixture(burn_in=1, draws=1, random_state=0).fit(X, times=[0, 1] * 120)
    assert all(
        ("traits" in i) == (names is not None) for i in over_time._report(names, "", 9).items
    )


def test_words_of_counts_are_those_of_their_columns():
    counts = np.repeat([[9.0, 1.0], [1.0, 9.0]], 40, axis=0)
    mix = em.Mixture(family=em.Multinomial(), random_state=0).fit(counts)
    card = mix.cards(counts, names=["sea", "moon"], texts=["some text"] * 80)[0]
    assert card.words is None and card.traits[0].column in ("sea", "moon")
    assert card.examples[0].text == "some text"


@pytest.mark.parametrize("rows, message", [(None, "Give the rows and their texts"), (5, "got 240")])
def test_texts_must_be_those_of_the_rows(embedded, rows, message):
    mix, X, texts, _ = embedded
    with pytest.raises(ValueError, match=message):
        mix.cards(None if rows is None else X[:rows], texts=texts)
    with pytest.raises(ValueError, match="sequence of the texts"):
        mix.cards(X, texts="one text")
