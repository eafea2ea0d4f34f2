r"""The evidence lower bound (ELBO) of variational inference, in nats, all constants included.

With responsibilities r and posteriors q of the parameters and of the stick,

.. math::

    L = \sum_n \log h(x_n) + \sum_k \{ E[\phi_k]^T s_k - N_k E[A(\phi_k)] + N_k E \log w_k + H_k \}
        - KL(q(\phi) \| p(\phi)) - KL(q(v) \| p(v)).

Right after a global step most of it cancels, and the bound is the log evidence of the soft counts
plus the entropy H of the responsibilities: :func:`lower_bound`. For any q and the responsibilities
that are best for it, the braces sum to the log normalisers of the rows: :func:`bound_of_rows`.
"""

import numpy as np

from evermix._xp import Floats, Ints, digamma
from evermix.families.values import finite
from evermix.model import Model
from evermix.priors.base import HasSticks

NUMBERS = 2**20  # most masses after fusions that are computed at a time, to bound memory


def log_evidence(model: Model, mass: Floats, stats: Floats) -> Floats:
    """Log marginal likelihood (K,) of clusters with soft counts (K,) and statistics (K, S)."""
    return model.family.log_marginal(stats, mass)


def lower_bound(model: Model, mass: Floats, stats: Floats, entropy: Floats, base: float) -> float:
    """ELBO right after a global step.

    Parameters
    ----------
    mass, stats, entropy : arrays (K,), (K, S), (K,)
        Sums over all rows.
    base : float
        Sum of the log base measure of all rows.
    """
    prior = model.prior
    assert isinstance(prior, HasSticks)
    evidence = log_evidence(model, mass, stats).sum() + prior.log_stick_evidence(mass)
    return float(base + evidence + entropy.sum())


def sorted_sticks(model: Model, mass: Floats) -> Floats:
    """Log evidence (...) of the sticks for soft counts (..., K), the largest first."""
    assert isinstance(model.prior, HasSticks)
    return model.prior.log_stick_evidence(-np.sort(-mass, axis=-1))


def fused_sticks(model: Model, mass: Floats, pairs: Ints) -> Floats:
    """Change (P,) of the log evidence of the sticks if each pair (P, 2) of clusters were fused."""
    gains, size = np.empty(len(pairs)), max(NUMBERS // len(mass), 1)
    for start in range(0, len(pairs), size):
        some = slice(start, start + size)
        a, b = pairs[some].T
        after, rows = np.tile(mass, (len(a), 1)), np.arange(len(a))
        after[rows, a] += mass[b]
        after[rows, b] = 0.0  # an empty cluster at the end of the stick changes nothing
        gains[some] = sorted_sticks(model, after)
    return gains - sorted_sticks(model, mass)


def divergence(model: Model, mass: Floats, stats: Floats) -> float:
    """KL divergence of the posteriors that follow from these sums from the prior."""
    family, prior = model.family, model.prior
    assert isinstance(prior, HasSticks)
    eta = family.posterior(stats, mass)
    moved = np.sum((eta - family.eta0) * finite(family.mean_params(eta)))
    a, b = prior.broken(mass)
    a0, b0 = prior.sticks(len(mass))
    total = digamma(a + b)
    sticks = np.sum((a - a0) * (digamma(a) - total) + (b - b0) * (digamma(b) - total))
    evidence = log_evidence(model, mass, stats).sum() + prior.log_stick_evidence(mass)
    return float(moved + sticks - evidence)


def bound_of_rows(model: Model, mass: Floats, stats: Floats, log_norm: float, base: float) -> float:
    """ELBO of the posteriors that follow from these sums, with optimal responsibilities.

    ``log_norm`` is the sum over rows of the log normalisers of their responsibilities.
    """
    return float(base + log_norm - divergence(model, mass, stats))
