"""Learning: rows in, state on, whatever the engine."""

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evermix._random import generator
from evermix._xp import logsumexp
from evermix.engines.base import Engine
from evermix.engines.batch import ROWS, Batch, CapacityWarning, Info, RowResults
from evermix.engines.filters.keeping import FIRST as FIRST_REVIEW
from evermix.engines.growth import first_rows, forget_columns, stretches, widen
from evermix.engines.run import interrupts_wait, learn, run, run_laps
from evermix.engines.shards import Shard, Shards
from evermix.estimators.data.dask import ClusterRows
from evermix.estimators.data.rows import Cuts, LazyRows, Rows, prepare_rows, together
from evermix.estimators.mixture.beginning import first_model
from evermix.estimators.mixture.calendar import Calendar, of_clusters
from evermix.estimators.mixture.course import Course
from evermix.estimators.mixture.first_answers import FirstAnswers
from evermix.estimators.mixture.fit_results import FitResults, check_memo
from evermix.estimators.mixture.fitted import Fitted
from evermix.estimators.mixture.labels import compact, follow_merges
from evermix.estimators.mixture.start import StartClusters
from evermix.estimators.resolve import WARMUP
from evermix.families.growing import fitting, widths
from evermix.model import Model
from evermix.state import State

HISTORY = 10_000  # steps in the history, so that endless streams stay bounded

OnStep: TypeAlias = Callable[[Info], None]  # called after every step, in a fit after every lap


