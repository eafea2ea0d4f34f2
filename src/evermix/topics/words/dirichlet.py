r"""The law of the words of a topic: a symmetric Dirichlet law, whose parameter may be learnt.

With parameter :math:`\beta` and a vocabulary of V words, a topic of n words, of which :math:`c_x`
are x, has the probability

.. math::

    \frac{\Gamma(V \beta)}{\Gamma(V \beta + n)} \prod_x \frac{\Gamma(\beta + c_x)}{\Gamma(\beta)}.
"""

import math
from typing import NamedTuple

import numpy as np

from evermix._xp import Array, Floats, Ints, gammaln
from evermix.engines.samplers.hyper import slice_sample
from evermix.kernels.slice_sampling import WIDTH
from evermix.priors.hyper import Gamma

LEARNT = Gamma(1.0, 3.0)
"""The law where none is given."""
START = 20.0
"""Words that the law weighs as much as where it begins, at most. From more, topics of real texts
stay blurred; from fewer, topics that are the same do not come together."""
# Where the parameter moves. Below, products of the probabilities of some words would underflow.
LOWEST, HIGHEST = 1e-8, 1e8


class TopicSizes(NamedTuple):
    """What the probability of all words depends on, given their topics."""

    size: Floats  # (S,) numbers of times that a word is in a topic
    often: Ints  # (S,) how many pairs of a word and a topic have each
    total: Floats  # (K,) words of each topic
    V: int  # words in the vocabulary

    @classmethod
    def of(cls, counts: Array) -> "TopicSizes":
        """Return those of a CSR matrix (V, K) of counts, without zeros that are stored."""
        often = np.bincount(counts.data)
        size = np.flatnonzero(often)
        words = counts.data.astype(np.float64)
        total: Floats = np.bincount(counts.indices, words, counts.shape[1]).astype(np.float64)
        return cls(size.astype(np.float64), often[size], total, counts.shape[0])

    def log_probability(self, beta: float) -> float:
        """Log probability of all words, given their topics."""
        words = self.often @ (gammaln(beta + self.size) - math.lgamma(beta))
        V = self.V * beta
        return float(words - (gammaln(V + self.total) - math.lgamma(V)).sum())


def start(alpha: float | Gamma, V: int) -> tuple[float, Gamma | None]:
    """Return a value to start from, for V words in the vocabulary, and the law if it is learnt."""
    if isinstance(alpha, Gamma):
        return min(max(alpha.shape / alpha.rate, LOWEST), START / V), alpha
    return float(alpha), None


def move(law: Gamma, beta: float, sizes: TopicSizes, rng: np.random.Generator) -> float:
    """Return the parameter after a step that leaves its posterior invariant."""

    def height(y: float) -> float:
        value = law.from_real(y)
        if not LOWEST <= value <= HIGHEST:
            return -math.inf
        prior = law.log_density(value) + law.log_jacobian(value)
        return prior + sizes.log_probability(value)

    moved = law.from_real(slice_sample(height, math.log(beta), rng, WIDTH))
    return min(max(moved, LOWEST), HIGHEST)
