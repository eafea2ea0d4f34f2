r"""Clusters with weights and parameters of their own for one sweep, and rows that move among them.

Given the partition and U, the weight of a cluster of :math:`n_k` rows is
Gamma(:math:`n_k - \sigma, U + \tau`), and its parameters follow from its rows. In the hybrid step
[favaro2013]_ rows move one after another: to a cluster in proportion to its weight and likelihood,
and to a new one, with weight :math:`a (U + \tau)^{\sigma - 1}` in place of all clusters without
rows. Weights are in units of :math:`1 / (U + \tau)`.

References
----------
.. [favaro2013] S. Favaro and Y. W. Teh. MCMC for normalized random measure mixture models.
   Statistical Science, 2013.
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Array
from evermix.engines.batch import Batch, RowResults
from evermix.engines.filters.filter import warn_once
from evermix.engines.samplers.atoms import Atoms
from evermix.engines.samplers.chain_memo import CHAIN
from evermix.model import Model
from evermix.priors.jumps import Jumps
from evermix.state import State

ROWS = 1024  # rows that all clusters are held against at a time, to bound memory


class Scene(NamedTuple):
    """What a sweep starts from.

    Attributes
    ----------
    model : Model
    state : State
        Labels and tally of the last sweep.
    batch : Batch
        All rows.
    log_weight : array (K,)
        Log weights of the clusters that have rows.
    params : array (K, E)
        Their parameters.
    atoms : Atoms
        The law of the clusters that have no rows.
    """

    model: Model
    state: State
    batch: Batch
    log_weight: Array
    params: Array
    atoms: Atoms

    @classmethod
    def draw(cls, model: Model, state: State, batch: Batch, rng: np.random.Generator) -> "Scene":
        """Draw weights and parameters given the partition and U."""
        jumps, tally, family = Jumps.of(model.prior), state.tally, model.family
        v = float(state.latents["log_u"][0])
        atoms = Atoms(jumps.a * math.exp(jumps.sigma * jumps.log_sum(v)), jumps.sigma)
        log_weight = draw_log_gamma(tally.mass - jumps.sigma, rng)
        params = family.draw_params(family.posterior(tally.stats, tally.mass), rng)
        return cls(model, state, batch, log_weight, params, atoms)

    @property
    def labels(self) -> Array:
        """The cluster of each row, (N,)."""
        return self.state.memo[CHAIN]["labels"]

    def new(self, X: Array) -> Array:
        """Log of weight times density of a new cluster at rows X (R, D), (R,)."""
        family = self.model.family
        return math.log(self.atoms.mass) + family.log_predictive(X, family.eta0[None, :])[:, 0]


def hybrid_sweep(scene: Scene, results: RowResults, rng: np.random.Generator) -> Array:
    """Move one row after another, and return their labels (N,).

    A cluster that loses its last row is gone; one that is opened can be joined by later rows.
    ``results`` is filled, but for the labels.
    """
    X, labels = scene.batch.X, scene.labels.copy()
    order, walk = rng.permutation(len(labels)), _Walk(scene)
    for first in range(0, len(order), ROWS):
        rows = order[first : first + ROWS]
        moved = RowResults.empty(len(rows))
        moved.labels[:] = labels[rows]
        walk.move(X[rows], moved, rng)
        labels[rows] = moved.labels
        for values, part in zip(results[1:], moved[1:], strict=True):
            values[rows] = part
    if walk.refused:
        warn_once(scene.model, scene.state)
    return labels


class _Walk:
    """Clusters while rows move one after another; those without rows keep their place."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.refused = scene, False
        self.log_weight, self.params = scene.log_weight, scene.params
        self.sizes = scene.state.tally.mass.copy()

    def move(self, X: Array, results: RowResults, rng: np.random.Generator) -> None:
        """Move rows X (R, D), whose labels ``results`` holds; all the rest of it is filled."""
        labels, alive = results.labels, np.flatnonzero(self.sizes > 0)
        fit = self.scene.model.family.log_likelihood(X, self.params[alive])
        table, new = fit + self.log_weight[alive], self.scene.new(X)
        for i, uniform in enumerate(rng.random(len(labels))):
            self.sizes[labels[i]] -= 1.0
            there = self.sizes[alive] > 0
            rho = np.append(np.where(there, table[i], -np.inf), new[i])
            top = float(rho.max())
            q = np.exp(rho - top)
            weight = float(np.exp(self.log_weight[alive]) @ there) + self.scene.atoms.mass
            results.log_predictive[i] = top + math.log(q.sum() / weight)
            if self._is_full(q, int(there.sum())):
                q = np.append(np.exp(rho[:-1] - rho[:-1].max()), 0.0)
            total = np.cumsum(q)
            pick = int(np.searchsorted(total[:-1], uniform * total[-1], side="right"))
            results.probabilities[i] = q[pick] / total[-1]
            results.born[i] = pick == len(alive)
            if results.born[i]:
                alive = np.append(alive, self._open(X[i : i + 1], rng))
                fit = self.scene.model.family.log_likelihood(X, self.params[-1:])
                table = np.column_stack([table, fit + self.log_weight[-1]])
            labels[i] = alive[pick]
            self.sizes[labels[i]] += 1.0

    def _open(self, x: Array, rng: np.random.Generator) -> int:
        """Open a cluster for one row x (1, D): its weight and parameters given that row."""
        family, one = self.scene.model.family, np.ones(1)
        eta = family.posterior(family.accumulate(x, one[:, None]), one)
        self.params = np.vstack([self.params, family.draw_params(eta, rng)])
        weight = draw_log_gamma(one - self.scene.atoms.sigma, rng)
        self.log_weight = np.append(self.log_weight, weight)
        self.sizes = np.append(self.sizes, 0.0)
        return len(self.sizes) - 1

    def _is_full(self, q: Array, K: int) -> bool:
        """Whether K has reached the cap; notes if a new cluster, the last of q, is refused."""
        cap = self.scene.model.max_clusters
        if cap is None or K < cap:
            return False
        self.refused |= bool(q[-1] > 0.5 * q.sum())
        return True
