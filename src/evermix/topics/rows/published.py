r"""The published samplers of thinned measures: all jumps above a threshold are there.

Given all atoms above a threshold L, with rows or not, u and the masses are nearly Gamma distributed
and q nearly Beta. What is missing is :math:`e^{-I_r}`, where

.. math::

    I_r = \int_0^L (1 - G_r(w)) \lambda_r(w) dw

is the exponent of the jumps below L. T3 takes it for linear in u, q and the masses, and keeps the
error of that below 0.001 nats. T4 replaces :math:`e^{-I_r}` by an unbiased estimate, and is exact.
Sigma moves as in T2, with all jumps integrated out.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML.
"""

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.measures import RAREST, SUREST
from evermix.priors.hyper import Beta
from evermix.topics.measures import Occupancy, Thinned
from evermix.topics.measures.levels import mean_below, number_above
from evermix.topics.rows.chain import Chain, Data
from evermix.topics.rows.samplers.thinned import T2

MOST_ATOMS = 2e4  # atoms above the threshold of a region of mass a = 1 that a sweep may draw
TINY = 1e-300
LEVEL = "log_level"  # (R,) the threshold of each region, which only ever falls


@dataclass(frozen=True)
class Threshold(T2):
    """Slice sampling with u, q and masses moved given all atoms above a threshold."""

    def learn(self, data: Data, chain: Chain, rng: np.random.Generator) -> None:
        """Move all but the rows."""
        atoms, measure = chain.occupancy(data), chain.measure
        assert isinstance(measure, Thinned)
        measure.switch_regions(atoms, rng)
        measure.move_sigma(atoms, rng)
        measure.move_mass(atoms, rng)
        level = self._level(chain, measure)
        # For exact draws this must not look at what either way changes: u, q, and the masses.
        if float(number_above(level, measure.sigma).max()) > MOST_ATOMS:
            self._warn(chain)
            measure.move_weights(atoms, rng)
        else:
            measure.draw_jumps(atoms, rng)
            self._learn(measure, Above.of(measure, atoms, level, rng), rng)
            measure.forget()
        measure.thin(atoms, rng)
        chain.region, chain.on = atoms.region, atoms.on

    def _level(self, chain: Chain, measure: Thinned) -> Array:
        """Return the threshold of each region, (R,), lower than before if it must be."""
        level = chain.memo.setdefault(LEVEL, np.zeros(measure.n_regions))
        while not np.all(fine := self._fine(measure, level)):
            level -= ~fine
        return level

    def _warn(self, chain: Chain) -> None:
        if "crowded" not in chain.memo:
            chain.memo["crowded"] = np.ones(1)
            warnings.warn(
                f"{type(self).__name__} would need more than {MOST_ATOMS:.0e} atoms above its "
                "threshold; such sweeps learn as T2 does. Use em.T1() or em.T2().",
                RuntimeWarning,
                stacklevel=2,
            )

    @abstractmethod
    def _fine(self, measure: Thinned, level: Array) -> Array:
        """Whether each threshold (R,) is low enough, (R,)."""

    @abstractmethod
    def _learn(self, measure: Thinned, above: "Above", rng: np.random.Generator) -> None:
        """Move masses, u and q."""


@dataclass
class Above:
    """All atoms above the threshold, and those with rows.

    Attributes
    ----------
    n : array (T,)
        Rows of each time.
    level : array (R,)
        Log thresholds.
    K : array (R,)
        Atoms in each region.
    on : array (R, T)
        How many of them are on.
    weight : array (T,)
        Sum of the jumps that are on.
    """

    n: Array
    level: Array
    K: Array
    on: Array
    weight: Array

    @classmethod
    def of(
        cls, measure: Thinned, atoms: Occupancy, level: Array, rng: np.random.Generator
    ) -> "Above":
        """Draw the atoms without rows, and add up."""
        fresh = measure.fresh(level, rng)
        weight = sum((some.on @ np.exp(some.log_jump) for some in (atoms, fresh)), 0.0)
        on = measure.switches(atoms)[0] + measure.switches(fresh)[0]
        K = sum(some.in_regions(measure.n_regions) for some in (atoms, fresh))
        return cls(atoms.n, level, np.asarray(K), on, np.asarray(weight))


# ---- T3 --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class T3(Threshold):
    """Slice sampling with the exponent of small jumps taken for linear: nearly exact.

    The error of that is kept below ``tol`` by lowering the threshold where it must be.

    Parameters
    ----------
    tol : float
        Largest error of the log density, in nats, of a region.
    """

    tol: float = 1e-3

    def __post_init__(self) -> None:
        if not 0.0 < self.tol <= 1.0:
            raise ValueError(f"tol must lie in (0, 1] nats, got {self.tol}.")

    def _fine(self, measure: Thinned, level: Array) -> Array:
        """Whether the error bound holds: of 1 - G and of exp(-w), both to second order."""
        sigma, load = measure.sigma, measure.q @ measure.u
        second = 0.5 * (load**2 + measure.q @ measure.u**2) + load
        bound = measure.a / math.gamma(1.0 - sigma) * second / (2.0 - sigma)
        return bound * np.exp((2.0 - sigma) * level) < self.tol

    def _learn(self, measure: Thinned, above: Above, rng: np.random.Generator) -> None:
        small = mean_below(above.level, measure.sigma) * measure.a
        rate = above.weight + small @ measure.q
        measure.u = rng.standard_gamma(above.n) / rate
        law = measure.laws.q
        if law is not None:
            assert isinstance(law, Beta)
            proposed = _draw_q(law, above, rng)
            # The Beta law lacks exp(-C q), which decides whether its draws are taken.
            cost = small[:, None] * measure.u * (proposed - measure.q)
            measure.q = np.where(cost < rng.standard_exponential(cost.shape), proposed, measure.q)
        law_of_mass = measure.laws.mass
        if law_of_mass is not None:
            rate = law_of_mass.rate + measure.scale * linear(measure, above)
            mass = rng.standard_gamma(law_of_mass.shape + above.K) / rate
            measure.mass = np.maximum(mass, TINY)


def linear(measure: Thinned, above: Above) -> Array:
    """Number of atoms above the threshold and exponent of those below, a = 1, (R,)."""
    small = mean_below(above.level, measure.sigma) * (measure.q @ measure.u)
    return number_above(above.level, measure.sigma) + small


def _draw_q(law: Beta, above: Above, rng: np.random.Generator) -> Array:
    """Draw q (R, T) from its law given which atoms are on."""
    q = rng.beta(law.a + above.on, law.b + above.K[:, None] - above.on)
    return np.clip(q, RAREST, SUREST)
