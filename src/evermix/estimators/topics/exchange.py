"""What topic models give to others: coherence of their words, data for pyLDAvis."""

from collections.abc import Callable
from typing import Any

import numpy as np

from evermix._xp import Array, Floats
from evermix.report.coherence import coherence


class TopicExchange:
    """Judges and hands over the topics of a fitted model."""

    top_words: Callable[..., list[list[Any]]]
    transform: Callable[..., Any]
    _names: Callable[[Any], Array]
    _validated: Callable[..., Any]

    def coherence(self, X: Any, n: int = 10) -> Floats:
        """Return the coherence (NPMI) of the n most probable words of each topic, (K,).

        X (D, V) are counts of words in documents, those of the fit or others; see
        :func:`evermix.coherence`.
        """
        X = self._validated(X, reset=False)
        return coherence(self.top_words(n, range(X.shape[1])), X)

    def to_pyldavis(self: Any, X: Any, times: Any = None, vocabulary: Any = None) -> dict[str, Any]:
        """Return what ``pyLDAvis.prepare(**data)`` wants for its map of topics.

        Parameters
        ----------
        X, times
            Documents, as for :meth:`transform`. Those without words are left out.
        vocabulary : sequence (V,), optional
            As for :meth:`top_words`.
        """
        shares = np.asarray(self.transform(X, times))
        X = self._validated(X, reset=False)
        lengths = np.asarray(X.sum(axis=1)).ravel()
        some = lengths > 0
        return {
            "topic_term_dists": self.components_,
            "doc_topic_dists": shares[some],
            "doc_lengths": lengths[some].astype(np.int64),
            "vocab": [str(name) for name in self._names(vocabulary)],
            "term_frequency": np.asarray(X.sum(axis=0)).ravel().astype(np.int64),
        }
