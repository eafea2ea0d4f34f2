"""The words of documents, one by one."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Array, Ints
from evermix.kernels.topics.dishes import Words


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents in times."""

    word: NDArray[np.int32]  # (N,) every word, those of a document together and ascending
    start: Ints  # (D + 1,) where documents begin
    time: Ints  # (D,) numbers 0..T-1
    size: int  # number V of words in the vocabulary
    n_times: int
    given_time: Ints | None = None  # (D,) if ``time`` makes every document a time of its own

    @classmethod
    def of(cls, X: Array, time: Ints, n_times: int) -> "Corpus":
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
    def lengths(self) -> Ints:
        """Number of words in each document, (D,)."""
        return np.diff(self.start)

    @property
    def shown_time(self) -> Ints:
        """Times over which topics are shown, (D,)."""
        return self.time if self.given_time is None else self.given_time

    def one_time_each(self) -> "Corpus":
        """Return the same documents, each a time of its own; empty ones have none."""
        some = self.lengths > 0
        time = np.maximum(np.cumsum(some) - 1, 0)
        return Corpus(self.word, self.start, time, self.size, int(some.sum()), self.shown_time)

    @cached_property
    def document(self) -> Ints:
        """Document of each word, (N,)."""
        return np.repeat(np.arange(self.n_documents), self.lengths)

    @cached_property
    def order(self) -> Ints:
        """Documents by time, (D,): the order in which sweeps visit them."""
        return np.argsort(self.time, kind="stable")

    @cached_property
    def kinds(self) -> tuple[Ints, NDArray[np.int32]]:
        """Words of the vocabulary that are there, (U,), and which of them each word is, (N,)."""
        kinds, which = np.unique(self.word, return_inverse=True)
        return kinds.astype(np.int64), which.astype(np.int32)

    @property
    def digest(self) -> str:
        """Digest of documents and their times."""
        parts = self.word, self.start, self.shown_time
        digest = hashlib.blake2b(repr(self.size).encode(), digest_size=16)
        for part in parts:
            digest.update(part.astype("<i8").tobytes())
        return digest.hexdigest()

    def words(self, beta: float) -> Words:
        """Return the words in the form that kernels take, with the Dirichlet law of topics."""
        return Words(self.word, self.start, self.time, self.order, self.size, beta)
