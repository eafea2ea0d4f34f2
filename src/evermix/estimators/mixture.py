"""The scikit-learn estimator: a mixture is a family, a prior and an engine."""

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, logsumexp
from evermix.engines.adf import ADF
from evermix.engines.base import Batch, Engine, Info, RowResults
from evermix.engines.moves.prune import drop
from evermix.engines.run import interrupts_wait, run, run_laps
from evermix.engines.sampler import Sampler
from evermix.estimators.resolve import WARMUP, check_cap, resolve
from evermix.estimators.rows import (
    BATCH,
    Cuts,
    automatic_family,
    fingerprint,
    prepare_rows,
    prepare_weights,
    stack,
)
from evermix.estimators.views import (
    View,
    log_densities,
    log_density,
    log_joint,
    point,
    posterior,
)
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import Prior
from evermix.report.posterior import Posterior
from evermix.state import Lineage, State
from evermix.tally import Tally

__all__ = ["Mixture"]

_FEATURES = ("n_features_in_", "feature_names_in_")
Watch: TypeAlias = Callable[["Mixture", Info], None]
HISTORY = 10_000  # steps remembered in `history_`, so that endless streams stay bounded


class Mixture(ClusterMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters data, in one pass or as they arrive, and finds how many clusters there are.

    Parameters
    ----------
    family : "auto" or Family
        What one cluster looks like. "auto" takes Multinomial for sparse or integer counts,
        Bernoulli for booleans, Gaussian for up to 32 real features and DiagonalGaussian for more,
        with scales chosen from the first rows.
    prior : Prior or None
        How many clusters there are and how big. None is ``NGGP(1.0, 0.5, 1.0)``.
    engine : Engine or None
        How the posterior is computed. None is ``ADF()``: one pass, streaming.
    max_clusters : int or None
        A cap on the number of clusters; reaching it warns once.
    random_state : int, RandomState, Generator or None
        Seed for engines that draw, and for :meth:`sample`.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    cluster_ids_ : int64 array (K,)
        Their ids; :meth:`predict` and ``labels_`` return these values. Ids are never reused.
    tally_ : Tally
        Their mass and statistics.
    weights_ : array (K,)
        Predictive probability of each cluster, given that the next row is not of a new one.
    labels_, probabilities_ : arrays (N,)
        Id of the most probable cluster, and its probability, for the rows of the last call of
        ``fit`` or ``partial_fit``, each as it was met (merges since then are followed). Where a
        fit was interrupted, -1 for rows whose cluster was dropped since they were met.
    lineage_ : Lineage
        Birth, end and heir of every id.
    history_ : list of Info
        What happened in the last steps.
    model_ : Model
        The family and prior with every hyperparameter set.
    state_ : State
        What was learnt: mass and statistics of the clusters, and the clock.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    ``fit`` keeps the clusters that own rows and names them 0..K-1. ``partial_fit`` goes on from
    where it was and renames nothing. While the scale of the data is still open, the first rows (up
    to 1,000) wait in a buffer and are learnt as soon as the scale is known, or anything is asked of
    the model.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5)) + 6 * rng.integers(0, 4, size=(2000, 1))
    >>> mix = em.Mixture().fit(X)
    >>> mix.n_clusters_
    4
    """

    _state: State
    _results: RowResults
    _rows_seen: str | None  # a fit knows its rows again by their fingerprint
    _batch: Batch | None  # all rows of a fit, for engines that want them whole
    _seen: list[View]  # what labels are predicted from, once it was asked for: asking sets nothing

    def __init__(
        self,
        family: str | Family = "auto",
        prior: Prior | None = None,
        engine: Engine | None = None,
        max_clusters: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.prior = prior
        self.engine = engine
        self.max_clusters = max_clusters
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, observers: Iterable[Watch] = ()
    ) -> Self:
        """Forget everything and learn these rows.

        An interrupt (Ctrl-C) leaves a model that can be used, and :meth:`resume` goes on.

        Parameters
        ----------
        X : array or CSR matrix (N, D)
        y : ignored
        sample_weight : array (N,) or None
            A row of weight w is met once and adds w to the mass of its clusters.
        observers : iterable of callables
            Each is called as ``observer(mix, info)`` after every step and after every lap (then
            ``info.rows`` is 0); it may save the mixture.
        """
        family, X, weights = self._validated(X, sample_weight, reset=True)
        model, seen = self._resolved(family, X, weights), fingerprint(X, weights)
        self._begin(family)
        self._start(model)
        self._rows_seen = seen
        self._go_round(X, weights, observers)
        return self

    def resume(
        self, X: Any, y: Any = None, sample_weight: Any = None, observers: Iterable[Watch] = ()
    ) -> Self:
        """Go on with a fit that was interrupted, with the same rows, as if it had not been.

        A fit that was finished goes on too, if ``set_params`` has given its engine more to do.
        Parameters are those of :meth:`fit`.
        """
        check_is_fitted(self)
        if self._rows_seen is None:
            raise ValueError("there is no fit to go on with: this model was taught by partial_fit.")
        if type(self._engine()).__name__ != self._began_with:
            raise ValueError(
                f"the fit was begun with the engine {self._began_with}, got {self._engine()!r}. "
                "Set the engine back, or call fit."
            )
        _, X, weights = self._validated(X, sample_weight, reset=False)
        if fingerprint(X, weights) != self._rows_seen:
            raise ValueError(
                "these are not the rows, or not the weights, that the fit was begun with. Give the "
                "same X and sample_weight again, or call fit."
            )
        self._engine().check(self.model_)
        self._go_round(X, weights, observers)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn these rows and go on from where the model is; nothing of the rows is kept.

        Parameters are those of :meth:`fit`.
        """
        if not self._engine().streams:
            raise TypeError(
                f"{type(self._engine()).__name__} comes back to its rows, so it cannot learn them "
                "as they come. Use fit, or an engine that streams: em.ADF()."
            )
        first = not self.__sklearn_is_fitted__()
        family, X, weights = self._validated(X, sample_weight, reset=first)
        if first:
            self._engine().check(Model(family, self._prior()))
            family.candidates(X[:WARMUP])  # hyperparameters that cannot be are told at once
            self._begin(family)
        self._rows_seen = None
        if self._model is not None:
            self._learn(X, weights)
            return self
        self._waiting.append(Batch(X, weights))
        if not family.open or self._n_waiting >= WARMUP:
            self._settle()
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit and return ``labels_`` (N,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    # ---- asking ----------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Return the id of the most probable cluster of each row, (N,)."""
        return self.cluster_ids_[np.argmax(self._log_joint(X)[:, :-1], axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each cluster (N, K); column j is ``cluster_ids_[j]``."""
        old = self._log_joint(X)[:, :-1]
        return np.exp(old - logsumexp(old, axis=1)[:, None])

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row (N,), base measure included."""
        X = self._prepared(X)
        return log_density(self._engine(), self.model_, self._state, self._batch, X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log predictive density of the rows."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows from the predictive distribution.

        Returns
        -------
        X : array (n_samples, D)
        labels : int64 array (n_samples,)
            The id of the cluster that each row comes from; -1 for a cluster not seen before.
        """
        model, state, _ = self._point()
        family, tally = model.family, state.tally
        rng = generator(self.random_state)
        weights = np.exp(self._engine().log_weights(model, state))
        rows = rng.choice(tally.K + 1, size=n_samples, p=weights / weights.sum())
        stats = np.vstack([tally.stats, np.zeros(tally.size)])
        mass = np.append(tally.mass, 0.0)
        eta = family.posterior(stats, mass)
        X = np.array([family.draw(eta[k], float(mass[k]), rng) for k in rows])
        return X.reshape(n_samples, self.n_features_in_), np.append(tally.ids, -1)[rows]

    @property
    def model_(self) -> Model:
        """The family and prior with every hyperparameter set."""
        self._settle()
        assert self._model is not None
        return self._model

    @property
    def state_(self) -> State:
        """What was learnt: mass and statistics of the clusters, and the clock. Only to be read."""
        self._settle()
        return self._state

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return self._point().state.tally.K

    @property
    def cluster_ids_(self) -> Array:
        """Ids of the clusters, (K,)."""
        return self._point().state.tally.ids.copy()

    @property
    def tally_(self) -> Tally:
        """Mass and statistics of the clusters ``cluster_ids_``. Only to be read."""
        return self._point().state.tally

    @property
    def weights_(self) -> Array:
        """Predictive probability of each cluster (K,), if the next row is not of a new one."""
        log_weights = self._engine().log_weights(*self._point()[:2])[:-1]
        return np.exp(log_weights - logsumexp(log_weights))

    @property
    def labels_(self) -> Array:
        """Id of the most probable cluster of each row of the last call, (N,)."""
        labels = self._point().labels
        if labels is None:  # results stay as they were met, so that a fit can go on bit for bit
            labels = np.maximum(self._state.lineage.current(self._results.labels), -1)
        return labels

    @property
    def probabilities_(self) -> Array:
        """Probability of the cluster ``labels_`` of each row of the last call, (N,)."""
        labels = self._point().labels
        if labels is None or self._batch is None:
            return self._results.probabilities
        joint = self._joint(self._batch.X)[:, :-1]
        return np.exp(joint[np.arange(len(labels)), labels] - logsumexp(joint, axis=1))

    @property
    def lineage_(self) -> Lineage:
        """Birth, end and heir of every id."""
        self._settle()
        return self._state.lineage

    @property
    def history_(self) -> list[Info]:
        """What happened in the last steps."""
        self._settle()
        return list(self._history)

    # ---- draws -----------------------------------------------------------------------------

    @property
    def posterior_(self) -> Posterior:
        """The draws of a sampler, and what follows from them."""
        self._settle()
        engine = self._engine()
        if not isinstance(engine, Sampler):
            raise AttributeError(
                f"{type(engine).__name__} makes no draws, so there is no posterior_. Use a "
                "sampler: em.Gibbs or em.Slice."
            )
        if not engine.n_draws(self._state):
            raise AttributeError("no draw was kept yet: go on with resume, or shorten burn_in.")
        return posterior(engine, self._state)

    def to_arviz(self) -> Any:
        """Return the draws of a sampler for ArviZ: hyperparameters, K, log joint density."""
        return self.posterior_.to_arviz()

    def score_draws(self, X: Any) -> Array:
        """Return the log predictive density of each row under each draw of a sampler, (M, N).

        :meth:`score_samples` averages the densities over draws, inside the log.
        """
        X = self._prepared(X)
        return log_densities(self._engine(), self.model_, self._state, self._batch, X)

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to one file, from which :func:`evermix.load` restores it bit for bit."""
        from evermix.estimators.persistence import save

        save(self, path)

    # ---- inside ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_waiting" in vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_state" in state:  # memory-mapped pickles come read-only, but streams go on writing
            self._state = State.from_arrays(*self._state.to_arrays())
            self._seen = []

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        family = self.family
        tags.input_tags.sparse = family == "auto" or (isinstance(family, Family) and family.sparse)
        tags.input_tags.positive_only = isinstance(family, Family) and family.sparse
        return tags

    def _prior(self) -> Prior:
        prior = NGGP() if self.prior is None else self.prior
        if not isinstance(prior, Prior):
            raise TypeError(f"prior must be a Prior such as em.DP(1.0) or None, got {prior!r}.")
        return prior

    def _engine(self) -> Engine:
        engine = ADF() if self.engine is None else self.engine
        if not isinstance(engine, Engine):
            raise TypeError(f"engine must be an Engine such as em.ADF() or None, got {engine!r}.")
        return engine

    def _validated(self, X: Any, sample_weight: Any, reset: bool) -> tuple[Family, Array, Array]:
        """Return the family asked for, and rows and weights that nothing inside need doubt."""
        if isinstance(self.family, str) and self.family != "auto":
            raise ValueError(f"family must be 'auto' or a Family, got {self.family!r}.")
        if not isinstance(self.family, str | Family):
            raise TypeError(f"family must be 'auto' or a Family, got {self.family!r}.")
        check_cap(self.max_clusters)
        # A stream keeps the family that it began with, whatever set_params says since.
        asked = self.family if isinstance(self.family, Family) else None
        spec = asked if reset else self._family
        accept = "csr" if spec is None or spec.sparse else False
        before = {name: vars(self)[name] for name in _FEATURES if name in vars(self)}
        try:
            X = validate_data(self, X, reset=reset, accept_sparse=accept, dtype="numeric")
            family = automatic_family(X) if spec is None else spec
            return family, prepare_rows(family, X), prepare_weights(sample_weight, X)
        except Exception:
            for name in _FEATURES:  # validate_data has set them already; the model is still the old
                self.__dict__.pop(name, None)
            self.__dict__.update(before)
            raise

    def _begin(self, family: Family) -> None:
        self._family = family
        self._model: Model | None = None
        self._waiting: list[Batch] = []
        self._history: deque[Info] = deque(maxlen=HISTORY)
        self._rows_seen = None
        self._batch = None
        self._seen = []

    @property
    def _n_waiting(self) -> int:
        """Number of rows that wait, those of weight zero left out: they teach nothing."""
        return sum(int(np.count_nonzero(batch.weights)) for batch in self._waiting)

    def _resolved(self, family: Family, X: Array, weights: Array) -> Model:
        """Return the model for the first rows that count, if the engine can work with it."""
        first = np.flatnonzero(weights)[:WARMUP]
        model = resolve(family, self._prior(), self.max_clusters, X[first])
        self._engine().check(model)
        return model

    def _start(self, model: Model) -> None:
        self._rng = generator(self.random_state)
        self._state = self._engine().start(model, self._rng)
        self._began_with = type(self._engine()).__name__
        self._results = RowResults.empty(0)
        self._model = model

    def _settle(self) -> None:
        """Learn the rows that wait for the scale of the data, if any."""
        check_is_fitted(self)
        if not self._waiting:
            return
        last = len(self._waiting[-1].weights)
        X = stack([batch.X for batch in self._waiting])
        weights = np.concatenate([batch.weights for batch in self._waiting])
        self._start(self._resolved(self._family, X, weights))
        self._waiting = []
        self._learn(X, weights)
        self._results = RowResults(*(values[-last:] for values in self._results))

    def _learn(self, X: Array, weights: Array) -> None:
        """Learn rows of a stream."""
        parts: list[RowResults] = []
        model = self._model
        assert model is not None

        def remember(state: State, info: Info) -> None:
            assert info.results is not None
            parts.append(info.results)
            self._keep(state, info)

        try:
            run(self._engine(), model, self._state, Cuts(X, weights), self._rng, [remember])
        finally:  # an interrupt leaves the labels of the rows that were learnt
            if parts:
                columns = zip(*parts, strict=True)
                self._results = RowResults(*(np.concatenate(values) for values in columns))
                self._follow(X[: len(self._results.labels)])

    def _go_round(self, X: Array, weights: Array, observers: Iterable[Watch]) -> None:
        """Learn the rows of a fit, lap after lap, from where the state stands."""
        engine, model, n = self._engine(), self._model, len(weights)
        assert model is not None
        observers = tuple(observers)
        batches = Cuts(X, weights, n if engine.whole else BATCH)
        self._batch = Batch(X, weights) if engine.whole else None
        results, known = RowResults.empty(n), len(self._results.labels)
        for values, before in zip(results, self._results, strict=True):
            values[:known] = before

        def remember(state: State, info: Info) -> None:
            if info.results is not None:
                order = engine.order(state, len(batches))
                first = int(order[state.at - 1]) * batches.size
                for values, part in zip(results, info.results, strict=True):
                    values[first : first + info.rows] = part
            done = n if state.lap else min(state.at * batches.size, n)
            self._results = RowResults(*(values[:done] for values in results))
            self._keep(state, info)
            for observe in observers:
                observe(self, info)

        run_laps(engine, model, self._state, batches, self._rng, [remember])
        if not engine.whole:
            with interrupts_wait():
                self._compact(X, weights)

    def _keep(self, state: State, info: Info) -> None:
        self._state, self._seen = state, []
        self._history.append(info.summary())

    def _follow(self, X: Array) -> None:
        """Call the rows X of the last call by the names that their clusters have now."""
        results = self._results
        results.labels[:] = self._state.lineage.current(results.labels)
        lost = results.labels < 0
        if lost.any():  # rows whose cluster was dropped as dust, or of weight zero at the start
            joint = self._joint(X[lost])[:, :-1]
            results.labels[lost] = self._state.tally.ids[joint.argmax(axis=1)]
            results.probabilities[lost] = np.exp(joint.max(axis=1) - logsumexp(joint, axis=1))

    def _compact(self, X: Array, weights: Array) -> None:
        """Drop clusters that own no row that counts, and name the others 0..K-1 as they appear.

        Done twice it changes nothing more.
        """
        self._follow(X)
        owners, first = np.unique(self._results.labels[weights > 0], return_index=True)
        drop(self._state, ~np.isin(self._state.tally.ids, owners))
        self._seen = []
        self._follow(X)
        name = np.empty(self._state.lineage.next_id, dtype=np.int64)
        name[owners[np.argsort(first)]] = np.arange(len(owners))
        self._results.labels[:] = name[self._results.labels]
        self._state.rename(name[self._state.tally.ids])

    def _point(self) -> View:
        """Return what labels are predicted from."""
        self._settle()
        if not self._seen:  # choosing among draws takes time
            self._seen.append(point(self._engine(), self.model_, self._state, self._batch))
        return self._seen[0]

    def _prepared(self, X: Any) -> Array:
        """Return rows to ask about, validated."""
        self._settle()
        accept = "csr" if self._family.sparse else False
        X = validate_data(self, X, reset=False, accept_sparse=accept, dtype="numeric")
        return prepare_rows(self._family, X)

    def _log_joint(self, X: Any) -> Array:
        """Log weight plus log predictive (N, K + 1), the last for a new cluster."""
        return self._joint(self._prepared(X))

    def _joint(self, X: Array) -> Array:
        return log_joint(self._engine(), *self._point()[:2], X)
