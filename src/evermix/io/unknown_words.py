"""Words of documents that are in no column, and those of them that many documents share."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from evermix._limits import MIN_DOCUMENTS
from evermix._xp import Array, Floats

OFTEN = 0.02  # share of the documents from which on a word is frequent
MOST = 100_000  # documents whose words are remembered


def unknown_shares(words: Iterable[Sequence[str]], known: Array) -> Floats:
    """Return the share of unknown words in documents, given as :meth:`UnknownWords.add` wants."""
    unknown = np.fromiter(map(len, words), np.float64)
    return unknown / np.maximum(unknown + np.asarray(known), 1.0)


class UnknownWords:
    """Collects the words of documents that are in no column.

    Examples
    --------
    >>> unknown = UnknownWords()
    >>> unknown.add([["dose"], [], ["dose", "mask"]] * 5, [1] * 15).round(2)[:3]
    array([0.5 , 0.  , 0.67])
    >>> unknown.frequent()
    (['dose', 'mask'], 10)
    """

    def __init__(self) -> None:
        self.documents = 0  # whose words are remembered
        self._of: list[list[str]] = []  # different ones of each document that has some
        self._one: dict[str, str] = {}  # the word that stands for all that are equal to it

    def add(self, words: Iterable[Sequence[str]], known: Array) -> Floats:
        """Take documents, given the unknown words (N,) of each and its number (N,) of known ones.

        Returns
        -------
        array (N,)
            The share of unknown words in each.
        """
        return unknown_shares(map(self._remembered, words), known)

    def _remembered(self, words: Sequence[str]) -> Sequence[str]:
        """Return the unknown words of a document, after they were noted."""
        if self.documents < MOST:
            self.documents += 1
            if words:
                self._of.append([self._one.setdefault(word, word) for word in set(words)])
        return words

    def frequent(self) -> tuple[list[str], int]:
        """Return the words that many documents share, the most frequent first.

        Also returns how many documents have one of them.
        """
        of = Counter(word for some in self._of for word in some)
        least = max(OFTEN * self.documents, MIN_DOCUMENTS)
        found = {word: n for word, n in of.items() if n >= least}
        words = sorted(found, key=lambda word: (-found[word], word))
        return words, sum(not found.keys().isdisjoint(some) for some in self._of)
