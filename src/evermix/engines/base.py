"""What an engine is: a way to compute the posterior, one batch at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from evermix._registry import registered
from evermix._xp import Array
from evermix.engines.batch import ROWS, Batch, Draws, Info
from evermix.engines.prune import drop, fade_out
from evermix.engines.settings import check_begun
from evermix.families.base import Family
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import Prior
from evermix.state import Record, State
from evermix.tally import Tally

if TYPE_CHECKING:
    from evermix.engines.shards import Shards


@dataclass(frozen=True)
class Engine(ABC):
    """A way to compute the posterior, given as plain settings."""

    needs: ClassVar[tuple[type[Prior], ...]]
    """Capabilities that the prior must have."""
    streams: ClassVar[bool] = False
    """Whether it learns rows as they come and needs none of them again."""
    whole: ClassVar[bool] = False
    """Whether a batch must hold all rows."""

    foreign: ClassVar[bool] = False
    """Whether it learns rows of other array libraries where they are."""
    divides: ClassVar[bool] = False
    """Whether it learns batches where they are, on the workers of a cluster."""
    families: ClassVar[tuple[type[Family], ...]] = ()
    """Families that it can work with; any, if there are none. "auto" stands for the first."""
    forgets: ClassVar[bool] = False
    """Whether what it has learnt can fade.

    Then it has a column ``last_seen``: the clock when each cluster was last in use.
    """
    may_change: ClassVar[tuple[str, ...]] = ()
    """Settings with which a fit may go on that was begun with others.

    They say when it ends, or where things are kept, and nothing else of what is learnt.
    """
    lap_name: ClassVar[str] = "lap"
    """What one pass over the rows is called."""
    rereads: ClassVar[bool] = False
    """Whether rows may be read from their source in every lap instead of being held."""
    reads_in_order: ClassVar[bool] = True
    """Whether every lap visits the batches in the order of the rows."""
    not_mergeable: ClassVar[str | None] = "it keeps no statistics that add up"
    """Why fitted models of this engine cannot be merged; None if they can."""

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior where none is asked for."""
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
                    f"{capability.__name__}; {type(model.prior).__name__} has it not. "
                    f"Priors that have it: {', '.join(able)}."
                )

    def check_weights(self, model: Model, weights: Array) -> None:
        """Raise ValueError if this engine cannot learn rows of these weights (N,)."""
        del model, weights

    def check_change(self, before: Self, state: State) -> None:
        """Raise ValueError unless this can go on with a fit of another one, from its state."""
        del state
        for setting in fields(self):
            if setting.name not in self.may_change:
                check_begun(setting.name, *(getattr(one, setting.name) for one in (before, self)))

    @abstractmethod
    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""

    def begin(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> State:
        """Look at the data before the first of many laps.   Consumes: state."""
        del model, batches, rng
        return state

    @abstractmethod
    def step(
        self, model: Model, state: State, batch: Batch, rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Learn one batch.   Consumes: state."""

    def together(self, state: State, shards: "Shards") -> int:
        """Return how many batches a step of a lap takes from the same state."""
        del state, shards
        return 1

    def visit(
        self,
        model: Model,
        state: State,
        shards: "Shards",
        keys: Sequence[int],
        rng: np.random.Generator,
    ) -> tuple[State, Info]:
        """Learn the batches with these keys, in a lap.   Consumes: state."""
        (key,) = keys
        return self.step(model, state, shards[key], rng)

    def batch_rows(self, n: int, n_features: int) -> int:
        """Return how many of n rows a batch shall have."""
        del n_features
        return n if self.whole else ROWS

    def order(self, state: State, n: int) -> Array:
        """Return the order (n,) in which this lap visits the n batches."""
        del state
        return np.arange(n)

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: np.random.Generator
    ) -> tuple[State, Info]:
        """Tidy up after all data have been seen; streams never end, so they never call this.

        Consumes: state.
        """
        del model, batches, rng
        return state, Info(rows=0, clock=state.clock, K=state.tally.K, lap=state.lap)

    def finished(self, state: State) -> bool:
        """Whether there is nothing more to do; asked between two laps."""
        return state.lap >= 1

    @property
    def max_laps(self) -> int:
        """The largest number of laps that the engine makes."""
        return 1

    def progress(self, state: State) -> dict[str, Any]:
        """Return how far a fit has come, as JSON-ready entries by name."""
        finished = state.at == 0 and bool(self.finished(state))
        return {"laps": state.lap, "finished": finished}

    @property
    def merge_threshold(self) -> float:
        """Log odds above which clusters of merged models are fused, unless the user says else."""
        return 0.0

    def start_file(self) -> str | None:
        """Return the path of a saved model whose clusters a fit starts from, or None."""
        return None

    def lower_bound(self, state: State) -> float | None:
        """Lower bound on the log evidence of the rows, or None if the engine has none."""
        del state
        return None

    def n_clusters_probabilities(self, state: State) -> Array | None:
        """Probabilities (L + 1,) of 0..L clusters, or None if the engine does not follow them."""
        del state
        return None

    def draws(self, state: State) -> Draws | None:
        """Return the draws that were kept, or None if the engine makes none."""
        del state
        return None

    def draw(self, model: Model, state: State, batch: Batch, m: int) -> tuple[Model, State]:
        """Return the model and the state of draw m; ``batch`` holds all rows."""
        raise TypeError(f"{type(self).__name__} makes no draws.")

    def current(self, model: Model, state: State) -> Model:
        """Return the model with the hyperparameters that the engine has learnt so far."""
        del state
        return model

    def for_scoring(self, model: Model, state: State) -> State:
        """Return the state with the columns that scoring needs."""
        del model
        return state

    def records(self, state: State) -> dict[str, Record]:
        """Return what is remembered of batches where they are."""
        del state
        return {}

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError if what a state remembers of data cannot be of ``n_rows`` rows."""
        del model, n_rows
        if state.memo:
            raise ValueError(f"{type(self).__name__} remembers nothing, got {sorted(state.memo)}.")

    def fade(self, model: Model, state: State, factor: float) -> None:
        """Scale all that was learnt by ``factor``, at most 1.   Consumes: state."""
        state.tally.scale(factor)
        state.latents["dropped"] *= factor
        state.columns |= model.family.columns(state.tally)

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Drop what has faded and join what has become the same; return ids, and (gone, into).

        Asked now and then of engines that forget.   Consumes: state.
        """
        del model
        return fade_out(state), []

    def believed(self, state: State) -> Tally:
        """Return the mass and statistics that rows are scored by: what was learnt, as a rule."""
        return state.tally

    def shown(self, state: State) -> Array:
        """Mask (K,) of the clusters that users see; others only count for densities."""
        return np.ones(state.tally.K, dtype=bool)

    def dismiss(self, state: State, some: Array) -> None:
        """Show the clusters of a mask (K,) no more: drop them, if they can be spared.

        Consumes: state.
        """
        drop(state, some)

    @abstractmethod
    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""

    def to_spec(self) -> dict[str, Any]:
        """Return the settings as a JSON-ready dict."""
        return asdict(self)

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the engine that :meth:`to_spec` described."""
        return cls(**spec)
