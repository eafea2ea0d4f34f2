"""Dependent mixtures that learn new rows and new times, and go on from what they know."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix.engines.settings import check_begun
from evermix.estimators.data.periods import later_periods, period_of
from evermix.estimators.data.rows import prepare_rows
from evermix.estimators.data.times import check_times_given
from evermix.estimators.dependent.fitted import FittedClusters
from evermix.topics.rows.draws import RowRun
from evermix.topics.rows.live import LiveRows


class LiveClusters:
    """Goes on with new rows."""

    def partial_fit(self: Any, X: Any, y: Any = None, *, times: Any = None) -> Any:
        """Learn new rows in one pass, from what is known; the first call is a :meth:`fit`.

        Clusters keep their numbers, and those that are born get the next ones. A time after all
        known ones begins near the last one. Four draws of the fit go on, the one that is shown
        first; each sweeps 20 times over the new rows. What earlier rows chose stays as it is, and
        of them only numbers and statistics of clusters are kept, so that memory grows with
        clusters and times alone. A fit that goes on in this way cannot be resumed.

        Parameters
        ----------
        X : array or CSR matrix (N, D)
            Rows with the columns of the fit.
        y : ignored
        times : numbers, dates or labels (N,)
            The time of each row: a known one, or one after all known ones.

        Returns
        -------
        self : DependentMixture
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, times=times)
        self._check_settings(())
        check_times_given(times, y)
        self._check_begun()
        before: FittedClusters = self._drawn()
        prior, family, run = before.prior, before.family, before.run
        rows = prepare_rows(family, self._validated(X, family))
        times = later_periods(times, rows.shape[0], before.times.values)
        known, codes = before.times.extended(times, rows.shape[0])
        run.sampler.check(prior.measure(np.ones(len(known))))
        live = LiveRows.of(run, before.nearest()) if isinstance(run, RowRun) else run
        self._fitted = replace(before, times=known, run=live.learnt(prior, rows, codes, len(known)))
        return self

    @property
    def gone_on_(self: Any) -> bool:
        """Whether rows were learnt by :meth:`partial_fit` after a fit."""
        check_is_fitted(self)
        return isinstance(self._fitted.run, LiveRows)

    def _check_begun(self: Any) -> None:
        """Raise ValueError if a setting is not that of the fit, which could not go on with it."""
        check_is_fitted(self)
        fitted: FittedClusters = self._fitted
        check_begun("prior", fitted.prior, self._wanted_prior())
        check_begun("sampler", fitted.run.sampler, self._wanted_sampler(fitted.measure()))
        if isinstance(fitted.run, RowRun):
            check_begun("chains", len(fitted.run.chains), self.chains)
        if self.period is not None:
            check_begun("period", period_of(fitted.times.values), self.period)

    def _resumed(self: Any) -> RowRun:
        """Return the chains of a fit, or raise ValueError if it has gone on without them."""
        run = self._fitted.run
        if isinstance(run, RowRun):
            return run
        raise ValueError(
            "this model has gone on with partial_fit, and no longer has the chains of its fit. "
            "Learn more rows with partial_fit, or call fit."
        )
