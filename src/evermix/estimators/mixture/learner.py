"""The inside of an estimator: rows in, state on, whatever the engine."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from evermix._random import generator
from evermix._xp import Array, is_foreign, logsumexp
from evermix.distributed.collections import in_memory, is_collection
from evermix.engines.base import Engine
from evermix.engines.batch import ROWS, Batch, Info, RowResults
from evermix.engines.run import interrupts_wait, run, run_laps
from evermix.engines.shards import CollectResults, Shard, Shards
from evermix.estimators.data.dask import ClusterRows
from evermix.estimators.data.lazy import ForeignRows, check_readable
from evermix.estimators.data.rows import (
    Cuts,
    Rows,
    prepare_foreign,
    prepare_rows,
    prepare_times,
    stack,
)
from evermix.estimators.mixture.answers import Draws, View, answered, log_joint, point
from evermix.estimators.mixture.settings import Asked
from evermix.estimators.mixture.start import Clusters
from evermix.estimators.resolve import WARMUP, resolve
from evermix.families.base import Family
from evermix.model import Model
from evermix.state import State

HISTORY = 10_000  # steps remembered in `history_`, so that endless streams stay bounded

Watch: TypeAlias = Callable[[Any, Info], None]
"""Called with the estimator after every step and every lap of a fit."""

Observer = TypeVar("Observer", bound=Callable[..., None])


def watches(observers: Iterable[Observer]) -> tuple[Observer, ...]:
    """Return observers that can be called, or raise TypeError before anything is learnt."""
    if not isinstance(observers, Iterable):
        raise TypeError(f"observers must be an iterable of callables, got {observers!r}.")
    chosen = tuple(observers)
    for observe in chosen:
        if not callable(observe):
            raise TypeError(f"observers must be callables of (mix, info), got {observe!r}.")
    return chosen


class Learner(Asked):
    """What an estimator does with rows, beneath what it offers."""

    _begun: Model  # what the fit or stream was begun with, whatever set_params says since
    _taught: Engine  # the engine that the state is of, likewise
    _told: RowResults  # what was said of the rows of the last call, as far as it was asked for
    _telling: Callable[[], None] | None  # adds what was said since
    _rows_seen: str | None  # a fit knows its rows again by their fingerprint
    _timed: bool | None  # whether rows come with times; None while there were none
    _lost: bool = False  # whether what was remembered elsewhere could not be brought here
    _batch: Batch | None  # all rows of a fit, for engines that want them whole
    # What labels are predicted from, and what densities are averaged over, once they were asked for
    # (in lists, since asking must not set attributes).
    _seen: list[View]
    _drawn: list[Draws]

    def __sklearn_is_fitted__(self) -> bool:
        return "_waiting" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        if "_told" in vars(self):
            self._hear()
        return super().__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_state" in state:  # memory-mapped pickles come read-only, but streams go on writing
            self._state = State.from_arrays(*self._state.to_arrays())
            self._results = RowResults(*(np.array(values) for values in self._results))
            self._unsee()

    @property
    def _results(self) -> RowResults:
        """What was said of each row of the last call."""
        self._hear()
        return self._told

    @_results.setter
    def _results(self, results: RowResults) -> None:
        self._told, self._telling = results, None

    def _hear(self) -> None:
        """Bring what was said of rows elsewhere, and what is remembered there, to this place."""
        if self._telling is not None:
            self._telling()
            self._telling = None  # not before: it may fail, and be asked again

    def _times(self, times: Any, n: int, first: bool) -> Array | None:
        """Return the times of n rows, that come after those learnt unless they are the first."""
        if first:
            return prepare_times(times, n, self._forgetting())
        model = self._model
        forgetting = (model or self._begun).forgetting
        bound = forgetting is not None and self._timed is not None
        if bound and self._timed != (times is not None):
            raise ValueError(
                "all rows of a stream must come with times, or none: it was begun "
                f"{'with' if self._timed else 'without'} them."
            )
        since = self._state.now if model is not None else None
        waiting = [batch.times for batch in self._waiting if batch.times is not None]
        return prepare_times(times, n, forgetting, waiting[-1][-1] if waiting else since)

    def _asked_model(self, family: Family) -> Model:
        """Return what is asked for, with hyperparameters that are not set yet."""
        return Model(family, self._prior(), self.max_clusters, self._forgetting())

    def _begun_since(self, history: Any) -> Callable[[BaseException], bool]:
        """Return whether a fit that began after this history can go on, as a question.

        One that was interrupted can from the start, one that failed if it had made a step.
        """

        def begun(error: BaseException) -> bool:
            now = vars(self).get("_history")
            return now is not history and (bool(now) or isinstance(error, KeyboardInterrupt))

        return begun

    def _begin(self, family: Family) -> None:
        self._family = family
        self._begun = self._asked_model(family)
        self._taught = self._engine()
        self._model: Model | None = None
        self._waiting: list[Batch] = []
        self._history: deque[Info] = deque(maxlen=HISTORY)
        self._rows_seen = None
        self._timed = None
        self._batch = None
        self._label_maps: list[Array] = []
        self._unsee()

    @property
    def _n_waiting(self) -> int:
        """Number of rows that wait, those of weight zero left out: they teach nothing."""
        return sum(int(np.count_nonzero(batch.weights)) for batch in self._waiting)

    def _resolved(self, engine: Engine, asked: Model, X: Rows, weights: Array) -> Model:
        """Return the model for the first rows that count, if the engine can work with it."""
        first = np.flatnonzero(weights)[:WARMUP]
        model = resolve(asked.family, asked.prior, asked.max_clusters, X[first])
        model = replace(model, forgetting=asked.forgetting)
        engine.check(model)
        engine.check_weights(model, weights)
        return model

    def _start(self, model: Model, clusters: Clusters | None = None) -> None:
        self._rng = generator(self.random_state)
        self._state = self._taught.initial(model, self._rng)
        if clusters is not None:
            clusters.enter(self._state)
        self._results = RowResults.empty(0)
        self._model = model

    def _next_engine(self, fit: bool) -> Engine:
        """Return the engine that is asked for now, if it can go on from what was learnt.

        A stream goes on with any settings of the same engine, a ``fit`` with those that may change.
        """
        engine, before = self._engine(), self._taught
        if type(engine) is not type(before):
            raise ValueError(
                f"the model was begun with the engine {type(before).__name__}, got {engine!r}. "
                "Set the engine back, or call fit."
            )
        if self._model is not None:
            engine.check(self._model)
        if fit:
            engine.check_change(before, self._state)
        return engine

    def _check_remembered(self) -> None:
        """Raise ValueError if what a fit remembers of its rows is not whole."""
        assert self._model is not None
        try:
            self._taught.check_memo(self._model, self._state, len(self._results.labels))
        except ValueError as error:
            why = ", since the cluster that held it is gone" if self._lost else ""
            raise ValueError(
                f"what the fit remembers of its rows is not whole{why} ({str(error).rstrip('.')}). "
                "Load the last checkpoint, or call fit."
            ) from error

    def _settle(self) -> None:
        """Learn the rows that wait for the scale of the data, if any."""
        check_is_fitted(self)
        if not self._waiting:
            return
        last = len(self._waiting[-1].weights)
        X = stack([batch.X for batch in self._waiting])
        weights = np.concatenate([batch.weights for batch in self._waiting])
        stamps = [batch.times for batch in self._waiting if batch.times is not None]
        times = np.concatenate(stamps) if stamps and self._begun.forgetting is not None else None
        self._start(self._resolved(self._taught, self._begun, X, weights))
        self._waiting = []
        self._learn(X, weights, times)
        self._results = RowResults(*(values[-last:] for values in self._results))

    def _learn(self, X: Array, weights: Array, times: Array | None) -> None:
        """Learn rows of a stream."""
        parts: list[RowResults] = []
        model = self._model
        assert model is not None

        def remember(state: State, info: Info) -> None:
            assert info.results is not None
            parts.append(info.results)
            self._keep(state, info)

        try:
            cuts = Cuts(X, weights, times=times)
            run(self._taught, model, self._state, cuts, self._rng, [remember])
        finally:  # an interrupt leaves the labels of the rows that were learnt
            if parts:
                columns = zip(*parts, strict=True)
                self._results = RowResults(*(np.concatenate(values) for values in columns))
                self._follow(X[: len(self._results.labels)])

    def _go_round(
        self, X: Rows, weights: Array, times: Array | None, observers: tuple[Watch, ...]
    ) -> None:
        """Learn the rows of a fit, lap after lap, from where the state stands."""
        engine, model, n = self._taught, self._model, len(weights)
        assert model is not None
        size = max(engine.batch_rows(n, X.shape[1]), 1)
        self._lost = False
        self._batch = Batch(X, weights) if engine.whole else None
        shards: Shards = Shard(Cuts(X, weights, size, times), self._state.memo)
        if isinstance(X, ClusterRows):
            shards = X.shards
        results, known = RowResults.empty(n), len(self._results.labels)
        for values, before in zip(results, self._results, strict=True):
            values[:known] = before

        def put(key: int, told: RowResults) -> None:
            some = slice(key * size, (key + 1) * size)
            for values, part in zip(results, told, strict=True):
                values[some] = part

        visited: set[int] = set()  # since it was last told

        def tell() -> None:
            for key, told in shards.do(CollectResults(), sorted(visited)).items():
                put(key, told)
            visited.clear()
            shards.bring_home(self._state.memo)

        def remember(state: State, info: Info) -> None:
            order = engine.order(state, len(shards))
            keys = order[state.at - info.batches : state.at].tolist()
            visited.update(keys if info.rows else range(len(shards)))  # laps may end with a look
            if info.results is not None:
                first = 0
                for key in keys:
                    some = slice(first, first + len(shards.weights_of(key)))
                    put(key, RowResults(*(values[some] for values in info.results)))
                    first = some.stop
            # A first lap in another order meets rows here and there.
            in_order = state.lap == 0 and np.array_equal(order, np.arange(len(shards)))
            done = min(state.at * size, n) if in_order else n
            self._results = RowResults(*(values[:done] for values in results))
            self._telling = tell
            if not isinstance(X, ClusterRows | ForeignRows):
                self._hear()
            self._keep(state, info)
            for observe in observers:
                observe(self, info)

        try:
            run_laps(engine, model, self._state, shards, self._rng, [remember])
            if not engine.whole:
                with interrupts_wait():
                    self._hear()
                    self._compact(X, weights)
        except BaseException:
            try:
                with interrupts_wait():
                    self._hear()
            except Exception:  # nobody answers any more
                self._lost = True
            self._telling = None
            raise
        finally:
            shards.release()

    def _keep(self, state: State, info: Info) -> None:
        self._state = state
        self._unsee()
        self._history.append(info.summary())

    def _unsee(self) -> None:
        """Forget what was derived from the state."""
        self._seen, self._drawn = [], []

    def _follow(self, X: Rows) -> None:
        """Call the rows X of the last call by the names that their clusters have now."""
        results = self._results
        results.labels[:] = self._state.lineage.current(results.labels)
        # Rows whose cluster was dropped as dust or is not shown, or of weight zero at the start.
        hidden = self._state.tally.ids[~self._taught.shown(self._state)]
        every = np.flatnonzero((results.labels < 0) | np.isin(results.labels, hidden))
        for lost in np.split(every, range(ROWS, len(every), ROWS)) if len(every) else ():
            joint = self._joint(X[lost])[:, :-1]
            results.labels[lost] = self._point().state.tally.ids[joint.argmax(axis=1)]
            results.probabilities[lost] = np.exp(joint.max(axis=1) - logsumexp(joint, axis=1))

    def _compact(self, X: Rows, weights: Array) -> None:
        """Drop clusters that own no row that counts, and name the others 0..K-1 as they appear.

        Those that the engine cannot spare are shown no more, and named last. Done twice it changes
        nothing more. Where clusters have faded, the rows that they had keep their names, and so do
        all others.
        """
        self._follow(X)
        assert self._model is not None
        if self._model.forgetting is not None:
            return
        owners, first = np.unique(self._results.labels[weights > 0], return_index=True)
        self._taught.dismiss(self._state, ~np.isin(self._state.tally.ids, owners))
        self._unsee()
        self._follow(X)
        name = np.empty(self._state.lineage.next_id, dtype=np.int64)
        ids = self._state.tally.ids
        others = ids[~np.isin(ids, owners)]
        name[owners[np.argsort(first)]] = np.arange(len(owners))
        name[others] = len(owners) + np.arange(len(others))
        self._results.labels[:] = name[self._results.labels]
        self._state.rename(name[self._state.tally.ids])

    def _point(self) -> View:
        """Return what labels are predicted from."""
        self._settle()
        if not self._seen:  # choosing among draws takes time
            assert self._model is not None
            self._seen.append(point(self._taught, self._model, self._state, self._batch))
        return self._seen[0]

    def _draws(self) -> Draws:
        """Return what densities are averaged over."""
        self._settle()
        if not self._drawn:  # the states of draws take time to compute
            assert self._model is not None
            self._drawn.append(Draws(self._taught, self._model, self._state, self._batch))
        return self._drawn[0]

    def _prepared(self, X: Any) -> Array:
        """Return rows to ask about, validated."""
        self._settle()
        if not self._state.tally.K:
            raise NotFittedError(
                "no row was learnt yet: the fit ended before its first step. Go on with resume, or "
                "call fit."
            )
        check_readable(X, lazy=False)
        if is_collection(X):
            X = in_memory(X)
        accept = "csr" if self._family.sparse else False

        def validate(some: Any) -> Array:
            return validate_data(self, some, reset=False, accept_sparse=accept, dtype="numeric")

        if is_foreign(X):
            return prepare_foreign(self._family, X, validate)
        return prepare_rows(self._family, validate(X))

    def _asked(self, X: Any, ask: Callable[[Array], Array]) -> Array:
        """Return what ``ask`` makes of the log joint (N, K + 1) of rows, the last a new cluster."""
        X = self._prepared(X)
        model, state, _ = self._point()
        return answered(model, state.tally.K, X, lambda some: ask(self._joint(some)))

    def _joint(self, X: Array) -> Array:
        return log_joint(self._taught, *self._point()[:2], X)
