r"""How the words of documents sit at tables: a generalised gamma process in each document.

The n words of a document at T tables, with auxiliary variable u, have the law

.. math::

    \frac{u^{n - 1}}{\Gamma(n)} e^{-\phi(u)} \, a^T (1 + u)^{-(n - \sigma T)}
    \prod_\tau \frac{\Gamma(n_\tau - \sigma)}{\Gamma(1 - \sigma)}.

All documents share a and sigma.
"""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

import numpy as np

from evermix._xp import Floats, Ints, gammaln
from evermix.engines.samplers.hyper import slice_sample
from evermix.kernels.slice_sampling import WIDTH
from evermix.kernels.topics.measures import move_document_u
from evermix.topics.measures import Laws
from evermix.topics.measures.base import MAX_SIGMA, MIN_SIGMA

LogSeats = Callable[[float], float]
"""Log of the product over tables above, or of its sum over seatings, for a sigma."""


class Seating:
    """The law of tables in documents."""

    def __init__(self, laws: Laws, sigma: float, mass: float, u: Floats) -> None:
        self.laws, self.sigma = laws, float(sigma)
        self.mass = float(mass)  # M or a, see laws.relative
        self.u = np.array(u, dtype=np.float64)  # (D,); those of empty documents mean nothing

    def copy(self) -> Self:
        """Return a law with numbers of its own."""
        other = copy.copy(self)
        other.u = self.u.copy()
        return other

    @property
    def a(self) -> float:
        """Mass of the processes."""
        return self.sigma * self.mass if self.laws.relative else self.mass

    @contextmanager
    def held(self) -> Iterator[None]:
        """Leave sigma where it is, as long as this lasts."""
        laws = self.laws
        self.laws = laws._replace(sigma=None)
        try:
            yield
        finally:
            self.laws = laws

    def update(
        self, n: Ints, tables: Ints, log_seats: Callable[[], LogSeats], rng: np.random.Generator
    ) -> None:
        """Move u, sigma and the mass, given words n (D,) and tables (D,) of documents.

        ``log_seats`` is called if sigma is learnt.
        """
        move_document_u(n, tables, self.a, self.sigma, self.u, rng)
        T, log_sum = int(tables.sum()), np.log1p(self.u[n > 0])
        tilt = float(tables[n > 0] @ log_sum)
        if self.laws.sigma is not None:
            self._move_sigma(T, log_sum, tilt, log_seats(), rng)
        law = self.laws.mass
        if law is not None:
            rate = law.rate + self.exponent(n)
            self.mass = max(float(rng.standard_gamma(law.shape + T)) / rate, 1e-300)

    def exponent(self, n: Ints) -> float:
        """Sum of the Laplace exponents of documents of n (D,) words, over the mass."""
        return self._scale(self.sigma) * _exponent(self.sigma, np.log1p(self.u[n > 0]))

    def _scale(self, sigma: float) -> float:
        return sigma if self.laws.relative else 1.0

    def _move_sigma(
        self, T: int, log_sum: Floats, tilt: float, log_seats: LogSeats, rng: np.random.Generator
    ) -> None:
        """Move sigma, with the mass integrated out if it has a law."""
        law = self.laws.sigma
        assert law is not None

        def height(y: float) -> float:
            sigma = law.from_real(y)
            if not MIN_SIGMA < sigma < MAX_SIGMA:
                return -math.inf
            total = law.log_density(sigma) + law.log_jacobian(sigma)
            total += self._log_mass(T, sigma, log_sum) + sigma * tilt
            return total + log_seats(sigma)

        self.sigma = float(law.from_real(slice_sample(height, law.to_real(self.sigma), rng, WIDTH)))

    def _log_mass(self, T: int, sigma: float, log_sum: Floats) -> float:
        """Log of a^T exp(-sum of phi), with the mass integrated out if it has a law."""
        law, scale = self.laws.mass, self._scale(sigma)
        exponent, total = scale * _exponent(sigma, log_sum), T * math.log(scale)
        if law is None:
            return total + T * math.log(self.mass) - self.mass * exponent
        return total - (law.shape + T) * math.log(law.rate + exponent)

    def log_joint(self, n: Ints, tables: Ints, log_seats: LogSeats) -> float:
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
        return total + log_seats(self.sigma)

    def log_jacobian(self, n: Ints) -> float:
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

    def arrays(self) -> dict[str, Floats]:
        """Return copies of all that is learnt, by name."""
        return {
            "sigma": np.array([self.sigma]),
            "mass": np.array([self.mass]),
            "u": self.u.copy(),
        }

    def assign(self, arrays: dict[str, Floats]) -> None:
        """Set all that is learnt to what :meth:`arrays` returned."""
        self.sigma, self.mass = float(arrays["sigma"][0]), float(arrays["mass"][0])
        self.u = arrays["u"].copy()


def mode_of_u(n: Ints, a: float, sigma: float) -> Floats:
    """Return values near the modes of u of documents of n (D,) words and few tables."""
    u: Floats = (np.maximum(n, 1) / a) ** (1.0 / (1.0 + sigma))
    return u


def _exponent(sigma: float, log_sum: Floats) -> float:
    """Sum of the Laplace exponents with a = 1, from log(1 + u)."""
    if sigma == 0.0:
        return float(log_sum.sum())
    return float(np.expm1(sigma * log_sum).sum()) / sigma


class Unseated:
    """No tables: every word of a document is an observation of the measure above."""

    u: Floats = np.empty(0)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Do nothing: there is no sigma."""
        yield

    def copy(self) -> Self:
        """Return itself: there is nothing to change."""
        return self

    def update(
        self, n: Ints, tables: Ints, log_seats: Callable[[], LogSeats], rng: np.random.Generator
    ) -> None:
        """Do nothing."""

    def log_joint(self, n: Ints, tables: Ints, log_seats: LogSeats) -> float:
        """Zero."""
        del n, tables, log_seats
        return 0.0

    def log_jacobian(self, n: Ints) -> float:
        """Zero."""
        del n
        return 0.0

    def numbers(self) -> dict[str, float]:
        """Nothing."""
        return {}

    def arrays(self) -> dict[str, Floats]:
        """Nothing."""
        return {}

    def assign(self, arrays: dict[str, Floats]) -> None:
        """Do nothing."""
