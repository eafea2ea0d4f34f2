r"""Moves of the auxiliary variable u of each document, whose words sit at tables.

The log density of :math:`v = \log u` with n words at T tables is

.. math::

    n v - \frac{a}{\sigma} ((1 + u)^\sigma - 1) - (n - \sigma T) \log(1 + u).
"""

from math import exp, inf, log, log1p
from typing import Any, NamedTuple

from evermix._xp import Array
from evermix.kernels.base import kernel
from evermix.kernels.slice_sampling import HIGHEST, LOWEST, WIDTH, implement_height, slice_step
from evermix.kernels.topics.mixed import exponent


class DocumentU(NamedTuple):
    """The log density above."""

    n: float
    a: float
    sigma: float
    decay: float  # n - sigma T


@kernel
def _height(target: DocumentU, v: float) -> float:
    if v < LOWEST or v > HIGHEST:
        return -inf
    u = exp(v)
    return target.n * v - exponent(target.a, target.sigma, u) - target.decay * log1p(u)


implement_height(DocumentU, _height)


@kernel
def draw_u(n: int, tables: int, a: float, sigma: float, u: float, rng: Any) -> float:
    """Move u of a document that has words; draw it anew where sigma is zero."""
    if sigma == 0.0:
        # u / (1 + u) is Beta(n, a); a small Gamma draw may underflow.
        return min(rng.standard_gamma(n) / max(rng.standard_gamma(a), 1e-250), 1e250)
    target = DocumentU(n, a, sigma, n - sigma * tables)
    return exp(slice_step(target, log(u), WIDTH, rng))


@kernel
def move_document_u(
    n: Array,  # IN    (D,) int64 words of each document
    tables: Array,  # IN    (D,) int64
    a: float,
    sigma: float,
    u: Array,  # INOUT (D,)
    rng: Any,
) -> None:
    """Move u of every document that has words."""
    for d in range(n.size):
        if n[d] > 0:
            u[d] = draw_u(n[d], tables[d], a, sigma, u[d], rng)
