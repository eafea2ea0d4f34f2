"""What the filters share: the rule by which a row is learnt from what is known so far."""

import warnings
from typing import Any, ClassVar

import numpy as np

from evermix._xp import Array, logsumexp
from evermix.engines.base import Engine
from evermix.engines.batch import CapacityWarning, RowResults
from evermix.engines.joining.join import join
from evermix.engines.settings import check_number
from evermix.kernels.engines import adf as kernels
from evermix.kernels.weights import MODE, QUADRATURE, new_weight
from evermix.model import Model
from evermix.priors.base import GibbsScalars, GibbsType, HasPredictive, occupancy
from evermix.state import State
from evermix.tally import Tally

CHECK_EVERY = 1000  # observations between two rounds of pruning, joining and rebuilding of caches
NO_CAP = np.iinfo(np.int64).max


class Filter(Engine):
    """An engine that learns rows one by one with soft assignments."""

    merge: float | None

    needs: ClassVar = (HasPredictive,)
    not_mergeable: ClassVar = None

    @property
    def birth(self) -> float:
        """What the responsibility of a new cluster must exceed."""
        return 0.0

    @property
    def rule(self) -> str:
        """How clusters are weighed: "expected" is exact where sizes are whole numbers."""
        return "expected"

    def __post_init__(self) -> None:
        check_number("birth", self.birth)
        if self.merge is not None:
            check_number("merge", self.merge)
        if not 0 <= self.birth < 1:
            raise ValueError(f"birth must lie in [0, 1), got {self.birth}.")
        if self.rule not in ("expected", "paper"):
            raise ValueError(f"rule must be 'expected' or 'paper', got {self.rule!r}.")
        if self.merge is not None and not self.merge >= 0:
            raise ValueError(f"merge must be >= 0 nats or None, got {self.merge}.")

    @property
    def merge_threshold(self) -> float:
        """Log odds above which clusters are fused."""
        return float(self.merge or 0.0)

    @property
    def paper(self) -> bool:
        """Whether the published rule is used."""
        return self.rule == "paper"

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if not self.paper:
            return
        if not isinstance(model.prior, GibbsType):
            raise TypeError(
                "rule='paper' needs a Gibbs-type prior (DP, NGGP, PitmanYor), got "
                f"{type(model.prior).__name__}. Use rule='expected'."
            )
        sigma = model.prior.scalars().sigma
        if self.birth < sigma:
            raise ValueError(
                f"rule='paper' needs birth >= sigma, got birth={self.birth} and sigma={sigma}: "
                "a cluster of mass below sigma would have no weight and never grow. "
                f"Use birth={sigma} or rule='expected'."
            )

    def check_weights(self, model: Model, weights: Array) -> None:
        """Raise ValueError if the published rule could open a cluster that has no weight."""
        if not self.paper:
            return
        assert isinstance(model.prior, GibbsType)  # `check` says so
        sigma = model.prior.scalars().sigma
        positive = weights[weights > 0]
        if len(positive) and positive.min() * self.birth < sigma:
            raise ValueError(
                "rule='paper' needs sample weights of 0 or at least sigma / birth = "
                f"{sigma / self.birth:g}, got {positive.min():g}: a cluster of mass below sigma "
                "would have no weight and never grow. Use rule='expected'."
            )

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        del rng
        assert isinstance(model.prior, HasPredictive)  # `needs` says so
        tally = Tally.empty(model.family.n_stats, model.prior.extras, model.family.layout)
        columns = {
            "last_seen": np.zeros(tally.capacity, dtype=np.int64),
            "judged": np.zeros(tally.capacity),
            **model.family.columns(tally),
        }
        latents = {"dropped": np.zeros(1), "new_weight": np.zeros(3), "capped": np.zeros(1)}
        return State(tally, columns, latents)

    def log_weights(self, model: Model, state: State) -> Array:
        """Log predictive probabilities (K + 1,) of the clusters and, last, of a new one."""
        prior, mass = model.prior, state.tally.mass
        occupied = occupancy(mass, state.tally.extras)
        if not self.paper:
            assert isinstance(prior, HasPredictive)  # `needs` says so
            return prior.log_weights(mass, occupied)
        assert isinstance(prior, GibbsType)  # `check` says so
        kind, a, sigma, tau = self.scalars(prior)
        new = new_weight(kind, a, sigma, tau, mass.sum(), occupied.sum()) if len(mass) else 1.0
        least = np.where(mass > 0, kernels.DEAD, 0.0)
        weights = np.append(np.maximum(mass - sigma, least), new)
        with np.errstate(divide="ignore"):
            return np.log(weights / weights.sum())

    def scalars(self, prior: GibbsType) -> GibbsScalars:
        """Return the prior's scalars; the published rule plugs in the mode of log U."""
        scalars = prior.scalars()
        if self.paper and scalars.kind == QUADRATURE:
            return scalars._replace(kind=MODE)
        return scalars

    # ---- inside ----------------------------------------------------------------------------

    def _settings(self, model: Model) -> kernels.Settings:
        cap = NO_CAP if model.max_clusters is None else model.max_clusters
        return kernels.Settings(float(self.birth), self.paper, cap, CHECK_EVERY)

    def _known(self, model: Model, state: State, prior: GibbsType) -> kernels.Known:
        """Return what the kernels learn from: the state's buffers, with weights up to date."""
        tally, scalars = state.tally, self.scalars(prior)
        clusters = kernels.Clusters(
            tally.mass_buffer, **tally.extra_buffers, last_seen=state.columns["last_seen"]
        )
        scratch = kernels.Scratch(*np.empty((4, tally.capacity)))
        kernels.reweigh_all(tally.K, scalars.sigma, self.paper, clusters, scratch)
        return kernels.Known(
            model.family.workspace(tally, state.columns),
            scalars,
            clusters,
            scratch,
            state.latents["new_weight"],
            self._settings(model),
        )

    def _join(self, model: Model, state: State) -> list[tuple[int, int]]:
        """Join similar clusters, if asked to, and rebuild the caches of all."""
        merges = [] if self.merge is None else join(model, state, self.merge)
        state.columns |= model.family.columns(state.tally)
        return merges

    def _learn_by_arrays(
        self,
        model: Model,
        state: State,
        X: Any,
        weights: Array,
        i: int,
        results: RowResults,
        own: int | None = None,
        uniform: float = 0.0,
    ) -> Array:
        """Learn row i with plain array maths: any prior, and the reference for the kernels.

        A newborn cluster takes the id ``own``, if that is given, and is one with the cluster that
        has it already, if there is one. ``uniform`` is a number in [0, 1) for engines that draw.
        Returns the row's responsibilities (K,), none if it teaches nothing.
        """
        cap, family = self._settings(model).cap, model.family
        tally, w = state.tally, weights[i]
        stats = np.vstack([tally.stats, np.zeros(tally.size)])
        eta = family.posterior(stats, np.append(tally.mass, 0.0))
        rho = self.log_weights(model, state) + family.log_predictive(X[i : i + 1], eta)[0]
        results.log_predictive[i] = logsumexp(rho)
        room = w > 0 and tally.K < cap
        if not room and not tally.K:  # a row of weight zero before any cluster
            return rho[:0]
        q, probability, wanted = self._assigned(rho, room, uniform)
        if wanted and w > 0 and not room:
            warn_once(model, state)
        born = len(q) > tally.K
        if born:
            q = self._give_birth(state, q, own)
        results.labels[i] = tally.ids[q.argmax()]
        results.probabilities[i] = q.max() if probability is None else probability
        results.born[i] = born and own is None
        if w == 0:
            return rho[:0]
        state.clock += 1
        hard = q >= kernels.HARD
        tally.mass[:] += w * q
        tally.stats[:] += family.accumulate(X[i : i + 1], w * q[None, :])
        tally.extras["hard"][:] += w * hard
        tally.extras["log_empty"][:] += w * np.log1p(-np.where(hard, 0.0, q))
        state.columns["last_seen"][: tally.K][q > kernels.SEEN] = state.clock
        return q

    def _assigned(self, rho: Array, room: bool, uniform: float) -> tuple[Array, float | None, bool]:
        """Return responsibilities from log weights rho (K + 1,), the last of a new cluster.

        They are (K + 1,) if a cluster is born, which there may be no ``room`` for. Then the
        probability of the best, where responsibilities do not say it, and whether a birth was
        wanted.
        """
        del uniform
        wanted = len(rho) == 1 or bool(np.exp(rho[-1] - logsumexp(rho)) > self.birth)
        rho = rho if wanted and room else rho[:-1]
        below = rho - rho.max()
        q = np.where(below > kernels.NEGLIGIBLE, np.exp(below), 0.0)
        return q / q.sum(), None, wanted

    @staticmethod
    def _give_birth(state: State, q: Array, own: int | None) -> Array:
        """Open a cluster for the last of the responsibilities q (K + 1,), or find it its own."""
        at = np.flatnonzero(state.tally.ids == own)
        if len(at):
            q[at[0]] += q[-1]
            return q[:-1]
        state.append([state.lineage.birth(state.clock + 1) if own is None else own])
        state.columns["last_seen"][state.tally.K - 1] = state.clock + 1
        return q


def warn_once(model: Model, state: State, remedy: str = "lower the prior's concentration") -> None:
    """Say that the cap was reached and what would help, unless it was said before."""
    if state.latents["capped"][0]:
        return
    state.latents["capped"][0] = 1.0
    warnings.warn(
        f"K reached max_clusters={model.max_clusters} at observation {state.clock}; later data "
        f"join existing clusters. Raise max_clusters, or {remedy}.",
        CapacityWarning,
        stacklevel=2,
    )
