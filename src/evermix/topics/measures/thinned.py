r"""Thinned measures: every atom is there at some times and not at others.

An atom of region r is there, *on*, at time t with probability :math:`q_{rt}`. Given where atoms
with observations are on, and with all jumps integrated out, choices and u have the joint law

.. math::

    \prod_t \frac{u_t^{N_t - 1}}{\Gamma(N_t)} \prod_r e^{-\psi_r} \prod_{k \le K_r} a_r
    \frac{\Gamma(n_{rk} - \sigma)}{\Gamma(1 - \sigma)} \Big(1 + \sum_t z_{rtk} u_t
    \Big)^{-(n_{rk} - \sigma)} \prod_t q_{rt}^{z_{rtk}} (1 - q_{rt})^{1 - z_{rtk}},

with :math:`z_{rtk} = 1` wherever :math:`n_{trk} > 0`. With :math:`f_{rt}(w) = 1 - q_{rt} +
q_{rt} e^{-u_t w}` and :math:`G_r = \prod_t f_{rt}`, the Laplace exponent is a single integral,
however many times there are,

.. math::

    \psi_r = a_r \int (1 - G_r(w)) \frac{w^{-1 - \sigma} e^{-w}}{\Gamma(1 - \sigma)} \, dw,

and so is the weight of a new atom.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML. (It has z = 1 where
n_rk > 0, and takes the exponent for a sum over 2^T patterns.)
"""

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import special

from evermix._xp import Bools, Floats, Ints, gammaln
from evermix.kernels.topics.measures import (
    LEAST,
    Grid,
    fill_grid,
    log_factors,
    move_thinned_q,
    move_thinned_u,
    new_atoms,
)
from evermix.priors.hyper import Beta
from evermix.topics.measures.base import Measure, Newborn, Occupancy, Offers, finite_log

U_STEPS = 2  # passes over u in an update
ON_STEPS = 2  # how often jumps and times on are drawn in turn
MAX_TIMES = 8  # with jumps integrated out, the cost doubles with each time

STEP = 0.3
# First and last node, in logs. The first is in units of 1 / max u, and leaves room for steps of u:
# with few observations and a small sigma, log u moves by tens at once.
FIRST, LAST = -32.0, 4.0
SERIES = np.arange(3)


class Factors(NamedTuple):
    r"""Nodes of all integrals over jumps, and the factors there.

    The trapezoid rule in log w converges at a geometric rate. Below the first node every integrand
    is :math:`w^{1 - \sigma}` times a quadratic to rounding, so that the rest of the sum is three
    geometric series, which the weights of the first three nodes take in.
    """

    grid: Grid  # nodes w (J,), exponentials (T, J), and G of regions and nodes (R, J)
    lost: Floats  # (R, J) 1 - G

    @classmethod
    def of(cls, q: Floats, u: Floats) -> "Factors":
        """Return the factors for q (R, T) and u (T,)."""
        first = FIRST - math.log(max(1.0, float((q * u).sum(axis=1).max()), float(u.max())))
        w = np.exp(np.arange(LAST, first, -STEP)[::-1])
        still, product, lost = (np.empty((n, len(w))) for n in (len(u), len(q), len(q)))
        grid = Grid(w, still, product)
        fill_grid(q, u, grid, lost)
        return cls(grid, lost)

    def weights(self, sigma: float) -> Floats:
        """Weights (J,) of the nodes for integrals against the intensity with a = 1."""
        w, powers = self.grid.w, 1.0 - sigma + SERIES
        weights = STEP * np.exp(-sigma * np.log(w) - w - math.lgamma(1.0 - sigma))
        at_nodes = np.exp(STEP * np.outer(powers, SERIES))
        whole = at_nodes.sum(axis=1) + 1.0 / np.expm1(STEP * powers)
        weights[SERIES] *= np.linalg.solve(at_nodes, whole)
        return weights

    def exponents(self, sigma: float) -> Floats:
        """Laplace exponents (R,) of processes with a = 1."""
        return self.lost @ self.weights(sigma)

    def without(self, q: Floats, region: int, t: int) -> Floats:
        """Product of the factors of all other times in a region, (J,)."""
        own = (1.0 - q[region, t]) + q[region, t] * self.grid.still[t]
        return self.grid.product[region] / np.maximum(own, LEAST)

    def new(self, q: Floats, sigma: float) -> Floats:
        """Weights (T, R) of a new atom of each region with a = 1 at each time."""
        out = np.empty(q.T.shape)
        new_atoms(q, self.grid, self.weights(sigma), out)
        return out