class Learner:
    """Learns rows with an engine, and holds what was learnt.

    Parameters
    ----------
    engine : Engine
    model : Model
        Hyperparameters of its family may be open; the first rows decide.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    engine, model : as above
        Those that the fit or stream began with, whatever ``set_params`` has changed since.
    started : bool
        Whether the model is resolved, so that there is a state. Until then rows wait.
    state : State
        What was learnt, once it is started.
    rng : Generator
        The engine draws with it, once it is started.
    results : RowResults
        Of the rows of the last call, as they were learnt.
    waiting : list of Batch
        Rows of a stream that wait until the model can be resolved.
    history : deque of Info
        The last steps.
    course : Course
        How the rows of a stream were shared and explained over time; it is saved.
    calendar : Calendar
        When the rows of a stream came, if they have times; it is saved.
    first_answers : FirstAnswers
        Clusters that no answer has named yet.
    rows_digest : str or None
        The digest of the rows of a fit; None for streams and merged models.
    timed : bool or None
        Whether rows come with times; None before the first.
    parameters : tuple
        Those of the mixture that were checked when the last rows of a stream came.
    batch : Batch or None
        All rows of a fit, for engines that need them together.
    label_maps : list of int64 arrays
        For each of the models that were merged: the new id of every cluster it has ever had.
    before : Learner or None
        What there was before the last change by hand, until something is learnt.
    """

    state: State
    rng: np.random.Generator

    def __init__(self, engine: Engine, model: Model, random_state: Any = None) -> None:
        self.engine, self.model = engine, model
        self.random_state, self.started = random_state, False
        self.waiting: list[Batch] = []
        self.history: deque[Info] = deque(maxlen=HISTORY)
        self.course, self.calendar, self.first_answers = Course(), Calendar(), FirstAnswers()
        self.rows_digest: str | None = None
        self.timed: bool | None = None
        self.parameters: tuple[Any, ...] = ()
        self.batch: Batch | None = None
        self.label_maps: list[NDArray[np.int64]] = []
        self.before: Learner | None = None
        self._results = RowResults.empty(0)
        self._uncollected: FitResults | None = None
        self._lost = False  # whether results on a cluster were lost with it
        self._fitted: Fitted | None = None
        self._on_settle: Sequence[OnStep] = ()
        self._counted = 0  # rows of positive weight that wait
        self._preview: tuple[Learner, int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        self.collect()
        return vars(self) | {"_fitted": None, "_on_settle": (), "_preview": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes)
        if self.started:  # memory-mapped pickles are read-only, but learning writes
            self.state = State.from_arrays(*self.state.to_arrays())
            self.results = RowResults(*(np.array(values) for values in self._results))

    # ---- what was learnt -------------------------------------------------------------------

    @property
    def shown(self) -> "Learner":
        """The learner that answers questions.

        While rows wait it is another one, so that questions change nothing. It has begun with the
        rows of the first call, or with 2, 4, 8, ... times as many, and learnt the others as they
        came: so answers after every row take little time, and do not depend on those before.
        """
        counted, waiting = self._counted, list(self.waiting)  # other threads may ask, and add rows
        if not waiting:
            return self
        first = int(np.count_nonzero(waiting[0].weights))
        begun = first << ((counted // first).bit_length() - 1)
        n = sum(len(batch.weights) for batch in waiting)
        preview = self._preview
        if preview is None or preview[1:] != (begun, n):
            with warnings.catch_warnings(action="ignore", category=CapacityWarning):
                if preview is None or preview[1] != begun:
                    other, known = self._begun(waiting, begun)
                else:
                    other, known = deepcopy(preview[0]), preview[2]
                if known < n:
                    other._learn(together(waiting, known), ())
                other.results = RowResults.empty(len(waiting[-1].weights))
                other._relabel(waiting[-1].X)
            preview = self._preview = other, begun, n
        return preview[0]

    def _begun(self, waiting: Sequence[Batch], counted: int) -> "tuple[Learner, int]":
        """Return a learner of the first rows that wait, so many that count, and their number."""
        rows = together(waiting)
        n = int(np.searchsorted(np.cumsum(rows.weights > 0), counted)) + 1
        other = Learner(self.engine, self.model, deepcopy(self.random_state))
        other.calendar.dated = self.calendar.dated
        other.wait(rows.part(slice(n)))
        other.settle()
        kept = other.state.lookback
        if counted < FIRST_REVIEW and kept is not None and kept.parts:
            other.model, other.state, _ = self.engine.review(other.model, other.state)
        return other, n

    @property
    def fitted(self) -> Fitted:
        """What was learnt so far."""
        if self._fitted is None:
            self._fitted = Fitted(self.engine, self.model, self.state, self.batch)
        return self._fitted

    @property
    def results(self) -> RowResults:
        """Results of the rows of the last call, as they were learnt."""
        self.collect()
        return self._results

    @results.setter
    def results(self, results: RowResults) -> None:
        self._results, self._uncollected = results, None

    def collect(self) -> None:
        """Bring results and records from a device or cluster to this process."""
        if self._uncollected is not None:
            self._uncollected.collect(self.state.memo)
            self._uncollected = None  # not before: if it fails, it can be tried again

    def labels(self) -> NDArray[np.int64]:
        """Id of the most probable cluster of each row of the last call, (N,)."""
        labels = self.fitted.point.labels
        if labels is None:  # results keep the ids of their time, so that a fit resumes bit for bit
            labels = np.maximum(self.state.lineage.current(self.results.labels), -1)
        return labels

    def probabilities(self) -> NDArray[np.float64]:
        """Probability of the cluster that :meth:`labels` returns for each row, (N,)."""
        labels = self.fitted.point.labels
        if labels is None or self.batch is None:
            return self.results.probabilities
        joint = self.fitted.log_joint(self.batch.X)[:, :-1]
        return np.exp(joint[np.arange(len(labels)), labels] - logsumexp(joint, axis=1))

    def check_memo(self) -> None:
        """Raise ValueError if the records of the rows of a fit are incomplete."""
        check_memo(self.engine, self.model, self.state, len(self.results.labels), self._lost)

    # ---- settings --------------------------------------------------------------------------

    def start(self, model: Model, clusters: StartClusters | None = None) -> None:
        """Begin with a resolved model, and perhaps with clusters of a saved one."""
        self.rng = generator(self.random_state)
        self.state = self.engine.initial(model, self.rng)
        if clusters is not None:
            clusters.enter(self.state)
        self.model, self.started = model, True

    # ---- streams ---------------------------------------------------------------------------

    def add(self, batch: Batch, observers: Sequence[OnStep] = ()) -> None:
        """Learn rows of a stream, as soon as the model can be resolved."""
        self.rows_digest, self.timed = None, batch.times is not None
        self.first_answers.times = batch.times
        if self.started:
            self._learn(batch, observers)
            return
        self.wait(batch)
        self._on_settle = observers
        wanted = FIRST_REVIEW if self.model.learns else WARMUP
        if not self.model.family.open or self._counted >= wanted:
            self.settle()

    def wait(self, batch: Batch) -> None:
        """Let rows wait until the model can be resolved."""
        self.waiting.append(batch.copy())  # the caller may use its arrays for the next rows
        self._counted += int(np.count_nonzero(batch.weights))

    def of_family(self, engine: Engine, model: Model) -> "Learner":
        """Return a learner of a model whose family suits the rows that wait, with these rows."""
        if model.family == self.model.family:
            return self
        learner = Learner(engine, model, self.random_state)
        for batch in self.waiting:
            learner.wait(batch._replace(X=prepare_rows(model.family, batch.X)))
        learner.timed, learner.parameters = self.timed, self.parameters
        learner.calendar = self.calendar
        return learner

    def settle(self) -> None:
        """Resolve the model and learn the rows that wait, if any."""
        if not self.waiting:
            return
        last, rows = len(self.waiting[-1].weights), together(self.waiting)
        self.start(first_model(self.engine, self.model, first_rows(self.model.family, rows)))
        observers, self._on_settle, self.waiting, self._preview = self._on_settle, (), [], None
        self._learn(rows, observers)
        self.results = RowResults(*(values[-last:] for values in self.results))
        self.first_answers.before = frozenset()  # what came before the last call was answered

    def _learn(self, batch: Batch, observers: Sequence[OnStep]) -> None:
        """Learn rows of a stream from a resolved model."""
        parts: list[RowResults] = []
        reviewed, moved = False, self.engine.hides
        first_id, times, self.before = self.state.lineage.next_id, batch.times, None
        if self.model.forgetting is None:
            batch = batch._replace(times=None)  # which are only noted

        def remember(state: State, info: Info) -> None:
            nonlocal reviewed, moved
            assert info.results is not None
            parts.append(info.results)
            reviewed |= info.model is not None
            moved |= bool(info.merges or info.dropped)
            self._remember(state, info, observers)

        try:
            for wide, some in stretches(self.model.family, batch):
                if wide != widths(self.model.family):
                    self.model, self.state = widen(self.model, self.state, wide)
                    self._fitted = None
                batches = [some] if len(some.weights) <= ROWS else Cuts(*some[:2], times=some.times)
                run(self.engine, self.model, self.state, batches, self.rng, [remember])
        finally:  # an interrupt leaves the labels of the rows that were learnt
            if parts:
                self.results = RowResults.joined(parts)
                done = len(self._results.labels)
                weights, lineage = batch.weights[:done], self.state.lineage
                self.course.add(self._results, weights, self.state.clock)
                if times is not None:
                    events = of_clusters(lineage, 0 if moved or reviewed else first_id)
                    back = self.state.keeps_rows
                    self.calendar.add(times[:done][weights > 0], self.state.clock, events, back)
                X = batch.X if done == len(batch.weights) else batch.X[:done]
                X = fitting(self.model.family, X)
                if reviewed:
                    self._relabel(X)
                elif moved or self._results.labels.min() < 0:
                    follow_merges(self.fitted, self._results, X)
                self.first_answers.answered(lineage, first_id, self._results.labels)

    def learn_row(self, X: NDArray[np.float64]) -> None:
        """Learn one row (1, D) as :meth:`add` does, in less time; the family does not grow."""
        self.before, first_id = None, self.state.lineage.next_id
        self.first_answers.times = None
        with interrupts_wait():
            batch = Batch(X, np.array([1.0]))
            state, info = learn(self.engine, self.model, self.state, batch, self.rng)
            self._remember(state, info, ())
            assert info.results is not None
            self.results = info.results
            self.course.add(info.results, batch.weights, state.clock)
            if info.model is not None:
                self._relabel(X)
            elif info.merges or info.dropped or self.engine.hides or info.results.labels[0] < 0:
                follow_merges(self.fitted, info.results, X)
            self.first_answers.answered(state.lineage, first_id, info.results.labels)

    def edit(self, state: State, named: bool = False, **events: Any) -> None:
        """Go on from a state that people have changed; ``events`` are what :class:`Info` tells.

        ``named``: only names have changed, so that a fit can still be resumed.
        """
        self.first_answers.opened(state.lineage, self.state.lineage.next_id)
        self.state, self._fitted = state, None
        self.calendar.mark(state.clock)
        if not named:
            self.rows_digest = None
            self.history.append(Info(rows=0, clock=state.clock, K=state.tally.K, **events))

    def forget_columns(self, columns: Any) -> None:
        """Forget what was learnt of some columns of a vocabulary that grows."""
        self.state = forget_columns(self.model, self.state if self.started else None, columns)
        self._fitted = self.before = None

    def _relabel(self, X: Rows) -> None:
        """Label the rows X of the last call by the clusters that there are after a review."""
        self._fitted = None
        self._results.labels[:] = -1
        follow_merges(self.fitted, self._results, X)

    # ---- fits ------------------------------------------------------------------------------

    def fit(
        self,
        X: Rows,
        weights: NDArray[np.float64],
        times: NDArray[np.float64] | None = None,
        observers: Sequence[OnStep] = (),
    ) -> None:
        """Learn the rows of a fit, lap after lap, from where the state stands."""
        engine, n = self.engine, len(weights)
        size = max(engine.batch_rows(n, X.shape[1]), 1)
        shards: Shards = Shard(Cuts(X, weights, size, times), self.state.memo)
        if isinstance(X, ClusterRows):
            shards = X.shards
        here = not (isinstance(X, LazyRows) and X.elsewhere)
        self._lost, self.before = False, None
        self.batch = Batch(X, weights) if engine.whole else None
        gathered = FitResults(shards, size, n, self.results)

        def remember(state: State, info: Info) -> None:
            self._results = gathered.add(info, state, engine.order(state, len(shards)))
            self._uncollected = gathered
            if here:
                self.collect()
            self._remember(state, info, observers)

        try:
            run_laps(engine, self.model, self.state, shards, self.rng, [remember])
            if not engine.whole:
                with interrupts_wait():
                    self.collect()
                    anew = self.state.lookback is not None  # clusters may have been split
                    compact(self.fitted, self._results, X, weights, anew)
                    self._fitted = None
        except BaseException:
            self._collect_what_is_left()
            raise
        finally:
            shards.release()

    def _collect_what_is_left(self) -> None:
        """Collect results after a failure, which may have been that of the cluster."""
        try:
            with interrupts_wait():
                self.collect()
        except Exception:
            self._lost = True
        self._uncollected = None

    def _remember(self, state: State, info: Info, observers: Sequence[OnStep]) -> None:
        self.state, self._fitted = state, None
        self.model = info.model or self.model
        self.history += [info.summary(), *info.reviews]
        for observe in observers:
            observe(info)
