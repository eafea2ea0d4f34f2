"""Mixtures over time, whose clusters come, go, grow and shrink."""

from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, host, is_foreign, logsumexp
from evermix.engines.run import interrupts_wait
from evermix.engines.settings import check_begun
from evermix.estimators.chains import Drawn
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.rows import automatic_family, prepare_rows
from evermix.estimators.data.times import Times
from evermix.estimators.mixture.settings import check_family, with_family
from evermix.estimators.resolve import WARMUP, resolve
from evermix.families.base import Family
from evermix.kernels.scoring import score_rows
from evermix.priors import NGGP
from evermix.report.posterior import Posterior
from evermix.topics.measures import Measure
from evermix.topics.priors import MNGG, DependentPrior
from evermix.topics.rows.chain import Data, start
from evermix.topics.rows.draws import Draws
from evermix.topics.rows.samplers import Sampler, default_sampler


class DependentMixture(Drawn):
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
        Sweeps whose draws are kept.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters in the draw nearest to all others; so it is with all that follows.
    labels_ : int64 array (N,)
        The cluster of each row.
    times_ : array (T,)
        The times, in order.
    evolution_ : array (T, K)
        Share of each cluster among the rows of each time.
    predicted_evolution_ : array (T, K)
        The same as predicted for the next row of each time, if it is not of a new cluster.
    regions_ : int64 array (K,)
        The region that each cluster lies in.
    traces_ : dict of arrays (draws,)
        Numbers of all draws, by name: log_joint, K, sigma, M[r] or a[r], u[t], q[r,t].
    posterior_ : Posterior
        All draws of partitions, and what follows from them.
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
    >>> mix = em.DependentMixture(burn_in=30, draws=30, random_state=0).fit(X, times)
    >>> mix.n_clusters_, mix.evolution_.shape
    (2, (3, 2))
    """

    def __init__(
        self,
        family: str | Family = "auto",
        prior: DependentPrior | None = None,
        sampler: Sampler | None = None,
        burn_in: int = 500,
        draws: int = 500,
        random_state: Any = None,
    ) -> None:
        super().__init__(prior, sampler, burn_in, draws, random_state)
        self.family = family

    def __sklearn_is_fitted__(self) -> bool:
        return "_chain" in vars(self)

    def __sklearn_tags__(self) -> Any:
        return with_family(super().__sklearn_tags__(), self.family)

    # ---- learning --------------------------------------------------------------------------

    def fit(self, X: Any, times: Any = None, y: Any = None) -> Self:
        """Forget everything, and draw from the posterior of these rows.

        An interrupt (Ctrl-C) between two sweeps leaves the draws that were kept, and
        :meth:`resume` goes on.

        Parameters
        ----------
        X : array or CSR matrix (N, D)
        times : numbers, dates or labels (N,)
            The time of each row. Numbers and dates are sorted, and so are labels that read as
            either; other labels keep the order in which they appear, pandas categories theirs.
        y : ignored
        """
        self._check_settings()
        prior = self._asked_prior()
        with self._or_as_before():
            rows = self._validated(X, None)
            known, codes = Times.read(times, rows.shape[0])
            family = self.family if isinstance(self.family, Family) else automatic_family(rows)
            prepared = prepare_rows(family, rows)
            family = resolve(family, NGGP(), None, prepared[:WARMUP]).family
            measure = prior.measure(np.bincount(codes).astype(np.float64))
            self._taught, self._prior = self._asked_sampler(measure), prior
            self._data = Data(family, prepared, codes, len(known))
            self._rng = generator(self.random_state)
            self._chain, self._draws, self._sweep = start(measure, self._data), Draws(), 0
            self._times = known
            self._go_on()
        return self

    def resume(self, X: Any, times: Any = None, y: Any = None) -> Self:
        """Go on with a fit that was interrupted, or given more draws, as if it had not been.

        Parameters are those of :meth:`fit`, with the same rows and times.
        """
        check_is_fitted(self)
        self._check_settings()
        check_begun("prior", self._prior, self._asked_prior())
        check_begun("sampler", self._taught, self._asked_sampler(self._chain.measure))
        prepared = prepare_rows(self._data.family, self._validated(X, self._data.family))
        codes = self._times.codes(times, prepared.shape[0])
        if _digest(prepared, codes) != _digest(self._data.X, self._data.times):
            raise ValueError(
                "these are not the rows, or not the times, that the fit was begun with. Give the "
                "same X and times again, or call fit."
            )
        self._go_on()
        return self

    def fit_predict(self, X: Any, times: Any = None, y: Any = None) -> Array:
        """Fit and return ``labels_`` (N,)."""
        return self.fit(X, times).labels_

    def _go_on(self) -> None:
        """Sweep until there are as many draws as asked for."""
        self._views = {}
        while self._sweep < self.burn_in + self.draws:
            with interrupts_wait():
                chain, rng = deepcopy((self._chain, self._rng))  # a sweep may fail half way
                self._taught.sweep(self._data, chain, rng)
                if self._sweep >= self.burn_in:
                    self._draws.keep(chain, self._data)
                    self._views.clear()
                self._chain, self._rng, self._sweep = chain, rng, self._sweep + 1

    def _check_settings(self) -> None:
        super()._check_settings()
        check_family(self.family)

    def _asked_prior(self) -> DependentPrior:
        prior = MNGG() if self.prior is None else self.prior
        if not isinstance(prior, DependentPrior):
            raise TypeError(f"prior must be em.MNGG, em.TNGG or em.SNGG, got {prior!r}.")
        return prior

    def _asked_sampler(self, measure: Measure) -> Sampler:
        sampler = default_sampler(measure) if self.sampler is None else self.sampler
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be one of em.M1() to em.T5() or None, got {sampler!r}.")
        sampler.check(measure)
        return sampler

    def _validated(self, X: Any, family: Family | None) -> Array:
        """Return rows of finite numbers; those of a fit if there is no family yet."""
        asked = self.family if isinstance(self.family, Family) else None
        spec = asked if family is None else family
        accept = "csr" if spec is None or spec.sparse else False
        X = host(X) if is_foreign(X) else X
        return validate_data(self, X, reset=family is None, accept_sparse=accept, dtype="numeric")

    # ---- draws -----------------------------------------------------------------------------

    @property
    def family_(self) -> Family:
        """What one cluster looks like, with every hyperparameter set."""
        check_is_fitted(self)
        return self._data.family

    @property
    def sampler_(self) -> Sampler:
        """The sampler that draws."""
        check_is_fitted(self)
        return self._taught

    @property
    def n_sweeps_(self) -> int:
        """Number of sweeps so far, burn-in included."""
        check_is_fitted(self)
        return self._sweep

    @property
    def posterior_(self) -> Posterior:
        """All draws of partitions, and what follows from them."""
        self._check_drawn()
        if "posterior" not in self._views:
            mass = "M" if self._chain.measure.laws.relative else "a"
            labels, chain = np.array(self._draws.labels), np.zeros(len(self._draws), dtype=np.int64)
            self._views["posterior"] = Posterior(labels, chain, self._draws.scalars(mass))
        return self._views["posterior"]

    @property
    def traces_(self) -> dict[str, Array]:
        """Numbers (draws,) of all draws, by name."""
        posterior = self.posterior_
        return {**posterior.scalars, "K": posterior.n_clusters}

    def to_arviz(self) -> Any:
        """Return the traces for ArviZ's plots and diagnostics."""
        return self.posterior_.to_arviz()

    @property
    def labels_(self) -> Array:
        """The cluster of each row in the draw nearest to all others, (N,)."""
        best = self._point()
        return self._draws.labels[best].astype(np.int64)

    @property
    def n_clusters_(self) -> int:
        """Number of clusters in that draw."""
        best = self._point()
        return len(self._draws.region[best])

    @property
    def regions_(self) -> Array:
        """The region of each cluster of that draw, (K,)."""
        best = self._point()
        return self._draws.region[best].copy()

    @property
    def evolution_(self) -> Array:
        """Share of each cluster among the rows of each time, (T, K)."""
        counts = self._data.counts(self.labels_, self.n_clusters_)
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def predicted_evolution_(self) -> Array:
        """Predicted share of each cluster at each time, new ones left out, (T, K)."""
        _, log_weights = self._view(self._point())
        old = log_weights[:, :-1]
        return np.exp(old - logsumexp(old, axis=1)[:, None])

    @property
    def _n_drawn(self) -> int:
        return len(self._draws)

    def _point(self) -> int:
        """Return the number of the draw nearest to all others."""
        self._check_drawn()
        if "point" not in self._views:
            self._views["point"] = self.posterior_.point()
        return int(self._views["point"])

    def _view(self, m: int) -> tuple[Any, Array]:
        """Return the clusters of draw m as a state, and log weights (T, K + 1)."""
        measure = self._prior.measure(np.bincount(self._data.times).astype(np.float64))
        atoms, labels = self._draws.restore(m, measure, self._data)
        log_weights = measure.predictive(atoms)
        state = self._data.state(labels, log_weights.shape[1] - 1)
        return state, log_weights - logsumexp(log_weights, axis=1)[:, None]

    # ---- asking ----------------------------------------------------------------------------

    def predict(self, X: Any, times: Any = None) -> Array:
        """Return the most probable cluster of each row at its time, (N,)."""
        return self._joint(self._point(), *self._prepared(X, times))[:, :-1].argmax(axis=1)

    def predict_proba(self, X: Any, times: Any = None) -> Array:
        """Return the probability of each cluster (N, K), if a row is not of a new one."""
        old = self._joint(self._point(), *self._prepared(X, times))[:, :-1]
        return np.exp(old - logsumexp(old, axis=1)[:, None])

    def score_samples(self, X: Any, times: Any = None) -> Array:
        """Return the log predictive density of each row (N,), averaged over draws inside the log.

        The auxiliary variables of a draw stand for all there could be.
        """
        self._check_drawn()
        rows, codes = self._prepared(X, times)
        each = [logsumexp(self._joint(m, rows, codes), axis=1) for m in range(len(self._draws))]
        mean = logsumexp(np.array(each), axis=0) - np.log(len(each))
        return mean + self._data.family.log_base(rows)

    def score(self, X: Any, times: Any = None) -> float:
        """Return the mean log predictive density of the rows."""
        return float(self.score_samples(X, times).mean())

    def _prepared(self, X: Any, times: Any) -> tuple[Array, Array]:
        """Return rows to ask about and the codes of their times, validated."""
        check_is_fitted(self)
        family = self._data.family
        rows = prepare_rows(family, self._validated(X, family))
        return rows, self._times.codes(times, rows.shape[0])

    def _joint(self, m: int, rows: Array, codes: Array) -> Array:
        """Log weight plus log predictive of rows in draw m, (N, K + 1), base measure left out."""
        state, log_weights = self._view(m)
        joint, family = np.empty((rows.shape[0], log_weights.shape[1])), self._data.family
        work = family.workspace(state.tally, state.columns)
        score_rows(work, family.rows(rows), joint.shape[1], joint)
        return joint + log_weights[codes]

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to one file, from which :func:`evermix.load` restores it bit for bit."""
        from evermix.estimators.dependent.file import save

        save(self, path)


def _digest(X: Array, codes: Array) -> str:
    digest = RowHash()
    digest.update(X)
    return digest.result(codes)
