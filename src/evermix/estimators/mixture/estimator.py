"""The scikit-learn estimator: a mixture is a family, a prior and an engine."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin, DensityMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._random import generator
from evermix._xp import Array, alike, doubled, is_foreign, logsumexp, namespace
from evermix.engines.base import Engine
from evermix.engines.batch import Batch
from evermix.estimators.data.fingerprint import same_rows
from evermix.estimators.data.lazy import fingerprint
from evermix.estimators.data.rows import prepare_times
from evermix.estimators.keeping import or_as_before
from evermix.estimators.mixture.answers import log_densities, log_density, sampled
from evermix.estimators.mixture.fitted import Told
from evermix.estimators.mixture.learner import Watch, watches
from evermix.estimators.mixture.start import saved_clusters
from evermix.estimators.resolve import WARMUP
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.priors.base import Prior


def _streams(mix: "Mixture") -> bool:
    """Whether the engine learns rows as they come; raises what scikit-learn shows as the reason."""
    engine = mix.engine
    if isinstance(engine, Engine) and not engine.streams:  # partial_fit says what is no engine
        raise TypeError(
            f"{type(engine).__name__} comes back to its rows, so it cannot learn them as they "
            "come. Use fit, or an engine that streams: em.ADF()."
        )
    return True


def _numbers(weights: Array, times: Array | None) -> Array:
    """Return what a fit was given beside its rows, to know it again."""
    return weights if times is None else np.concatenate([weights, times])


class Mixture(ClusterMixin, DensityMixin, Told):  # type: ignore[misc]
    """Clusters data, in one pass or as they arrive, and finds how many clusters there are.

    Parameters
    ----------
    family : "auto" or Family
        What one cluster looks like. "auto" takes Multinomial for sparse or integer counts,
        Bernoulli for booleans, Gaussian for up to 32 real features and DiagonalGaussian for more,
        with scales chosen from the first rows.
    prior : Prior or None
        How many clusters there are and how big. None is ``NGGP(1.0, 0.5, 1.0)``, or ``DP(1.0)``
        where the engine needs sticks.
    engine : Engine or None
        How the posterior is computed. None is ``ADF()``: one pass, streaming.
    forgetting : Exponential or None
        How what was learnt fades, for streams that change, with engines that learn rows once:
        ``em.Exponential(half_life=1000)``. None forgets nothing.
    max_clusters : int or None
        A cap on the number of clusters; reaching it warns once.
    random_state : int, RandomState, Generator or None
        Seed for engines that draw, and for :meth:`sample`. A RandomState or Generator seeds a
        generator of the model's own, and moves on with each that it seeds.

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
        fit was interrupted, -1 for rows that were not met yet, or whose cluster was dropped since
        they were. Rows of clusters that have faded keep their names.
        For samplers they are those of the draw nearest to all others, each row counted in its
        cluster. They are NumPy arrays wherever the rows were: they are saved with the model.
    lineage_ : Lineage
        Birth, end and heir of every id.
    label_maps_ : list of int64 arrays
        Of a model made by :func:`evermix.merge`: cluster k of the i-th model that it was made of is
        ``label_maps_[i][k]`` here. -1 stands for what was dropped, and for no cluster.
    lower_bound_ : float
        Lower bound (ELBO) on the log evidence of the rows, of a variational engine.
    n_clusters_posterior_ : array (L + 1,)
        Probabilities that the data are of 0, 1, ... L clusters, of the engine ``RCRP``.
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
    ``fit`` keeps the clusters that own rows and names them 0..K-1. With ``forgetting`` it renames
    nothing, since clusters that have faded own rows too: names may be missing in between.
    ``partial_fit`` goes on from where it was and renames nothing. While the scale of the data is
    still open, the first rows (up to 1,000) wait in a buffer and are learnt as soon as the scale is
    known, or anything is asked of the model.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5)) + 6 * rng.integers(0, 4, size=(2000, 1))
    >>> mix = em.Mixture().fit(X)
    >>> mix.n_clusters_
    4
    """

    def __init__(
        self,
        family: str | Family = "auto",
        prior: Prior | None = None,
        engine: Engine | None = None,
        forgetting: Exponential | None = None,
        max_clusters: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.prior = prior
        self.engine = engine
        self.forgetting = forgetting
        self.max_clusters = max_clusters
        self.random_state = random_state

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        observers: Iterable[Watch] = (),
    ) -> Self:
        """Forget everything and learn these rows.

        An interrupt (Ctrl-C) leaves a model that can be used, and :meth:`resume` goes on.

        Parameters
        ----------
        X : array, CSR matrix, :class:`Chunks` or Dask collection (N, D)
            Rows need not fit into memory, unless the engine is a sampler: a memory map of any real
            type (``np.load(path, mmap_mode="r")``) and chunks are read as they are needed, batch by
            batch. Labels are kept in memory.
            Rows of PyTorch or CuPy, dense or CSR, are learnt where they are by variational engines,
            and brought to the host by others.
            Partitions of a Dask array, data frame, bag (of arrays of rows) or list of delayed
            arrays stay on the workers of the cluster that the program is connected to; engines
            that work in one place take one of them at a time, and samplers all.
        y : ignored
        sample_weight : array (N,) or None
            A row of weight w is met once and adds w to the mass of its clusters.
        times : array (N,) or None
            When each row was seen: numbers or dates that never go back, for models that forget.
            Without them the rows themselves are counted.
        observers : iterable of callables
            Each is called as ``observer(mix, info)`` after every step and after every lap (then
            ``info.rows`` is 0); it may save the mixture.
        """
        watching = watches(observers)
        with or_as_before(self, self._begun_since(vars(self).get("_history"))):
            engine = self._engine()
            start = saved_clusters(engine)
            family, X, weights = self._validated(X, sample_weight, True, lazy=not engine.whole)
            stamps = self._times(times, len(weights), first=True)
            model = self._resolved(engine, self._asked_model(family), X, weights)
            if start is not None:
                model = start.fitted(model)
            seen = fingerprint(X, _numbers(weights, stamps))
            self._begin(family)
            self._start(model, start)
            self._rows_seen, self._timed = seen, stamps is not None
            self._go_round(X, weights, stamps, watching)
        return self

    def resume(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        observers: Iterable[Watch] = (),
    ) -> Self:
        """Go on with a fit that was interrupted, with the same rows, as if it had not been.

        A fit that was finished goes on too, if ``set_params`` has given its engine more to do: more
        ``laps``, a smaller ``tol``, more ``sweeps`` with the same ``burn_in``, more ``chains``.
        All other settings must be those that it was begun with. Parameters are those of
        :meth:`fit`.
        """
        check_is_fitted(self)
        watching = watches(observers)
        if self._rows_seen is None:
            raise ValueError(
                "there is no fit to go on with: this model was taught by partial_fit, or merged "
                "from others, and knows no rows. Call fit."
            )
        engine = self._next_engine(fit=True)
        _, X, weights = self._validated(X, sample_weight, False, lazy=not engine.whole)
        assert self._model is not None
        stamps = prepare_times(times, len(weights), self._model.forgetting)
        seen = fingerprint(X, _numbers(weights, stamps))
        if not same_rows(self._rows_seen, X, weights, seen):
            raise ValueError(
                "these are not the rows, or not the weights or times, that the fit was begun with. "
                "Give the same X, sample_weight and times again, or call fit."
            )
        self._taught = engine
        self._check_remembered()
        self._go_round(X, weights, stamps, watching)
        return self

    @available_if(_streams)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None
    ) -> Self:
        """Learn these rows and go on from where the model is; nothing of the rows is kept.

        Other settings of the same engine hold for these rows and those that follow.
        Parameters are those of :meth:`fit`.
        """
        first = not self.__sklearn_is_fitted__()
        with or_as_before(self):
            family, X, weights = self._validated(X, sample_weight, reset=first)
            engine = self._engine()
            model = self._asked_model(family) if first else self._model or self._begun
            engine.check(model)
            engine.check_weights(model, weights)
            stamps = self._times(times, len(weights), first)
            if first:
                family.candidates(X[:WARMUP])  # hyperparameters that cannot be are told at once
        if first:
            self._begin(family)
        else:
            self._taught = self._next_engine(fit=False)
        self._rows_seen, self._timed = None, stamps is not None
        if self._model is not None:
            self._learn(X, weights, stamps)
            return self
        self._waiting.append(Batch(X, weights, times=stamps))
        if not family.open or self._n_waiting >= WARMUP:
            self._settle()
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None
    ) -> Array:
        """Fit and return ``labels_`` (N,), where the rows are."""
        labels = self.fit(X, sample_weight=sample_weight, times=times).labels_
        if not is_foreign(X):
            return labels
        return alike(labels, DeviceCSR.of(X) if is_foreign_csr(X) else X)

    # ---- asking ----------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Return the id of the most probable cluster of each row, (N,).

        Rows of PyTorch or CuPy are answered in kind, where they are; so it is with all questions.
        """
        ids = self.cluster_ids_

        def ask(joint: Array) -> Array:
            xp = namespace(joint)
            return xp.take(alike(ids, joint), xp.argmax(joint[:, :-1], axis=1))

        return self._asked(X, ask)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each cluster (N, K); column j is ``cluster_ids_[j]``."""

        def ask(joint: Array) -> Array:
            old = joint[:, :-1]
            return namespace(joint).exp(old - logsumexp(old, axis=1)[:, None])

        return self._asked(X, ask)

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row (N,), base measure included."""
        X = self._prepared(X)
        return log_density(self._taught, self._draws(), X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log predictive density of the rows."""
        each = doubled(self.score_samples(X))
        return float(namespace(each).mean(each))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows from the predictive distribution, that of :meth:`score_samples`.

        With an int as ``random_state`` every call draws the same rows, as in scikit-learn; with a
        RandomState or a Generator each call draws others. What is learnt later does not change.

        Returns
        -------
        X : array (n_samples, D)
        labels : int64 array (n_samples,)
            The id of the cluster that each row comes from, one of ``cluster_ids_``; -1 for a
            cluster not seen before, and for labels of ``RCRP`` that are not shown as clusters.
            Rows of a sampler come from all its draws, whose clusters have no names in common: -1
            for all, if there are several draws. :meth:`predict` finds them clusters.
        """
        views = self._draws()
        rng = generator(self.random_state).spawn(1)[0]  # not the numbers that the fit drew
        return sampled(self._taught, views, n_samples, rng)

    # ---- draws -----------------------------------------------------------------------------

    def to_arviz(self) -> Any:
        """Return the draws of a sampler for ArviZ: hyperparameters, K, log joint density."""
        return self.posterior_.to_arviz()

    def score_draws(self, X: Any) -> Array:
        """Return the log predictive density of each row under each draw of a sampler, (M, N).

        :meth:`score_samples` averages the densities over draws, inside the log.
        """
        X = self._prepared(X)
        return log_densities(self._taught, self._draws(), X)

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to one file, from which :func:`evermix.load` restores it bit for bit."""
        from evermix.estimators.files import save

        save(self, path)
