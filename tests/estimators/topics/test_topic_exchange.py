"""Coherence of topics, and data for pyLDAvis."""

import numpy as np
import pytest

import evermix as em

RNG = np.random.default_rng(0)
X = RNG.poisson(np.repeat([[4.0, 4, 4, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 4, 4, 4]], 30, axis=0))
X[7] = 0
WORDS = ["sea", "sand", "sun", "ice", "snow", "rain"]


@pytest.fixture(scope="module")
def topics():
    return em.TopicModel(em.HDP(), burn_in=30, draws=10, random_state=0).fit(X)


def test_coherence_is_that_of_the_top_words(topics):
    found = topics.coherence(X, 3)
    assert np.array_equal(found, em.coherence(topics.top_words(3), X), equal_nan=True)
    assert found.shape == (topics.n_topics_,) and found[0] > 0


def test_data_for_pyldavis(topics):
    data = topics.to_pyldavis(X, vocabulary=WORDS)
    n = len(X) - 1  # a document is empty
    assert data["topic_term_dists"].shape == (topics.n_topics_, 6)
    assert np.allclose(data["topic_term_dists"].sum(axis=1), 1)
    assert data["doc_topic_dists"].shape == (n, topics.n_topics_)
    assert np.allclose(data["doc_topic_dists"].sum(axis=1), 1)
    assert data["doc_lengths"].sum() == data["term_frequency"].sum() == X.sum()
    assert data["vocab"] == WORDS
    assert topics.to_pyldavis(X)["vocab"] == list("012345")


@pytest.mark.filterwarnings("ignore")
def test_pyldavis_takes_them():
    pyldavis = pytest.importorskip("pyLDAvis")
    counts = RNG.poisson(np.kron(np.eye(4), np.ones((20, 3))) * 5 + 0.1)
    topics = em.TopicModel(em.HDP(), burn_in=30, draws=5, random_state=0).fit(counts)
    prepared = pyldavis.prepare(**topics.to_pyldavis(counts), n_jobs=1)
    assert len(prepared.topic_coordinates) == topics.n_topics_
