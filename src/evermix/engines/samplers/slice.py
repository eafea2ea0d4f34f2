"""Slice sampling of mixtures: all rows move at once, among clusters that are drawn anew.

Clusters with rows are given weights and parameters (see ``engines.samplers.conditional``). A row
draws a level below the weight of its cluster, and then one of the clusters whose weight is above
the level, in proportion to their likelihoods and independently of other rows. Clusters without rows
are drawn too, down to the lowest level [griffin2011]_. Weights and parameters are discarded after
the sweep: U and the hyperparameters are updated with both integrated out.

References
----------
.. [griffin2011] J. Griffin and S. Walker. Posterior simulation of normalized random measure
   mixtures. Journal of Computational and Graphical Statistics, 2011.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evermix._xp import Floats, Ints
from evermix.engines.batch import Batch, RowResults
from evermix.engines.samplers.conditional import SweepState, hybrid_sweep
from evermix.engines.samplers.gibbs import gibbs_sweep
from evermix.engines.samplers.sampler import Sampler
from evermix.engines.settings import check_switch
from evermix.model import Model
from evermix.priors.hyper import HyperPrior
from evermix.state import State

MOST_EMPTY = 1e5  # most clusters without rows that a sweep may draw
SPARE = 10.0  # least number of them, in units of a new cluster's weight
ENOUGH = 1000  # most number of them that is worth its time, besides one for each row
NUMBERS = 2**22  # most entries of a table of likelihoods or parameters


@dataclass(frozen=True)
class Slice(Sampler):
    """Draws partitions from the exact posterior by moving all rows at once.

    Parameters
    ----------
    sweeps : int
        Passes over the data of each chain, those of the burn-in included.
    burn_in : int or None
        Sweeps at the start of each chain that are not kept; None for half of them.
    hybrid : bool
        Move rows one after another, and integrate out the clusters that have none. Faster where
        parameters are long, as for text; slower for many short rows. The draws have the same law.
    chains : int
        Independent chains, one after another.
    thin : int
        Keep every ``thin``-th sweep.
    hyperpriors : mapping of str to Gamma or Beta, or None
        Hyperparameters to learn, by name: of the prior (``"a"``, ``"sigma"``, ``"alpha"``, ...) or
        of the family (``"family.alpha"``, ...). None keeps all as they are.

    Notes
    -----
    The prior must be DP or NGGP. The first sweep of a chain is one of :class:`Gibbs`. Where
    parameters are long, as the word probabilities of text are, clusters without rows cost most:
    rows that would need too many of them stay where they are for a sweep, and sweeps that would
    need more than 100,000 are made by the hybrid step, with a warning. So is every sweep where
    ``max_clusters`` is set, since rows that move at once cannot keep to it.
    """

    sweeps: int = 200
    burn_in: int | None = None
    hybrid: bool = False
    chains: int = 1
    thin: int = 1
    hyperpriors: Mapping[str, HyperPrior] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_switch("hybrid", self.hybrid)

    @property
    def uses_u(self) -> bool:
        """Whether U is part of the chain's state: always."""
        return True

    def initial(self, model: Model, rng: Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        state.latents["crowded"] = np.zeros(1)
        return state

    def _sweep(
        self, model: Model, state: State, batch: Batch, results: RowResults, rng: Generator
    ) -> Ints:
        """Return new labels (N,) of all rows, given weights and parameters of the clusters."""
        if state.latents["sweep"][0] == 0:  # there is no U yet; any partition can be the first
            return gibbs_sweep(model, state, batch, results, rng)
        sweep = SweepState.draw(model, state, batch, rng)
        # Rows that move at once do not see how many clusters the others open, so no cap can hold.
        if self.hybrid or model.max_clusters is not None or _crowded(sweep):
            return hybrid_sweep(sweep, results, rng)
        return _slice_sweep(sweep, results, rng)


def _crowded(sweep: SweepState) -> bool:
    """Whether slices would need too many clusters without rows; warns the first time.

    For exact draws this must not depend on what the sweep draws, such as the levels.
    """
    needed, latents = SPARE * sweep.empty.mass, sweep.state.latents
    if needed <= MOST_EMPTY:
        return False
    if not latents["crowded"][0]:
        latents["crowded"][0] = 1.0
        warnings.warn(
            f"a slice sweep would need some {needed:.0e} clusters without rows; such sweeps move "
            "one row after another instead. Use Slice(hybrid=True) or Gibbs.",
            RuntimeWarning,
            stacklevel=2,
        )
    return True


def _floor(sweep: SweepState) -> float:
    """Log of the level above which the number of clusters without rows is affordable."""
    affordable = min(NUMBERS / sweep.params.shape[1], ENOUGH + len(sweep.labels))
    return sweep.empty.lowest(min(max(affordable, SPARE * sweep.empty.mass), MOST_EMPTY))


def _slice_sweep(sweep: SweepState, results: RowResults, rng: Generator) -> Ints:
    """Move all rows at once, and return their labels (N,); fills ``results`` except its labels."""
    log_weight, empty, n = sweep.log_weight, sweep.empty, len(sweep.labels)
    level = log_weight[sweep.labels] - rng.standard_exponential(n)
    # Rows whose level would need too many clusters do not move in this sweep. Which rows these
    # are depends on the levels alone, so the draws stay exact.
    lowest = max(float(level.min()), _floor(sweep))
    awake = np.flatnonzero(level >= lowest)
    choice = _Choice(sweep.labels, level, awake[np.argsort(level[awake])])
    density = _offer_occupied(sweep, choice, rng)
    _offer_empty(sweep, choice, empty.draw(lowest, rng), rng)
    total = np.exp(log_weight).sum() + empty.mass
    results.log_predictive[:] = density - math.log(total)
    results.probabilities[:] = 1.0
    results.probabilities[awake] = np.exp(choice.fit[awake] - choice.total[awake])
    results.born[:] = choice.labels >= len(log_weight)
    return choice.labels


def _offer_occupied(sweep: SweepState, choice: "_Choice", rng: Generator) -> Floats:
    """Offer the clusters with rows; return log densities (N,) times total weight."""
    family, X = sweep.model.family, sweep.batch.X
    density, step = sweep.log_new(X), _block(sweep)
    for first in range(0, len(sweep.log_weight), step):
        fit = family.log_likelihood(X, sweep.params[first : first + step])
        log_weight = sweep.log_weight[first : first + step]
        density = np.logaddexp(density, np.logaddexp.reduce(fit + log_weight, axis=1))
        choice.offer(choice.rows, fit[choice.rows], first, log_weight, rng)
    return density


def _offer_empty(sweep: SweepState, choice: "_Choice", log_weights: Floats, rng: Generator) -> None:
    """Offer clusters without rows that have these log weights."""
    family, K, step = sweep.model.family, len(sweep.log_weight), _block(sweep)
    log_weights = -np.sort(-log_weights)
    for first in range(0, len(log_weights), step):
        some = log_weights[first : first + step]
        rows = choice.below(some[0])
        params = family.draw_params(np.tile(family.eta0, (len(some), 1)), rng)
        fit = family.log_likelihood(sweep.batch.X[rows], params)
        choice.offer(rows, fit, K + first, some, rng)


def _block(sweep: SweepState) -> int:
    """Number of clusters that are offered at a time."""
    return max(NUMBERS // max(len(sweep.labels), sweep.params.shape[1]), 1)


class _Choice:
    """For each row a cluster above its level, drawn in proportion to the likelihood.

    The largest of log likelihood + Gumbel noise has that law, so clusters can be offered in any
    order and need not be stored.
    """

    def __init__(self, labels: Ints, level: Floats, rows: Ints) -> None:
        n = len(labels)
        self.labels, self.level = labels.copy(), level
        self.rows = rows  # rows that may move, by increasing level
        self.fit, self.total = np.full(n, -np.inf), np.full(n, -np.inf)
        self._best = np.full(n, -np.inf)

    def below(self, log_weight: float) -> Ints:
        """Rows that may move and have a level below this weight."""
        return self.rows[: np.searchsorted(self.level[self.rows], log_weight)]

    def offer(
        self, rows: Ints, fit: Floats, first: int, log_weight: Floats, rng: Generator
    ) -> None:
        """Offer clusters first, first + 1, ... of weights (B,) to rows (R,), with fit (R, B)."""
        fit[self.level[rows, None] >= log_weight] = -np.inf
        total = np.logaddexp.reduce(fit, axis=1)
        self.total[rows] = np.logaddexp(self.total[rows], total)
        noisy = fit + rng.gumbel(size=fit.shape)
        pick, line = noisy.argmax(axis=1), np.arange(len(rows))
        better = noisy[line, pick] > self._best[rows]
        rows, pick, line = rows[better], pick[better], line[better]
        self.labels[rows] = first + pick
        self.fit[rows], self._best[rows] = fit[line, pick], noisy[line, pick]
