r"""Measures that depend on each other: what an observation of each time may choose.

A measure sees only how often each atom was chosen at each time, and which region it lies in. The
observations may be rows of a mixture, or the tables of a topic model.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evermix._xp import Array, gammaln
from evermix.engines.samplers.hyper import slice_sample
from evermix.kernels.slice_sampling import WIDTH
from evermix.priors.hyper import Beta, Gamma, HyperPrior

NEVER = -1e200  # log of a probability of zero
LEAST, MOST = 1e-12, 1.0 - 1e-9  # sigma is kept between these: beyond, gamma functions overflow


class Laws(NamedTuple):
    """What is believed of the numbers of a measure; None for those that stay as they are.

    Attributes
    ----------
    sigma : Beta or None
    mass : Gamma or None
        Of M_r if ``relative``, of a_r otherwise.
    q : Gamma, Beta or None
    relative : bool
        Whether a_r = sigma M_r, and the mass is M_r.
    """

    sigma: Beta | None = None
    mass: Gamma | None = None
    q: Gamma | Beta | None = None
    relative: bool = True


@dataclass
class Occupancy:
    """The atoms that have observations.

    Attributes
    ----------
    counts : int64 array (T, K)
        Observations of each time at each atom.
    region : int64 array (K,)
        The region that each atom lies in.
    on : bool array (T, K)
        Whether the atom is there at each time; thinned measures learn it.
    log_jump : array (K,)
        Log of its jump, for samplers that need it; valid until the measure is updated.
    """

    counts: Array
    region: Array
    on: Array
    log_jump: Array

    @classmethod
    def of(cls, counts: Array, region: Array, on: Array | None = None) -> "Occupancy":
        """Return atoms with these counts (T, K) and regions (K,), without jumps."""
        on = np.ones(counts.shape, dtype=bool) if on is None else on
        return cls(counts, region, on, np.full(counts.shape[1], np.nan))

    @property
    def sizes(self) -> Array:
        """Observations at each atom, (K,)."""
        return self.counts.sum(axis=0)

    @property
    def n(self) -> Array:
        """Observations of each time, (T,)."""
        return self.counts.sum(axis=1)

    def in_regions(self, R: int) -> Array:
        """Number of atoms in each region, (R,)."""
        return np.bincount(self.region, minlength=R)


class Offers(NamedTuple):
    """What an observation may choose, as log weights up to a constant of its time.

    Attributes
    ----------
    atoms : array (T, K)
        Log weight of each atom, or its log share: see ``discount``.
    new : array (T, Q)
        Log weight of a new atom of each kind.
    newborn : array (T, Q)
        Log share of an atom of each kind, where ``discount`` >= 0.
    kind : int64 array (K,)
        The kind of each atom.
    discount : float
        Where it is >= 0, jumps are integrated out: the weight of an atom of n other observations is
        its share times n - discount. Where it is negative, shares are weights, and a newborn atom
        gets its own from :meth:`Measure.newborn`.
    """

    atoms: Array
    new: Array
    newborn: Array
    kind: Array
    discount: float


class Newborn(NamedTuple):
    """An atom that was just chosen for the first time: on (T,), log jump, log weights (T,)."""

    on: Array
    log_jump: float
    log_weight: Array


class Measure(ABC):
    r"""Dependent random measures, normalised at each time.

    Atoms are those of independent generalised gamma processes, one in each region, of intensity
    :math:`a_r / \Gamma(1 - \sigma) \, w^{-1 - \sigma} e^{-w}`.

    Attributes
    ----------
    laws : Laws
    sigma : float
    mass : array (R,)
        M_r or a_r; see ``laws.relative``.
    q : array (R, T)
        How much of each region each time gets.
    u : array (T,)
        Auxiliary variables, one for each time.
    """

    def __init__(self, laws: Laws, sigma: float, mass: Array, q: Array, u: Array) -> None:
        self.laws, self.sigma = laws, float(sigma)
        self.mass = np.array(mass, dtype=np.float64)
        self.q = np.array(q, dtype=np.float64)
        self.u = np.array(u, dtype=np.float64)

    @property
    def n_regions(self) -> int:
        """Number of regions, R."""
        return self.q.shape[0]

    @property
    def n_times(self) -> int:
        """Number of times, T."""
        return self.q.shape[1]

    @property
    def a(self) -> Array:
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

    @abstractmethod
    def draw_jumps(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Draw the jumps of the atoms given everything else; sets ``atoms.log_jump``."""

    @abstractmethod
    def marginal(self, atoms: Occupancy) -> Offers:
        """Offers with all jumps integrated out."""

    @abstractmethod
    def hybrid(self, atoms: Occupancy) -> Offers:
        """Offers given the jumps of the atoms, with all others integrated out."""

    @abstractmethod
    def unfold(self, kind: Array) -> tuple[Array, Array]:
        """Return region (K,) and times on (T, K) of atoms of these kinds (K,)."""

    @abstractmethod
    def newborn(self, region: int, t: int, rng: np.random.Generator) -> Newborn:
        """Draw an atom of a region that an observation of time t has just chosen."""

    @abstractmethod
    def fresh(self, log_level: Array, rng: np.random.Generator) -> Occupancy:
        """Draw all atoms without observations that lie above the level (R,) of their region."""

    @abstractmethod
    def log_presence(self, atoms: Occupancy) -> Array:
        """Log of what the jump of each atom is multiplied by at each time, (T, K)."""

    @abstractmethod
    def log_joint(self, atoms: Occupancy) -> float:
        """Log density of the atoms' counts and all that is learnt here, up to a constant."""

    @abstractmethod
    def predictive(self, atoms: Occupancy) -> Array:
        """Log weights (T, K + 1) of atoms and, last, of a new one for one more observation."""

    def expected(self, atoms: Occupancy) -> tuple[Array, Array]:
        """Return expected jumps (K,), and the expected mass of all other atoms of regions (R,)."""
        return (atoms.sizes - self.sigma) * np.exp(-self._log_decay(atoms)), self._mass_left()

    def arrays(self) -> dict[str, Array]:
        """Return copies of all that is learnt, by name."""
        values = {"sigma": np.array([self.sigma]), "mass": self.mass, "q": self.q, "u": self.u}
        return {name: value.copy() for name, value in values.items()}

    def assign(self, arrays: dict[str, Array]) -> None:
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

    def _learnt(self) -> list[tuple[HyperPrior, Array]]:
        """Return the laws of what is learnt, but for u, and its numbers."""
        sigma, mass, q, _ = self.laws
        pairs = ((sigma, np.array([self.sigma])), (mass, self.mass), (q, self.q))
        return [(law, x) for law, x in pairs if law is not None]

    def _log_priors(self) -> float:
        """Log density of what is learnt under its laws, up to a constant."""
        return sum(float(law.log_densities(x).sum()) for law, x in self._learnt())

    @abstractmethod
    def _exponents(self, sigma: float) -> Array:
        """Laplace exponents (R,) at u of processes with a = 1 and this sigma."""

    @abstractmethod
    def _mass_left(self) -> Array:
        """Return the expected mass of atoms without observations in each region, (R,)."""

    @abstractmethod
    def _log_decay(self, atoms: Occupancy) -> Array:
        """Log of 1 + U of each atom, (K,): its jump is Gamma(n - sigma, 1 + U)."""

    def move_sigma(self, atoms: Occupancy, rng: np.random.Generator) -> None:
        """Move sigma, with the masses integrated out where they have a law."""
        law = self.laws.sigma
        if law is None:
            return
        K, sizes, log_sum = atoms.in_regions(self.n_regions), atoms.sizes, self._log_decay(atoms)

        def height(y: float) -> float:
            sigma = law.from_real(y)
            if not LEAST < sigma < MOST:
                return -math.inf
            blocks = gammaln(sizes - sigma) - math.lgamma(1.0 - sigma) + sigma * log_sum
            total = law.log_density(sigma) + law.log_jacobian(sigma) + float(blocks.sum())
            return total + self.log_masses(K, sigma, self._exponents(sigma))

        sigma = law.from_real(slice_sample(height, law.to_real(self.sigma), rng, WIDTH))
        self.sigma = float(sigma)

    def log_masses(self, K: Array, sigma: float, exponents: Array) -> float:
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


def finite_log(x: Array) -> Array:
    """Log of numbers >= 0, with a finite stand-in for log 0: times a count of zero it is zero."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(x), NEVER)
