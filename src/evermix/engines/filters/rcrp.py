"""The recursive Chinese restaurant process: one pass, with a posterior of the number of clusters.

References
----------
Schaeffer, Bordelon, Khona, Pan, Fiete (2021). Efficient online inference for nonparametric mixture
models.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from evermix._xp import Bools, Floats
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults, cap_of, warn_once
from evermix.engines.settings import check_number
from evermix.kernels.engines import rcrp as kernels
from evermix.kernels.engines.adf import CHECK, DEAD, ROOM, RowOutputs
from evermix.model import Model
from evermix.priors import DP
from evermix.priors.base import HasPredictive, Prior
from evermix.state import State
from evermix.tally import Layout, Tally

CHECK_EVERY = 1000  # observations after which caches are rebuilt
NOT_YET = 0  # birth of a label that is not announced

RULES = {"coupled": kernels.COUPLED, "joint": kernels.JOINT}


@dataclass(frozen=True)
class RCRP(Engine):
    r"""One-pass streaming inference with a posterior of the number of clusters.

    Labels 1, 2, ... are the tables of a Chinese restaurant in the order in which they are opened.
    Observation t has label k because its table is in use, or because it is new and k - 1 tables
    were in use,

    .. math::

        p(z_t = k) \propto R_{t-1}(k) L_k + \alpha\, p(K_{t-1} = k - 1) L^0_k ,

    where R sums the posteriors of the rows before. The prior must be a :class:`~evermix.DP`.

    Parameters
    ----------
    rule : {"coupled", "joint"}
        How the number of tables K_t is updated, given the table of row t. Both rules consider
        whether that table is new, and are exact without data. If the table is in use, "joint"
        learns nothing about K; "coupled" uses that K_{t-1} >= z_t, and treats the two as
        independent as far as that and their margins allow. With data this keeps p(K_t) close to
        the labels in use; else p(K_t) spreads out, the rows of every new cluster are distributed
        over many labels, and where there are many clusters some may never be established.
    likelihood : {"predictive", "paper"}
        Likelihood of a row at a new table: its predictive under the prior, or, as published, under
        the label's own parameters, L_k in both parts. In the second case a label learns the row for
        which it is opened, with weight one, before that row is scored and assigned (the
        pseudocounts o_t + epsilon and the mean o_t of the paper's tables). This start is part of
        its mass and statistics, and not of R. It makes new tables more likely for similar rows,
        and less likely for others.
    announce : float
        A label is announced as a cluster at the first row that most probably has it, if then its R
        or the probability that the row's table is new is at least this.

    Notes
    -----
    Every row opens a label if its responsibility is at least 1e-16, so there are more labels than
    clusters. ``state_`` holds all labels, and densities use all; ``n_clusters_``, ``predict`` and
    other results on clusters refer to those that are announced. Labels are ordinal, so none is ever
    merged or removed. A row at a new table gets a label that is not announced yet, even if another
    one has a larger responsibility: while K is uncertain, a label stands for different clusters.

    A row of weight w adds w to R and to the statistics, and updates p(K_t) once, whatever its
    weight. With ``forgetting``, R and the statistics decay, and t - 1 is the sum of R. p(K_t) does
    not change, since tables do not close: a heuristic. A cluster that has faded leaves its label
    empty; if the label is announced again, it gets a new id.

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

    needs: ClassVar[tuple[type, ...]] = (HasPredictive,)
    streams: ClassVar[bool] = True
    forgets: ClassVar[bool] = True
    hides: ClassVar[bool] = True

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
        """Return the prior that is used if the user gives none."""
        return DP()

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if not isinstance(model.prior, DP):
            raise TypeError(
                "RCRP counts the tables of a Chinese restaurant, so it needs the prior DP; got "
                f"{model.prior!r}. Use prior=em.DP(1.0), or an engine for other priors: em.ADF()."
            )

    def initial(self, model: Model, rng: Generator) -> State:
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

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
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
            births=_record_births(state, before),
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
        )

    def shown(self, state: State) -> Bools:
        """Mask (K,) of the labels that are announced as clusters."""
        return state.columns["announced"][: state.tally.K] > NOT_YET

    def dismiss(self, state: State, some: Bools) -> None:
        """Withdraw the announcement of the clusters of a mask (K,).   Consumes: state."""
        state.columns["announced"][: state.tally.K][some] = NOT_YET
        for name in state.tally.ids[some]:
            state.lineage.born[name] = NOT_YET

    def n_clusters_probabilities(self, state: State) -> Floats:
        """Probabilities (K + 1,) that 0, 1, ... K tables are in use."""
        return np.append(state.latents["no_table"], state.columns["tables"][: state.tally.K])

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Empty the labels of clusters that have faded, and remove their ids.   Consumes: state."""
        tally, lineage, shown, seen = state.tally, state.lineage, self.shown(state), _seen(state)
        faded = shown & (seen < self.announce)
        if np.array_equal(faded, shown):  # except the last one
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
        """Raise ValueError unless the number of tables has a distribution."""
        super().check_memo(model, state, n_rows)
        tables = self.n_clusters_probabilities(state)
        if not (np.all(tables >= 0) and abs(tables.sum() - 1.0) < 1e-6):
            raise ValueError("the probabilities of numbers of tables must sum to one.")
        if state.tally.K and not self.shown(state).any():
            raise ValueError("there are labels, but none is announced as a cluster.")

    def log_weights(self, model: Model, state: State) -> Floats:
        """Log predictive probabilities (K + 1,) of the labels and, last, of a new table."""
        assert isinstance(model.prior, DP)  # `check` ensures it
        weights = np.append(np.maximum(_seen(state), DEAD), model.prior.alpha)
        return np.log(weights / weights.sum())

    # ---- inside ----------------------------------------------------------------------------

    def _advance(
        self, model: Model, state: State, rows: Any, weights: Floats, at: int, results: RowResults
    ) -> int:
        """Learn rows until they end, buffers are full, or caches are due; return the next row.

        Consumes: state.
        """
        state.reserve(state.tally.K + 2)
        tally, first, K = state.tally, at, state.tally.K
        data = self._data(model, state)
        at, tally.K, state.clock, refused, why = kernels.rcrp_pass(
            data, rows, weights, K, state.clock, at, RowOutputs(*results)
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

    def _data(self, model: Model, state: State) -> kernels.RCRPData:
        """Return the state's buffers and the settings, for the kernel."""
        assert isinstance(model.prior, DP)  # `check` ensures it
        tally, columns = state.tally, state.columns
        return kernels.RCRPData(
            model.family.workspace(tally, columns),
            kernels.LabelBuffers(
                tally.mass_buffer,
                tally.extra_buffers["start"],
                columns["tables"],
                columns["last_seen"],
                columns["announced"],
            ),
            state.latents["no_table"],
            kernels.LabelScratch(*np.empty((4, tally.capacity))),
            kernels.RCRPSettings(
                float(model.prior.alpha),
                RULES[self.rule],
                self.likelihood == "paper",
                float(self.announce),
                cap_of(model),
                CHECK_EVERY,
                model.family.layout is Layout.STATISTIC_MAJOR,
            ),
        )


def _seen(state: State) -> Floats:
    """R (K,): the mass of each label without its start."""
    return np.maximum(state.tally.mass - state.tally.extras["start"], 0.0)


def _record_births(state: State, before: int) -> list[int]:
    """Record the births of labels that were announced since a clock; return their ids."""
    announced = state.columns["announced"][: state.tally.K]
    new = np.flatnonzero(announced > before)
    new = new[np.argsort(announced[new], kind="stable")]
    for row in new:
        state.lineage.born[state.tally.ids[row]] = int(announced[row])
    return [int(k) for k in state.tally.ids[new]]
