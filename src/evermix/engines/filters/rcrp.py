"""The recursive Chinese restaurant process: one pass, with a belief about the number of clusters.

References
----------
Schaeffer, Bordelon, Khona, Pan, Fiete (2021). Efficient online inference for nonparametric mixture
models.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults
from evermix.engines.filters.filter import NO_CAP, warn_once
from evermix.engines.settings import check_number
from evermix.kernels.engines import rcrp as kernels
from evermix.kernels.engines.adf import CHECK, DEAD, ROOM, Out
from evermix.model import Model
from evermix.priors import DP
from evermix.priors.base import HasPredictive, Prior
from evermix.state import State
from evermix.tally import Layout, Tally

CHECK_EVERY = 1000  # observations between two rebuildings of caches
NOT_YET = 0  # birth of a label that was not announced

RULES = {
    "coupled": kernels.COUPLED,
    "joint": kernels.JOINT,
    "paper": kernels.PAPER,
    "text": kernels.TEXT,
    "code": kernels.CODE,
}


@dataclass(frozen=True)
class RCRP(Engine):
    r"""One-pass streaming inference that also says how probable each number of clusters is.

    Labels 1, 2, ... are the tables of a Chinese restaurant in the order in which they are opened.
    Observation t has label k because its table is in use, or because it is new and k - 1 tables
    were in use,

    .. math::

        p(z_t = k) \propto R_{t-1}(k) L_k + \alpha\, p(K_{t-1} = k - 1) L^0_k ,

    where R sums the posteriors of the rows before. The prior must be a :class:`~evermix.DP`.

    Parameters
    ----------
    rule : {"coupled", "joint", "paper", "text", "code"}
        How the number of tables K_t is followed, given the table of row t. "coupled" and "joint"
        ask whether that table is new, and are exact without data. If it is in use, "joint" learns
        nothing of K; "coupled" knows that K_{t-1} >= z_t, and takes the two for as independent as
        that and their margins allow. With data this keeps p(K_t) in touch with the labels in use:
        else it spreads, the rows of every new cluster are smeared over many labels, and where there
        are many clusters these may never take hold.
        The others are the published forms, which take K_{t-1} and z_t as if they were independent,
        and miss the prior even without data: "paper" counts one more table if z_t > K_{t-1} (Eq. 8
        as displayed), "text" if z_t > K_{t-1} + 1 (as the text next to it says, so that there never
        is a second table), and "code" leaves out z_t > K_{t-1} + 1.
    likelihood : {"predictive", "paper"}
        What a row says of a new table: its predictive under the prior, or, as published, under
        the label's own parameters, L_k in both parts. Then a label starts at the row for which it
        was opened, whose statistic it has learnt with weight one before that row is scored and
        shared out (the pseudocounts o_t + epsilon and the mean o_t of the paper's tables); what it
        starts with is part of its mass and statistics, and not of R. A row is then likely to be
        taken for a new table, or to be kept off it by the row at which the label has started.
    announce : float
        A label is announced as a cluster with a row that is most probably its, if then its R, or
        the probability that the row's table is new, is at least this.

    Notes
    -----
    Every row opens a label if its share is at least 1e-16, so there are more labels than clusters.
    ``state_`` holds all of them, and densities are those of all; ``n_clusters_``, ``predict`` and
    what else speaks of clusters know those that were announced. Labels are counted, so none is ever
    merged or taken out. A row at a new table is given a label that was not announced before, even
    if another one has a larger share: where K is uncertain, the same label stands for different
    clusters.

    A row of weight w is met once: it adds w to R and to the statistics, and moves p(K_t) by one
    step, whatever its weight. With ``forgetting`` R and the statistics fade, and t - 1 is the sum
    of R. p(K_t) stays as it is, since tables do not close: a heuristic. A cluster that has
    faded leaves its label empty; were the label to be announced again, it would have a new id.

    ``max_clusters`` bounds the labels.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)) + 20 * rng.integers(0, 3, size=(500, 1))
    >>> mix = em.Mixture(em.FixedGaussian(1.0, 400.0), engine=em.RCRP()).fit(X)
    >>> mix.n_clusters_, int(mix.n_clusters_posterior_.argmax())
    (3, 3)
    """

    rule: str = "coupled"
    likelihood: str = "predictive"
    announce: float = 0.5

    needs: ClassVar = (HasPredictive,)
    streams: ClassVar = True
    forgets: ClassVar = True

    def __post_init__(self) -> None:
        check_number("announce", self.announce)
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}.")
        if self.likelihood not in ("predictive", "paper"):
            raise ValueError(
                f"likelihood must be 'predictive' or 'paper', got {self.likelihood!r}."
            )
        if not 0 < self.announce < np.inf:
            raise ValueError(f"announce must be finite and above 0, got {self.announce}.")

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior where none is asked for."""
        return DP()

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if not isinstance(model.prior, DP):
            raise TypeError(
                "RCRP counts the tables of a Chinese restaurant, so it needs the prior DP; got "
                f"{model.prior!r}. Use prior=em.DP(1.0), or an engine for other priors: em.ADF()."
            )

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        del rng
        tally = Tally.empty(model.family.n_stats, ("start",), model.family.layout)
        columns = {
            "tables": np.zeros(tally.capacity),
            "last_seen": np.zeros(tally.capacity, dtype=np.int64),
            "announced": np.zeros(tally.capacity, dtype=np.int64),
            **model.family.columns(tally),
        }
        latents = {"no_table": np.ones(1), "dropped": np.zeros(1), "capped": np.zeros(1)}
        return State(tally, columns, latents)

    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""
        del rng
        began, before = time.perf_counter(), state.clock
        n = len(batch.weights)
        results = RowResults.empty(n)
        rows = model.family.rows(batch.X)
        at = 0
        while at < n:
            at = self._advance(model, state, rows, batch.weights, at, results)
        results.log_predictive[:] += model.family.log_base(batch.X)
        return state, Info(
            rows=n,
            clock=state.clock,
            K=int(self.shown(state).sum()),
            births=_note_births(state, before),
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
        )

    def shown(self, state: State) -> Array:
        """Mask (K,) of the labels that are announced as clusters."""
        return state.columns["announced"][: state.tally.K] > NOT_YET

    def dismiss(self, state: State, some: Array) -> None:
        """Show the clusters of a mask (K,) no more, until a row is theirs.   Consumes: state."""
        state.columns["announced"][: state.tally.K][some] = NOT_YET
        for name in state.tally.ids[some]:
            state.lineage.born[name] = NOT_YET

    def n_clusters_probabilities(self, state: State) -> Array:
        """Probabilities (K + 1,) that 0, 1, ... K tables are in use."""
        return np.append(state.latents["no_table"], state.columns["tables"][: state.tally.K])

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Empty the labels of clusters that have faded, and take their names from them.

        Consumes: state.
        """
        tally, lineage, shown, seen = state.tally, state.lineage, self.shown(state), _seen(state)
        faded = shown & (seen < self.announce)
        if np.array_equal(faded, shown):  # but not the last one
            faded[np.argmax(np.where(shown, seen, -1.0))] = False
        gone = [int(k) for k in tally.ids[faded]]
        for row in np.flatnonzero(faded):
            state.latents["dropped"] += tally.mass[row]
            for values in (tally.mass, tally.stats, *tally.extras.values()):
                values[row] = 0.0
            state.columns["announced"][row] = NOT_YET
            name = tally.ids[row]
            lineage.fade(int(name), state.clock)
            lineage.last += lineage.last[name : name + 1]
            tally.ids[row] = lineage.birth(NOT_YET)
        if gone:
            state.columns |= model.family.columns(tally)
        return gone, []

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError if the number of tables has no law that could be."""
        super().check_memo(model, state, n_rows)
        tables = self.n_clusters_probabilities(state)
        if not (np.all(tables >= 0) and abs(tables.sum() - 1.0) < 1e-6):
            raise ValueError("the probabilities of numbers of tables must sum to one.")
        if state.tally.K and not self.shown(state).any():
            raise ValueError("there are labels, but none is announced as a cluster.")

    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the labels and, last, of a new table."""
        assert isinstance(model.prior, DP)  # `check` says so
        weights = np.append(np.maximum(_seen(state), DEAD), model.prior.alpha)
        return np.log(weights / weights.sum())

    # ---- inside ----------------------------------------------------------------------------

    def _advance(
        self, model: Model, state: State, rows: Any, weights: Array, at: int, results: RowResults
    ) -> int:
        """Learn rows until there are no more, no room, or it is time to rebuild; return the next.

        Consumes: state.
        """
        state.reserve(state.tally.K + 2)
        tally, first, K = state.tally, at, state.tally.K
        known = self._known(model, state)
        at, tally.K, state.clock, refused, why = kernels.rcrp_pass(
            known, rows, weights, K, state.clock, at, Out(*results)
        )
        tally.ids[K:] = [state.lineage.birth(NOT_YET) for _ in range(K, tally.K)]
        slots = results.labels[first:at]
        slots[slots >= 0] = tally.ids[slots[slots >= 0]]
        if refused:
            warn_once(model, state)
        if why == CHECK:
            state.columns |= model.family.columns(tally)
        elif why == ROOM:
            state.reserve(2 * tally.capacity)
        return int(at)

    def _known(self, model: Model, state: State) -> kernels.Known:
        """Return what the kernel learns from: the state's buffers."""
        tally, columns = state.tally, state.columns
        return kernels.Known(
            model.family.workspace(tally, columns),
            kernels.Labels(
                tally.mass_buffer,
                tally.extra_buffers["start"],
                columns["tables"],
                columns["last_seen"],
                columns["announced"],
            ),
            state.latents["no_table"],
            kernels.Scratch(*np.empty((4, tally.capacity))),
            self._settings(model),
        )

    def _settings(self, model: Model) -> kernels.Settings:
        assert isinstance(model.prior, DP)  # `check` says so
        return kernels.Settings(
            float(model.prior.alpha),
            RULES[self.rule],
            self.likelihood == "paper",
            float(self.announce),
            NO_CAP if model.max_clusters is None else model.max_clusters,
            CHECK_EVERY,
            model.family.layout is Layout.STATISTIC_MAJOR,
        )


def _seen(state: State) -> Array:
    """R (K,): the mass of each label without what it started with."""
    return np.maximum(state.tally.mass - state.tally.extras["start"], 0.0)


def _note_births(state: State, before: int) -> list[int]:
    """Write the births of labels that were announced since a clock; return their ids."""
    announced = state.columns["announced"][: state.tally.K]
    new = np.flatnonzero(announced > before)
    new = new[np.argsort(announced[new], kind="stable")]
    for row in new:
        state.lineage.born[state.tally.ids[row]] = int(announced[row])
    return [int(k) for k in state.tally.ids[new]]
