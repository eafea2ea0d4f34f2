"""A vocabulary that grows with a stream of texts."""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from evermix.io.text_counter import (
    LONGEST,
    CountedTexts,
    StopWords,
    TextCounter,
    WordTotals,
    analyzer,
    as_csr,
    checked,
)

WAITING = 2**16  # words that are remembered before they get a column
HALF_LIVES = 10  # after which a word is forgotten, as the horizon of streams that forget
UNKNOWN = 1024  # words of a text to ask about that have no column
PERIOD = 1024  # texts between two looks for words that were not seen for long


@dataclass
class GrowingVocabulary(TextCounter):
    """A vocabulary that grows with a stream: a word gets a column once it was met often enough.

    For ``Mixture(em.Multinomial(growing=True))``. Where a stream is cut does not change anything.

    Parameters
    ----------
    words : list of str
        Words that have a column from the start.
    max_words : int
        Once there are so many, an eighth of them makes room for new ones: those that were not seen
        for longest.
    min_count : int
        Count a word from this occurrence on.
    horizon : float or None
        Words that were not seen for so long, in rows or in units of their times, lose their column.
    stop_words : "english", "function", list of str or None
        Leave out scikit-learn's English stop words, among them words such as bill, fire and system;
        "function": function words only, such as the, of and is; or these.

    Attributes
    ----------
    seen : list of float
        When the word of each column was last seen.
    waiting : dict of str to int
        Words that were met, but not often enough.
    rows : int
        Texts so far.
    crowded : bool
        Whether words have lost their columns to others.

    Examples
    --------
    >>> import evermix as em
    >>> vocabulary = GrowingVocabulary(min_count=1)
    >>> mix = em.Mixture(em.Multinomial(growing=True))
    >>> for text in ["cat and dog", "cat and bird"]:
    ...     for part in vocabulary.stream([text]):
    ...         if part.freed:
    ...             _ = mix.forget_columns(part.freed)
    ...         _ = mix.partial_fit(part.X)
    >>> vocabulary.words
    ['cat', 'dog', 'bird']
    """

    words: list[str] = field(default_factory=list)
    max_words: int = 2**16
    min_count: int = 2
    horizon: float | None = None
    stop_words: StopWords = "english"
    seen: list[float] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    crowded: bool = False
    totals: WordTotals = field(default_factory=WordTotals)

    def __post_init__(self) -> None:
        words = self.words = list(self.words)
        named = [word for word in words if word]
        if not all(type(word) is str for word in words) or len(set(named)) < len(named):
            raise ValueError("the words of a vocabulary must be different strings.")
        if self.seen and len(self.seen) != len(words):
            raise ValueError(f"{len(words)} words were last seen at {len(self.seen)} times.")
        counts = self.rows, self.totals.total, self.totals.unknown, *self.waiting.values()
        if not all(type(n) is int for n in counts):
            raise TypeError("what is counted must be whole numbers.")
        if not max(len(words), 1) <= self.max_words < 2**31 or self.min_count < 1:
            raise ValueError(
                f"max_words must be at least {max(len(words), 1)} and min_count at least 1, got "
                f"{self.max_words} and {self.min_count}."
            )
        self.horizon = None if self.horizon is None else float(self.horizon)
        self.seen = [float(when) for when in self.seen] or [0.0] * len(words)
        self._columns = {word: column for column, word in enumerate(words) if word}
        self._free = [column for column, word in enumerate(words) if not word][::-1]
        self._words_of = analyzer(self.stop_words)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns so far."""
        return len(self.words)

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each text holds each known word; nothing is learnt from it."""
        return self._counted(map(self._words_of, checked(texts)), self._columns.get)

    def counts_with_new(self, texts: Iterable[str]) -> Any:
        """Return counts (N, D) of texts, with words that have no column yet.

        They say how new a text is, however rare they are. Of a text, 1,024 of them at most are
        counted, in columns behind all others, the first of each text in the first: nothing was
        learnt of any, so they are all alike.
        """
        rows, n = list[dict[int, int]](), len(self.words)
        for text in checked(texts):
            found = Counter(self._words_of(text))
            row = {self._columns[word]: m for word, m in found.items() if word in self._columns}
            unknown = [m for word, m in found.items() if word not in self._columns]
            row |= enumerate(unknown[:UNKNOWN], n)
            rows.append(row)
        return as_csr(rows, max((max(row, default=0) + 1 for row in rows), default=0))

    def with_unknown(self, texts: Iterable[str]) -> Any:
        """Return counts (N, n_features + 1); the last column is all words without one."""
        return self._with_unknown(map(self._words_of, checked(texts)), self._columns)

    def stream(self, texts: Sequence[str], times: Any = None) -> Iterator[CountedTexts]:
        """Yield the next texts of a stream as counts, cut where columns are used anew.

        When a part is yielded, the texts after it have not been looked at.
        """
        start, freed, parts = 0, list[int](), list[Any]()
        for i, text in enumerate(checked(texts)):
            now = float(self.rows + 1 if times is None else times[i])
            found = Counter(self._words_of(text))
            stale = self._stale(found, now)
            if stale:
                if parts:
                    yield self._part(start, parts, freed)
                start, freed, parts = i, freed if not parts else [], []
                freed = freed + self._freed(stale)
            parts.append(self._learnt(found, now))
        if parts:
            yield self._part(start, parts, freed)

    def _part(self, start: int, rows: list[dict[int, int]], freed: list[int]) -> CountedTexts:
        n = max(len(self.words), 1)  # a mixture needs a column, also for texts without words
        return CountedTexts(slice(start, start + len(rows)), as_csr(rows, n), freed)

    def _learnt(self, found: Mapping[str, int], now: float) -> dict[int, int]:
        """Return how often the next text holds the word of each column; new ones are added."""
        if not self.rows:
            self.seen = [now] * len(self.words)
        row: dict[int, int] = {}
        self.rows += 1
        for word, n in found.items():
            self.totals.total += n
            column = self._columns.get(word)
            if column is None:
                column = self._admitted(word, n)
            if column is None:
                self.totals.unknown += n
            else:
                row[column], self.seen[column] = n, now
        return row

    @property
    def _has_room(self) -> bool:
        return bool(self._free) or len(self.words) < self.max_words

    def _admitted(self, word: str, n: int) -> int | None:
        """Return a column for a word that was met n more times, or None if it has to wait."""
        met = self.waiting.pop(word, 0) + n
        if met < self.min_count or len(word) > LONGEST or not self._has_room:
            if len(word) <= LONGEST:
                self.waiting[word] = met
            if len(self.waiting) > WAITING:
                self.waiting = dict(list(self.waiting.items())[WAITING // 2 :])
            return None
        if self._free:
            column = self._free.pop()
            self.words[column] = word
        else:
            column = len(self.words)
            self.words.append(word)
            self.seen.append(0.0)
        self._columns[word] = column
        return column

    def _stale(self, found: Mapping[str, int], now: float) -> list[int]:
        """Return the columns that must be freed before the next text, which has these words."""
        stale: list[int] = []
        if self.horizon is not None and self.rows and self.rows % PERIOD == 0:
            old = np.flatnonzero(np.array(self.seen) < now - self.horizon)
            stale = [column for column in old.tolist() if self.words[column]]
        left = self.max_words - len(self.words)
        if len(found) <= left:
            return stale
        new = sum(
            word not in self._columns
            and self.waiting.get(word, 0) + n >= self.min_count
            and len(word) <= LONGEST
            for word, n in found.items()
        )
        lack = new - left - len(self._free) - len(stale)
        if lack > 0:
            self.crowded = True
            kept = {self._columns.get(word) for word in found} | {*stale, *self._free}
            order = np.argsort(np.array(self.seen), kind="stable").tolist()
            oldest = [column for column in order if column not in kept]
            stale += oldest[: max(lack, self.max_words // 8)]
        return stale

    def _freed(self, columns: list[int]) -> list[int]:
        for column in columns:
            del self._columns[self.words[column]]
            self.words[column] = ""
        self._free = sorted({*self._free, *columns}, reverse=True)
        return columns

    def __deepcopy__(self, memo: dict[int, Any]) -> "GrowingVocabulary":
        """Return a copy, without looking at every word."""
        new = copy.copy(self)
        for name in ("words", "seen", "waiting", "totals", "_columns", "_free"):
            setattr(new, name, copy.copy(getattr(self, name)))
        return new

    def to_spec(self) -> dict[str, Any]:
        """Return a JSON-ready dict for :func:`from_spec`."""
        return {"type": "growing", **asdict(self)}
