r"""How the words of documents sit at tables: a generalised gamma process in each document.

The n words of a document at T tables, with auxiliary variable u, have the law

.. math::

    \frac{u^{n - 1}}{\Gamma(n)} e^{-\phi(u)} \, a^T (1 + u)^{-(n - \sigma T)}
    \prod_\tau \frac{\Gamma(n_\tau - \sigma)}{\Gamma(1 - \sigma)}.

All documents share a and sigma.
"""

import math
from collections.abc import Callable

import numpy as np

from evermix._xp import Array, gammaln
from evermix.engines.samplers.hyper import slice_sample
from evermix.kernels.slice_sampling import WIDTH
from evermix.kernels.topics.documents import move_document_u
from evermix.topics.measures import Laws
from evermix.topics.measures.base import LEAST, MOST

Blocks = Callable[[float], float]
"""Log of what the seats of all words are worth, for a sigma."""


class Seating:
    """The law of tables in documents.

    Attributes
    ----------
    laws : Laws
    sigma : float
    mass : float
        M or a; see ``laws.relative``.
    u : array (D,)
        Auxiliary variables; those of empty documents mean nothing.
    """

    def __init__(self, laws: Laws, sigma: float, mass: float, u: Array) -> None:
        self.laws, self.sigma, self.mass = laws, float(sigma), float(mass)
        self.u = np.array(u, dtype=np.float64)

    @property
    def a(self) -> float:
        """Mass of the processes."""
        return self.sigma * self.mass if self.laws.relative else self.mass

    def update(
        self, n: Array, tables: Array, blocks: Callable[[], Blocks], rng: np.random.Generator
    ) -> None:
        """Move u, sigma and the mass.

        Parameters
        ----------
        n, tables : int64 arrays (D,)
            Words and tables of each document.
        blocks : callable
            Returns the log, for a sigma, of the product over tables above, or of its sum over
            seatings; called if sigma is learnt.
        rng : Generator
        """
        move_document_u(n, tables, self.a, self.sigma, self.u, rng)
        T, log_sum = int(tables.sum()), np.log1p(self.u[n > 0])
        tilt = float(tables[n > 0] @ log_sum)
        if self.laws.sigma is not None:
            self._move_sigma(T, log_sum, tilt, blocks(), rng)
        law = self.laws.mass
        if law is not None:
            rate = law.rate + self._scale(self.sigma) * _exponent(self.sigma, log_sum)
            self.mass = max(float(rng.standard_gamma(law.shape + T)) / rate, 1e-300)

    def _scale(self, sigma: float) -> float:
        return sigma if self.laws.relative else 1.0

    def _move_sigma(
        self, T: int, log_sum: Array, tilt: float, blocks: Blocks, rng: np.random.Generator
    ) -> None:
        """Move sigma, with the mass integrated out if it has a law."""
        law = self.laws.sigma
        assert law is not None

        def height(y: float) -> float:
            sigma = law.from_real(y)
            if not LEAST < sigma < MOST:
                return -math.inf
            total = law.log_density(sigma) + law.log_jacobian(sigma)
            total += self._log_mass(T, sigma, log_sum) + sigma * tilt
            return total + blocks(sigma)

        self.sigma = float(law.from_real(slice_sample(height, law.to_real(self.sigma), rng, WIDTH)))

    def _log_mass(self, T: int, sigma: float, log_sum: Array) -> float:
        """Log of a^T exp(-sum of phi), with the mass integrated out if it has a law."""
        law, scale = self.laws.mass, self._scale(sigma)
        exponent, total = scale * _exponent(sigma, log_sum), T * math.log(scale)
        if law is None:
            return total + T * math.log(self.mass) - self.mass * exponent
        return total - (law.shape + T) * math.log(law.rate + exponent)

    def log_joint(self, n: Array, tables: Array, blocks: Blocks) -> float:
        """Log of the law above times the laws of what is learnt, up to a constant."""
        some = n > 0
        n, log_sum, T = n[some], np.log1p(self.u[some]), int(tables.sum())
        total = float((n - 1) @ np.log(self.u[some]) - gammaln(n.astype(float)).sum())
        total += T * math.log(self.a) - self.a * _exponent(self.sigma, log_sum)
        total -= float((n - self.sigma * tables[some]) @ log_sum)
        if self.laws.sigma is not None:
            total += self.laws.sigma.log_density(self.sigma)
        if self.laws.mass is not None:
            total += self.laws.mass.log_density(self.mass)
        return total + blocks(self.sigma)

    def log_jacobian(self, n: Array) -> float:
        """Log of the factor that makes the joint density one of logs and log odds."""
        total = float(np.log(self.u[n > 0]).sum())
        if self.laws.sigma is not None:
            total += self.laws.sigma.log_jacobian(self.sigma)
        if self.laws.mass is not None:
            total += self.laws.mass.log_jacobian(self.mass)
        return total

    def numbers(self) -> dict[str, float]:
        """Return the numbers that are traced."""
        return {"sigma": self.sigma, "M" if self.laws.relative else "a": self.mass}

    def arrays(self) -> dict[str, Array]:
        """Return copies of all that is learnt, by name."""
        return {
            "sigma": np.array([self.sigma]),
            "mass": np.array([self.mass]),
            "u": self.u.copy(),
        }

    def assign(self, arrays: dict[str, Array]) -> None:
        """Set all that is learnt to what :meth:`arrays` returned."""
        self.sigma, self.mass = float(arrays["sigma"][0]), float(arrays["mass"][0])
        self.u = arrays["u"].copy()


def _exponent(sigma: float, log_sum: Array) -> float:
    """Sum of the Laplace exponents with a = 1, from log(1 + u)."""
    if sigma == 0.0:
        return float(log_sum.sum())
    return float(np.expm1(sigma * log_sum).sum()) / sigma


class Unseated:
    """No tables: every word of a document is an observation of the measure above."""

    u: Array = np.empty(0)

    def update(
        self, n: Array, tables: Array, blocks: Callable[[], Blocks], rng: np.random.Generator
    ) -> None:
        """Do nothing."""

    def log_joint(self, n: Array, tables: Array, blocks: Blocks) -> float:
        """Zero."""
        del n, tables, blocks
        return 0.0

    def log_jacobian(self, n: Array) -> float:
        """Zero."""
        del n
        return 0.0

    def numbers(self) -> dict[str, float]:
        """Nothing."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Nothing."""
        return {}

    def assign(self, arrays: dict[str, Array]) -> None:
        """Do nothing."""
