"""The words of topics: saved with the model, ranked, and never padded."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import evermix as em
from helpers.topic_cases import SHORT, YEARS, X

TEXTS = ["sea sand sun", "sea sand", "snow ice sky", "ice snow"] * 6
WORDS = list("abcdef")


@pytest.fixture(scope="module")
def named():
    return em.TopicModel(em.HMNGG(), **SHORT).fit(X, times=YEARS, vocabulary=WORDS)


def test_words_are_saved_with_the_model(named, tmp_path):
    named.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    assert loaded.top_words(6) == named.top_words(6)
    assert set().union(*loaded.top_words(6)) == set(WORDS)
    assert loaded.to_pyldavis(X, YEARS)["vocab"] == WORDS
    more = loaded.set_params(draws=8).resume(X, YEARS)
    assert set().union(*more.top_words(6)) == set(WORDS)
    assert set(named.top_words(1, range(6))[0]) <= set(range(6))


def test_a_counter_of_words_gives_its_own(tmp_path):
    counter = CountVectorizer()
    counts = counter.fit_transform(TEXTS)
    topics = em.TopicModel(**SHORT).fit(counts, vocabulary=counter)
    topics.save(tmp_path / "topics.evermix")
    found = em.load(tmp_path / "topics.evermix").top_words()
    assert set().union(*found) == set(counter.get_feature_names_out())


@pytest.mark.parametrize("by", ["probability", "lift", "frex"])
def test_only_words_that_a_topic_has_are_named(named, by):
    """However they are ranked: those of the counts, each once."""
    every = named._point().counts.T.toarray()
    for found, counts in zip(named.top_words(9, by=by), every, strict=True):
        assert sorted(found) == [WORDS[v] for v in np.flatnonzero(counts)]


def test_the_first_words_are_the_most_probable(named):
    for found, shares in zip(named.top_words(6), named.components_, strict=True):
        assert np.all(np.diff([shares[WORDS.index(word)] for word in found]) <= 0)


def test_words_of_other_numbers_are_refused():
    with pytest.raises(ValueError, match=r"one entry per word, \(6,\), got shape \(2,\)"):
        em.TopicModel(**SHORT).fit(X, vocabulary=["a", "b"])
    fitted = em.TopicModel(**SHORT).fit(X)
    with pytest.raises(ValueError, match="by must be one of 'probability', 'lift', 'frex'"):
        fitted.top_words(by="size")


# ---- arguments that are something else -------------------------------------------------------


def test_labels_of_a_pipeline_are_no_times():
    """Steps of a pipeline get y as the second argument."""
    labels = np.arange(24) % 2
    model = make_pipeline(CountVectorizer(), em.TopicModel(em.HDP(), **SHORT), LogisticRegression())
    model.fit(TEXTS, labels)
    assert model[1].times_.tolist() == []
    alone = em.TopicModel(em.HDP(), **SHORT).fit(model[0].transform(TEXTS))
    np.testing.assert_array_equal(model[1].components_, alone.components_)


def test_times_are_given_by_name():
    with pytest.warns(UserWarning, match=r"y is ignored.*fit\(X, times=years\)"):
        assert em.TopicModel(**SHORT).fit(X, YEARS).times_.tolist() == []
    with pytest.raises(ValueError, match=r"times are missing: y, the second argument, is ignored"):
        em.TopicModel(em.HTNGG(), **SHORT).fit(X, YEARS)
    with pytest.warns(UserWarning, match="HNGG is a model without times"):
        em.TopicModel(em.HNGG(), **SHORT).fit(X, times=YEARS)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_texts_are_to_be_counted_first(kind):
    with pytest.raises(TypeError, match="got texts. Count their words first.*CountVectorizer"):
        em.TopicModel(**SHORT).fit(kind(TEXTS))


def test_texts_after_a_fit_are_to_be_counted_as_those_of_the_fit(tmp_path):
    counter = CountVectorizer()
    topics = em.TopicModel(**SHORT).fit(counter.fit_transform(TEXTS), vocabulary=counter)
    topics.save(tmp_path / "topics.evermix")
    for fitted in (topics, em.load(tmp_path / "topics.evermix")):
        for ask in (fitted.transform, fitted.perplexity, fitted.partial_fit):
            for texts in (TEXTS, pd.Series(TEXTS), "sea sand"):
                with pytest.raises(TypeError, match=r"counter\.transform\(texts\)") as refused:
                    ask(texts)
                assert "fit(X" not in str(refused.value)
        assert fitted.transform(counter.transform(TEXTS)).shape == (24, fitted.n_topics_)


def test_one_document_is_learnt_with_a_warning():
    model = em.TopicModel(burn_in=2, draws=2, random_state=0)
    with pytest.warns(UserWarning, match="there is one document only, .* Give a row of X for each"):
        model.fit([[3, 1, 0]])
    assert len(model.times_) == 0  # as of every fit without times
