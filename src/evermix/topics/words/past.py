"""Words that are no longer at hand: how often each topic has each of them, and its tables."""

from dataclasses import dataclass

from evermix._xp import Array, Ints


@dataclass(frozen=True, eq=False)
class Past:
    """What documents chose that were learnt before. It is counted, and never moves."""

    counts: Array  # CSR matrix (V, K), words of each topic
    words: Ints  # (T, K) words of each topic at each time
    tables: Ints  # (T, K); every topic has some

    @property
    def K(self) -> int:
        """Number of topics: those that are born later have numbers from here on."""
        return self.words.shape[1]
