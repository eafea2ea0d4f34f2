"""Texts become counts that depend on the text alone, not on where a stream is cut or resumed."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from evermix.io.text import Hashing, Vocabulary, from_spec

pytestmark = pytest.mark.every_python

TEXTS = ["The cat sat on the mat.", "Cats, cats & a cat!", "", "Über über 42 x_y don't", "the mat"]
COUNTERS = [
    Vocabulary.learn(TEXTS, min_count=1),
    Vocabulary(["cat", "mat"]),
    Hashing(n_features=64),
    Hashing(n_features=64, stop_words=None),
    Hashing(n_features=64, stop_words="function"),
]


@pytest.mark.parametrize("counter", COUNTERS, ids=lambda c: f"{type(c).__name__}{c.n_features}")
def test_counts_are_cut_independent_and_survive_a_checkpoint(counter):
    """Rows counted one by one, by a counter that went through JSON, equal rows counted at once."""
    X = counter.counts(TEXTS)
    assert X.format == "csr"
    assert X.dtype == np.float64
    assert X.shape == (len(TEXTS), counter.n_features)
    again = from_spec(json.loads(json.dumps(counter.to_spec())))
    assert again == counter
    rows = [again.counts([text]).toarray()[0] for text in TEXTS]
    assert np.array_equal(X.toarray(), rows)
    assert X.has_canonical_format


def test_words_are_lower_case_runs_of_letters():
    """Digits, underscores and single letters are no words; accents are letters."""
    vocabulary = Vocabulary.learn(TEXTS, min_count=1, stop_words=None)
    assert vocabulary.words == sorted(["the", "cat", "sat", "on", "mat", "cats", "über", "don"])
    assert vocabulary.counts(["ÜBER the42cats"]).sum() == 3


def test_vocabulary_does_not_depend_on_the_order_of_texts():
    """The same words in any order of texts give the same columns, ties broken by the alphabet."""
    texts = ["dd cc", "bb aa", "cc ee ee"]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        learnt = Vocabulary.learn([texts[i] for i in order], min_count=1, max_words=3)
        assert learnt.words == ["aa", "cc", "ee"]


def test_rare_and_stop_words_are_left_out():
    """min_count is over all texts; English stop words go unless they are wanted."""
    assert Vocabulary.learn(["the cat", "the cat", "the dog"]).words == ["cat"]
    assert Vocabulary.learn(["the cat", "the dog"], stop_words=None).words == ["the"]
    texts = ["They don't pay the full bill", "the system is on fire"]
    assert Vocabulary.learn(texts, min_count=1).words == ["don", "pay"]
    found = Vocabulary.learn(texts, min_count=1, stop_words="function").words
    assert found == ["bill", "fire", "full", "pay", "system"]


def test_nothing_to_learn_is_an_error_with_advice():
    """Texts without frequent words are refused."""
    with pytest.raises(ValueError, match="lower min_count or use Hashing"):
        Vocabulary.learn(["one", "two"], stop_words=None)


def test_hashing_counts_every_word_once():
    """Total counts are the number of words, whatever the collisions, as scikit-learn has them."""
    hashing = Hashing(n_features=8, stop_words=None)
    X = hashing.counts(["cat dog bird cat", "fish dog"])
    assert X.sum() == 6
    theirs = HashingVectorizer(n_features=8, alternate_sign=False, norm=None).transform(
        ["cat dog bird cat", "fish dog"]
    )
    assert np.array_equal(X.toarray(), theirs.toarray())


def test_hashed_columns_are_named_after_their_first_words():
    """Three words at most, whatever the cuts, and a checkpoint keeps them."""
    texts = ["cat dog bird cat", "fish cow horse cat", "duck hen"]
    whole, cut = Hashing(n_features=2, stop_words=None), Hashing(n_features=2, stop_words=None)
    whole.counts(texts)
    for text in texts:
        cut = from_spec(json.loads(json.dumps(cut.to_spec())))
        cut.counts([text])
    assert cut.words == whole.words
    assert max(len(words.split("/")) for words in whole.words) == 3


def test_unknown_spec_is_refused():
    """A spec of another type is named."""
    with pytest.raises(ValueError, match="got 'other'"):
        from_spec({"type": "other"})
