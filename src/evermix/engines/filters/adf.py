"""Assumed density filtering for normalized random measure mixtures: one pass.

References
----------
Tank, Foti, Fox (2015). Streaming variational inference for Bayesian nonparametric mixture models.
"""

from dataclasses import dataclass

from numpy.random import Generator

from evermix.engines.batch import Batch, Info
from evermix.engines.filters.filter import Filter
from evermix.engines.filters.keeping import (
    add_rows,
    is_review,
    keep,
    next_stop,
    stretches,
    thin,
)
from evermix.engines.filters.newcomers import newcomers, newcomers_due
from evermix.engines.filters.relearn import relearn
from evermix.engines.filters.review import review, reviewable
from evermix.engines.run import record_times
from evermix.engines.settings import check_whole
from evermix.lookback import Lookback
from evermix.model import Model
from evermix.state import State


@dataclass(frozen=True)
class ADF(Filter):
    """One-pass streaming inference: each observation is learnt once.

    A bounded sample of the rows is kept, and the clusters are reviewed with it at clocks that grow
    by a constant factor: they are split, merged and deleted under one objective, see
    ``evermix.engines.filters.review``. With ``lookback=0`` no row is kept.

    Parameters
    ----------
    birth : float
        A new cluster is opened when its responsibility exceeds this. With the rule "expected" it
        only trades speed for detail (0.01 to 0.1 is sensible); with "paper" it must not lie below
        the prior's sigma.
    rule : {"expected", "paper"}
        Predictive weight of a cluster: mass - sigma * P(occupied), exact in expectation, or
        max(mass - sigma, 0) with the mode of the latent U, as published.
    merge : float or None
        Fuse two clusters when the log odds for it exceed this many nats, judged with foresight (see
        ``evermix.engines.merging.stream``); None for no merges. Where clusters are reviewed, the
        reviews merge them, by an objective that counts the entropy of assignments.
    lookback : int
        Rows of each cluster that are kept for reviews, if there are many: 1,024 rows are kept
        anyway, more if they have fewer than eight columns or more than 32. 0 for no reviews. There
        are none with ``rule="paper"``, with ``merge=None`` and, but for counts, in models that
        forget. Of counts the first rows are kept if hyperparameters are to be learnt, and of short
        texts the latest ones after them, in which new clusters are looked for.
    """

    birth: float = 0.05
    rule: str = "expected"
    merge: float | None = 5.0
    lookback: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("lookback", self.lookback, least=0)

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        reviews = self.lookback and self.merge is not None and not self.paper
        state.lookback = Lookback() if reviews and reviewable(model) else None
        return state

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Learn one batch, and review the clusters where that is due.   Consumes: state."""
        if (state.lookback is None and not self._learns(model)) or not len(batch.weights):
            return super().step(model, state, batch, rng)
        stop = next_stop(model, state.clock)
        if state.clock + len(batch.weights) < stop:  # as below, in less time
            state, info = super().step(model, state, batch, rng)
            assert info.results is not None
            add_rows(state, batch, info.results.labels)
            return state, info
        parts: list[Info] = []
        for rows in stretches(model, batch, state.clock):
            before = state.clock
            state, info = super().step(model, state, rows, rng)
            parts.append(info)
            assert info.results is not None
            keep(model, state, rows, info.results.labels, self.lookback)
            record_times(state, before, rows, info.results.labels)
            if state.clock > before and is_review(model, state):
                model, state, info = self.review(model, state)
                parts.append(info)
            if state.clock > before and newcomers_due(model, state):
                model, state, info = newcomers(self, model, state)
                parts.append(info)
        return state, Info.joined(parts)

    def _learns(self, model: Model) -> bool:
        """Whether hyperparameters are learnt from the clusters alone."""
        return bool(model.learns) and model.family.sparse

    def review(self, model: Model, state: State) -> tuple[Model, State, Info]:
        """Return a model and a state with better clusters, and what happened.

        Once no rows are kept any more, only what is open in the model is learnt.
        """
        thin(model, state, self.lookback)
        if state.lookback is not None:
            return review(self, model, state)
        return relearn(model, state)
