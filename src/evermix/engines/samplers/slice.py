"""Slice sampling of mixtures: all rows move at once, among clusters that are drawn anew.

Clusters that have rows are given weights and parameters (see ``engines.samplers.conditional``). A row
draws a level below the weight of its cluster; every cluster whose weight lies above the level is
then as good as its likelihood, and rows do not see each other. Clusters without rows are drawn too,
as far down as the lowest level [griffin2011]_. Weights and parameters are forgotten after the
sweep: U and the hyperparameters are moved with both integrated out.

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

from evermix._xp import Array
from evermix.engines.batch import Batch, RowResults
from evermix.engines.samplers.conditional import Scene, hybrid_sweep
from evermix.engines.samplers.gibbs import Gibbs
from evermix.engines.samplers.sampler import Sampler
from evermix.engines.settings import check_switch
from evermix.model import Model
from evermix.priors.hyper import HyperPrior
from evermix.state import State

MOST_ATOMS = 1e5  # clusters without rows that a sweep may draw
SPARE = 10.0  # how many there should be at least, in units of a new cluster's weight
ENOUGH = 1000  # how many are worth their time at most, beside those and one for each row
NUMBERS = 2**22  # entries that a table of rows, parameters and clusters may have


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

    def initial(self, model: Model, rng: np.random.Generator) -> State:
        """Return the state before any data."""
        state = super().initial(model, rng)
        state.latents["crowded"] = np.zeros(1)
        return state

    def _sweep(
        self,
        model: Model,
        state: State,
        batch: Batch,
        results: RowResults,
        rng: np.random.Generator,
    ) -> Array:
        """Return new labels (N,) of all rows, given weights and parameters of the clusters."""
        if state.latents["sweep"][0] == 0:  # there is no U yet; any first partition will do
            return Gibbs()._sweep(model, state, batch, results, rng)
        scene = Scene.draw(model, state, batch, rng)
        # Rows that move at once do not see how many clusters the others open, so no cap can hold.
        if self.hybrid or model.max_clusters is not None or _crowded(scene):
            return hybrid_sweep(scene, results, rng)
        return _slice_sweep(scene, results, rng)


def _crowded(scene: Scene) -> bool:
    """Whether slices would need too many clusters without rows; says so the first time.

    For exact draws this must not look at anything that the sweep changes, as the levels.
    """
    needed, latents = SPARE * scene.atoms.mass, scene.state.latents
    if needed <= MOST_ATOMS:
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


def _floor(scene: Scene) -> float:
    """Log of the level above which there are as many clusters without rows as can be dealt with."""
    affordable = min(NUMBERS / scene.params.shape[1], ENOUGH + len(scene.labels))
    return scene.atoms.lowest(min(max(affordable, SPARE * scene.atoms.mass), MOST_ATOMS))


def _slice_sweep(scene: Scene, results: RowResults, rng: np.random.Generator) -> Array:
    """Move all rows at once, and return their labels (N,); fills ``results`` but for the labels."""
    log_weight, atoms, n = scene.log_weight, scene.atoms, len(scene.labels)
    level = log_weight[scene.labels] - rng.standard_exponential(n)
    # Rows whose level would need too many clusters stay where they are, for once. Which rows these
    # are depends on the levels alone, so the others still move as the posterior wants it.
    lowest = max(float(level.min()), _floor(scene))
    awake = np.flatnonzero(level >= lowest)
    choice = _Choice(scene.labels, level, awake[np.argsort(level[awake])])
    density = _offer_known(scene, choice, rng)
    _offer_fresh(scene, choice, atoms.draw(lowest, rng), rng)
    total = np.exp(log_weight).sum() + atoms.mass
    results.log_predictive[:] = density - math.log(total)
    results.probabilities[:] = 1.0
    results.probabilities[awake] = np.exp(choice.fit[awake] - choice.total[awake])
    results.born[:] = choice.labels >= len(log_weight)
    return choice.labels


def _offer_known(scene: Scene, choice: "_Choice", rng: np.random.Generator) -> Array:
    """Offer the clusters that have rows; return weight times density of all, logged, (N,)."""
    family, X = scene.model.family, scene.batch.X
    density, step = scene.new(X), _block(scene)
    for first in range(0, len(scene.log_weight), step):
        fit = family.log_likelihood(X, scene.params[first : first + step])
        log_weight = scene.log_weight[first : first + step]
        density = np.logaddexp(density, np.logaddexp.reduce(fit + log_weight, axis=1))
        choice.offer(choice.rows, fit[choice.rows], first, log_weight, rng)
    return density


def _offer_fresh(
    scene: Scene, choice: "_Choice", log_weights: Array, rng: np.random.Generator
) -> None:
    """Offer clusters of these weights that have no rows."""
    family, K, step = scene.model.family, len(scene.log_weight), _block(scene)
    log_weights = -np.sort(-log_weights)
    for first in range(0, len(log_weights), step):
        some = log_weights[first : first + step]
        rows = choice.below(some[0])
        params = family.draw_params(np.tile(family.eta0, (len(some), 1)), rng)
        fit = family.log_likelihood(scene.batch.X[rows], params)
        choice.offer(rows, fit, K + first, some, rng)


def _block(scene: Scene) -> int:
    """Number of clusters to deal with at a time."""
    return max(NUMBERS // max(len(scene.labels), scene.params.shape[1]), 1)


class _Choice:
    """For each row a cluster above its level, drawn in proportion to the likelihood.

    The largest of log likelihood + Gumbel noise has that law, so clusters can be offered in any
    order and forgotten.
    """

    def __init__(self, labels: Array, level: Array, rows: Array) -> None:
        n = len(labels)
        self.labels, self.level = labels.copy(), level
        self.rows = rows  # those that may move, by increasing level
        self.fit, self.total = np.full(n, -np.inf), np.full(n, -np.inf)
        self._best = np.full(n, -np.inf)

    def below(self, log_weight: float) -> Array:
        """Rows that may move and have a level below this weight."""
        return self.rows[: np.searchsorted(self.level[self.rows], log_weight)]

    def offer(
        self, rows: Array, fit: Array, first: int, log_weight: Array, rng: np.random.Generator
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
