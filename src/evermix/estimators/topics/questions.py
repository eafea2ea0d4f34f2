"""What a fitted model says of new documents, which it does not learn."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from evermix._xp import Floats
from evermix.estimators.topics.fitted import FittedTopics
from evermix.topics.words.evaluation import add_probabilities, halves

# Chains over the words of one new document, which the mean of probabilities is over. Half of what
# a single draw loses against many is the chance of where these chains come to rest.
LEAST_STARTS = 20


class TopicQuestions(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Shares of topics in new documents, and how well these are predicted."""

    _fitted: FittedTopics
    _point: Any
    _corpus: Any
    fit: Any

    def transform(self, X: Any, times: Any = None) -> Floats:
        """Return the share of each topic in each document, (D, K).

        Topics stay as they are. A document gets the same shares whatever others are beside it; if
        no topic is on at all, in a model without hierarchy, those of all documents. At a time that
        was not seen yet, topics weigh what they do at the last one before it, with a warning.
        """
        point = self._point()
        old = self._fitted.shares(point, self._corpus(X, times), seed=0)[1][:, :-1]
        old[~old.any(axis=1)] = point.words.sum(axis=0)
        return old / old.sum(axis=1, keepdims=True)

    def fit_transform(
        self, X: Any, y: Any = None, *, times: Any = None, vocabulary: Any = None
    ) -> Floats:
        """Fit, and return the share of each topic in each document, (D, K)."""
        return self.fit(X, y, times=times, vocabulary=vocabulary).transform(X, times)

    def perplexity(self, X: Any, times: Any = None) -> float:
        """Return the perplexity of the words of new documents, the smaller the better.

        Topics of each document are learnt from half of its words, chosen at random with a fixed
        seed; the others are predicted. Probabilities are averaged over the kept draws, inside the
        log. With fewer than 20 draws, each learns the topics of a document several times.
        """
        first, second = halves(self._corpus(X, times))
        if not len(second):
            raise ValueError("X holds no words to predict: give documents that have some.")
        fitted, p = self._fitted, np.zeros(len(second))
        snapshots = fitted.run.all_snapshots()
        snapshots = snapshots * -(-LEAST_STARTS // len(snapshots))
        for seed, snapshot in enumerate(snapshots):
            model, theta = fitted.shares(snapshot, first, seed)
            add_probabilities(model, second, snapshot.beta, theta, p)
        return float(np.exp(-np.log(p / len(snapshots)).mean()))

    def score(self, X: Any, y: Any = None, *, times: Any = None) -> float:
        """Return the mean log probability of a word; see :meth:`perplexity`."""
        return -float(np.log(self.perplexity(X, times)))
