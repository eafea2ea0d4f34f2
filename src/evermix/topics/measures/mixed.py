r"""Mixed measures: every time mixes the processes of all regions with weights of its own.

With :math:`U_r = \sum_t q_{rt} u_t` and the processes integrated out, choices and u have the joint
law

.. math::

    \prod_t \frac{u_t^{N_t - 1}}{\Gamma(N_t)} \prod_{r, t} q_{rt}^{n_{tr}} \prod_r e^{-\phi_r(U_r)}
    \prod_{k \le K_r} a_r \frac{\Gamma(n_{rk} - \sigma)}{\Gamma(1 - \sigma)}
    (1 + U_r)^{-(n_{rk} - \sigma)}.

References
----------
Chen, Rao, Buntine, Teh (2013). Dependent normalized random measures. ICML. (Its weight of a new
cluster lacks q_rt.)
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Bools, Floats, Ints, gammaln
from evermix.kernels.topics.measures import move_mixed_q, move_mixed_u
from evermix.priors.hyper import Gamma
from evermix.topics.measures.base import Measure, Newborn, Occupancy, Offers, finite_log

U_STEPS = 2  # passes over u in an update, which cost little beside a sweep


class Mixed(Measure):
    """Times that mix the processes of regions, with weights q (R, T) > 0 or fixed ones >= 0."""

    # ---- learning ----------------------------------------------------------------------------

    def update(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move regions of atoms, u, q, sigma and masses, jumps integrated out."""
        self.switch_regions(atoms, rng)
        n, a = atoms.n.astype(np.float64), self.a
        for _ in range(U_STEPS):
            move_mixed_u(n, a, self.sigma, self._decay(atoms), self.q, self.u, rng)
        if self.laws.q is not None:
            self._move_q(atoms, rng)
            self._refresh_scale(rng)
        self.move_sigma(atoms, rng)
        self.move_mass(atoms, rng)

    def switch_regions(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move whole atoms from region to region, which single observations hardly ever do."""
        if self.n_regions == 1 or not len(atoms.region):
            return
        log_p = finite_log(self.q) @ atoms.counts + np.log(self.a)[:, None]
        log_p -= np.log1p(self._U)[:, None] * (atoms.sizes - self.sigma)
        noisy = log_p + rng.gumbel(size=log_p.shape)
        atoms.region = noisy.argmax(axis=0).astype(np.int64)

    def _move_q(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        law = self.laws.q
        assert isinstance(law, Gamma)
        each = [np.bincount(atoms.region, at, self.n_regions) for at in atoms.counts]
        n: Floats = np.stack(each, axis=1).astype(np.float64)
        move_mixed_q(
            n, law.shape, law.rate, self.a, self.sigma, self._decay(atoms), self.q, self.u, rng
        )

    def _refresh_scale(self, rng: np.random.Generator) -> None:
        """Draw the scale of q at each time: only its product with u matters to all else."""
        law = self.laws.q
        assert isinstance(law, Gamma)
        old = self.q.sum(axis=0)
        new = rng.standard_gamma(self.n_regions * law.shape, size=self.n_times) / law.rate
        # With a single atom u may be of any size: it stays a number.
        new = np.maximum(new, np.maximum(old * (self.u * 1e-280), 1e-250))
        self.q *= new / old
        self.u *= old / new
        np.clip(self.q, 1e-280, None, out=self.q)

    def _decay(self, atoms: Occupancy) -> Floats:
        """Power of 1 / (1 + U_r) in the joint law, n_r - sigma K_r, (R,)."""
        sizes = np.bincount(atoms.region, atoms.sizes, minlength=self.n_regions)
        return sizes - self.sigma * atoms.in_regions(self.n_regions)

    @property
    def _U(self) -> Floats:
        return self.q @ self.u

    def _exponents(self, sigma: float) -> Floats:
        x = np.log1p(self._U)
        return x if sigma == 0.0 else np.expm1(sigma * x) / sigma

    def _mass_left(self) -> Floats:
        return self.a * np.exp((self.sigma - 1.0) * np.log1p(self._U))

    def _log_decay(self, atoms: Occupancy) -> Floats:
        return np.log1p(self._U)[atoms.region]

    # ---- choices -----------------------------------------------------------------------------

    def marginal(self, atoms: Occupancy) -> Offers:
        """Offers with all jumps integrated out; kinds are regions."""
        with np.errstate(divide="ignore"):
            log_q = np.log(self.q.T)
        share = log_q - np.log1p(self._U)
        return Offers(share[:, atoms.region], self._log_new(), share, atoms.region, self.sigma)

    def hybrid(self, atoms: Occupancy) -> Offers:
        """Offers given the jumps of the atoms; kinds are regions."""
        weights = self.log_presence(atoms) + atoms.log_jump
        new = self._log_new()
        return Offers(weights, new, new, atoms.region, -1.0)

    def _log_new(self) -> Floats:
        """Log weight of a new atom of each region at each time, (T, R)."""
        with np.errstate(divide="ignore"):
            log_q = np.log(self.q.T)
        return log_q + np.log(self.a) - (1.0 - self.sigma) * np.log1p(self._U)

    def unfold(self, kind: Ints) -> tuple[Ints, Bools]:
        """Kinds are regions, and atoms are there at all times."""
        return kind, np.ones((self.n_times, len(kind)), dtype=bool)

    def newborn(self, region: int, t: int, rng: np.random.Generator) -> Newborn:
        """Draw the jump of a newborn atom, Gamma(1 - sigma, 1 + U_r)."""
        del t
        log_jump = float(draw_log_gamma(np.array([1.0 - self.sigma]), rng)[0])
        log_jump -= math.log1p(self._U[region])
        with np.errstate(divide="ignore"):
            log_q = np.log(self.q[region])
        return Newborn(np.ones(self.n_times, dtype=bool), log_jump, log_q + log_jump)

    def _log_tilts(self) -> list[Callable[[Floats], Floats]]:
        return [partial(np.multiply, -U) for U in self._U]

    def log_presence(self, atoms: Occupancy) -> Floats:
        """Log q of the region of each atom at each time, (T, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.q.T)[:, atoms.region]

    def predictive(self, atoms: Occupancy) -> Floats:
        """Log weights (T, K + 1) given u: those of the marginal sampler."""
        offers = self.marginal(atoms)
        old = offers.atoms + np.log(atoms.sizes - self.sigma)
        return np.column_stack([old, np.logaddexp.reduce(offers.new, axis=1)])

    def log_joint(self, atoms: Occupancy) -> float:
        """Log of the joint law above times the laws of what is learnt."""
        n, U = atoms.n, self._U
        K = atoms.in_regions(self.n_regions)
        log_q = (atoms.counts * finite_log(self.q.T)[:, atoms.region]).sum()
        total = float((n - 1) @ np.log(self.u) - gammaln(n.astype(float)).sum() + log_q)
        total += float(K @ np.log(self.a) - self.a @ self._exponents(self.sigma))
        blocks = gammaln(atoms.sizes - self.sigma) - math.lgamma(1.0 - self.sigma)
        total += float(blocks.sum() - self._decay(atoms) @ np.log1p(U))
        return total + self._log_priors()