class Thinned(Measure):
    """Times that see each atom with probabilities q (R, T)."""

    # ---- learning ----------------------------------------------------------------------------

    def update(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move regions of atoms, u, q, sigma, masses and where atoms are on."""
        self.switch_regions(atoms, rng)
        self.move_weights(atoms, rng)
        self.move_sigma(atoms, rng)
        self.move_mass(atoms, rng)
        self.thin(atoms, rng)

    def move_weights(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move u and q, jumps integrated out."""
        factors = Factors.of(self.q, self.u)
        n = atoms.n.astype(np.float64)
        decay = atoms.sizes.astype(np.float64) - self.sigma
        grid = factors.grid, factors.weights(self.sigma)
        for _ in range(U_STEPS):
            move_thinned_u(n, self.a, self.q, self.u, atoms.on, decay, *grid, rng)
        law = self.laws.q
        if law is not None:
            assert isinstance(law, Beta)
            on, off = self.switches(atoms)
            move_thinned_q(law.a + on, law.b + off, self.a, self.q, self.u, *grid, rng)
        self.forget()

    def switch_regions(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move whole atoms from region to region, given where they are on."""
        if self.n_regions == 1 or not len(atoms.region):
            return
        log_p = _log_switches(self.q, atoms.on) + np.log(self.a)[:, None]
        noisy = log_p + rng.gumbel(size=log_p.shape)
        atoms.region = noisy.argmax(axis=0).astype(np.int64)

    def thin(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Draw where atoms are on, and their jumps, in turn."""
        for _ in range(ON_STEPS):
            self.draw_jumps(atoms, rng)
            atoms.on = self.draw_on(atoms, rng)

    def draw_on(self, atoms: Occupancy, rng: np.random.Generator) -> Bools:
        """Draw where atoms are on, given their jumps, (T, K): wherever they have observations."""
        log_odds = self.log_odds(atoms)
        free = rng.random(log_odds.shape) < special.expit(log_odds)
        return free | self._must_be_on(atoms)

    def log_odds(self, atoms: Occupancy) -> Floats:
        """Log odds (T, K) that atoms are on at times without observations, given their jumps."""
        return self._log_odds[atoms.region].T - np.outer(self.u, np.exp(atoms.log_jump))

    def _must_be_on(self, atoms: Occupancy) -> Bools:
        """Whether an atom has observations at each time, (T, K)."""
        return atoms.counts > 0

    def switches(self, atoms: Occupancy) -> tuple[Floats, Floats]:
        """How many atoms of each region are on at each time, and how many off, (R, T) each."""
        on = np.zeros(self.q.shape)
        np.add.at(on, atoms.region, atoms.on.T.astype(np.float64))
        return on, atoms.in_regions(self.n_regions)[:, None] - on

    def _exponents(self, sigma: float) -> Floats:
        return self._factors.exponents(sigma)

    def _mass_left(self) -> Floats:
        factors = self._factors
        w, _, product = factors.grid
        return self.a * (product @ (factors.weights(self.sigma) * w))

    def _log_decay(self, atoms: Occupancy) -> Floats:
        return np.log1p(self.u @ atoms.on)

    @cached_property
    def _factors(self) -> Factors:
        """The factors for q and u as they are."""
        return Factors.of(self.q, self.u)

    @cached_property
    def _log_odds(self) -> Floats:
        """Log odds (R, T) that atoms are on."""
        with np.errstate(divide="ignore"):
            return np.log(self.q) - np.log1p(-self.q)

    def forget(self) -> None:
        """Forget what follows from other q and u."""
        for derived in ("_factors", "_log_odds"):
            self.__dict__.pop(derived, None)

    def assign(self, arrays: dict[str, Floats]) -> None:
        """Set all that is learnt to what :meth:`arrays` returned."""
        super().assign(arrays)
        self.forget()

    # ---- choices -----------------------------------------------------------------------------

    def hybrid(self, atoms: Occupancy) -> Offers:
        """Offers given the jumps of the atoms and where they are on; kinds are regions."""
        weights, new = self.log_presence(atoms) + atoms.log_jump, self._log_new()
        return Offers(weights, new, new, atoms.region, -1.0)

    def _log_new(self) -> Floats:
        """Log weight of a new atom of each region at each time, (T, R)."""
        with np.errstate(divide="ignore"):
            return np.log(self._factors.new(self.q, self.sigma)) + np.log(self.a)

    def newborn(self, region: int, t: int, rng: np.random.Generator) -> Newborn:
        """Draw jump and times on of a newborn atom, which is on at time t."""
        log_jump = self._newborn_jump(region, t, rng)
        one = np.zeros((self.n_times, 1), dtype=np.int64)
        one[t] = 1
        atom = Occupancy.of(one, np.array([region]))
        atom.log_jump[0] = log_jump
        on = self.draw_on(atom, rng)[:, 0]
        return Newborn(on, log_jump, np.where(on, log_jump, -np.inf))

    def _newborn_jump(self, region: int, t: int, rng: np.random.Generator) -> float:
        """Draw a log jump of density w^(-sigma) e^(-(1 + u_t) w) times the others' factors.

        The factors fall, so on each cell of the grid they are at most what they are at its left
        end, and the rest is a Gamma law.
        """
        factors, shape, rate = self._factors, 1.0 - self.sigma, 1.0 + self.u[t]
        others = np.arange(self.n_times) != t
        left = np.append(1.0, factors.without(self.q, region, t))
        cdf = np.append(0.0, special.gammainc(shape, rate * factors.grid.w))
        mass = np.cumsum(np.diff(cdf) * left[:-1])
        while True:
            cell = int(np.searchsorted(mass, rng.random() * mass[-1], side="right"))
            cell = min(cell, len(mass) - 1)
            p = cdf[cell] + rng.random() * (cdf[cell + 1] - cdf[cell])
            if not 0.0 < p < 1.0:
                continue
            w = special.gammaincinv(shape, p) / rate
            if w > 1e-300:
                log_w = math.log(w)
            else:  # the leading term, whose log does not underflow
                log_w = (math.log(p) + math.lgamma(shape + 1.0)) / shape - math.log(rate)
            log_p = float(log_tilt(self.q[region][others], self.u[others], np.array([w]))[0])
            if log_p - math.log(left[cell]) > -rng.standard_exponential():
                return log_w

    def fresh(self, log_level: Floats, rng: np.random.Generator) -> Occupancy:
        """Draw the atoms without observations above the level of their region."""
        atoms = super().fresh(log_level, rng)
        atoms.on = self.draw_on(atoms, rng)
        return atoms

    def _log_tilts(self) -> list[Callable[[Floats], Floats]]:
        return [partial(log_tilt, q, self.u) for q in self.q]

    def log_presence(self, atoms: Occupancy) -> Floats:
        """Zero where an atom is on, -inf elsewhere, (T, K)."""
        return np.where(atoms.on, 0.0, -np.inf)

    # ---- choices with all jumps integrated out: every pattern of times is a region -----------

    def marginal(self, atoms: Occupancy) -> Offers:
        """Offers with all jumps integrated out; a kind is a region and a pattern of times."""
        b = self._patterns
        log_sum = np.log1p(b @ self.u)
        with np.errstate(divide="ignore"):
            there = np.log(b.T)[:, None, :]
        share = there - log_sum
        log_new = np.log(self.a)[:, None] + _log_switches(self.q, b.T.astype(bool))
        new = there + (log_new - (1.0 - self.sigma) * log_sum)
        share = np.broadcast_to(share, new.shape).reshape(self.n_times, -1)
        code = 2 ** np.arange(self.n_times) @ atoms.on - 1
        kind = (atoms.region * len(b) + code).astype(np.int64)
        new = new.reshape(self.n_times, -1)
        return Offers(share[:, kind], new, share, kind, self.sigma)

    def unfold(self, kind: Ints) -> tuple[Ints, Bools]:
        """Return region (K,) and times on (T, K) of atoms of these kinds (K,)."""
        region, code = np.divmod(kind, len(self._patterns))
        return region, self._patterns[code].T.astype(bool)

    @cached_property
    def _patterns(self) -> Floats:
        """All sets of times but the empty one, (2^T - 1, T)."""
        codes = np.arange(1, 2**self.n_times)
        return (codes[:, None] >> np.arange(self.n_times) & 1).astype(np.float64)

    # ---- densities ---------------------------------------------------------------------------

    def predictive(self, atoms: Occupancy) -> Floats:
        """Log weights (T, K + 1) given u and where atoms are on."""
        old = self.log_presence(atoms) + np.log(atoms.sizes - self.sigma) - self._log_decay(atoms)
        return np.column_stack([old, np.logaddexp.reduce(self._log_new(), axis=1)])

    def log_joint(self, atoms: Occupancy) -> float:
        """Log of the joint law above times the laws of what is learnt."""
        n, K = atoms.n, atoms.in_regions(self.n_regions)
        total = float((n - 1) @ np.log(self.u) - gammaln(n.astype(float)).sum())
        total += float(K @ np.log(self.a) - self.a @ self._exponents(self.sigma))
        blocks = gammaln(atoms.sizes - self.sigma) - math.lgamma(1.0 - self.sigma)
        blocks -= (atoms.sizes - self.sigma) * self._log_decay(atoms)
        switches = _log_switches(self.q, atoms.on)[atoms.region, np.arange(len(atoms.region))]
        return total + float(blocks.sum() + switches.sum()) + self._log_priors()


def _log_switches(q: Floats, on: Bools) -> Floats:
    """Log probability (R, K) that atoms of each region are on at these times (T, K)."""
    there = on.astype(np.float64)  # products with booleans are slow
    return finite_log(q) @ there + finite_log(1.0 - q) @ (1.0 - there)


def log_tilt(q: Floats, u: Floats, w: Floats) -> Floats:
    """Log of the product of the factors of times (T,) at jumps (J,), (J,)."""
    logs = np.empty(len(w))
    log_factors(q, u, w, logs)
    return logs
