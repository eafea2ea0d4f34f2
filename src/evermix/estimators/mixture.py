"""The scikit-learn estimator: a mixture is a family, a prior and an engine."""

from collections import deque
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, logsumexp
from evermix.engines.adf import ADF
from evermix.engines.base import Batch, Engine, Info, RowResults
from evermix.engines.moves.prune import drop
from evermix.engines.run import run
from evermix.estimators.resolve import WARMUP, check_cap, resolve
from evermix.estimators.rows import automatic_family, cut, prepare_rows, prepare_weights, stack
from evermix.families.base import Family
from evermix.kernels.scoring import score_rows
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import Prior
from evermix.state import Lineage, State

__all__ = ["Mixture"]

_FEATURES = ("n_features_in_", "feature_names_in_")
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
    weights_ : array (K,)
        Predictive probability of each cluster, given that the next row is not of a new one.
    labels_, probabilities_ : arrays (N,)
        Id of the most probable cluster, and its probability, for the rows of the last call of
        ``fit`` or ``partial_fit``, each as it was met (merges since then are followed).
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Forget everything and learn these rows.

        Parameters
        ----------
        X : array or CSR matrix (N, D)
        y : ignored
        sample_weight : array (N,) or None
            A row of weight w is met once and adds w to the mass of its clusters.
        """
        family, X, weights = self._validated(X, sample_weight, reset=True)
        model = self._resolved(family, X, weights)
        self._begin(family)
        self._start(model)
        self._learn(X, weights)
        self._state, info = self._engine().end_lap(model, self._state)
        self._history.append(info)
        self._follow(X)
        self._compact(X, weights)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn these rows and go on from where the model is; nothing of the rows is kept.

        Parameters are those of :meth:`fit`.
        """
        first = not self.__sklearn_is_fitted__()
        family, X, weights = self._validated(X, sample_weight, reset=first)
        if first:
            self._engine().check(Model(family, self._prior()))
            family.candidates(X[:WARMUP])  # hyperparameters that cannot be are told at once
            self._begin(family)
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
        return self.cluster_ids_[np.argmax(self._log_joint(X)[0][:, :-1], axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each cluster (N, K); column j is ``cluster_ids_[j]``."""
        old = self._log_joint(X)[0][:, :-1]
        return np.exp(old - logsumexp(old, axis=1)[:, None])

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row (N,), base measure included."""
        joint, base = self._log_joint(X)
        return logsumexp(joint, axis=1) + base

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
        self._settle()
        family, tally = self.model_.family, self._state.tally
        rng = generator(self.random_state)
        weights = np.exp(self._engine().log_weights(self.model_, self._state))
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
        self._settle()
        return self._state.tally.K

    @property
    def cluster_ids_(self) -> Array:
        """Ids of the clusters, (K,)."""
        self._settle()
        return self._state.tally.ids.copy()

    @property
    def weights_(self) -> Array:
        """Predictive probability of each cluster (K,), if the next row is not of a new one."""
        log_weights = self._engine().log_weights(self.model_, self._state)[:-1]
        return np.exp(log_weights - logsumexp(log_weights))

    @property
    def labels_(self) -> Array:
        """Id of the most probable cluster of each row of the last call, (N,)."""
        self._settle()
        return self._results.labels

    @property
    def probabilities_(self) -> Array:
        """Probability of the most probable cluster for each row of the last call, (N,)."""
        self._settle()
        return self._results.probabilities

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
        parts: list[RowResults] = []
        model = self._model
        assert model is not None

        def remember(state: State, info: Info) -> None:
            assert info.results is not None
            parts.append(info.results)
            self._state = state
            self._history.append(info.summary())

        try:
            run(self._engine(), model, self._state, cut(X, weights), self._rng, [remember])
        finally:  # an interrupt leaves the labels of the rows that were learnt
            if parts:
                columns = zip(*parts, strict=True)
                self._results = RowResults(*(np.concatenate(values) for values in columns))
                self._follow(X[: len(self._results.labels)])

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
        """Drop clusters that own no row that counts, and name the others 0..K-1 as they appear."""
        owners, first = np.unique(self._results.labels[weights > 0], return_index=True)
        drop(self._state, ~np.isin(self._state.tally.ids, owners))
        self._follow(X)
        name = np.empty(self._state.lineage.next_id, dtype=np.int64)
        name[owners[np.argsort(first)]] = np.arange(len(owners))
        self._results.labels[:] = name[self._results.labels]
        self._state.rename(name[self._state.tally.ids])

    def _log_joint(self, X: Any) -> tuple[Array, Array]:
        """Log weight plus log predictive (N, K + 1), the last for a new cluster; and log h."""
        self._settle()
        accept = "csr" if self._family.sparse else False
        X = validate_data(self, X, reset=False, accept_sparse=accept, dtype="numeric")
        X = prepare_rows(self._family, X)
        return self._joint(X), self.model_.family.log_base(X)

    def _joint(self, X: Array) -> Array:
        assert self._model is not None
        family, state = self._model.family, self._state
        slots = state.tally.K + 1
        joint = np.empty((X.shape[0], slots))
        score_rows(family.workspace(state.tally, state.columns), family.rows(X), slots, joint)
        return joint + self._engine().log_weights(self._model, state)
