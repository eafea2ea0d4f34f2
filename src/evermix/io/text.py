"""Text to counts: by a vocabulary that is given or grows with a stream, or by hashes of words."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sklearn.utils import murmurhash3_32

from evermix._words import counted
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.growing_vocabulary import GrowingVocabulary
from evermix.io.text_counter import LONGEST, StopWords, TextCounter, WordTotals, analyzer, checked

EXAMPLES = 3  # words of a hash that are remembered
CACHED = 2**17  # words whose hashes are remembered


class RareWords(ValueError):
    """All words of some texts are too rare to be counted."""


@dataclass(frozen=True)
class Vocabulary(TextCounter):
    """One column for each known word; other words are not counted.

    Attributes
    ----------
    words : list of str
        The word of each column.
    stop_words : "english", "function", list of str or None
        Words that have no column on purpose, so that they are no unknown words.

    Examples
    --------
    >>> vocabulary = Vocabulary.learn(["The cat saw a cat.", "Dogs saw cats!"], min_count=2)
    >>> vocabulary.words
    ['cat', 'saw']
    >>> vocabulary.counts(["cat, cat and dog"]).toarray()
    array([[2., 0.]])
    """

    words: list[str]
    stop_words: StopWords = None
    totals: WordTotals = field(default_factory=WordTotals, compare=False, repr=False)

    @classmethod
    def learn(
        cls,
        texts: Iterable[str],
        *,
        max_words: int | None = None,
        min_count: int = 2,
        min_df: int = 1,
        stop_words: StopWords = "english",
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
        min_df : int
            Leave out words that are in fewer texts.
        stop_words : "english", "function", list of str or None
            Leave out scikit-learn's English stop words, among them words such as bill, fire and
            system; function words only; or these.
        """
        words_of, every_word_of = analyzer(stop_words), analyzer(None)
        total: Counter[str] = Counter()
        texts_with: Counter[str] = Counter()
        n, stopped = 0, False
        for text in texts:
            words, n = words_of(text), n + 1
            stopped = stopped or not words and bool(every_word_of(text))
            total.update(words)
            texts_with.update(set(words))
        frequent = [
            word for word, n in total.items() if n >= min_count and texts_with[word] >= min_df
        ]
        if not total:
            but = " but stop words, which are left out: stop_words=None keeps them" * stopped
            raise ValueError(f"expected words, found none in {counted(n, 'text')}{but}.")
        if not frequent:
            rare = f"occur at least {min_count} times"
            rare += f" and are in at least {min_df} texts" if min_df > 1 else ""
            lower = "min_count or min_df" if min_df > 1 else "min_count"
            if n == 1:
                raise ValueError(
                    f"expected words that {rare}, and only 1 text was given: give more texts."
                )
            raise RareWords(
                f"expected words that {rare}, found none among {len(total)} different words. Give "
                f"more texts, lower {lower} or use Hashing."
            )
        ranked = sorted(frequent, key=lambda word: (-total[word], word))
        return cls(sorted(ranked[:max_words]), stop_words)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns."""
        return len(self.words)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.words)}

    @cached_property
    def _words_of(self) -> Callable[[str], list[str]]:
        return analyzer(self.stop_words)

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds each word: a CSR matrix (N, n_features), float64."""
        return self._counted(map(self._words_of, checked(texts)), self._columns.get)

    def with_unknown(self, texts: Iterable[str]) -> Any:
        """Return counts (N, n_features + 1); the last column is all words without one."""
        return self._with_unknown(map(self._words_of, checked(texts)), self._columns)

    def unknown(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text that have no column."""
        for words in map(self._words_of, checked(texts)):
            yield [word for word in words if word not in self._columns]

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""
        return {"type": "vocabulary", "words": self.words, "stop_words": self.stop_words}


@dataclass(frozen=True)
class Hashing(TextCounter):
    """The column of a word is its hash: nothing to learn, and every word is counted.

    A column is named after the first words that were met in it.

    Examples
    --------
    >>> hashing = Hashing(n_features=16)
    >>> hashing.counts(["cat cat dog"]).sum()
    np.float64(3.0)
    >>> [word for word in hashing.words if word]
    ['dog', 'cat']
    """

    n_features: int = 2**14
    stop_words: StopWords = "english"
    examples: dict[int, str] = field(default_factory=dict, compare=False, repr=False)
    totals: WordTotals = field(default_factory=WordTotals, compare=False, repr=False)

    @property
    def words(self) -> list[str]:  # type: ignore[override]
        """The first words that were met in each column, with a slash between; "" for none."""
        named = [""] * self.n_features
        for column, some in self.examples.items():
            named[column] = some.replace(" ", "/")
        return named

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {}

    @cached_property
    def _words_of(self) -> Callable[[str], list[str]]:
        return analyzer(self.stop_words)

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds a word of each hash: CSR (N, n_features), float64."""
        return self._counted(map(self._words_of, checked(texts)), self._column)

    def _column(self, word: str) -> int:
        """Return the column of a word, as scikit-learn's FeatureHasher has it."""
        column = self._columns.get(word)
        if column is None:
            hashed = murmurhash3_32(word, 0)
            column = abs(int(hashed)) % self.n_features
            if len(self._columns) >= CACHED:
                self._columns.clear()
            self._columns[word] = column
            known = self.examples.get(column, "").split()
            if len(known) < EXAMPLES and word not in known and len(word) <= LONGEST:
                self.examples[column] = " ".join([*known, word])
        return column

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""
        examples = {str(column): words for column, words in sorted(self.examples.items())}
        settings = {"n_features": self.n_features, "stop_words": self.stop_words}
        return {"type": "hashing", **settings, "examples": examples}


def from_spec(spec: Mapping[str, Any]) -> TextCounter:
    """Return the counter that ``to_spec`` described."""
    entries = dict(spec)
    kind = entries.pop("type")
    if kind == "vocabulary":
        return Vocabulary(**entries)
    if kind == "growing":
        entries["totals"] = WordTotals(**entries["totals"])
        return GrowingVocabulary(**entries)
    if kind == "hashing":
        examples = {int(column): str(word) for column, word in entries.pop("examples", {}).items()}
        if not all(0 <= column < entries["n_features"] for column in examples):
            raise ValueError("example words must be those of columns.")
        return Hashing(**entries, examples=examples)
    if kind == "embedding":
        return EmbeddedTexts(**entries)
    raise ValueError(
        'the type of a spec must be "vocabulary", "growing", "hashing" or "embedding", got '
        f"{kind!r}."
    )
