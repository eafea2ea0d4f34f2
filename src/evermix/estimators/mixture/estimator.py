"""The scikit-learn estimator: a mixture is a family, a prior and an engine."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import Array, alike, is_foreign
from evermix.engines.base import Engine
from evermix.engines.batch import Batch
from evermix.estimators import files
from evermix.estimators.data.fingerprint import OtherRowsError
from evermix.estimators.data.times import prepare_times
from evermix.estimators.fitting import StepObserver, check_observers, restored_on_error
from evermix.estimators.mixture.beginning import first_model, found
from evermix.estimators.mixture.columns import GrowingColumns
from evermix.estimators.mixture.file import KIND, from_file, to_file
from evermix.estimators.mixture.going_on import checked_engine, live
from evermix.estimators.mixture.imputation import Imputation
from evermix.estimators.mixture.learner import Learner, OnStep
from evermix.estimators.mixture.questions import Questions
from evermix.estimators.mixture.report import ReportQuestions
from evermix.estimators.mixture.restoring import restored_unless_learnt
from evermix.estimators.mixture.row_times import times_after
from evermix.estimators.mixture.settings import (
    Settings,
    can_stream,
    parameters_of,
    with_family,
)
from evermix.estimators.mixture.start import StartClusters
from evermix.estimators.mixture.validation import rows_to_fit, rows_to_stream
from evermix.estimators.packing import Registry
from evermix.estimators.parameters import DeepParameters
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.priors.base import Prior


@files.registered(KIND, "mixture")
class Mixture(
    ReportQuestions,
    Questions,
    GrowingColumns,
    Imputation,
    DeepParameters,
    ClusterMixin,  # type: ignore[misc]
    DensityMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Clusters data, in one pass or as they arrive, and finds how many clusters there are.

    Parameters
    ----------
    family : "auto" or Family
        What one cluster looks like. "auto" chooses by what the rows hold, and says why in
        ``family_reason_``: counts, yes/no, levels, missing values, directions or real numbers.
    prior : Prior or None
        How many clusters there are and how big. None has a ``PitmanYor`` learnt; with a given
        engine it is the usual one of that: ``NGGP()``, or ``DP()`` where it needs sticks.
    engine : Engine or None
        How the posterior is computed. None finds clusters by splits and merges and improves them
        by ``MemoizedVB`` in ``fit``, and streams with ``ADF`` and reviews in ``partial_fit``.
    forgetting : Exponential or None
        How what was learnt fades, for streams that change, with engines that learn rows once:
        ``em.Exponential(half_life=1000)``. None forgets nothing. With it clusters of texts and
        other counts are reviewed in ``partial_fit`` and in ``fit``, those of other rows are not.
    max_clusters : int or None
        A cap on the number of clusters; reaching it warns once. Services should set it: without it
        memory and the time for a row have no bound.
    random_state : int, RandomState, Generator or None
        Seed for engines that draw, and for :meth:`sample`. A RandomState or Generator moves on.

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
        Those of samplers are of the draw nearest to all others. They are always NumPy arrays.
    hierarchy_ : Hierarchy
        The clusters as a tree, joined by how deep the density dips between them.
    group_ids_ : int64 array (K,)
        The group of each cluster, by the cut of :meth:`groups`.
    coarse_hierarchy_ : Hierarchy
        The clusters as a tree, joined by how little evidence that costs, see :meth:`coarse`.
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
    family_reason_ : str
        Why "auto" took its family; the logger "evermix" has it too (INFO).
    state_ : State
        What was learnt: mass and statistics of the clusters, and the clock.
    learner_ : Learner
        What learns: the engine, its random generator, rows that wait, and the state.
    levels_ : dict of str to list
        Of a table: the levels of each column of categories; their places are their codes.
    written_ : dict of str to Writing
        Of a table with strings that are numbers, such as "1,234.50" and "61 kg": how those of each
        column are written, as the character before decimals and the unit. They are shown so, too.
    whole_ : bool array (D,)
        Which columns have held whole numbers only: ranges of theirs end with such. It is not there
        of sparse rows, nor of models of files that do not say it.
    n_features_in_ : int
        Number of features.
    column_names_ : list of str
        Names of the columns of plain arrays, for cards and reports. It may be set, and is saved;
        the command line takes those of the file, and ``em.load`` the words of its texts.

    Notes
    -----
    ``fit`` keeps the clusters that own rows and names them 0..K-1. With ``forgetting`` it renames
    nothing, since clusters that have faded own rows too: names may be missing in between.
    ``partial_fit`` goes on from where it was, also after a ``fit``, and renames nothing. Without
    a given engine, a stream of vectors keeps up to 1,024 rows or more, and reviews its clusters
    with them after 64 rows, 91, 128, and so on by factors of 1.4; ids are kept.

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

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = with_family(super().__sklearn_tags__(), self.family, self.engine)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- learning --------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        observers: Iterable[StepObserver] = (),
    ) -> Self:
        """Forget everything and learn these rows.

        An interrupt (Ctrl-C) leaves a model that can be used, and :meth:`resume` goes on.

        Parameters
        ----------
        X : array, CSR matrix, table, :class:`Chunks` or Dask collection (N, D)
            Rows need not fit into memory, unless the engine is a sampler: a memory map of any real
            type (``np.load(path, mmap_mode="r")``) and chunks are read as they are needed, batch by
            batch. Labels are kept in memory.
            Rows of PyTorch or CuPy, dense or CSR, are learnt where they are by variational engines,
            and brought to the host by others.
            A ``LazyFrame`` of polars and a dataset of HuggingFace or Arrow are chunks too.
            Partitions of a Dask array, data frame, bag (of arrays of rows) or list of delayed
            arrays stay on the workers of the cluster that the program is connected to; engines
            that work in one place take one of them at a time, and samplers all.
        y : ignored
        sample_weight : array (N,) or None
            A row of weight w is met once and adds w to the mass of its clusters.
        times : array (N,) or None
            When each row was seen: numbers or dates that never go back, for models that forget.
            Dates may be strings in ISO 8601, such as "2025-01-31T18:30".
            Without them the rows themselves are counted.
        observers : iterable of callables
            Each is called as ``observer(mix, info)`` after every step and after every lap (then
            ``info.rows`` is 0); it may save the mixture.
        """
        on_step = self._on_step(observers)
        with restored_unless_learnt(self):
            settings = Settings.of(self)
            start = StartClusters.of(settings.engine)
            (family, X, weights), digest = rows_to_fit(self, settings, X, sample_weight)
            settings = settings.for_rows(family, X)
            stamps = prepare_times(times, len(weights), settings.forgetting)
            learner = Learner(settings.engine, settings.model(family), settings.random_state)
            if settings.automatic and settings.forgetting is None:
                model, start = found(learner.engine, learner.model, X, weights)
            else:
                model = first_model(learner.engine, learner.model, Batch(X, weights))
            learner.start(model if start is None else start.fitted(model), start)
            learner.rows_digest = digest.result(weights, stamps)
            learner.timed = stamps is not None
            self.learner_ = learner
            learner.fit(X, weights, stamps, on_step)
        return self

    def resume(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        observers: Iterable[StepObserver] = (),
    ) -> Self:
        """Go on with a fit that was interrupted, with the same rows, as if it had not been.

        A fit that was finished goes on too, if ``set_params`` has given its engine more to do: more
        ``laps``, a smaller ``tol``, more ``sweeps`` with the same ``burn_in``, more ``chains``.
        All other settings must be the same. Parameters are those of :meth:`fit`.
        """
        check_is_fitted(self)
        on_step, learner = self._on_step(observers), self.learner_
        if learner.rows_digest is None:
            raise ValueError(
                "there is no fit to go on with: this model was learnt by partial_fit, merged from "
                "others or changed by hand, and has no record of its rows. Call fit; or call "
                "predict for the clusters of rows."
            )
        settings = Settings.of(self)
        engine = learner.engine if self.engine is None else settings.engine
        engine = checked_engine(learner, engine, resume=True)
        (_, X, weights), digest = rows_to_fit(self, settings, X, sample_weight, learner)
        stamps = prepare_times(times, len(weights), learner.model.forgetting)
        if digest.result(weights, stamps) != learner.rows_digest:
            raise OtherRowsError(
                "these are not the rows, or not the weights or times, that the fit was begun with. "
                "Give the same X, sample_weight and times again, or call fit."
            )
        learner.engine = engine
        learner.check_memo()
        learner.fit(X, weights, stamps, on_step)
        return self

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        times: Any = None,
        observers: Iterable[StepObserver] = (),
    ) -> Self:
        """Learn these rows and go on from where the model is.

        Other settings of the same engine hold for these rows and those that follow. Parameters are
        those of :meth:`fit`; ``times`` are also noted by models that forget nothing, in any order,
        so that cards and reports say when clusters began. The first rows may wait for others; the
        observers of the call with which they are learnt are called.
        """
        plain = sample_weight is None and times is None and observers == ()
        if plain and self._learn_row(X):
            return self
        on_step, settings = self._on_step(observers), Settings.of(self, streaming=True)
        if not self.__sklearn_is_fitted__():
            self._begin_stream(settings, X, sample_weight, times, on_step)
            return self
        learner = self.learner_
        kept = self.engine is None and learner.engine.streams
        with restored_on_error(self):
            family, X, weights = rows_to_stream(self, settings, X, sample_weight, learner)
            if not learner.started:
                settings = settings.for_rows(family, X, streaming=True)
                learner = learner.of_family(settings.engine, settings.model(family))
            engine = learner.engine if kept else settings.engine
            if not learner.engine.streams:
                learner = live(learner, engine)
            checked_engine(learner, engine)
            engine.check_weights(learner.model, weights)
            stamps = times_after(learner, times, len(weights))
        learner.engine, learner.parameters = engine, parameters_of(self)
        self.learner_ = learner
        self._add(Batch(X, weights, times=stamps), on_step)
        return self

    def _begin_stream(
        self, settings: Settings, X: Any, sample_weight: Any, times: Any, on_step: list[OnStep]
    ) -> None:
        """Learn the first rows of a stream, or let them wait."""
        with restored_unless_learnt(self):
            family, X, weights = rows_to_stream(self, settings, X, sample_weight)
            settings = settings.for_rows(family, X, streaming=True)
            learner = Learner(settings.engine, settings.model(family), settings.random_state)
            settings.engine.check(learner.model)
            settings.engine.check_weights(learner.model, weights)
            stamps = times_after(learner, times, len(weights))
            if family.open:
                family.candidates(X[:1])  # which raises if other hyperparameters are invalid
            learner.parameters, self.learner_ = parameters_of(self), learner
            self._add(Batch(X, weights, times=stamps), on_step)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None, times: Any = None
    ) -> Array:
        """Fit and return ``labels_`` (N,), where the rows are."""
        labels = self.fit(X, sample_weight=sample_weight, times=times).labels_
        like = DeviceCSR.of(X) if is_foreign_csr(X) else X
        return alike(labels, like) if is_foreign(X) else labels

    def _on_step(self, observers: Iterable[StepObserver]) -> list[OnStep]:
        return [partial(observe, self) for observe in check_observers(observers)]

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the model to one file, from which :func:`evermix.load` restores it bit for bit."""
        files.save(self, path)

    def to_file(self) -> files.Content:
        """Return the arrays and the header of the file that :meth:`save` writes."""
        return to_file(self)

    @classmethod
    def from_file(cls, content: files.Content, known: Registry) -> Self:
        """Return the mixture that :meth:`to_file` described."""
        return from_file(cls, content, known)
