"""Words of documents, one by one."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.dishes import Words


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents in times.

    Attributes
    ----------
    word : int32 array (N,)
        Every word, those of a document together and ascending.
    start : int64 array (D + 1,)
        Where documents begin.
    time : int64 array (D,)
        Their times, numbers 0..T-1.
    size : int
        Number V of words in the vocabulary.
    n_times : int
    epoch : int64 array (D,), optional
        Times that topics are told by, where documents are times of their own; ``time`` otherwise.
    """

    word: Array
    start: Array
    time: Array
    size: int
    n_times: int
    epoch: Array | None = None

    @classmethod
    def of(cls, X: Array, time: Array, n_times: int) -> "Corpus":
        """Return the words of a CSR matrix (D, V) of counts, with sorted columns."""
        times = X.data.astype(np.int64)
        ends = np.append(0, np.cumsum(times))[X.indptr]
        word = np.repeat(X.indices.astype(np.int32), times)
        return cls(word, ends, time.astype(np.int64), X.shape[1], n_times)

    def __len__(self) -> int:
        return len(self.word)

    @property
    def n_documents(self) -> int:
        """Number of documents, D."""
        return len(self.time)

    @property
    def lengths(self) -> Array:
        """Number of words in each document, (D,)."""
        return np.diff(self.start)

    @property
    def told(self) -> Array:
        """Times that topics are told by, (D,)."""
        return self.time if self.epoch is None else self.epoch

    def apart(self) -> "Corpus":
        """Return the same documents, each a time of its own; empty ones have none."""
        some = self.lengths > 0
        time = np.maximum(np.cumsum(some) - 1, 0)
        return Corpus(self.word, self.start, time, self.size, int(some.sum()), self.told)

    @cached_property
    def document(self) -> Array:
        """Document of each word, (N,)."""
        return np.repeat(np.arange(self.n_documents), self.lengths)

    @property
    def digest(self) -> str:
        """What documents and their times are known by."""
        parts = self.word, self.start, self.told
        digest = hashlib.blake2b(repr(self.size).encode(), digest_size=16)
        for part in parts:
            digest.update(part.astype("<i8").tobytes())
        return digest.hexdigest()

    def words(self, beta: float) -> Words:
        """Return the words as compiled loops take them, with the Dirichlet law of topics."""
        return Words(self.word, self.start, self.time, self.size, beta)
