"""Random measures that depend on each other, one for each time.

A measure sees only how often each atom was chosen at each time, and which region it lies in. The
observations may be rows of a mixture, or the tables of a topic model.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from evermix._random import draw_log_gamma
from evermix._xp import Bools, Floats, Ints, gammaln
from evermix.engines.samplers.hyper import slice_sample
from evermix.kernels.slice_sampling import WIDTH
from evermix.priors.hyper import Beta, Gamma, HyperPrior
from evermix.topics.measures.levels import jumps_above

NEVER = -1e200  # log of a probability of zero
EVEN = 0.7  # power of weights at which observations arrive beside a past; see Offers.evened
MIN_SIGMA, MAX_SIGMA = 1e-12, 1.0 - 1e-9  # beyond, gamma functions overflow


class Laws(NamedTuple):
    """Prior laws of the numbers of a measure; None for those that are fixed."""

    sigma: Beta | None = None
    mass: Gamma | None = None  # of M_r if relative, of a_r otherwise
    q: Gamma | Beta | None = None
    relative: bool = True  # whether the mass is M_r, and a_r = sigma M_r


@dataclass
class Occupancy:
    """The atoms that have observations."""

    counts: Ints  # (T, K) observations of each time at each atom
    region: Ints  # (K,) that each atom lies in
    on: Bools  # (T, K) whether the atom is on at each time; thinned measures learn it
    log_jump: Floats  # (K,) for samplers that need it; valid until the measure is updated

    @classmethod
    def of(cls, counts: Ints, region: Ints, on: Bools | None = None) -> "Occupancy":
        """Return atoms with these counts (T, K) and regions (K,), without jumps."""
        on = np.ones(counts.shape, dtype=bool) if on is None else on
        return cls(counts, region, on, np.full(counts.shape[1], np.nan))

    @property
    def sizes(self) -> Ints:
        """Observations at each atom, (K,)."""
        return self.counts.sum(axis=0)

    @property
    def n(self) -> Ints:
        """Observations of each time, (T,)."""
        return self.counts.sum(axis=1)

    def in_regions(self, R: int) -> Ints:
        """Number of atoms in each region, (R,)."""
        return np.bincount(self.region, minlength=R)


class Offers(NamedTuple):
    """What an observation may choose, as log weights up to a constant of its time.

    Where ``discount`` >= 0, jumps are integrated out: the weight of an atom of n other observations
    is its share times n - discount. Where it is negative, shares are weights, and a newborn atom
    gets its own from :meth:`Measure.newborn`.
    """

    atoms: Floats  # (T, K) log share of each atom
    new: Floats  # (T, Q) log weight of a new atom of each kind
    newborn: Floats  # (T, Q) log share of an atom of each kind, where discount >= 0
    kind: Ints  # (K,) of each atom
    discount: float

    def evened(self, n: Ints) -> "Offers":
        """Return offers in which weights of atoms of n (K,) observations differ less.

        Each is a power of what it was, and their sum at each time stays.
        """
        sizes = np.log(n - self.discount) if self.discount >= 0.0 else np.zeros(len(n))
        weights = self.atoms + sizes
        before, after = (np.logaddexp.reduce(w, axis=1) for w in (weights, EVEN * weights))
        seen = np.isfinite(before)  # a time may see no atoms
        scale = np.subtract(before, after, out=np.zeros(len(before)), where=seen)
        return self._replace(atoms=EVEN * weights + scale[:, None] - sizes)


class Newborn(NamedTuple):
    """An atom that was just chosen for the first time: on (T,), log jump, log weights (T,)."""

    on: Bools
    log_jump: float
    log_weight: Floats


class Measure(ABC):
    r"""Dependent random measures, normalised at each time.

    Atoms are those of independent generalised gamma processes, one in each region, of intensity
    :math:`a_r / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-w}`.
    """

    def __init__(self, laws: Laws, sigma: float, mass: Floats, q: Floats, u: Floats) -> None:
        self.laws, self.sigma = laws, float(sigma)
        self.mass = np.array(mass, dtype=np.float64)  # (R,) M_r or a_r, see laws.relative
        self.q = np.array(q, dtype=np.float64)  # (R, T) how much of each region each time gets
        self.u = np.array(u, dtype=np.float64)  # (T,) auxiliary variables

    def copy(self) -> Self:
        """Return a measure with arrays of its own; what was derived from them is shared."""
        other = copy.copy(self)
        other.mass, other.q, other.u = self.mass.copy(), self.q.copy(), self.u.copy()
        return other

    @property
    def n_regions(self) -> int:
        """Number of regions, R."""
        return self.q.shape[0]

    @property
    def n_times(self) -> int:
        """Number of times, T."""
        return self.q.shape[1]

    @property
    def a(self) -> Floats:
        """Masses a_r of the processes, (R,)."""
        return self.scale * self.mass

    @property
    def scale(self) -> float:
        """What masses are multiplied by to give a."""
        return self.sigma if self.laws.relative else 1.0

    @abstractmethod
    def update(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move everything that is not an observation's choice, jumps integrated out.

        This moves sigma, masses, q and u, regions of atoms and, of thinned measures, where they
        are on. Jumps of the atoms are invalid afterwards: see :meth:`draw_jumps`.
        """

    def draw_jumps(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Draw jumps Gamma(n - sigma, 1 + U) given everything else; sets ``atoms.log_jump``."""
        draws = draw_log_gamma((atoms.sizes - self.sigma).astype(np.float64), rng)
        atoms.log_jump = draws - self._log_decay(atoms)

    def offers(self, atoms: Occupancy, jumps: bool, rng: np.random.Generator) -> Offers:
        """Offers given new jumps of the atoms, or with all jumps integrated out.

        Consumes: atoms.
        """
        if not jumps:
            return self.marginal(atoms)
        self.draw_jumps(atoms, rng)
        return self.hybrid(atoms)

    @abstractmethod
    def marginal(self, atoms: Occupancy) -> Offers:
        """Offers with all jumps integrated out."""

    @abstractmethod
    def hybrid(self, atoms: Occupancy) -> Offers:
        """Offers given the jumps of the atoms, with all others integrated out."""

    @abstractmethod
    def unfold(self, kind: Ints) -> tuple[Ints, Bools]:
        """Return region (K,) and times on (T, K) of atoms of these kinds (K,)."""

    @abstractmethod
    def newborn(self, region: int, t: int, rng: np.random.Generator) -> Newborn:
        """Draw an atom of a region that an observation of time t has just chosen."""

    def fresh(self, log_level: Floats, rng: np.random.Generator) -> Occupancy:
        """Draw all atoms without observations that lie above the level (R,) of their region."""
        levels = zip(log_level, self.a, self._log_tilts(), strict=True)
        jumps = [jumps_above(level, a, self.sigma, tilt, rng) for level, a, tilt in levels]
        region = np.repeat(np.arange(self.n_regions), [len(some) for some in jumps])
        atoms = Occupancy.of(np.zeros((self.n_times, len(region)), dtype=np.int64), region)
        atoms.log_jump = np.concatenate(jumps)
        return atoms

    @abstractmethod
    def _log_tilts(self) -> list[Callable[[Floats], Floats]]:
        """Log probability that no time chooses an atom, as functions of jumps, by region."""

    @abstractmethod
    def log_presence(self, atoms: Occupancy) -> Floats:
        """Log of what the jump of each atom is multiplied by at each time, (T, K)."""

    @abstractmethod
    def log_joint(self, atoms: Occupancy) -> float:
        """Log density of the atoms' counts and all that is learnt here, up to a constant."""

    @abstractmethod
    def predictive(self, atoms: Occupancy) -> Floats:
        """Log weights (T, K + 1) of atoms and, last, of a new one for one more observation."""

    def expected(self, atoms: Occupancy) -> tuple[Floats, Floats]:
        """Return expected jumps (K,), and the expected mass of all other atoms of regions (R,)."""
        n: Floats = atoms.sizes.astype(np.float64)
        return (n - self.sigma) * np.exp(-self._log_decay(atoms)), self._mass_left()

    def arrays(self) -> dict[str, Floats]:
        """Return copies of all that is learnt, by name."""
        values = {"sigma": np.array([self.sigma]), "mass": self.mass, "q": self.q, "u": self.u}
        return {name: value.copy() for name, value in values.items()}

    def assign(self, arrays: dict[str, Floats]) -> None:
        """Set all that is learnt to what :meth:`arrays` returned."""
        self.sigma = float(arrays["sigma"][0])
        self.mass, self.q, self.u = (arrays[name].copy() for name in ("mass", "q", "u"))

    def log_jacobian(self) -> float:
        """Log of the factor that makes the joint density one of logs and log odds.

        On their own scale, densities of weights that have no observations have no bound.
        """
        total = sum(float(law.log_jacobians(x).sum()) for law, x in self._learnt())
        return total + float(np.log(self.u).sum())

    # ---- shared by all -----------------------------------------------------------------------

    def _learnt(self) -> list[tuple[HyperPrior, Floats]]:
        """Return the laws of what is learnt, but for u, and its numbers."""
        sigma, mass, q, _ = self.laws
        pairs = ((sigma, np.array([self.sigma])), (mass, self.mass), (q, self.q))
        return [(law, x) for law, x in pairs if law is not None]

    def _log_priors(self) -> float:
        """Log density of what is learnt under its laws, up to a constant."""
        return sum(float(law.log_densities(x).sum()) for law, x in self._learnt())

    @abstractmethod
    def _exponents(self, sigma: float) -> Floats:
        """Laplace exponents (R,) at u of processes with a = 1 and this sigma."""

    @abstractmethod
    def _mass_left(self) -> Floats:
        """Return the expected mass of atoms without observations in each region, (R,)."""

    @abstractmethod
    def _log_decay(self, atoms: Occupancy) -> Floats:
        """Log of 1 + U of each atom, (K,): its jump is Gamma(n - sigma, 1 + U)."""

    def move_sigma(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move sigma, with the masses integrated out where they have a law."""
        law = self.laws.sigma
        if law is None:
            return
        K, sizes, log_sum = atoms.in_regions(self.n_regions), atoms.sizes, self._log_decay(atoms)

        def height(y: float) -> float:
            sigma = law.from_real(y)
            if not MIN_SIGMA < sigma < MAX_SIGMA:
                return -math.inf
            blocks = gammaln(sizes - sigma) - math.lgamma(1.0 - sigma) + sigma * log_sum
            total = law.log_density(sigma) + law.log_jacobian(sigma) + float(blocks.sum())
            return total + self.log_masses(K, sigma, self._exponents(sigma))

        sigma = law.from_real(slice_sample(height, law.to_real(self.sigma), rng, WIDTH))
        self.sigma = float(sigma)

    def log_masses(self, K: Ints, sigma: float, exponents: Floats) -> float:
        """Log of prod_r a_r^K_r exp(-a_r phi_r) for exponents phi (R,).

        Masses are integrated out if they have a law.
        """
        law, scale = self.laws.mass, sigma if self.laws.relative else 1.0
        total = float(K.sum()) * math.log(scale)
        if law is None:
            return total - scale * float(self.mass @ exponents)
        return total - float((law.shape + K) @ np.log(law.rate + scale * exponents))

    def move_mass(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Draw the masses given all else."""
        law = self.laws.mass
        if law is None:
            return
        K = atoms.in_regions(self.n_regions)
        rate = law.rate + self.scale * self._exponents(self.sigma)
        self.mass = np.maximum(rng.standard_gamma(law.shape + K) / rate, 1e-300)


def finite_log(x: Floats) -> Floats:
    """Log of numbers >= 0, with a finite stand-in for log 0: times a count of zero it is zero."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), NEVER)
