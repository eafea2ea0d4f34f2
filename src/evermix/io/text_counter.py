"""How texts become rows of counts, whatever the columns stand for.

Words are runs of at least two letters, in lower case.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from evermix.io.stop_words import FUNCTION_WORDS

StopWords = Literal["english", "function"] | list[str] | None
"""Those of scikit-learn, function words only, these, or none."""
LONGEST = 100  # letters in a word that is remembered

_WORD = r"[^\W\d_]{2,}"


@dataclass
class WordTotals:
    """How many words there were in all texts, and how many of them have no column."""

    total: int = 0
    unknown: int = 0

    @property
    def share(self) -> float:
        """The share of words without a column."""
        return self.unknown / max(self.total, 1)


class CountedTexts(NamedTuple):
    """Some texts of a stream as rows of counts."""

    texts: slice
    X: Any  # CSR matrix (N, D), float64
    freed: list[int]  # columns that stand for other words from here on


class TextCounter(ABC):
    """Counts the words of texts into columns.

    Attributes
    ----------
    words : list of str or None
        The word of each column; None if columns have no names.
    n_features : int
        Number of columns.
    totals : WordTotals
        Of the texts that were counted.
    """

    words: list[str] | None
    n_features: int
    totals: WordTotals

    @abstractmethod
    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds each word: a CSR matrix (N, n_features), float64."""

    def stream(self, texts: Sequence[str], times: Any = None) -> Iterator[CountedTexts]:
        """Yield the next texts of a stream as counts, with columns that may be new.

        ``times`` (N,) are numbers that never go back; without them, texts are counted.
        """
        del times
        yield CountedTexts(slice(0, len(texts)), self.counts(texts), [])

    def counts_with_new(self, texts: Iterable[str]) -> Any:
        """Return counts (N, D) of texts, with words that have no column yet.

        These are in columns behind all others, if a stream would give them any.
        """
        return self.counts(texts)

    def with_unknown(self, texts: Iterable[str]) -> Any:
        """Return counts (N, n_features + 1) of texts; the last column is all words without one.

        They say how new a text is, however rare they are. Nothing is learnt. Counters that have a
        column for every word leave the last one empty.
        """
        X = self.counts(texts)
        X.resize(X.shape[0], X.shape[1] + 1)
        return X

    def unknown(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text that have no column; nothing is learnt."""
        return ([] for _ in texts)

    def again(self, texts: Iterable[str]) -> Any:
        """Return :meth:`counts` of texts that were met before, so that none is met now."""
        total, unknown = self.totals.total, self.totals.unknown
        X = self.counts(texts)
        self.totals.total, self.totals.unknown = total, unknown
        return X

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""

    def _with_unknown(self, texts: Iterable[list[str]], columns: Mapping[str, int]) -> Any:
        """Return the words of texts as a CSR matrix, those without a column in one more."""
        n = self.n_features
        return as_csr([Counter(columns.get(word, n) for word in words) for words in texts], n + 1)

    def _counted(self, texts: Iterable[list[str]], column_of: Callable[[str], int | None]) -> Any:
        """Return the words of texts as a CSR matrix, given the column of each."""
        rows: list[Counter[int]] = []
        for words in texts:
            columns = [column for column in map(column_of, words) if column is not None]
            self.totals.total += len(words)
            self.totals.unknown += len(words) - len(columns)
            rows.append(Counter(columns))
        return as_csr(rows, self.n_features)


T = TypeVar("T", bound=Iterable[str])


def checked(texts: T) -> T:
    """Return texts, or raise TypeError if they are a single one, whose letters would be counted."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of texts, got one text: give [text].")
    return texts


def as_csr(rows: Sequence[Mapping[int, int]], n_features: int) -> Any:
    """Return rows, each given as the numbers in some columns, as a CSR matrix of float64."""
    indices, data = list[int](), list[int]()
    for row in rows:
        columns = sorted(row)
        indices += columns
        data += map(row.__getitem__, columns)
    indptr = np.cumsum([0, *map(len, rows)])
    arrays = np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), indptr
    return sparse.csr_matrix(arrays, shape=(len(rows), n_features))


def analyzer(stop_words: StopWords) -> Callable[[str], list[str]]:
    """Return a function from a text to its words."""
    left_out = sorted(FUNCTION_WORDS) if stop_words == "function" else stop_words
    vectorizer = CountVectorizer(token_pattern=_WORD, stop_words=left_out)
    words_of: Callable[[str], list[str]] = vectorizer.build_analyzer()
    return words_of
