"""Topics joined into few coarse ones, by their words."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.estimators.topics.coarse import _tree


@pytest.fixture(scope="module")
def fitted():
    """Six topics: two subjects, each with words that all of its topics have."""
    rng = np.random.default_rng(0)
    p = np.full((6, 60), 0.01)
    for k in range(6):
        half = 30 * (k // 3)
        p[k, half : half + 30] += 1.0
        p[k, half + 10 * (k % 3) : half + 10 * (k % 3) + 10] += 9.0
    X = np.array([rng.multinomial(80, p[d % 6] / p[d % 6].sum()) for d in range(180)])
    model = em.TopicModel(em.HDP(), burn_in=60, draws=10, random_state=0)
    return model.fit(X, vocabulary=[f"w{v}" for v in range(60)]), X


def test_topics_of_a_subject_are_joined(fitted):
    model, X = fitted
    assert model.n_topics_ >= 3
    parts, shares = model.coarse(2), model.transform(X)
    subject = np.arange(180) % 6 // 3
    sums = np.column_stack([shares[:, parts == id].sum(axis=1) for id in np.unique(parts)])
    np.testing.assert_allclose(sums.sum(axis=1), 1.0)
    best = sums.argmax(axis=1)
    assert max(np.mean(best == subject), np.mean(best != subject)) > 0.95


def test_coarse_topics_have_words_and_shares(fitted):
    model, _ = fitted
    found, parts = model.coarse_topics(2), model.coarse(2)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert sum(one.share for one in found) == pytest.approx(1.0)
    for one in found:
        assert one.id == min(one.topics)
        assert sorted(one.topics) == np.flatnonzero(parts == one.id).tolist()
        assert one.share == pytest.approx(model.weights_[list(one.topics)].sum())
        halves = {int(word[1:]) // 30 for word in one.words}
        assert len(one.words) == 8 and len(halves) == 1
    assert found[0].to_dict()["topics"] == list(found[0].topics)


def test_as_many_as_there_are_changes_nothing(fitted):
    model, _ = fitted
    K = model.n_topics_
    np.testing.assert_array_equal(model.coarse(K), np.arange(K))
    with pytest.raises(ValueError, match=f"n_topics must be a whole number from 1 to .*, {K}, got"):
        model.coarse(K + 1)


def test_small_topics_go_with_their_subject_and_not_with_each_other():
    """Half of all words are common ones, and most topics are tiny."""
    common, rare = np.full(10, 500), np.zeros((2, 20), dtype=int)
    rare[0, :10] = rare[1, 10:] = 500
    large = np.hstack([np.tile(common, (2, 1)), rare])
    rng = np.random.default_rng(0)
    small = [rng.multinomial(40, row / row.sum()) for row in np.repeat(large, 15, axis=0)]
    counts = sparse.csr_matrix(np.vstack([large, *small]).T)
    words = np.asarray(counts.sum(axis=0))  # of one time
    parts = _tree(SimpleNamespace(counts=counts, words=words)).cut(n_groups=2)
    np.testing.assert_array_equal(parts, np.append([0, 1], np.repeat([0, 1], 15)))


def test_tiny_topics_are_joined_before_large_ones():
    """Four large topics, of which two and two share words, and tiny ones of words of their own."""
    shared = np.kron(np.eye(2), np.full((2, 10), 500))
    large = np.hstack([np.kron(np.eye(4), np.full(10, 500)), shared])
    tiny = np.kron(np.eye(12), np.full(3, 2))
    counts = sparse.block_diag([large, tiny]).T.tocsr()
    words = np.asarray(counts.sum(axis=0))
    parts = _tree(SimpleNamespace(counts=counts, words=words)).cut(n_groups=4)
    np.testing.assert_array_equal(np.unique(parts), np.arange(4))
    np.testing.assert_array_equal(parts[:4], np.arange(4))


def test_topics_of_different_times_are_not_joined_for_being_small():
    """Two large topics of all times; one small one ends before others begin, one of its words."""
    rng = np.random.default_rng(0)
    p = np.zeros((5, 100))
    p[0, :40] = p[1, 40:80] = 1.0
    p[2, 80:90] = p[3, 90:] = p[4, 80:90] = 1.0
    sizes = [4000, 4000, 60, 60, 60]
    counts = np.array(
        [rng.multinomial(n, row / row.sum()) for n, row in zip(sizes, p, strict=True)]
    )
    over_time = {
        "one time": [[n] for n in sizes],
        "apart": [[2000, 2000], [2000, 2000], [60, 0], [0, 60], [0, 60]],
    }
    parts = {}
    for name, words in over_time.items():
        point = SimpleNamespace(counts=sparse.csr_matrix(counts.T), words=np.array(words).T)
        parts[name] = {n: _tree(point).cut(n_groups=n) for n in (3, 4)}
    assert parts["one time"][3][2] == parts["one time"][3][3]  # small, and nothing else in common
    assert len({*parts["apart"][3][[2, 3]].tolist()}) == 2
    for name in parts:  # which have the same words
        assert parts[name][4][2] == parts[name][4][4]


def test_a_coarse_topic_is_called_as_its_topics_are(fitted):
    model, _ = fitted
    plain = model.coarse_topics(2)
    assert [one.name for one in plain] == ["", ""] and "name" not in plain[0].to_dict()
    *large, small = plain[0].topics
    named = copy.deepcopy(model).rename(small, "tide")
    assert [one.name for one in named.coarse_topics(2)] == ["", ""]  # of few of its words
    named.rename(small, None)
    for topic in large:
        named.rename(topic, f"harbour {topic}")
    found = named.coarse_topics(2)
    names = ", ".join(f"harbour {topic}" for topic in large)
    assert [one.name for one in found] == [f"{names} and 1 more", ""]
    assert found[0].to_dict()["name"] == found[0].name
    assert [one.topics for one in found] == [one.topics for one in plain]
