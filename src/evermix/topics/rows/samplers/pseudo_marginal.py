"""Slice sampling of thinned measures with unbiased estimates for small jumps.

See ``evermix.topics.rows.published``.

References
----------
Andrieu, Roberts (2009). The pseudo-marginal approach for efficient Monte Carlo computations.
Annals of Statistics.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from evermix._xp import Array
from evermix.kernels.topics.measures import RAREST, SUREST
from evermix.priors.hyper import Beta
from evermix.topics.measures import Thinned
from evermix.topics.measures.levels import exponent_below, mean_below
from evermix.topics.measures.thinned import log_tilt
from evermix.topics.rows.published import TINY, Above, Threshold, linear


@dataclass(frozen=True)
class T4(Threshold):
    """Slice sampling with unbiased estimates for small jumps: exact, and slower than T1.

    Parameters
    ----------
    most : float
        Largest exponent of the jumps below the threshold of a region: the estimates become noisy
        where it is large, and chains stick.
    """

    most: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 < self.most <= 2.0:
            raise ValueError(f"most must lie in (0, 2], got {self.most}.")

    def _fine(self, measure: Thinned, level: Array) -> Array:
        """Whether the exponents are small: by Jensen at most those of jumps that are always on."""
        load = measure.q @ measure.u
        return measure.a * exponent_below(level, load, measure.sigma) < self.most

    def _learn(self, measure: Thinned, above: Above, rng: np.random.Generator) -> None:
        walk = _PseudoMarginal(measure, above, rng)
        for t in range(measure.n_times):
            walk.move_u(t)
        if measure.laws.q is not None:
            for r in range(measure.n_regions):
                for t in range(measure.n_times):
                    walk.move_q(r, t)
        if measure.laws.mass is not None:
            for r in range(measure.n_regions):
                walk.move_mass(r)


class _PseudoMarginal:
    """Metropolis steps with estimates in place of exp(-I); accepted ones are kept as they are.

    The first ones are drawn from their law given all else, which is that of an estimate times the
    estimate itself, by rejection: they lie in [0, 1].
    """

    def __init__(self, measure: Thinned, above: Above, rng: np.random.Generator) -> None:
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
        rate = law.rate + scale * float(linear(measure, above)[r])
        measure.mass[r] = max(self.rng.standard_gamma(law.shape + above.K[r]) / rate, TINY)
        small = mean_below(above.level, measure.sigma)[r] * float(measure.q[r] @ measure.u)
        if not self._accept([r], scale * small * (measure.mass[r] - old)):
            measure.mass[r] = old

    def _accept(self, regions: Iterable[int], log_ratio: float) -> bool:
        """Take the measure as it is now, or not; ``log_ratio`` leaves out the estimates."""
        new = self.estimate.copy()
        for r in regions:
            new[r] = self._estimate(r)
        log_ratio += float((new - self.estimate).sum())
        if log_ratio > -self.rng.standard_exponential():
            self.estimate[:] = new
            return True
        return False


def log_estimate(
    q: Array, u: Array, a: float, sigma: float, log_level: float, rng: np.random.Generator
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
