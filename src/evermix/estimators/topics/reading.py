"""What people read of topics: their words, and reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evermix._xp import Array
from evermix.estimators.chain_reports import topic_report
from evermix.report.page import Report
from evermix.report.words import distinctive_words, frequent_words, frex_words

RANKINGS = {"probability": frequent_words, "lift": distinctive_words, "frex": frex_words}


class TopicReading:
    """Words of the topics of a fitted model, and reports on them."""

    n_features_in_: int
    _fitted: Any
    _point: Any
    _check_drawn: Any

    def top_words(
        self, n: int = 10, vocabulary: Any = None, by: str = "probability"
    ) -> list[list[Any]]:
        """Return the top words of each topic: at most n, and only words that it has.

        Parameters
        ----------
        n : int
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words. None for those of the fit, or the names of the columns of its X, and
            numbers of columns where neither is known.
        by : "probability", "lift" or "frex"
            The most probable words of a topic; those that are more probable than in the whole
            corpus (:func:`evermix.report.distinctive_words`); or those that are both frequent in
            the topic and rare elsewhere (:func:`evermix.report.frex_words`).
        """
        if by not in RANKINGS:
            raise ValueError(f"by must be one of {', '.join(map(repr, RANKINGS))}, got {by!r}.")
        counts = self._point().counts.T  # (K, V)
        return RANKINGS[by](counts, self._names(vocabulary).tolist(), n)

    def _names(self, vocabulary: Any = None) -> Array:
        """Return the words of the columns (V,)."""
        V = self.n_features_in_
        known = self._fitted.words if vocabulary is None else vocabulary
        if known is None:
            known = vars(self).get("feature_names_in_", np.arange(V))
        return names_of(known, V)

    def report(self, path: str | Path, vocabulary: Any = None, title: str = "") -> None:
        """Write a report: one HTML file that every browser shows, without network.

        It holds the topics and their words with search and sorting, their shares over time with
        births and deaths, a map on which topics that use the same words are close, and the draws.

        Parameters
        ----------
        path : path-like
            Such as ``"report.html"``.
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words, as in :meth:`top_words`.
        title : str, optional
            Headline.
        """
        self._check_drawn()
        self._report(vocabulary, title, None).write(path)

    def _report(self, names: Sequence[Any] | None, title: str, top: int | None) -> Report:
        return topic_report(self, names, title, top)


def names_of(vocabulary: Any, size: int) -> Array:
    """Return the words (V,) of a sequence, or of a vectorizer that was fitted; or ValueError."""
    if hasattr(vocabulary, "get_feature_names_out"):
        vocabulary = vocabulary.get_feature_names_out()
    names = np.asarray(vocabulary)
    if names.shape != (size,):
        raise ValueError(
            f"vocabulary must have one entry per word, ({size},), got shape {names.shape}."
        )
    return names
