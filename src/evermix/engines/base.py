"""The interface of engines: ways to compute the posterior, one batch at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from evermix._registry import registered
from evermix._xp import Array, Bools, Floats, Ints
from evermix.engines.batch import ROWS, Batch, Draws, Info
from evermix.engines.prune import drop, fade_out
from evermix.engines.settings import check_begun
from evermix.engines.shards import Shards
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import Prior
from evermix.state import Record, State
from evermix.tally import Tally


@dataclass(frozen=True)
class Engine(ABC):
    """A way to compute the posterior, given as plain settings.

    An engine defines :meth:`initial`, :meth:`step` and :meth:`log_weights`; everything else has a
    default. It is a frozen dataclass whose fields are its settings.

    Notes
    -----
    A state holds what the engine puts into it. These names, all optional, mean something to others:

    - the latent ``dropped`` (1,): mass of clusters that were dropped, see :meth:`dropped_mass`;
    - the latent ``capped`` (1,): 1 once there was a warning that ``max_clusters`` was reached;
    - the column ``last_seen`` (capacity,), int64: the clock when each cluster was last in use, for
      engines that forget. Without it the labels of the rows decide.
    """

    needs: ClassVar[tuple[type[Prior], ...]] = ()
    """Capabilities that the prior must have."""
    streams: ClassVar[bool] = False
    """Whether it learns rows as they come and needs none of them again."""
    whole: ClassVar[bool] = False
    """Whether a batch must hold all rows."""
    foreign: ClassVar[bool] = False
    """Whether it learns arrays of other libraries (PyTorch, CuPy) without copying them to NumPy."""
    divides: ClassVar[bool] = False
    """Whether it learns batches on the workers of a cluster."""
    families: ClassVar[tuple[type[Family], ...]] = ()
    """Families that it works with; empty for all. "auto" means the first."""
    forgets: ClassVar[bool] = False
    """Whether its statistics may decay, see :meth:`fade` and :meth:`tidy`."""
    hides: ClassVar[bool] = False
    """Whether it may have clusters that users do not see, see :meth:`shown`."""
    may_change: ClassVar[tuple[str, ...]] = ()
    """Settings that may change before a fit is resumed.

    They decide when a fit ends or where things are stored, and nothing else of what is learnt.
    """
    lap_name: ClassVar[str] = "lap"
    """What one pass over the rows is called."""
    rereads: ClassVar[bool] = False
    """Whether rows may be read from their source in every lap instead of being held."""
    reads_in_order: ClassVar[bool] = True
    """Whether every lap takes the batches in the order of the rows."""
    by_hand: ClassVar[bool] = False
    """Whether people may merge, split and pin its clusters: it never drops or merges pinned ones.
    """
    not_mergeable: ClassVar[str | None] = "it keeps no statistics that add up"
    """Why fitted models of this engine cannot be merged; None if they can."""

    # ---- the model and the settings --------------------------------------------------------

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior that is used if the user gives none."""
        return NGGP()

    def check(self, model: Model) -> None:
        """Raise TypeError or ValueError if this engine cannot work with the model."""
        if self.families and not isinstance(model.family, self.families):
            raise TypeError(
                f"{type(self).__name__} works with the family "
                f"{' or '.join(family.__name__ for family in self.families)}, got "
                f"{type(model.family).__name__}."
            )
        if model.forgetting is not None and not self.forgets:
            raise TypeError(
                f"{type(self).__name__} cannot forget: it comes back to its rows. Use "
                "forgetting=None, or an engine that learns rows once: em.ADF()."
            )
        for capability in self.needs:
            if not isinstance(model.prior, capability):
                priors = registered(Prior).items()
                able = sorted(name for name, cls in priors if issubclass(cls, capability))
                raise TypeError(
                    f"{type(self).__name__} needs a prior with the capability "
                    f"{capability.__name__}, got {type(model.prior).__name__}. "
                    f"Priors that have it: {', '.join(able)}."
                )

    def check_weights(self, model: Model, weights: Array) -> None:
        """Raise ValueError if this engine cannot learn rows of these weights (N,)."""
        del model, weights

    def check_change(self, before: Self, state: State) -> None:
        """Raise ValueError unless this engine can resume the fit of ``before`` from its state."""
        del state
        for setting in fields(self):
            if setting.name not in self.may_change:
                check_begun(setting.name, *(getattr(one, setting.name) for one in (before, self)))

    # ---- learning --------------------------------------------------------------------------

    @abstractmethod
    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""

    def begin(self, model: Model, state: State, batches: Sequence[Batch], rng: Generator) -> State:
        """Prepare the first lap, with access to all data.   Consumes: state."""
        del model, batches, rng
        return state

    @abstractmethod
    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""

    def together(self, state: State, shards: Shards) -> int:
        """Return how many batches a step of a lap learns from the same state."""
        del state, shards
        return 1

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Learn the batches with these keys, in a lap.   Consumes: state."""
        (key,) = keys
        return self.step(model, state, shards[key], rng)

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return the number of rows of a batch, for n rows in all."""
        del n_features
        return n if self.whole else ROWS

    def order(self, state: State, n: int) -> Ints:
        """Return the order (n,) in which this lap takes the n batches."""
        del state
        return np.arange(n)

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Finish a lap over all data; streams never call this.   Consumes: state."""
        del model, batches, rng
        return state, Info(rows=0, clock=state.clock, K=state.tally.K, lap=state.lap)

    def finished(self, state: State) -> bool:
        """Whether the fit is complete; called between two laps."""
        return state.lap >= 1

    def converged(self, state: State) -> bool | None:
        """Whether the last lap changed next to nothing; None if the engine does not look at that.

        A fit that has finished without ended at its limit of laps.
        """
        del state
        return None

    @property
    def max_laps(self) -> int:
        """The largest number of laps that the engine makes."""
        return 1

    def progress(self, state: State) -> dict[str, Any]:
        """Return how far a fit has come, as JSON-ready entries by name."""
        finished = state.at == 0 and bool(self.finished(state))
        converged = self.converged(state) if finished else None
        return {"laps": state.lap, "finished": finished, "converged": converged}

    # ---- reviews, forgetting and dropping --------------------------------------------------

    def review(self, model: Model, state: State) -> tuple[Model, State, Info]:
        """Return a model and a state with better clusters, and what happened.

        TypeError: the state keeps no rows with which clusters could be reviewed.
        """
        raise TypeError(f"{type(self).__name__} keeps no rows, so it cannot review its clusters.")

    def fade(self, model: Model, state: State, factor: float) -> None:
        """Scale all statistics by ``factor``, at most 1.   Consumes: state."""
        state.tally.scale(factor)
        if "dropped" in state.latents:
            state.latents["dropped"] *= factor
        state.columns |= model.family.columns(state.tally)

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Drop clusters that have faded and merge those that have become equal.

        Called now and then in models that forget. Returns the ids of the dropped, and (gone, into)
        for every merge.   Consumes: state.
        """
        del model
        return fade_out(state), []

    def dismiss(self, state: State, some: Bools) -> None:
        """Stop showing the clusters of a mask (K,): drop them, if possible.   Consumes: state."""
        drop(state, some)

    def dropped_mass(self, state: State) -> float:
        """Return the mass of dropped clusters.

        Together with the masses of the clusters it is the sum of the weights of all rows learnt.
        """
        return float(np.sum(state.latents.get("dropped", 0.0)))

    # ---- results ---------------------------------------------------------------------------

    @abstractmethod
    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""

    def likeliest(self, model: Model, state: State, X: Array) -> int | None:
        """Return the id of the most probable cluster of one prepared row X (1, D).

        It is that of :meth:`log_weights` plus the log predictive of the row. None, the default: it
        must be computed from these.
        """
        del model, state, X
        return None

    def believed(self, state: State) -> Tally:
        """Return the mass and statistics by which rows are scored."""
        return state.tally

    def continued(self, model: Model, tally: Tally, before: State) -> State:
        """Return a state that goes on from clusters of another engine. TypeError: it cannot."""
        raise TypeError(
            f"{type(self).__name__} cannot go on from what another engine has learnt. Use em.ADF()."
        )

    def for_scoring(self, model: Model, state: State) -> State:
        """Return the state with the columns that scoring needs."""
        del model
        return state

    def shown(self, state: State) -> Bools:
        """Mask (K,) of the clusters that users see; the others count for densities only."""
        return np.ones(state.tally.K, dtype=bool)

    def current(self, model: Model, state: State) -> Model:
        """Return the model with the hyperparameters learnt so far."""
        del state
        return model

    def lower_bound(self, state: State) -> float | None:
        """Lower bound on the log evidence of the rows, or None if the engine has none."""
        del state
        return None

    def n_clusters_probabilities(self, state: State) -> Floats | None:
        """Probabilities (L + 1,) of 0..L clusters, or None if the engine has none."""
        del state
        return None

    def draws(self, state: State) -> Draws | None:
        """Return the draws that were kept, or None if the engine makes none."""
        del state
        return None

    def draw(self, model: Model, state: State, batch: Batch, m: int) -> tuple[Model, State]:
        """Return the model and the state of draw m; ``batch`` holds all rows."""
        raise TypeError(f"{type(self).__name__} makes no draws.")

    @property
    def merge_threshold(self) -> float:
        """Log odds above which clusters of merged models are fused, if the user gives none."""
        return 0.0

    # ---- files -----------------------------------------------------------------------------

    def start_file(self) -> str | None:
        """Return the path of a saved model whose clusters a fit starts from, or None."""
        return None

    def records(self, state: State) -> dict[str, Record]:
        """Return the records of batches that are stored where the batches are."""
        del state
        return {}

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError if the records of a state do not fit ``n_rows`` rows."""
        del model, n_rows
        if state.memo:
            raise ValueError(f"{type(self).__name__} remembers nothing, got {sorted(state.memo)}.")

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the engine that :meth:`to_spec` described."""
        return cls(**spec)
