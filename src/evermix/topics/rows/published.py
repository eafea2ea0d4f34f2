r"""The published samplers of thinned measures: all jumps above a threshold are there.

Given all atoms above a threshold L, with rows or not, u and the masses are nearly Gamma distributed
and q nearly Beta. What is missing is :math:`e^{-I_r}`, where

.. math::

    I_r = \int_0^L (1 - G_r(w)) \lambda_r(w) dw

is the exponent of the jumps below L. T3 takes it for linear in u, q and the masses, and keeps the
error of that below 0.001 nats. T4 replaces :math:`e^{-I_r}` by an unbiased estimate, which is
pseudo-marginal sampling, and is exact. Rows and sigma move as in T2.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML.
Andrieu, Roberts (2009). The pseudo-marginal approach for efficient Monte Carlo computations.
Annals of Statistics.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evermix._xp import Bools, Floats, Ints
from evermix.kernels.topics.measures import RAREST, SUREST
from evermix.priors.hyper import Beta
from evermix.topics.measures import Measure, Occupancy, Thinned
from evermix.topics.measures.levels import exponent_below, mean_below, number_above
from evermix.topics.measures.thinned import log_tilt
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.samplers import RowSampler
from evermix.topics.rows.slices import slice_sweep

MAX_ATOMS = 2e4  # atoms above the threshold of a region of mass a = 1 that a sweep may draw
TINY = 1e-300
LEVEL, WARNED = "log_level", "crowded"  # names of what a chain remembers

LowEnough = Callable[[Thinned, Floats], Bools]


@dataclass
class AtomsAbove:
    """All atoms above the threshold, and those with rows."""

    n: Ints  # (T,) rows of each time
    level: Floats  # (R,) log thresholds
    K: Ints  # (R,) atoms in each region
    on: Floats  # (R, T) how many of them are on
    weight: Floats  # (T,) sum of the jumps that are on

    @classmethod
    def of(
        cls, measure: Thinned, atoms: Occupancy, level: Floats, rng: np.random.Generator
    ) -> "AtomsAbove":
        """Draw the atoms without rows, and add up."""
        fresh = measure.fresh(level, rng)
        weight = sum((some.on @ np.exp(some.log_jump) for some in (atoms, fresh)), 0.0)
        on = measure.switches(atoms)[0] + measure.switches(fresh)[0]
        K = sum(some.in_regions(measure.n_regions) for some in (atoms, fresh))
        return cls(atoms.n, level, np.asarray(K), on, np.asarray(weight))

    def linear(self, measure: Thinned) -> Floats:
        """Number of atoms above the threshold and exponent of those below, a = 1, (R,)."""
        small = mean_below(self.level, measure.sigma) * (measure.q @ measure.u)
        return number_above(self.level, measure.sigma) + small


def threshold(chain: RowChain, measure: Thinned, low_enough: LowEnough) -> Floats:
    """Return the log threshold of each region, (R,), which only ever falls.   Consumes: chain."""
    level = chain.memo.get(LEVEL, np.zeros(measure.n_regions))
    while not np.all(fine := low_enough(measure, level)):
        level = level - ~fine
    chain.memo[LEVEL] = level
    return level


def _learn_above(
    data: RowData,
    chain: RowChain,
    rng: np.random.Generator,
    sampler: RowSampler,
    low_enough: LowEnough,
    move_weights: Callable[[Thinned, AtomsAbove, np.random.Generator], None],
) -> None:
    """Move all but the rows: masses, u and q given all atoms above a threshold."""
    atoms, measure = chain.occupancy(data), chain.measure
    assert isinstance(measure, Thinned)
    measure.switch_regions(atoms, rng)
    measure.move_sigma(atoms, rng)
    measure.move_mass(atoms, rng)
    level = threshold(chain, measure, low_enough)
    # For exact draws this must not look at what either way changes: u, q, and the masses.
    if float(number_above(level, measure.sigma).max()) > MAX_ATOMS:
        _warn_once(chain, type(sampler).__name__)
        measure.move_weights(atoms, rng)
    else:
        measure.draw_jumps(atoms, rng)
        move_weights(measure, AtomsAbove.of(measure, atoms, level, rng), rng)
        measure.forget()
    measure.thin(atoms, rng)
    chain.region, chain.on = atoms.region, atoms.on


def _warn_once(chain: RowChain, name: str) -> None:
    if WARNED not in chain.memo:
        chain.memo[WARNED] = np.ones(1)
        warnings.warn(
            f"{name} would need more than {MAX_ATOMS:.0e} atoms above its threshold; such sweeps "
            "learn as T2 does. Use em.T1() or em.T2().",
            RuntimeWarning,
            stacklevel=2,
        )


# ---- T3: the exponent is linear ------------------------------------------------------------


@dataclass(frozen=True)
class T3(RowSampler):
    """Slice sampling with the exponent of small jumps taken for linear: nearly exact.

    The error of that is kept below ``tol`` by lowering the threshold where it must be.

    Parameters
    ----------
    tol : float
        Largest error of the log density, in nats, of a region.
    """

    tol: float = 1e-3

    needs: ClassVar[type[Measure]] = Thinned
    move = staticmethod(slice_sweep)

    def __post_init__(self) -> None:
        if not 0.0 < self.tol <= 1.0:
            raise ValueError(f"tol must lie in (0, 1] nats, got {self.tol}.")

    def learn(self, data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
        """Move all but the rows."""
        _learn_above(data, chain, rng, self, self.low_enough, _move_linearly)

    def low_enough(self, measure: Thinned, level: Floats) -> Bools:
        """Whether the error bound holds: of 1 - G and of exp(-w), both to second order."""
        sigma, load = measure.sigma, measure.q @ measure.u
        second = 0.5 * (load**2 + measure.q @ measure.u**2) + load
        bound = measure.a / math.gamma(1.0 - sigma) * second / (2.0 - sigma)
        return bound * np.exp((2.0 - sigma) * level) < self.tol


def _move_linearly(measure: Thinned, above: AtomsAbove, rng: np.random.Generator) -> None:
    """Move u, q and masses."""
    small = mean_below(above.level, measure.sigma) * measure.a
    measure.u = rng.standard_gamma(above.n) / (above.weight + small @ measure.q)
    law = measure.laws.q
    if law is not None:
        assert isinstance(law, Beta)
        q = rng.beta(law.a + above.on, law.b + above.K[:, None] - above.on)
        q = np.clip(q, RAREST, SUREST)
        # The Beta law lacks exp(-C q), which decides whether its draws are accepted.
        cost = small[:, None] * measure.u * (q - measure.q)
        measure.q = np.where(cost < rng.standard_exponential(cost.shape), q, measure.q)
    law_of_mass = measure.laws.mass
    if law_of_mass is not None:
        rate = law_of_mass.rate + measure.scale * above.linear(measure)
        mass = rng.standard_gamma(law_of_mass.shape + above.K) / rate
        measure.mass = np.maximum(mass, TINY)


# ---- T4: the exponent is estimated ---------------------------------------------------------


@dataclass(frozen=True)
class T4(RowSampler):
    """Slice sampling with unbiased estimates for small jumps: exact, and slower than T1.

    Parameters
    ----------
    most : float
        Largest exponent of the jumps below the threshold of a region: the estimates become noisy
        where it is large, and chains stick.
    """

    most: float = 0.2

    needs: ClassVar[type[Measure]] = Thinned
    move = staticmethod(slice_sweep)

    def __post_init__(self) -> None:
        if not 0.0 < self.most <= 2.0:
            raise ValueError(f"most must lie in (0, 2], got {self.most}.")

    def learn(self, data: RowData, chain: RowChain, rng: np.random.Generator) -> None:
        """Move all but the rows."""
        _learn_above(data, chain, rng, self, self.low_enough, _move_with_estimates)

    def low_enough(self, measure: Thinned, level: Floats) -> Bools:
        """Whether the exponents are small: by Jensen at most those of jumps that are always on."""
        load = measure.q @ measure.u
        return measure.a * exponent_below(level, load, measure.sigma) < self.most


def _move_with_estimates(measure: Thinned, above: AtomsAbove, rng: np.random.Generator) -> None:
    """Move u, q and masses."""
    steps = _PseudoMarginal(measure, above, rng)
    for t in range(measure.n_times):
        steps.move_u(t)
    if measure.laws.q is not None:
        for r in range(measure.n_regions):
            for t in range(measure.n_times):
                steps.move_q(r, t)
    if measure.laws.mass is not None:
        for r in range(measure.n_regions):
            steps.move_mass(r)


class _PseudoMarginal:
    """Metropolis steps with estimates in place of exp(-I); accepted ones are kept as they are.

    The first ones are drawn from their law given all else, which is that of an estimate times the
    estimate itself, by rejection: they lie in [0, 1].
    """

    def __init__(self, measure: Thinned, above: AtomsAbove, rng: np.random.Generator) -> None:
        self.measure, self.above, self.rng = measure, above, rng
        self.estimate = np.zeros(measure.n_regions)
        for r in range(measure.n_regions):
            while True:
                self.estimate[r] = self._estimate(r)
                if self.estimate[r] > -rng.standard_exponential():
                    break

    def _estimate(self, r: int) -> float:
        m = self.measure
        return log_estimate(m.q[r], m.u, m.a[r], m.sigma, self.above.level[r], self.rng)

    def move_u(self, t: int) -> None:
        """Propose u of a time from its law with the exponent taken for linear."""
        measure, above, old = self.measure, self.above, float(self.measure.u[t])
        cost = float(mean_below(above.level, measure.sigma) * measure.a @ measure.q[:, t])
        measure.u[t] = self.rng.standard_gamma(above.n[t]) / (above.weight[t] + cost)
        if not self._accept(range(measure.n_regions), cost * (measure.u[t] - old)):
            measure.u[t] = old

    def move_q(self, r: int, t: int) -> None:
        """Propose q of a region and time from its law without the exponent."""
        measure, above, old = self.measure, self.above, float(self.measure.q[r, t])
        law, on = measure.laws.q, above.on[r, t]
        assert isinstance(law, Beta)
        q = self.rng.beta(law.a + on, law.b + above.K[r] - on)
        measure.q[r, t] = min(max(q, RAREST), SUREST)
        if not self._accept([r], 0.0):
            measure.q[r, t] = old

    def move_mass(self, r: int) -> None:
        """Propose the mass of a region from its law with the exponent taken for linear."""
        measure, above, old = self.measure, self.above, float(self.measure.mass[r])
        law, scale = measure.laws.mass, measure.scale
        assert law is not None
        rate = law.rate + scale * float(above.linear(measure)[r])
        measure.mass[r] = max(self.rng.standard_gamma(law.shape + above.K[r]) / rate, TINY)
        small = mean_below(above.level, measure.sigma)[r] * float(measure.q[r] @ measure.u)
        if not self._accept([r], scale * small * (measure.mass[r] - old)):
            measure.mass[r] = old

    def _accept(self, regions: Iterable[int], log_ratio: float) -> bool:
        """Accept the measure as it is now, or not; ``log_ratio`` leaves out the estimates."""
        new = self.estimate.copy()
        for r in regions:
            new[r] = self._estimate(r)
        log_ratio += float((new - self.estimate).sum())
        if log_ratio > -self.rng.standard_exponential():
            self.estimate[:] = new
            return True
        return False


def log_estimate(
    q: Floats, u: Floats, a: float, sigma: float, log_level: float, rng: np.random.Generator
) -> float:
    """Log of an unbiased estimate, in [0, 1], of exp(-I) for one region, q (T,) and u (T,).

    Points are drawn with an intensity above that of the jumps below the level which are chosen,
    and the estimate is the probability that none of them is one.
    """
    load = float(q @ u)
    mean = a * load * float(mean_below(np.asarray(log_level), sigma))
    n = rng.poisson(mean)
    log_w = log_level + np.log(rng.random(n)) / (1.0 - sigma)
    w = np.exp(log_w)
    share = -np.expm1(log_tilt(q, u, w)) * np.exp(-w) / np.maximum(load * w, 1e-300)
    return float(np.log(np.clip(1.0 - share, 1e-300, 1.0)).sum())
