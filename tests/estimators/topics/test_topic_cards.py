"""Cards of topics, and the topics of documents."""

import json

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.estimators.topics.card import excess
from helpers.topic_cases import SHORT, YEARS, X

WORDS = list("abcdef")


@pytest.fixture(scope="module")
def fitted():
    topics = em.TopicModel(em.HMNGG(), burn_in=60, draws=60, random_state=1)
    return topics.fit(X, times=YEARS, vocabulary=WORDS)


# ---- documents -------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [em.HDP(), em.HMNGG(), em.TNGG()], ids=lambda p: type(p).__name__)
def test_shares_of_documents_add_up_to_those_of_times(prior):
    """They are of the same draw, so that sums are exact."""
    times = None if isinstance(prior, em.HDP) else YEARS
    topics = em.TopicModel(prior, chains=2, burn_in=2, draws=50, random_state=0)
    shares = topics.fit(X, times=times).documents_
    assert sparse.issparse(shares) and shares.shape == (24, topics.n_topics_)
    np.testing.assert_allclose(np.asarray(shares.sum(axis=1)).ravel(), 1.0, rtol=1e-12)
    words = shares.multiply(X.sum(axis=1)[:, None]).toarray()
    np.testing.assert_allclose(words.sum(axis=0) / X.sum(), topics.weights_, atol=1e-12)
    if times is not None:
        early = words[YEARS == 2001].sum(axis=0)
        np.testing.assert_allclose(early / early.sum(), topics.evolution_[0], atol=1e-12)


def test_documents_are_saved_with_the_model(fitted, tmp_path):
    fitted.save(tmp_path / "topics.evermix")
    loaded = em.load(tmp_path / "topics.evermix")
    np.testing.assert_array_equal(loaded.documents_.toarray(), fitted.documents_.toarray())
    assert loaded.cards() == fitted.cards()
    more = loaded.set_params(draws=90).resume(X, YEARS)
    whole = em.TopicModel(em.HMNGG(), burn_in=60, draws=90, random_state=1).fit(X, times=YEARS)
    np.testing.assert_array_equal(more.documents_.toarray(), whole.documents_.toarray())


def test_the_draw_that_is_shown_is_the_best_of_all_that_were_taken():
    """Also of those that were left out later, when there were too many."""
    seen = []
    topics = em.TopicModel(em.HDP(), burn_in=0, draws=60, random_state=0)
    topics.fit(X, observers=[lambda model, sweep: seen.append(model._fitted.point().log_joint)])
    assert seen == sorted(seen)
    assert seen[-1] >= max(each.log_joint for each in topics._fitted.run.all_snapshots())


def test_a_document_is_nearest_to_itself(fitted):
    rows, distances = fitted.nearest_documents(fitted.documents_[5], 4)
    assert rows.shape == distances.shape == (1, 4)
    assert distances[0, 0] < 1e-7 and np.all(np.diff(distances) >= 0)
    same = fitted.documents_.toarray()[rows[0, 0]]
    np.testing.assert_allclose(same, fitted.documents_.toarray()[5], atol=1e-12)
    assert fitted.nearest_documents(fitted.transform(X[:3], YEARS[:3]), 2)[0].shape == (3, 2)
    with pytest.raises(ValueError, match="one column per topic"):
        fitted.nearest_documents(np.ones(fitted.n_topics_ + 1))


# ---- cards -----------------------------------------------------------------------------------


def test_cards_tell_what_the_model_knows(fitted):
    cards = fitted.cards()
    assert [card.id for card in cards] == list(range(fitted.n_topics_))
    assert sum(card.size for card in cards) == X.sum()
    for card in cards:
        assert card == fitted.card(card.id)
        assert list(card.words) == fitted.top_words(12)[card.id]
        assert set(card.apart) == set(card.words) <= set(WORDS)
        np.testing.assert_allclose(card.shares, fitted.evolution_[:, card.id])
        for row, share in card.documents:
            assert share == pytest.approx(fitted.documents_[row, card.id])
        assert [share for _, share in card.documents] == sorted(dict(card.documents).values())[::-1]
        json.dumps(card.to_dict())
        assert f"topic {card.id}: " in repr(card) and " in 2003" in repr(card)
    with pytest.raises(ValueError, match="there is no topic 999"):
        fitted.card(999)


def test_cards_are_ranked_by_size_or_by_change(fitted):
    changes = [abs(card.change) for card in fitted.cards(by="change")]
    assert changes == sorted(changes, reverse=True) and len(fitted.cards(top=2)) == 2
    timeless = em.TopicModel(**SHORT).fit(X)
    assert timeless.card(0).change is None and timeless.card(0).times == ()
    with pytest.raises(ValueError, match="knows no change"):
        timeless.cards(by="change")
    with pytest.raises(ValueError, match="by must be 'size' or 'change'"):
        fitted.cards(by="name")


def test_times_of_few_documents_tell_of_no_births():
    """One document of 2000, and one of 2004, of words that are nowhere else."""
    lonely = np.array([[0, 0, 0, 0, 0, 0, 40, 0], [0, 0, 0, 0, 0, 0, 0, 40]])
    rows = np.vstack([np.hstack([X, np.zeros((24, 2), dtype=int)]), lonely])
    topics = em.TopicModel(em.HMNGG(), burn_in=20, draws=10, random_state=0)
    topics.fit(rows, times=[*YEARS, 2000, 2004])
    for card in topics.cards():
        assert {card.born, card.died} <= {2002, 2003, None}


def test_topics_are_near_if_the_same_words_set_them_apart(fitted):
    """A topic that has all words a little is near to none of the others."""
    pairs, broad = np.arange(20), 20  # two topics of each ten share two of their eight words
    components = np.full((21, 150), 0.001)
    for k in pairs:
        first = 15 * (k // 2) + 6 * (k % 2)
        components[k, first : first + 8] += 0.1
    components[broad] += 0.01
    components /= components.sum(axis=1, keepdims=True)
    weights = np.append(np.full(20, 0.0495), 0.01)
    roots = np.sqrt(components)
    assert np.all((roots @ roots.T - 2 * np.eye(21)).argmax(axis=1)[pairs] == broad)
    directions = excess(components, weights @ components)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    alike = directions @ directions.T - 2 * np.eye(21)
    np.testing.assert_array_equal(alike.argmax(axis=1)[pairs], pairs ^ 1)
    for card in fitted.cards():
        far = [distance for _, distance in card.nearest]
        assert far == sorted(far) and all(0 <= each <= 2 for each in far)
