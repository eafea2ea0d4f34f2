r"""DP-means: k-means that opens a cluster where no centre is near.

It is what a Dirichlet process mixture of Gaussians becomes as their variance goes to zero, and it
lowers

.. math::

    \sum_i w_i \lVert x_i - c_{z_i} \rVert^2 + \lambda K.

References
----------
Kulis, Jordan (2012). Revisiting k-means: new algorithms via Bayesian nonparametrics.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from scipy.special import chdtri

from evermix._xp import Floats, Ints
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults, cap_of, warn_once
from evermix.engines.merging.stream import join_near
from evermix.engines.prune import drop
from evermix.engines.settings import check_number, check_whole
from evermix.engines.shards import Shards
from evermix.families import FixedGaussian
from evermix.families.base import Family
from evermix.kernels.engines import dp_means as kernels
from evermix.kernels.engines.adf import ROOM, RowOutputs
from evermix.model import Model
from evermix.priors import DP
from evermix.priors.base import Prior
from evermix.state import DROPPED, State
from evermix.tally import Tally

CERTAIN = 1e30  # a mass at which the mean of a cluster is known exactly
RARE = 1e-3  # share of a cluster's own rows that may lie beyond a derived penalty


@dataclass(frozen=True)
class DPMeans(Engine):
    r"""Hard clusters around moving centres: k-means that finds how many there are.

    A row joins the nearest centre, unless its squared distance is above the penalty: then it opens
    a cluster. Centres are the means of their rows. In a stream, and in the first lap of a fit, they
    move with every row; in later laps centres are fixed, and move when the lap ends.

    Parameters
    ----------
    penalty : float or None
        Squared distance above which a row opens a cluster, and what a cluster costs. None: it
        follows from the variance v, the mean variance :math:`\rho` and the concentration
        :math:`\alpha`; see the notes.
    laps : int or None
        Passes that ``fit`` makes over the data: 1 is the online algorithm. It stops earlier if no
        row changes its cluster; None for as many passes as that takes.

    Notes
    -----
    Works with :class:`FixedGaussian` and a :class:`DP`. Distances are Euclidean. If the variances
    of columns differ, the columns are first stretched to the largest variance, so that the nearest
    centre is also the most probable one.

    The penalty, where none is given, is

    .. math::

        v \max\bigl(D \log(1 + \rho / v) - 2 \log \alpha, \; q_D\bigr),

    with :math:`q_D` the 0.999 quantile of the chi-square distribution with D degrees of freedom.
    The first is where a row is as likely in a new cluster as at its nearest centre. It may be so
    small that a cluster's own rows open others; only one in 1000 of them is farther than the second
    from the true centre. Where the second is larger, :math:`\rho` and :math:`\alpha` do not matter.

    The centre of a new cluster is a single row, and squared distances from it are twice those from
    the true one. With hundreds of columns and a mean variance of a few v or less they are above the
    penalty, and many rows open clusters: give a penalty that is well above :math:`2 v D`.

    A row of weight w adds w times its squared distance. A row that weighs less than 1 opens a
    cluster where w times its squared distance is above the penalty.

    Densities are those of the plug-in mixture: normal distributions around the centres, with the
    family's variance, all of the same weight. There is nothing in it for a new cluster.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5)) + 6 * rng.integers(0, 4, size=(2000, 1))
    >>> mix = em.Mixture(em.FixedGaussian(1.0), engine=em.DPMeans(penalty=60.0, laps=None)).fit(X)
    >>> mix.n_clusters_
    4
    """

    penalty: float | None = None
    laps: int | None = 1

    needs: ClassVar[tuple[type[Prior], ...]] = (DP,)
    families: ClassVar[tuple[type[Family], ...]] = (FixedGaussian,)
    streams: ClassVar[bool] = True
    forgets: ClassVar[bool] = True
    may_change: ClassVar[tuple[str, ...]] = ("laps",)

    @classmethod
    def default_prior(cls) -> Prior:
        """Return the prior that is used if the user gives none."""
        return DP()

    def __post_init__(self) -> None:
        if self.penalty is not None:
            check_number("penalty", self.penalty)
            if not (np.isfinite(self.penalty) and self.penalty > 0):
                raise ValueError(
                    "penalty must be a finite squared distance above 0, or None to derive it from "
                    f"the family and the prior, got {self.penalty}."
                )
        if self.laps is not None:
            check_whole("laps", self.laps)

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if model.forgetting is not None and self.laps != 1:
            raise ValueError(
                f"rows that are read again cannot be forgotten, got laps={self.laps}. Use laps=1, "
                "or forgetting=None."
            )

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        del rng
        tally = Tally.empty(model.family.n_stats)
        columns = {
            "last_seen": np.zeros(tally.capacity, dtype=np.int64),
            "centre": np.zeros((tally.capacity, tally.size)),
            # Sums over the rows of this lap so far, which become the tally when it ends.
            "next_mass": np.zeros(tally.capacity),
            "next_sums": np.zeros((tally.capacity, tally.size)),
        }
        latents = {
            "dropped": np.zeros(1),
            "capped": np.zeros(1),
            "progress": np.zeros(2),  # of this lap: squared distances, number of rows moved
            "settled": np.zeros(3),  # of the last lap: squared distances, K, whether it was idle
        }
        return State(tally, columns, latents)

    def step(self, model: Model, state: State, batch: Batch, rng: Generator) -> tuple[State, Info]:
        """Learn one batch of a stream.   Consumes: state."""
        del rng
        if state.memo:
            _leave_laps(state)
        return self._learn(model, state, batch, np.zeros(1))

    def visit(
        self, model: Model, state: State, shards: Shards, keys: Sequence[int], rng: Generator
    ) -> tuple[State, Info]:
        """Learn a batch of a fit: online in the first lap, then with fixed centres.

        Consumes: state.
        """
        del rng
        (key,) = keys
        batch, present = shards[key], None
        if state.lap:
            present = _slots_of(state, state.memo[str(key)]["ids"])
            if len(present) != len(batch.weights):
                raise ValueError(
                    f"batch {key} had {len(present)} rows when it was first seen, now it has "
                    f"{len(batch.weights)}. Cut the data in the same way in every lap."
                )
        state, info = self._learn(model, state, batch, state.latents["progress"], present)
        assert info.results is not None
        state.memo[str(key)] = {"ids": info.results.labels.copy()}
        return state, info

    def end_lap(
        self, model: Model, state: State, batches: Sequence[Batch], rng: Generator
    ) -> tuple[State, Info]:
        """Move the centres to the means of their rows.   Consumes: state."""
        del batches, rng
        settings = self._settings(model)
        cost, moved = state.latents["progress"].tolist()
        state.latents["progress"][:] = 0.0
        dropped: list[int] = []
        if state.lap:
            gained, dropped = _move_centres(state, settings.scale)
            cost = max(cost - gained, 0.0)
        K = state.tally.K
        before, K_before, _ = state.latents["settled"]
        # Beyond rounding, every lap lowers the objective.
        idle = state.lap > 0 and (moved == 0 or (K >= K_before and cost >= before))
        state.latents["settled"][:] = cost, K, idle
        scalars = {"moved": moved, "objective": cost + settings.penalty * K}
        return state, Info(
            rows=0,
            clock=state.clock,
            K=K,
            dropped=dropped,
            lap=state.lap,
            scalars=scalars if model.forgetting is None else {},
        )

    @property
    def max_laps(self) -> int:
        """The largest number of laps, or 1 where nothing limits them."""
        return 1 if self.laps is None else self.laps

    def finished(self, state: State) -> bool:
        """Whether all laps are done, or no row moved in the last one."""
        return (self.laps is not None and state.lap >= self.laps) or self.converged(state)

    def converged(self, state: State) -> bool:
        """Whether no row moved in the last lap."""
        return bool(state.lap and state.latents["settled"][2])

    def check_memo(self, model: Model, state: State, n_rows: int) -> None:
        """Raise ValueError unless there are labels of ``n_rows`` rows."""
        if not state.memo and model.forgetting is None and (state.lap or state.at):
            raise ValueError(f"wanted labels of {n_rows} rows, got none.")
        for key, record in state.memo.items():
            ids = record.get("ids", np.empty(0))
            whole = record.keys() == {"ids"} and ids.ndim == 1 and ids.dtype == np.int64
            known = np.all((ids >= DROPPED) & (ids < state.lineage.next_id))
            if not (whole and known and key.isdigit()):
                raise ValueError(f"the record {key} does not hold the labels of a batch.")
        n = sum(len(record["ids"]) for record in state.memo.values())
        if state.memo and n != n_rows:
            raise ValueError(f"wanted labels of {n_rows} rows, got those of {n}.")

    def tidy(self, model: Model, state: State) -> tuple[list[int], list[tuple[int, int]]]:
        """Drop what has faded, and join clusters where that lowers the objective.

        Consumes: state.
        """
        dropped, merges = super().tidy(model, state)
        settings = self._settings(model)
        return dropped, merges + join_near(state, settings.scale, settings.penalty)

    def log_weights(self, model: Model, state: State) -> Floats:
        """Log predictive probabilities (K + 1,): equal for all clusters, zero for a new one."""
        del model
        K = state.tally.K
        return np.append(np.full(K, -np.log(max(K, 1))), -np.inf if K else 0.0)

    def believed(self, state: State) -> Tally:
        """Return clusters whose means are known to be their centres."""
        K = state.tally.K
        centres = state.columns["centre"][:K]
        return Tally.of(state.tally.ids, np.full(K, CERTAIN), CERTAIN * centres, {})

    # ---- inside ----------------------------------------------------------------------------

    def _settings(self, model: Model) -> kernels.DPMeansSettings:
        """Return the settings of the kernels; derives the penalty if none is given."""
        family, prior = model.family, model.prior
        assert isinstance(family, FixedGaussian) and isinstance(prior, DP)  # `check` ensures it
        D = family.n_stats
        variance = np.broadcast_to(np.asarray(family.variance, dtype=np.float64), D)
        largest = float(variance.max())
        penalty = self.penalty
        if penalty is None:
            ratio = family.eta0[D:]  # variance over mean variance
            as_likely = float(np.log1p(1 / ratio).sum() - 2 * np.log(prior.alpha))
            penalty = largest * max(as_likely, float(chdtri(D, RARE)))
        return kernels.DPMeansSettings(
            largest / variance, float(penalty), 2 * largest, cap_of(model)
        )

    def _learn(
        self,
        model: Model,
        state: State,
        batch: Batch,
        progress: Floats,
        present: Ints | None = None,
    ) -> tuple[State, Info]:
        """Assign rows; to fixed centres, if the ``present`` slots (N,) of the rows are given.

        Consumes: state.
        """
        began, first_id = time.perf_counter(), state.lineage.next_id
        n, unassigned = len(batch.weights), 0
        if not state.tally.K:  # rows up to the first that counts have no cluster
            unassigned = int(np.append(np.flatnonzero(batch.weights), n - 1)[0]) + 1
        results = self._assign(model, state, batch, progress, present)
        family, first = model.family, batch.X[:unassigned]
        if unassigned:
            predictive = family.log_predictive(first, family.eta0[None, :])[:, 0]
            results.log_predictive[:unassigned] = predictive + family.log_base(first)
        return state, Info(
            rows=n,
            clock=state.clock,
            K=state.tally.K,
            births=list(range(first_id, state.lineage.next_id)),
            log_predictive=float(results.log_predictive.sum()),
            seconds=time.perf_counter() - began,
            results=results,
            lap=state.lap,
        )

    def _assign(
        self, model: Model, state: State, batch: Batch, progress: Floats, present: Ints | None
    ) -> RowResults:
        """Run the compiled loop over the rows of a batch.   Consumes: state."""
        settings, values, weights = (
            self._settings(model),
            model.family.rows(batch.X).values,
            batch.weights,
        )
        results = RowResults.empty(len(weights))
        at, clock, refused, why = 0, state.clock, False, ROOM
        while why == ROOM:
            state.reserve(state.tally.K + 2)
            tally, columns = state.tally, state.columns
            sums = tally.mass_buffer, tally.stats_buffer
            if present is not None:
                sums = columns["next_mass"], columns["next_sums"]
            clusters = kernels.CentreBuffers(columns["centre"], *sums, columns["last_seen"])
            scratch, out = np.empty(tally.capacity), RowOutputs(*results)
            position = (scratch, tally.K, state.clock, at, progress, out)
            if present is None:
                result = kernels.online_pass(values, weights, settings, clusters, *position)
            else:
                result = kernels.lap_pass(values, weights, present, settings, clusters, *position)
            at, tally.K, state.clock, capped, why = result
            refused |= capped
        _name_births(state, results, clock, weights)
        if refused:
            warn_once(model, state, remedy="raise the penalty")
        results.log_predictive[:] -= 0.5 * np.log(np.pi * settings.spread / settings.scale).sum()
        return results


def _slots_of(state: State, ids: Ints) -> Ints:
    """Return the slots of clusters with these ids (N,), -1 for those that no longer exist."""
    slot_of = np.full(state.lineage.next_id + 1, -1)
    slot_of[state.tally.ids] = np.arange(state.tally.K)
    return slot_of[np.maximum(ids, -1)]


def _name_births(state: State, results: RowResults, clock: int, weights: Floats) -> None:
    """Give the clusters opened since a clock their ids, and turn slots into ids."""
    born = (clock + np.cumsum(weights > 0))[results.born]
    if len(born):
        state.tally.ids[-len(born) :] = [state.lineage.birth(int(tick)) for tick in born]
    known = results.labels >= 0
    results.labels[known] = state.tally.ids[results.labels[known]]


def _move_centres(state: State, scale: Floats) -> tuple[float, list[int]]:
    """Move centres to the means of the rows that a lap has assigned to them, and drop empty ones.

    Returns the decrease of the squared distances, and the ids of the dropped.   Consumes: state.
    """
    tally, columns = state.tally, state.columns
    K = tally.K
    tally.mass[:], tally.stats[:] = columns["next_mass"][:K], columns["next_sums"][:K]
    columns["next_mass"][:], columns["next_sums"][:] = 0.0, 0.0
    dropped = drop(state, tally.mass == 0)
    tally, centres = state.tally, state.columns["centre"][: state.tally.K]
    before = centres.copy()
    centres[:] = tally.stats / tally.mass[:, None]
    return float((tally.mass @ (scale * (centres - before) ** 2)).sum()), dropped


def _leave_laps(state: State) -> None:
    """Turn the state of a fit, perhaps in the middle of a lap, into that of a stream."""
    drop(state, state.tally.mass == 0)  # opened in this lap, and empty so far
    for name in ("next_mass", "next_sums"):
        state.columns[name][:] = 0.0
    for name in ("progress", "settled"):
        state.latents[name][:] = 0.0
    state.memo.clear()
    state.lap = state.at = 0
