"""Topics of BERTopic are the clusters of the mixture, by the same numbers."""

import warnings

import numpy as np
import pytest

import evermix as em

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what BERTopic imports
    pytest.importorskip("bertopic")
    from bertopic import BERTopic

    from evermix.adapters.bertopic import MixtureBERTopic

pytestmark = pytest.mark.filterwarnings("ignore")
WORDS = ["apple pear plum", "iron steel zinc", "rain snow wind", "piano flute harp", "oak elm ash"]
BATCHES, ROWS = 6, 80


def stream(seed=0, columns=12):
    """Return batches of texts, embeddings and subjects; the last subject begins late."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(len(WORDS), columns)) * 3
    for batch in range(BATCHES):
        y = rng.integers(0, len(WORDS) - (batch < 3), size=ROWS)
        texts = [" ".join(rng.choice(WORDS[k].split(), size=4)) for k in y]
        yield texts, centres[y] + rng.normal(size=(ROWS, columns)), y


def whole(seed=0):
    texts, X, y = zip(*stream(seed), strict=True)
    return [text for some in texts for text in some], np.vstack(X), np.concatenate(y)


def own_words(model):
    """Return, for each topic, the subjects that its words are of."""
    subject = {word: k for k, words in enumerate(WORDS) for word in words.split()}
    return {
        topic: {subject[word] for word, _ in words if word}
        for topic, words in model.get_topics().items()
    }


def check_in_step(model, texts, X):
    mix = model.mixture
    assert list(model.topics_) == mix.labels_.tolist()
    assert set(model.get_topics()) <= set(mix.cluster_ids_)
    assert set(model.topic_sizes_) == set(model.get_topics())
    assert model.c_tf_idf_.shape[0] == len(model.topic_embeddings_) == len(model.get_topics())
    assert model.probabilities_.shape == (len(texts), mix.n_clusters_)
    topics, proba = model.transform(texts, X)
    assert np.array_equal(topics, mix.predict(X))
    assert np.array_equal(model.cluster_ids_[proba.argmax(axis=1)], topics)
    assert np.allclose(proba.sum(axis=1), 1.0)


def test_fit():
    texts, X, y = whole()
    model = MixtureBERTopic(em.Mixture(random_state=0)).fit(texts, X)
    check_in_step(model, texts, X)
    assert np.array_equal(model.topics_, em.Mixture(random_state=0).fit(X).labels_)
    assert all(len(subjects) == 1 for subjects in own_words(model).values())
    assert model.get_topic_info().Count.sum() == len(texts)
    for topic, mean in zip(sorted(model.get_topics()), model.topic_embeddings_, strict=True):
        assert np.allclose(mean, X[np.array(model.topics_) == topic].mean(axis=0))


def test_ids_are_ours_in_every_batch():
    model, plain = MixtureBERTopic(), em.Mixture()
    seen, means = 0, {}
    for texts, X, _ in stream():
        model.partial_fit(texts, X)
        plain.partial_fit(X)
        assert np.array_equal(model.topics_, plain.labels_)
        check_in_step(model, texts, X)
        seen += len(texts)
        assert sum(model.topic_sizes_.values()) == seen
        for label, x in zip(plain.labels_, X, strict=True):
            means.setdefault(int(label), []).append(x)
    assert all(len(subjects) == 1 for subjects in own_words(model).values())
    assert set().union(*own_words(model).values()) == set(range(len(WORDS)))
    if plain.lineage_.next_id == plain.n_clusters_:  # no cluster has ended
        for topic, mean in zip(sorted(model.get_topics()), model.topic_embeddings_, strict=True):
            assert np.allclose(mean, np.mean(means[topic], axis=0))


@pytest.mark.parametrize("decay", [None, 0.1])
def test_all_words_are_kept(decay):
    from bertopic.vectorizers import OnlineCountVectorizer

    model = MixtureBERTopic(vectorizer_model=OnlineCountVectorizer(decay=decay))
    texts, X, _ = whole(seed=3)
    model.fit(texts, X)
    assert model.vectorizer_model.X_.sum() == 4 * len(texts)
    total = 4.0 * len(texts)
    for some, rows, _ in stream():
        model.partial_fit(some, rows)
        total = total * (1 - (decay or 0.0)) + 4 * len(some)
        assert model.vectorizer_model.X_.sum() == pytest.approx(total)
        assert model.vectorizer_model.X_.shape[0] == len(model.get_topics())


def test_topics_follow_merges_and_leave_gaps():
    batches = list(stream())
    model = MixtureBERTopic().partial_fit(*batches[0][:2])
    sizes, words = dict(model.topic_sizes_), own_words(model)
    first, second = sorted(sizes)[:2]
    model.mixture.merge_clusters([second, first])
    texts, X, _ = batches[1]
    model.partial_fit(texts, X)
    check_in_step(model, texts, X)
    assert first not in model.get_topics()
    new = list(model.topics_).count(second)
    assert model.topic_sizes_[second] == sizes[first] + sizes[second] + new
    assert own_words(model)[second] == words[first] | words[second]
    for topic in set(sizes) - {first, second}:  # rows of words are those of the same topics
        assert own_words(model)[topic] == words[topic]


def test_fit_then_partial_fit_keeps_words_and_sizes():
    texts, X, _ = whole(seed=5)
    model = MixtureBERTopic(em.Mixture(random_state=0)).fit(texts, X)
    before = dict(model.topic_sizes_)
    for some, rows, _ in stream(seed=6):
        model.partial_fit(some, rows)
        check_in_step(model, some, rows)
    assert sum(model.topic_sizes_.values()) == sum(before.values()) + BATCHES * ROWS
    assert all(model.topic_sizes_[topic] >= before[topic] for topic in before)
    assert all(len(subjects) == 1 for subjects in own_words(model).values())


def test_novelty():
    texts, X, _ = whole()
    model = MixtureBERTopic(em.Mixture(random_state=0)).fit(texts, X)
    far = np.full((1, X.shape[1]), 90.0)
    assert model.novelty(["?"], far)[0] > 0.9 and model.novelty(texts[:1], X[:1])[0] < 0.5
    assert model.transform(["?"], far, novelty=0.5)[0].tolist() == [-1]
    assert np.array_equal(model.novelty(texts, X), model.mixture.novelty(X))


def test_probabilities_of_the_topic_only():
    texts, X, _ = whole()
    model = MixtureBERTopic(em.Mixture(random_state=0), calculate_probabilities=False)
    model.fit(texts, X)
    assert np.array_equal(model.probabilities_, model.mixture.probabilities_)
    assert np.array_equal(model.transform(texts, X)[1], model.mixture.predict_proba(X).max(axis=1))


def test_wrong_use_is_refused():
    with pytest.raises(ValueError, match="nr_topics numbers topics in another way"):
        MixtureBERTopic(nr_topics=5)
    with pytest.raises(TypeError, match="expected|must be an em.Mixture"):
        MixtureBERTopic("mixture")
    from sklearn.feature_extraction.text import CountVectorizer

    model = MixtureBERTopic(vectorizer_model=CountVectorizer())
    with pytest.raises(TypeError, match="expected an OnlineCountVectorizer"):
        model.partial_fit(["a"], np.zeros((1, 2)))
    with pytest.raises(TypeError, match="out of step"):
        model.merge_topics([], [0, 1])
    with pytest.raises(ValueError, match="give the embeddings"):
        model.transform(["a"])


def test_parameters_are_those_of_both():
    names = MixtureBERTopic().get_params()
    assert names["mixture"] is not None and "top_n_words" in names and "nr_topics" not in names


def test_a_plain_mixture_is_a_cluster_model():
    texts, X, _ = whole()
    from bertopic.dimensionality import BaseDimensionalityReduction

    model = BERTopic(umap_model=BaseDimensionalityReduction(), hdbscan_model=em.Mixture())
    topics, _ = model.fit_transform(texts, X)
    pairs = set(zip(topics, model.hdbscan_model.labels_, strict=True))
    assert len(pairs) == len(set(topics)) == model.hdbscan_model.n_clusters_
