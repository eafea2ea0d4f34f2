"""Mixtures over time, whose clusters come, go, grow and shrink."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, Floats, Ints, host, is_foreign, logsumexp
from evermix.estimators import files
from evermix.estimators.chain_reports import dependent_report
from evermix.estimators.chains import ChainEstimator, Observer
from evermix.estimators.data.fingerprint import OtherRowsError, RowHash
from evermix.estimators.data.periods import check_period, first_periods, later_periods
from evermix.estimators.data.rows import LOG, prepare_rows
from evermix.estimators.data.times import Times, check_times_given
from evermix.estimators.dependent.fitted import FittedClusters, start_measure
from evermix.estimators.dependent.live import LiveClusters
from evermix.estimators.mixture.settings import check_family, with_family
from evermix.estimators.resolve import WARMUP, resolve
from evermix.families.base import Family
from evermix.families.choosing import choose
from evermix.priors import NGGP
from evermix.report.page import Report
from evermix.report.posterior import Posterior
from evermix.topics.measures import Measure
from evermix.topics.priors import DEPENDENT_PRIORS, MNGG, DependentPrior
from evermix.topics.rows import SAMPLERS, RowSampler, default_sampler
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.draws import RowRun


@files.registered("dependent mixture", "dependent mixture")
class DependentMixture(LiveClusters, ChainEstimator):
    """Clusters rows that have a time, and follows the share of each cluster over time.

    All times share the clusters, each in shares of its own; how much times resemble each other is
    learnt too.

    A cluster here is an atom of the measure. Atoms of one region grow and shrink together, so rows
    that look alike may be in several clusters of different regions if that explains their numbers
    over time.

    Parameters
    ----------
    family : "auto" or Family
        What one cluster looks like. "auto" looks at the data: counts, yes/no answers or vectors.
    prior : MNGG, TNGG, SNGG or None
        How measures of different times depend on each other. None is ``MNGG()``.
    sampler : Sampler or None
        How draws are made. None is ``M1()`` for mixed measures (MNGG, SNGG), ``T1()`` for thinned
        ones (TNGG).
    burn_in : int
        Sweeps over the data before draws are kept.
    draws : int
        Sweeps whose draws are kept, of each chain.
    random_state : int, RandomState, Generator or None
    chains : int
        Number of independent chains, each in a thread of its own.
    period : {"year", "month", "day"}, optional
        What times that are dates are turned into. None: years, or months or days if there are fewer
        than three years; later rows get the periods of the fit. Dates with a time zone count as
        those of UTC.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters in the draw nearest to all others, which all that follows is from.
    labels_ : int64 array (N,)
        The cluster of each row; after :meth:`partial_fit` of the rows of the last call.
    times_ : array (T,)
        The times, in order.
    evolution_ : array (T, K)
        Share of each cluster among the rows of each time.
    predicted_evolution_ : array (T, K)
        The same as predicted for the next row of each time, if it is not of a new cluster.
    regions_ : int64 array (K,)
        The region that each cluster lies in.
    traces_ : dict of arrays (chains * draws,)
        Numbers of all draws, by name: log_joint, K, sigma, M[r] or a[r], u[t], q[r,t].
    posterior_ : Posterior
        All draws of partitions, and what follows from them; none after :meth:`partial_fit`.
    gone_on_ : bool
        Whether rows were learnt by :meth:`partial_fit` after a fit.
    family_ : Family
        What one cluster looks like, with every hyperparameter set.
    sampler_ : Sampler
        The sampler that draws.
    n_sweeps_ : int
        Number of sweeps so far, burn-in included.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> times = np.repeat([2001, 2002, 2003], 60)
    >>> second = rng.random(180) < np.repeat([0.1, 0.5, 0.9], 60)
    >>> X = rng.normal(size=(180, 2)) + 8 * second[:, None]
    >>> mix = em.DependentMixture(burn_in=30, draws=30, random_state=0).fit(X, times=times)
    >>> mix.n_clusters_, mix.evolution_.shape
    (2, (3, 2))
    """

    kind: ClassVar[str] = "dependent mixture"
    named_classes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "prior": DEPENDENT_PRIORS,
        "sampler": SAMPLERS,
    }
    fitted_class: ClassVar[Any] = FittedClusters
    _fitted: FittedClusters

    def __init__(
        self,
        family: str | Family = "auto",
        prior: DependentPrior | None = None,
        sampler: RowSampler | None = None,
        burn_in: int = 500,
        draws: int = 500,
        random_state: Any = None,
        chains: int = 1,
        period: str | None = None,
    ) -> None:
        super().__init__(prior, sampler, burn_in, draws, chains, random_state)
        self.family, self.period = family, period

    def __sklearn_tags__(self) -> Any:
        return with_family(super().__sklearn_tags__(), self.family, holes=False)

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, *, times: Any = None, observers: Iterable[Observer] = ()
    ) -> Self:
        """Forget everything, and draw from the posterior of these rows.

        An interrupt (Ctrl-C) between two sweeps leaves the draws that were kept, and
        :meth:`resume` goes on.

        Parameters
        ----------
        X : array or CSR matrix (N, D)
        y : ignored
        times : numbers, dates or labels (N,)
            The time of each row. Dates, also those that are texts, are turned into periods (see
            ``period``). Numbers are sorted, and so are labels that read as numbers or periods such
            as "2007-05"; other labels keep the order in which they appear, pandas categories
            theirs.
        observers : iterable of callables
            Each is called as ``observer(mix, sweep)`` after every sweep, where ``sweep`` has its
            number, the numbers of clusters and the log joint densities; it may save the model.
        """
        watching = self._check_settings(observers)
        check_times_given(times, y)
        prior = self._wanted_prior()
        with self._or_as_before():
            rows = self._validated(X, None)
            times = first_periods(times, rows.shape[0], self.period)
            known, codes = Times.read(times, rows.shape[0])
            family = self.family
            if not isinstance(family, Family):
                family, why = choose(rows, levels=False)
                LOG.info("the family is %s: %s.", type(family).__name__, why)
            prepared = prepare_rows(family, rows)
            family = _resolved(family, prepared)
            data = RowData(family, prepared, codes, len(known))
            self._fitted = FittedClusters(prior, known, self._begun(prior, data))
            self._go_on(watching)
        return self

    def resume(self, X: Any, times: Any = None, *, observers: Iterable[Observer] = ()) -> Self:
        """Go on with a fit that was interrupted, or given more draws, as if it had not been.

        Parameters are those of :meth:`fit`, with the same rows and times.
        """
        check_is_fitted(self)
        watching = self._check_settings(observers)
        run = self._resumed()
        self._check_begun()
        if _digest(*self._prepared(X, times, seen=True)) != _digest(run.data.X, run.data.times):
            raise OtherRowsError(
                "these are not the rows, or not the times, that the fit was begun with. Give the "
                "same X and times again, or call fit."
            )
        self._go_on(watching)
        return self

    def fit_predict(self, X: Any, y: Any = None, *, times: Any = None) -> Ints:
        """Fit and return ``labels_`` (N,)."""
        return self.fit(X, y, times=times).labels_

    def _begun(self, prior: DependentPrior, data: RowData) -> RowRun:
        """Return chains before their first sweep."""
        chains = [RowChain.start(start_measure(prior, data), data) for _ in range(self.chains)]
        sampler = self._wanted_sampler(chains[0].measure)
        rng = generator(self.random_state)
        return RowRun(data, sampler, chains, [rng, *rng.spawn(self.chains - 1)])

    def _check_settings(self, observers: Iterable[Observer]) -> tuple[Observer, ...]:
        watching = super()._check_settings(observers)
        check_family(self.family)
        check_period(self.period)
        return watching

    def _wanted_prior(self) -> DependentPrior:
        prior = MNGG() if self.prior is None else self.prior
        if not isinstance(prior, DependentPrior):
            raise TypeError(f"prior must be em.MNGG, em.TNGG or em.SNGG, got {prior!r}.")
        return prior

    def _wanted_sampler(self, measure: Measure) -> RowSampler:
        sampler = default_sampler(measure) if self.sampler is None else self.sampler
        if not isinstance(sampler, RowSampler):
            raise TypeError(f"sampler must be one of em.M1() to em.T5() or None, got {sampler!r}.")
        sampler.check(measure)
        return sampler

    def _validated(self, X: Any, family: Family | None) -> Array:
        """Return rows of finite numbers; those of a fit if there is no family yet."""
        wanted = self.family if isinstance(self.family, Family) else None
        spec = wanted if family is None else family
        accept = "csr" if spec is None or spec.sparse else False
        X = host(X) if is_foreign(X) else X
        return validate_data(self, X, reset=family is None, accept_sparse=accept, dtype="numeric")

    # ---- draws -----------------------------------------------------------------------------

    def _drawn(self) -> FittedClusters:
        """Return what was fitted, if there are draws."""
        self._check_drawn()
        return self._fitted

    @property
    def family_(self) -> Family:
        """What one cluster looks like, with every hyperparameter set."""
        check_is_fitted(self)
        return self._fitted.family

    @property
    def sampler_(self) -> RowSampler:
        """The sampler that draws."""
        check_is_fitted(self)
        return self._fitted.run.sampler

    @property
    def posterior_(self) -> Posterior:
        """All draws of partitions, and what follows from them."""
        return self._drawn().posterior()

    @property
    def traces_(self) -> dict[str, Floats]:
        """Numbers (chains * draws,) of all draws, by name."""
        return self._drawn().traces()

    def to_arviz(self) -> Any:
        """Return the traces for ArviZ's plots and diagnostics."""
        return self.posterior_.to_arviz()

    @property
    def labels_(self) -> Ints:
        """The cluster of each row of the last call, in the draw that is shown, (N,)."""
        return self._drawn().labels()

    @property
    def n_clusters_(self) -> int:
        """Number of clusters in that draw."""
        return self._drawn().point().K

    @property
    def regions_(self) -> Ints:
        """The region of each cluster of that draw, (K,)."""
        return self._drawn().point().region.copy()

    @property
    def evolution_(self) -> Floats:
        """Share of each cluster among the rows of each time, (T, K)."""
        counts = self._drawn().point().counts
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def predicted_evolution_(self) -> Floats:
        """Predicted share of each cluster at each time, new ones left out, (T, K)."""
        fitted = self._drawn()
        return _normalised(fitted.log_weights(fitted.point())[:, :-1])

    def report(self, path: str | Path, names: Sequence[str] | None = None, title: str = "") -> None:
        """Write a report: one HTML file that every browser shows, without network.

        It holds the clusters and what sets them apart with search and sorting, their shares over
        time with births and deaths, and the draws.

        Parameters
        ----------
        path : path-like
            Such as ``"report.html"``.
        names : sequence of str, optional
            Names of the columns. None: those of the table.
        title : str, optional
            Headline.
        """
        self._check_drawn()
        self._report(names, title, None).write(path)

    def _report(self, names: Sequence[Any] | None, title: str, top: int | None) -> Report:
        return dependent_report(self, names, title, top)

    # ---- new rows --------------------------------------------------------------------------

    def predict(self, X: Any, times: Any = None) -> Ints:
        """Return the most probable cluster of each row at its time, (N,).

        At a time that was not seen yet, clusters weigh what they do at the last one before it, with
        a warning.
        """
        return self._log_clusters(*self._prepared(X, times)).argmax(axis=1)

    def predict_proba(self, X: Any, times: Any = None) -> Floats:
        """Return the probability of each cluster (N, K), if a row is not of a new one."""
        return _normalised(self._log_clusters(*self._prepared(X, times)))

    def score_samples(self, X: Any, times: Any = None) -> Floats:
        """Return the log predictive density of each row (N,), averaged over draws inside the log.

        The auxiliary variables of a draw stand for all there could be.
        """
        fitted = self._drawn()
        rows, codes = self._prepared(X, times)
        each = [logsumexp(fitted.log_joint(m, rows, codes), axis=1) for m in fitted.draws()]
        mean = logsumexp(np.array(each), axis=0) - np.log(len(each))
        return mean + fitted.family.log_base(rows)

    def score(self, X: Any, y: Any = None, *, times: Any = None) -> float:
        """Return the mean log predictive density of the rows; y is ignored."""
        check_times_given(times, y)
        return float(self.score_samples(X, times).mean())

    def _log_clusters(self, rows: Array, codes: Ints) -> Floats:
        """Log joint density (N, K) of rows and clusters, up to constants of rows."""
        fitted = self._drawn()
        return fitted.log_joint(fitted.point(), rows, codes)[:, :-1]

    def _prepared(self, X: Any, times: Any, seen: bool = False) -> tuple[Array, Ints]:
        """Return rows and the codes of their times, which must be known if they were ``seen``."""
        check_is_fitted(self)
        family = self._fitted.family
        rows = prepare_rows(family, self._validated(X, family))
        known = self._fitted.times
        times = later_periods(times, rows.shape[0], known.values)
        return rows, (known.codes if seen else known.codes_so_far)(times, rows.shape[0])


def _resolved(family: Family, X: Array) -> Family:
    """Return the family with every hyperparameter set, and the evidence that rows X are worth."""
    found = resolve(family, NGGP(), None, X[:WARMUP]).family
    learnt = [name for name in family.learns if name not in family.frame]
    is_open = any(getattr(family, name) is None for name in learnt)
    return found.coarse(X.shape[0]) if is_open else found


def _normalised(log_weights: Floats) -> Floats:
    """Return log weights as probabilities, by row."""
    return np.exp(log_weights - logsumexp(log_weights, axis=1)[:, None])


def _digest(X: Array, codes: Ints) -> str:
    digest = RowHash()
    digest.update(X)
    return digest.result(codes)
