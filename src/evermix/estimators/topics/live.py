"""Topic models that learn new documents and new times, and go on from what they know."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Ints
from evermix.engines.settings import check_begun
from evermix.estimators.data.periods import later_periods, period_of
from evermix.estimators.topics.fitted import FittedTopics
from evermix.estimators.topics.settings import (
    check_times_meant,
    check_words,
    checked_alpha,
    public_sampler,
    wanted_prior,
    wanted_rest,
    wanted_sampler,
)
from evermix.topics.hierarchies import Flat, Hierarchy
from evermix.topics.live import LiveRun, check_times
from evermix.topics.words.corpus import Corpus
from evermix.topics.words.snapshots import WordRun


class LiveTopics:
    """Goes on with new documents."""

    def partial_fit(
        self: Any, X: Any, y: Any = None, *, times: Any = None, vocabulary: Any = None
    ) -> Any:
        """Learn new documents in one pass, from what is known; the first call is a :meth:`fit`.

        Topics keep their numbers, and those that are born get the next ones. A time after all known
        ones begins near the last one. Twelve draws of the fit go on, the one that is shown
        first; each sweeps 20 times over the new documents, less often over more than 2,500 words,
        and twice over 25,000 or more. What earlier documents chose stays as
        it is, and of them only words and tables of topics are kept, so that memory grows with
        topics and times alone. A fit that goes on in this way cannot be resumed.

        Parameters
        ----------
        X : array or CSR matrix (D, V)
            How often each word is in each document, with the columns of the fit.
        y : ignored
        times : numbers, dates or labels (D,), optional
            The time of each document: a known one, or one after all known ones.
        vocabulary : sequence (V,) or CountVectorizer, optional
            The words, for the first call; see :meth:`fit`.

        Returns
        -------
        self : TopicModel
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, times=times, vocabulary=vocabulary)
        self._check_settings(())
        check_times_meant(self.prior, times, y)
        self._check_begun(times)
        before: FittedTopics = self._fitted
        prior, run = before.prior, before.run
        if prior.flat:
            raise ValueError(
                f"{type(prior.top).__name__} makes every document a time of its own, so that what "
                "is known would grow with documents. Live topics want a prior with a level of "
                "documents, such as em.HMNGG() or em.HDP()."
            )
        X = self._validated(X, reset=False)
        known, codes = before.times, np.zeros(X.shape[0], dtype=np.int64)
        if prior.timed:
            times = later_periods(times, X.shape[0], known.values)
            known, codes = known.extended(times, X.shape[0])
        corpus = Corpus.of(X, codes, max(len(known), 1))
        check_words(corpus, known, new=len(before.times))
        check_times(run.sampler, prior, corpus.n_times)
        live = LiveRun.of(run, prior) if isinstance(run, WordRun) else run
        live = live.learnt(prior, before.alpha, corpus)
        self._fitted = replace(
            before, times=known, run=live, digest="", per_time=_added(before, codes, len(known))
        )
        return self

    @property
    def gone_on_(self: Any) -> bool:
        """Whether documents were learnt by :meth:`partial_fit` after a fit."""
        check_is_fitted(self)
        return isinstance(self._fitted.run, LiveRun)

    @property
    def n_draws_(self: Any) -> int:
        """Number of draws of each chain that were kept; of those that go on after a fit."""
        check_is_fitted(self)
        return int(self._fitted.run.n_draws)

    def _check_begun(self: Any, times: Any) -> None:
        """Raise ValueError if a setting is not that of the fit, which could not go on with it."""
        check_is_fitted(self)
        fitted: FittedTopics = self._fitted
        prior: Hierarchy = fitted.prior
        if isinstance(fitted.run, WordRun):
            check_begun("chains", len(fitted.run.chains), self.chains)
            rest = wanted_rest(self.tol, self.patience)
            check_begun("tol and patience", fitted.run.rest, rest)
        if self.period is not None and len(fitted.times):
            check_begun("period", period_of(fitted.times.values), self.period)
        check_begun("alpha", fitted.alpha, checked_alpha(self.alpha))
        if self.prior is not None:
            wanted_prior(self.prior, times)
            check_begun("prior", prior.prior if isinstance(prior, Flat) else prior, self.prior)
        sampler = wanted_sampler(self.sampler, prior)
        check_begun("sampler", self.sampler_, public_sampler(sampler, prior))

    def _resumed(self: Any) -> WordRun:
        """Return the chains of a fit, or raise ValueError if it has gone on without them."""
        run = self._fitted.run
        if isinstance(run, WordRun):
            return run
        raise ValueError(
            "this model has gone on with partial_fit, and no longer has the chains of its fit. "
            "Learn more documents with partial_fit, or call fit."
        )


def _added(before: FittedTopics, codes: Ints, n_times: int) -> list[int] | None:
    """Return the number of documents of each time, with new ones; None if it was not known."""
    if before.per_time is None or not n_times:
        return before.per_time
    n = np.bincount(codes, minlength=n_times)
    n[: len(before.per_time)] += np.array(before.per_time, dtype=np.int64)
    return n.tolist()
