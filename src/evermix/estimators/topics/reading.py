"""What people read of topics: their words, cards, documents, and reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array, Floats, Ints
from evermix.estimators.topics.card import TopicCard, TopicCards, called
from evermix.estimators.topics.coarse import CoarseTopics
from evermix.estimators.topics.progress import climb
from evermix.estimators.topics.report import topic_report
from evermix.report.page import Report
from evermix.report.shares import percent
from evermix.report.words import frequent_words, frex_words, lift_words, naming_words

RANKINGS = {"probability": frequent_words, "lift": lift_words, "frex": frex_words}


class TopicReading(CoarseTopics):
    """Words and cards of the topics of a fitted model, their documents, and reports."""

    n_features_in_: int
    times_: Any
    _fitted: Any
    gone_on_: Any
    _point: Any
    _check_drawn: Any
    _checked_topic: Any
    names_: dict[int, str]

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

    def card(self, id: int | str, vocabulary: Any = None) -> TopicCard:
        """Return the card of the topic of a number or name; see :meth:`cards`."""
        return TopicCards(self, vocabulary).card(self._checked_topic(id))

    def cards(
        self, vocabulary: Any = None, top: int | None = None, by: str = "size"
    ) -> list[TopicCard]:
        """Return a card of each topic: words, share over time, birth and death, documents.

        Parameters
        ----------
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words, as in :meth:`top_words`.
        top : int, optional
            How many; None: all.
        by : "size" or "change"
            Which are first: the largest, or those whose share changes most over time, where a
            share of fewer than five documents counts for less.
        """
        writer = TopicCards(self, vocabulary)
        return [writer.card(k) for k in writer.order(by)[:top]]

    @property
    def climbing_(self) -> Floats:
        """How much each chain rose over its draws beyond chance, in nats a word (chains,).

        The log joint density of a chain that has come to rest no longer rises: 0. NaN where fewer
        than 20 draws cannot tell.
        """
        self._check_drawn()
        traces, chain = self._fitted.run.traces()
        n = self._words_in_all()
        return np.array([climb(traces["log_joint"][chain == c]) / n for c in np.unique(chain)])

    def summary(self, top: int = 10, vocabulary: Any = None) -> str:
        """Return what was found, in words: the largest topics, and whether chains still climb.

        Parameters
        ----------
        top : int
            Number of topics.
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words, as in :meth:`top_words`.
        """
        self._check_drawn()
        found = self._report(vocabulary, "", top)
        facts = (found.facts | found.details).items()
        lines = ["; ".join(f"{name}: {text}" for name, text in facts)]
        words, apart = self.top_words(5, vocabulary), naming_words(self, 5, vocabulary)
        shares = self._point().words.sum(axis=0) / self._words_in_all()
        for k in np.argsort(-shares, kind="stable")[:top]:
            named = f"{', '.join(map(str, apart[k]))} (frequent: {', '.join(map(str, words[k]))})"
            lines.append(f"{called(k, self.names_)}: {percent(shares[k])}  {named}")
        return "\n".join(lines)

    def _words_in_all(self) -> int:
        return int(self._point().words.sum())

    @property
    def documents_(self) -> Array:
        """Share of each topic among the words of each document of the fit, CSR matrix (D, K).

        Those of one draw, the one that is shown. :meth:`transform` averages over many sweeps, which
        tells better what a document is about. Documents without words have empty rows. After
        :meth:`partial_fit` no documents are kept, and AttributeError is raised.
        """
        counts = self._counts_of_documents()
        lengths = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
        shares = counts.data / np.repeat(lengths, np.diff(counts.indptr))
        return sparse.csr_matrix((shares, counts.indices, counts.indptr), shape=counts.shape)

    @property
    def n_documents_(self) -> list[int] | None:
        """Number of documents of each time (T,); None for models of older files."""
        check_is_fitted(self)
        return self._fitted.per_time

    @property
    def added_times_(self) -> list[Any]:
        """Times that :meth:`partial_fit` added after the fit, in order.

        Births and deaths of topics where they begin are uncertain. Models of older files do not
        know them.
        """
        check_is_fitted(self)
        n = self._fitted.n_fitted
        return [] if n is None else self.times_.tolist()[n:]

    def nearest_documents(self, shares: Any, n: int = 10) -> tuple[Ints, Floats]:
        """Return the documents of the fit whose topics are most like some shares.

        Parameters
        ----------
        shares : array or sparse matrix (M, K)
            Shares of topics, such as ``documents_[7]`` or what :meth:`transform` returns.
        n : int

        Returns
        -------
        rows : int array (M, n)
            Of documents, the nearest first.
        distances : array (M, n)
            Hellinger distances, 0 for the same shares and 1 for no topic in common.
        """
        known = self.documents_.sqrt()
        given: Array = shares if sparse.issparse(shares) else np.atleast_2d(np.asarray(shares))
        given = sparse.csr_matrix(given)
        if given.shape[1] != known.shape[1]:
            raise ValueError(
                f"shares must be (M, {known.shape[1]}), one column per topic, got shape "
                f"{given.shape}."
            )
        alike = (given.sqrt() @ known.T).toarray()
        rows = np.argsort(-alike, axis=1, kind="stable")[:, :n]
        alike = np.take_along_axis(alike, rows, axis=1)
        return rows, np.sqrt(np.maximum(1.0 - alike, 0.0))

    def _counts_of_documents(self) -> Array:
        counts = self._point().documents
        if counts is None and self.gone_on_:
            raise AttributeError(
                "the topics of documents are not known: this model has gone on with new documents "
                "after its fit, and no longer keeps any. Ask transform(X, times) for those of "
                "documents at hand."
            )
        if counts is None:
            raise AttributeError(
                "the topics of documents are not known: no draw was kept yet, or the file is of an "
                "older version. Go on with resume, or ask transform for them."
            )
        return counts

    def report(
        self,
        path: str | Path,
        vocabulary: Any = None,
        title: str = "",
        documents: Sequence[Any] | None = None,
    ) -> None:
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
        documents : sequence (N,), optional
            Titles, or other names, of the documents of the fit. None: the numbers of their rows.
        """
        self._check_drawn()
        names = {} if documents is None else dict(enumerate(map(str, documents)))
        topic_report(self, vocabulary, title, documents=names).write(path)

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
