"""Text to counts: a vocabulary learnt from the first texts of a stream, or hashing.

Words are runs of at least two letters, in lower case. The columns are fixed before the first row is
clustered, so a stream keeps its number of features.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

_WORD = r"[^\W\d_]{2,}"


class TextCounter(ABC):
    """Counts the words of texts into columns."""

    words: list[str] | None

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns."""

    @abstractmethod
    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds each word: a CSR matrix (N, n_features), float64."""

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""


@dataclass(frozen=True)
class Vocabulary(TextCounter):
    """One column for each known word; other words are not counted.

    Attributes
    ----------
    words : list of str
        The word of each column.

    Examples
    --------
    >>> vocabulary = Vocabulary.learn(["The cat saw a cat.", "Dogs saw cats!"], min_count=2)
    >>> vocabulary.words
    ['cat', 'saw']
    >>> vocabulary.counts(["cat, cat and dog"]).toarray()
    array([[2., 0.]])
    """

    words: list[str]

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        max_words: int | None = None,
        min_count: int = 2,
        stop_words: Literal["english"] | None = "english",
    ) -> "Vocabulary":
        """Choose the most frequent words of some texts.

        Parameters
        ----------
        texts : iterable of str
            Usually the first texts of a stream.
        max_words : int, optional
            Number of words to keep; of equally frequent ones the first in the alphabet.
        min_count : int
            Leave out words that occur less often in all texts together.
        stop_words : "english" or None
            Leave out scikit-learn's English stop words.
        """
        words_of = CountVectorizer(token_pattern=_WORD, stop_words=stop_words).build_analyzer()
        total: Counter[str] = Counter()
        for text in texts:
            total.update(words_of(text))
        frequent = [word for word, count in total.items() if count >= min_count]
        if not frequent:
            raise ValueError(
                f"expected words that occur at least {min_count} times, found none among "
                f"{len(total)} different words. Give more texts, lower min_count or use Hashing."
            )
        ranked = sorted(frequent, key=lambda word: (-total[word], word))
        return cls(sorted(ranked[:max_words]))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.words)

    @cached_property
    def _vectorizer(self) -> CountVectorizer:
        return CountVectorizer(token_pattern=_WORD, vocabulary=self.words, dtype=np.float64)

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds each word: a CSR matrix (N, n_features), float64."""
        return self._vectorizer.transform(texts)

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""
        return {"type": "vocabulary", "words": self.words}


@dataclass(frozen=True)
class Hashing(TextCounter):
    """The column of a word is its hash: nothing to learn, but columns have no names.

    Examples
    --------
    >>> Hashing(n_features=16).counts(["cat cat dog"]).sum()
    np.float64(3.0)
    """

    n_features: int = 2**14
    stop_words: Literal["english"] | None = "english"
    words = None

    @cached_property
    def _vectorizer(self) -> HashingVectorizer:
        return HashingVectorizer(
            n_features=self.n_features,
            token_pattern=_WORD,
            stop_words=self.stop_words,
            alternate_sign=False,
            norm=None,
            dtype=np.float64,
        )

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds a word of each hash: CSR (N, n_features), float64."""
        return self._vectorizer.transform(texts)

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""
        return {"type": "hashing", "n_features": self.n_features, "stop_words": self.stop_words}


def from_spec(spec: Mapping[str, Any]) -> TextCounter:
    """Return the counter that ``to_spec`` described."""
    entries = dict(spec)
    kind = entries.pop("type")
    if kind == "vocabulary":
        return Vocabulary(**entries)
    if kind == "hashing":
        return Hashing(**entries)
    raise ValueError(f'the type of a spec must be "vocabulary" or "hashing", got {kind!r}.')
