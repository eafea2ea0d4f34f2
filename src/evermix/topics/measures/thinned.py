r"""Thinned measures: every atom is there at some times and not at others.

An atom of region r is there, *on*, at time t with probability :math:`q_{rt}`. Given where atoms
with observations are on, and with all jumps integrated out, choices and u have the joint law

.. math::

    \prod_t \frac{u_t^{N_t - 1}}{\Gamma(N_t)} \prod_r e^{-\psi_r} \prod_{k \le K_r} a_r
    \frac{\Gamma(n_{rk} - \sigma)}{\Gamma(1 - \sigma)} \Big(1 + \sum_t z_{rtk} u_t
    \Big)^{-(n_{rk} - \sigma)} \prod_t q_{rt}^{z_{rtk}} (1 - q_{rt})^{1 - z_{rtk}},

with :math:`z_{rtk} = 1` wherever :math:`n_{trk} > 0`, and :math:`\psi_r` as in
``evermix.topics.measures.factors``.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML. (It has z = 1 where
n_rk > 0, and takes the exponent for a sum over 2^T patterns.)
"""

import math
from functools import cached_property, partial

import numpy as np
from scipy import special

from evermix._random import draw_log_gamma
from evermix._xp import Array, gammaln
from evermix.kernels.topics import measures as thinned
from evermix.priors.hyper import Beta
from evermix.topics.measures.base import Measure, Newborn, Occupancy, Offers, finite_log
from evermix.topics.measures.factors import Factors
from evermix.topics.measures.levels import jumps_above

U_STEPS = 2  # passes over u in an update
ON_STEPS = 2  # how often jumps and times on are drawn in turn
MOST_TIMES = 8  # with jumps integrated out, the cost doubles with each time


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
        n, decay = atoms.n.astype(np.float64), atoms.sizes - self.sigma
        grid = factors.grid, factors.weights(self.sigma)
        for _ in range(U_STEPS):
            thinned.move_u(n, self.a, self.q, self.u, atoms.on, decay, *grid, rng)
        law = self.laws.q
        if law is not None:
            assert isinstance(law, Beta)
            on, off = self.switches(atoms)
            thinned.move_q(law.a + on, law.b + off, self.a, self.q, self.u, *grid, rng)
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

    def draw_jumps(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Draw jumps Gamma(n - sigma, 1 + sum of u where the atom is on)."""
        draws = draw_log_gamma(atoms.sizes - self.sigma, rng)
        atoms.log_jump = draws - self._log_decay(atoms)

    def draw_on(self, atoms: Occupancy, rng: np.random.Generator) -> Array:
        """Draw where atoms are on, given their jumps, (T, K): wherever they have observations."""
        log_odds = self.log_odds(atoms)
        free = rng.random(log_odds.shape) < special.expit(log_odds)
        return free | self._must_be_on(atoms)

    def log_odds(self, atoms: Occupancy) -> Array:
        """Log odds (T, K) that atoms are on at times without observations, given their jumps."""
        return self._log_odds[atoms.region].T - np.outer(self.u, np.exp(atoms.log_jump))

    def _must_be_on(self, atoms: Occupancy) -> Array:
        """Whether an atom has observations at each time, (T, K)."""
        return atoms.counts > 0

    def switches(self, atoms: Occupancy) -> tuple[Array, Array]:
        """How many atoms of each region are on at each time, and how many off, (R, T) each."""
        on = np.zeros(self.q.shape)
        np.add.at(on, atoms.region, atoms.on.T.astype(np.float64))
        return on, atoms.in_regions(self.n_regions)[:, None] - on

    def _exponents(self, sigma: float) -> Array:
        return self._factors.exponents(sigma)

    def _mass_left(self) -> Array:
        factors = self._factors
        w, _, product = factors.grid
        return self.a * (product @ (factors.weights(self.sigma) * w))

    def _log_decay(self, atoms: Occupancy) -> Array:
        return np.log1p(self.u @ atoms.on)

    @cached_property
    def _factors(self) -> Factors:
        """The factors for q and u as they are."""
        return Factors.of(self.q, self.u)

    @cached_property
    def _log_odds(self) -> Array:
        """Log odds (R, T) that atoms are on."""
        with np.errstate(divide="ignore"):
            return np.log(self.q) - np.log1p(-self.q)

    def forget(self) -> None:
        """Forget what follows from other q and u."""
        for derived in ("_factors", "_log_odds"):
            self.__dict__.pop(derived, None)

    def assign(self, arrays: dict[str, Array]) -> None:
        """Set all that is learnt to what :meth:`arrays` returned."""
        super().assign(arrays)
        self.forget()

    # ---- choices -----------------------------------------------------------------------------

    def hybrid(self, atoms: Occupancy) -> Offers:
        """Offers given the jumps of the atoms and where they are on; kinds are regions."""
        weights, new = self.log_presence(atoms) + atoms.log_jump, self._log_new()
        return Offers(weights, new, new, atoms.region, -1.0)

    def _log_new(self) -> Array:
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

    def fresh(self, log_level: Array, rng: np.random.Generator) -> Occupancy:
        """Draw the atoms without observations above the level of their region."""
        jumps = [
            jumps_above(level, a, self.sigma, partial(log_tilt, q, self.u), rng)
            for level, a, q in zip(log_level, self.a, self.q, strict=True)
        ]
        region = np.repeat(np.arange(self.n_regions), [len(some) for some in jumps])
        atoms = Occupancy.of(np.zeros((self.n_times, len(region)), dtype=np.int64), region)
        atoms.log_jump = np.concatenate(jumps)
        atoms.on = self.draw_on(atoms, rng)
        return atoms

    def log_presence(self, atoms: Occupancy) -> Array:
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

    def unfold(self, kind: Array) -> tuple[Array, Array]:
        """Return region (K,) and times on (T, K) of atoms of these kinds (K,)."""
        region, code = np.divmod(kind, len(self._patterns))
        return region, self._patterns[code].T.astype(bool)

    @cached_property
    def _patterns(self) -> Array:
        """All sets of times but the empty one, (2^T - 1, T)."""
        codes = np.arange(1, 2**self.n_times)
        return (codes[:, None] >> np.arange(self.n_times) & 1).astype(np.float64)

    # ---- what is told ------------------------------------------------------------------------

    def predictive(self, atoms: Occupancy) -> Array:
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


def _log_switches(q: Array, on: Array) -> Array:
    """Log probability (R, K) that atoms of each region are on at these times (T, K)."""
    there = on.astype(np.float64)  # products with booleans are slow
    return finite_log(q) @ there + finite_log(1.0 - q) @ (1.0 - there)


def log_tilt(q: Array, u: Array, w: Array) -> Array:
    """Log of the product of the factors of times (T,) at jumps (J,), (J,)."""
    logs = np.empty(len(w))
    thinned.log_factors(q, u, w, logs)
    return logs
