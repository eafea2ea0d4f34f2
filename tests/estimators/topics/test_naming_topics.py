"""Topics that people name."""

import numpy as np
import pytest

import evermix as em

WORDS = ["ink", "paper", "toner", "login", "password", "help"]


@pytest.fixture
def documents():
    """Counts of words of two subjects."""
    halves = np.repeat([[4.0, 4, 4, 0, 0, 1], [0, 0, 0, 4, 4, 4]], 15, axis=0)
    return np.random.default_rng(0).poisson(halves)


def fitted(X):
    return em.TopicModel(em.HDP(), burn_in=5, draws=5, random_state=0).fit(X, vocabulary=WORDS)


def test_names_are_shown_saved_and_taken_away(documents, tmp_path):
    model = fitted(documents)
    before = model.card(0).name
    assert model.rename(0, "printers").names_ == {0: "printers"}
    model.save(tmp_path / "m.evermix")
    for each in model, em.load(tmp_path / "m.evermix"):
        card = each.card(0)
        assert card.name == card.to_dict()["name"] == "printers"
        assert repr(card).startswith("topic 0 (printers): ")
        assert "topic 0 (printers): " in each.summary() and "printers" in each._repr_html_()
    assert model.rename(0, None).card(0).name == before and model.names_ == {}


def test_a_topic_is_called_by_its_name(documents):
    model = fitted(documents).rename(0, "printers")
    assert model.card("printers") == model.card(0)
    assert model.rename("printers", "paper").names_ == {0: "paper"}
    for ask in (model.card, lambda name: model.rename(name, "x")):
        with pytest.raises(ValueError, match="no topic has the name 'papr'. Did you mean 'paper'"):
            ask("papr")


def test_names_that_cannot_be_given(documents):
    model = fitted(documents).rename(0, "printers")
    for topic, name, error in (
        (model.n_topics_, "x", "there is no topic"),
        (1, "printers", "topic 0 is called 'printers' already"),
        (1, " x", "the name of a topic must be 1 to 200 printable letters"),
    ):
        with pytest.raises(ValueError, match=error):
            model.rename(topic, name)
    with pytest.raises(TypeError, match="the name of a topic must be a string, got 3"):
        model.rename(0, 3)
    assert model.rename(0, "printers").names_ == {0: "printers"}


def test_names_stay_while_topics_do(documents, tmp_path):
    """Not in another draw, nor in a file of it that is saved on the way."""
    live = fitted(documents).rename(1, "accounts").partial_fit(documents[:4])
    live.save(tmp_path / "live.evermix")
    assert em.load(tmp_path / "live.evermix").names_ == live.names_ == {1: "accounts"}
    model = fitted(documents).rename(1, "accounts")
    assert model.resume(documents).names_ == {1: "accounts"}  # no draws are left to make
    shown = []

    def watch(model, _):
        point = model._fitted.point()
        model.save(tmp_path / "on.evermix")
        shown.append(((point.chain, point.draw), em.load(tmp_path / "on.evermix").names_))

    first = model._fitted.point()
    with pytest.warns(UserWarning, match=r"their names are gone \(1: accounts\)"):
        model.set_params(draws=60).resume(documents, observers=[watch])
    for draw, names in shown:
        assert names == ({1: "accounts"} if draw == (first.chain, first.draw) else {})
    assert model.names_ == {}
    model.rename(0, "printers")
    with pytest.warns(UserWarning, match="names are gone"):
        assert model.fit(documents).names_ == {}


def test_what_is_no_topic_gets_no_name(documents):
    model = fitted(documents)
    assert model.card(0.0).id == 0
    for topic in (99, -1, 99.0):
        with pytest.raises(ValueError, match="there is no topic"):
            model.rename(topic, "ink")
    for topic in (1.5, True, None):
        with pytest.raises(TypeError, match="a topic is called by its id or its name"):
            model.rename(topic, "ink")
