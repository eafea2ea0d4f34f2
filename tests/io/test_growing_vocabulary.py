"""A vocabulary that grows: what it counts depends on the texts alone, and it stays bounded."""

import json
from copy import deepcopy

import numpy as np
import pytest

from evermix.io import growing_vocabulary
from evermix.io.growing_vocabulary import GrowingVocabulary
from evermix.io.text import Hashing, Vocabulary, from_spec

pytestmark = pytest.mark.every_python


def _texts(n=400, seed=0):
    """Texts of words that come and go: those of text i are around number i / 4."""
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}{c}{d}" for a in "bdfg" for b in "aei" for c in "lmnr" for d in "aou"]
    return [" ".join(words[j % 144] for j in i // 4 + rng.poisson(4, size=6)) for i in range(n)]


def _rows(vocabulary, texts, size, times=None, files=False):
    """Return what each row counts by word, and the columns that are freed before it."""
    found = []
    for start in range(0, len(texts), size):
        if files:
            vocabulary = from_spec(json.loads(json.dumps(vocabulary.to_spec())))
        some = None if times is None else times[start : start + size]
        for part in vocabulary.stream(texts[start : start + size], some):
            for i in range(part.X.shape[0]):
                row = part.X[i]
                entries = dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))
                found.append((entries, part.freed if i == 0 else []))
    return found, vocabulary


OPTIONS = {
    "unbounded": {},
    "from the first": {"min_count": 1},
    "bounded": {"max_words": 30},
    "tiny": {"max_words": 3, "min_count": 1},
    "forgets": {"horizon": 50.0, "min_count": 1},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("timed", [False, True])
def test_neither_cuts_nor_files_change_the_counts(monkeypatch, options, timed):
    """Whole, in pieces of any size, and through JSON between them."""
    monkeypatch.setattr(growing_vocabulary, "PERIOD", 32)
    texts = _texts()
    times = np.cumsum(np.random.default_rng(1).exponential(size=len(texts))) if timed else None
    whole, last = _rows(GrowingVocabulary(**options), texts, len(texts), times)
    assert len(whole) == len(texts)
    for size in (1, 7, 100):
        cut, end = _rows(GrowingVocabulary(**options), texts, size, times, files=True)
        assert cut == whole
        assert end == last
    freed = [column for _, columns in whole for column in columns]
    assert bool(freed) == ("max_words" in options or "horizon" in options)


def test_a_column_stands_for_one_word_until_it_is_freed():
    """Words that have a column are all counted; at the bound those not seen for longest go."""
    texts = _texts()
    vocabulary = GrowingVocabulary(max_words=40, min_count=1)
    kept, freed = {}, 0
    for part in vocabulary.stream(texts):
        for column in part.freed:
            del kept[column]
        freed += len(part.freed)
        for i, text in enumerate(texts[part.texts]):
            row = part.X[i]
            for column, n in zip(row.indices, row.data, strict=True):
                word = kept.setdefault(int(column), vocabulary.words[column])
                assert text.split().count(word) == n
        assert len(kept) <= 40 and part.X.shape[1] <= 40
    assert freed > 40 and vocabulary.totals.unknown == 0
    recent = {word for text in texts[-3:] for word in text.split()}
    assert recent <= set(vocabulary.words)


def test_words_wait_for_their_second_occurrence(monkeypatch):
    """A word that occurs once has no column; those that wait are bounded."""
    vocabulary = GrowingVocabulary(["known"], stop_words=None)
    (part,) = vocabulary.stream(["known once", "twice twice", "again", "again known"])
    assert vocabulary.words == ["known", "twice", "again"]
    assert part.X.toarray().tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 1]]
    assert (vocabulary.totals.total, vocabulary.totals.unknown) == (7, 2)  # once, again
    assert vocabulary.counts(["again and again", "never known"]).toarray().tolist() == [
        [0, 0, 2],
        [1, 0, 0],
    ]
    monkeypatch.setattr(growing_vocabulary, "WAITING", 10)
    letters = "abcdefgh"
    list(vocabulary.stream([a + b + c for a in letters for b in letters for c in letters]))
    assert len(vocabulary.waiting) <= 10
    list(vocabulary.stream(["x" * 101] * 3))
    assert max(map(len, vocabulary.words)) <= 100


def test_words_not_seen_for_long_are_forgotten(monkeypatch):
    """With a horizon columns are freed before there is any lack of them."""
    monkeypatch.setattr(growing_vocabulary, "PERIOD", 8)
    vocabulary = GrowingVocabulary(min_count=1, horizon=20.0)
    parts = list(vocabulary.stream(["old words"] + ["new"] * 40))
    assert [part.freed for part in parts] == [[], [0, 1]]
    assert parts[1].texts.start == 24
    assert vocabulary.words == ["", "", "new"]


@pytest.mark.parametrize(
    "edit",
    [
        {"words": ["cat", "cat"]},
        {"words": [1, 2]},
        {"seen": [1.0]},
        {"max_words": 1},
        {"min_count": 0},
        {"waiting": {"cat": "many"}},
        {"rows": 1.5},
    ],
)
def test_odd_specs_are_refused(edit):
    spec = GrowingVocabulary(["cat", "dog"]).to_spec()
    with pytest.raises((ValueError, TypeError)):
        from_spec(spec | edit)


def test_texts_to_ask_about_have_columns_for_new_words():
    """They are behind all others, from the same on in every text, and nothing is learnt."""
    vocabulary = GrowingVocabulary(["cat", "dog"], min_count=1)
    before = vocabulary.to_spec()
    X = vocabulary.counts_with_new(["cat bird bird", "fish dog cow", ""])
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2, 0], [0, 1, 1, 1], [0, 0, 0, 0]])
    assert vocabulary.to_spec() == before
    often = GrowingVocabulary(["cat"], min_count=2)  # what is too rare for a column is new, too
    np.testing.assert_array_equal(often.counts_with_new(["bird fish fish"]).toarray(), [[0, 1, 2]])


@pytest.mark.parametrize("known", [GrowingVocabulary(["cat", "dog"]), Vocabulary(["cat", "dog"])])
def test_all_words_without_a_column_are_in_one_more(known):
    """However rare they are; nothing is learnt, and nothing is counted as met."""
    X = known.with_unknown(["cat bird bird", "fish dog cow bird", ""])
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2], [0, 1, 3], [0, 0, 0]])
    assert known.with_unknown([]).shape == (0, 3)
    assert known.totals.total == 0


def test_hashes_have_a_column_for_every_word():
    X = Hashing(8).with_unknown(["cat bird", ""])
    assert X.shape == (2, 9) and X[:, 8].nnz == 0 and X.sum() == 2


def test_a_copy_learns_alone():
    vocabulary = GrowingVocabulary(["cat"], min_count=1)
    copied = deepcopy(vocabulary)
    list(copied.stream(["bird"]))
    assert vocabulary == GrowingVocabulary(["cat"], min_count=1) != copied
    list(vocabulary.stream(["bird"]))
    assert vocabulary == copied


@pytest.mark.parametrize("known", [GrowingVocabulary(["cat", "dog"]), Vocabulary(["cat", "dog"])])
@pytest.mark.parametrize("method", ["counts", "counts_with_new", "with_unknown", "stream"])
def test_one_text_is_no_list_of_texts(known, method):
    with pytest.raises(TypeError, match=r"a list of texts, got one text: give \[text\]"):
        list(getattr(known, method)("the cat"))
