r"""Conditional sampling: clusters get weights and parameters for one sweep, and rows choose.

Given the partition and U, the weight of a cluster of :math:`n_k` rows is
Gamma(:math:`n_k - \sigma, U + \tau`), and its parameters have their posterior given its rows. In
the hybrid sweep [favaro2013]_ rows move one after another: to a cluster in proportion to its weight
and likelihood, or to a new one, with weight :math:`a (U + \tau)^{\sigma - 1}` for all clusters
without rows together. Weights are in units of :math:`1 / (U + \tau)`.

References
----------
.. [favaro2013] S. Favaro and Y. W. Teh. MCMC for normalized random measure mixture models.
   Statistical Science, 2013.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from evermix._random import draw_log_gamma
from evermix._xp import Floats, Ints
from evermix.engines.batch import Batch, RowResults, warn_once
from evermix.engines.memo import CHAIN
from evermix.model import Model
from evermix.priors.jumps import Jumps
from evermix.state import State

ROWS = 1024  # rows whose likelihoods are computed at a time, to bound memory


class EmptyClusters(NamedTuple):
    r"""The law of the weights of clusters without rows.

    Given U, they form a Poisson process. In units of :math:`1 / (U + \tau)` its intensity is

    .. math::

        \frac{m}{\Gamma(1 - \sigma)} w^{-1 - \sigma} e^{-w}, \qquad m = a (U + \tau)^\sigma,

    with infinitely many weights near zero but finitely many above any level. They are sampled by
    thinning: below b = max(level, 1) the proposals leave out the exponential, above b the power.
    Weights and levels are logs, since both may be tiny.

    Attributes
    ----------
    mass : float
        The weight m of a new cluster, > 0.
    sigma : float
        In [0, 1).
    """

    mass: float
    sigma: float

    def proposed(self, log_level: float) -> tuple[float, float]:
        """Mean numbers of proposals between the level and b, and above b."""
        density = self.mass / math.gamma(1.0 - self.sigma)
        level, log_b = math.exp(log_level), max(log_level, 0.0)
        b = math.exp(log_b)
        near = density * math.exp(-level - self.sigma * log_b) * self._span(log_b - log_level)
        far = density * b ** (-1.0 - self.sigma) * math.exp(-b)
        return near, far

    def lowest(self, number: float) -> float:
        """Log of the level, at most 1, above which at least ``number`` weights are proposed."""
        span = number * math.gamma(1.0 - self.sigma) / self.mass
        return -span if self.sigma == 0.0 else -math.log1p(self.sigma * span) / self.sigma

    def draw(self, log_level: float, rng: Generator) -> Floats:
        """Draw all weights above a level; their logs, in no order."""
        level, log_b = math.exp(log_level), max(log_level, 0.0)
        b, length = math.exp(log_b), log_b - log_level
        near, far = (int(rng.poisson(mean)) for mean in self.proposed(log_level))
        # Powers w^(-1 - sigma) on (level, b), by inversion.
        share = rng.random(near)
        if self.sigma == 0.0:
            log_w = log_b - share * length
        else:
            log_w = log_b - np.log1p(share * math.expm1(self.sigma * length)) / self.sigma
        log_w = log_w[rng.standard_exponential(near) > np.exp(log_w) - level]
        # Exponentials above b.
        w = b + rng.standard_exponential(far)
        w = w[rng.random(far) < (w / b) ** (-1.0 - self.sigma)]
        return np.concatenate([log_w, np.log(w)])

    def _span(self, length: float) -> float:
        """Integral of exp(sigma x) over x from 0 to ``length``."""
        return length if self.sigma == 0.0 else math.expm1(self.sigma * length) / self.sigma


class SweepState(NamedTuple):
    """Weights and parameters of clusters at the start of a sweep."""

    model: Model
    state: State  # labels and tally of the last sweep
    batch: Batch  # all rows
    log_weight: Floats  # (K,) log weights of the clusters with rows
    params: Floats  # (K, E) their parameters
    empty: EmptyClusters  # the law of the weights of clusters without rows

    @classmethod
    def draw(cls, model: Model, state: State, batch: Batch, rng: Generator) -> "SweepState":
        """Draw weights and parameters given the partition and U."""
        jumps, tally, family = Jumps.of(model.prior), state.tally, model.family
        v = float(state.latents["log_u"][0])
        empty = EmptyClusters(jumps.a * math.exp(jumps.sigma * jumps.log_sum(v)), jumps.sigma)
        log_weight = draw_log_gamma(tally.mass - jumps.sigma, rng)
        params = family.draw_params(family.posterior(tally.stats, tally.mass), rng)
        return cls(model, state, batch, log_weight, params, empty)

    @property
    def labels(self) -> Ints:
        """The cluster of each row, (N,)."""
        return self.state.memo[CHAIN]["labels"]

    def log_new(self, X: Any) -> Floats:
        """Log of weight times density of a new cluster at rows X (R, D), (R,)."""
        family = self.model.family
        return math.log(self.empty.mass) + family.log_predictive(X, family.eta0[None, :])[:, 0]


def hybrid_sweep(sweep: SweepState, results: RowResults, rng: Generator) -> Ints:
    """Move one row after another, and return their labels (N,).

    A cluster that loses its last row is closed; later rows can join a new one. Fills ``results``
    except its labels.
    """
    X, labels = sweep.batch.X, sweep.labels.copy()
    order, moving = rng.permutation(len(labels)), _SequentialSweep(sweep)
    for first in range(0, len(order), ROWS):
        rows = order[first : first + ROWS]
        moved = RowResults.empty(len(rows))
        moved.labels[:] = labels[rows]
        moving.move(X[rows], moved, rng)
        labels[rows] = moved.labels
        for values, part in zip(results[1:], moved[1:], strict=True):
            values[rows] = part
    if moving.refused:
        warn_once(sweep.model, sweep.state)
    return labels


class _SequentialSweep:
    """Clusters while rows move one after another; those without rows keep their position."""

    def __init__(self, sweep: SweepState) -> None:
        self.sweep, self.refused = sweep, False
        self.log_weight, self.params = sweep.log_weight, sweep.params
        self.sizes = sweep.state.tally.mass.copy()

    def move(self, X: Any, results: RowResults, rng: Generator) -> None:
        """Move rows X (R, D) with the labels in ``results``, which is filled."""
        labels, alive = results.labels, np.flatnonzero(self.sizes > 0)
        fit = self.sweep.model.family.log_likelihood(X, self.params[alive])
        table, new = fit + self.log_weight[alive], self.sweep.log_new(X)
        for i, uniform in enumerate(rng.random(len(labels))):
            self.sizes[labels[i]] -= 1.0
            there = self.sizes[alive] > 0
            rho = np.append(np.where(there, table[i], -np.inf), new[i])
            top = float(rho.max())
            q = np.exp(rho - top)
            weight = float(np.exp(self.log_weight[alive]) @ there) + self.sweep.empty.mass
            results.log_predictive[i] = top + math.log(q.sum() / weight)
            if self._is_full(q, int(there.sum())):
                q = np.append(np.exp(rho[:-1] - rho[:-1].max()), 0.0)
            total = np.cumsum(q)
            pick = int(np.searchsorted(total[:-1], uniform * total[-1], side="right"))
            results.probabilities[i] = q[pick] / total[-1]
            results.born[i] = pick == len(alive)
            if results.born[i]:
                alive = np.append(alive, self._open(X[i : i + 1], rng))
                fit = self.sweep.model.family.log_likelihood(X, self.params[-1:])
                table = np.column_stack([table, fit + self.log_weight[-1]])
            labels[i] = alive[pick]
            self.sizes[labels[i]] += 1.0

    def _open(self, x: Floats, rng: Generator) -> int:
        """Open a cluster for one row x (1, D); return its position."""
        family, one = self.sweep.model.family, np.ones(1)
        eta = family.posterior(family.accumulate(x, one[:, None]), one)
        self.params = np.vstack([self.params, family.draw_params(eta, rng)])
        weight = draw_log_gamma(one - self.sweep.empty.sigma, rng)
        self.log_weight = np.append(self.log_weight, weight)
        self.sizes = np.append(self.sizes, 0.0)
        return len(self.sizes) - 1

    def _is_full(self, q: Floats, K: int) -> bool:
        """Whether K has reached the cap; also records whether the row wanted a new cluster."""
        cap = self.sweep.model.max_clusters
        if cap is None or K < cap:
            return False
        self.refused |= bool(q[-1] > 0.5 * q.sum())
        return True
