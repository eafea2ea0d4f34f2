r"""How much a new cluster weighs after n observations in K clusters, for Gibbs-type priors.

A cluster of mass :math:`n_k` weighs :math:`n_k - \sigma`, a new one :math:`\omega(n, K)`. For the
normalised generalised gamma process with parameters :math:`(a, \sigma, \tau)` and its auxiliary
variable :math:`U` (James, Lijoi and Prunster 2009), with :math:`v = \log u`,

.. math::

    g(v) = n v - (n - \sigma K) \log(u + \tau) - \phi(u), \qquad
    \omega(n, K) = \sigma K + n \, E[\tau / (U + \tau)] / E[U / (U + \tau)],

where :math:`e^{g}` is the density of :math:`\log U` up to a constant. Rescaling all jumps by
:math:`\tau` changes nothing, so everything is computed at :math:`\tau = 1` with
:math:`b = a \tau^\sigma`. All functions depend on their arguments alone, never on earlier calls.
n and K are real, with K <= n.
"""

import math

from evermix.kernels.base import kernel
from evermix.kernels.special import log_rising

AFFINE, QUADRATURE, MODE = 0, 1, 2
"""Rules for the new cluster: a + sigma * K; the exact omega; the plug-in of the mode of log U."""

EDGE = math.exp(-38.0)  # far below one part in 1e15
PLENTY = 1e10  # from such a weight on, the mode is exact to eleven digits, and g no longer is
WIDEST_STEP = 0.25  # the integrand has poles at distance pi from the real line
FLAT = 64.0  # a tail so many times longer than that distance is worth longer steps


@kernel
def new_weight(kind: int, a: float, sigma: float, tau: float, n: float, K: float) -> float:
    """Return omega, the weight of a new cluster; 1 where there is nothing else to choose."""
    if n <= 0.0:
        return 1.0
    if kind == AFFINE:
        # Only soft K < 1 with a negative concentration gets below zero.
        return max(a + sigma * K, 0.0)
    if sigma == 0.0:
        return a
    if tau == 0.0:
        return sigma * K
    b: float = a * tau**sigma
    mode = _mode(n, K, b, sigma)
    plug_in = b * math.exp(sigma * _softplus(mode))
    if kind == MODE or plug_in > PLENTY:
        return plug_in
    _, _, rest, share = _integrate(n, K, b, sigma, mode)
    return sigma * K + n * rest / share


@kernel
def log_v(a: float, sigma: float, tau: float, n: float, K: float) -> float:
    """Return log V(n, K) of the normalised generalised gamma process, n > 0 and K > 0."""
    if sigma == 0.0:
        return K * math.log(a) - log_rising(a, n)
    if tau == 0.0:
        return (K - 1.0) * math.log(sigma) + math.lgamma(K) - math.lgamma(n)
    b: float = a * tau**sigma
    peak, h, rest, share = _integrate(n, K, b, sigma, _mode(n, K, b, sigma))
    return K * math.log(b) - math.lgamma(n) + peak + math.log(h * (rest + share))


@kernel
def log_u_mode(n: float, K: float, a: float, sigma: float, tau: float) -> float:
    """Return the mode of log U: the root of a u (u + tau)^sigma = n tau + sigma K u, n > 0."""
    if tau == 0.0:
        return math.log(sigma * K / a) / sigma
    return math.log(tau) + _mode(n, K, a * tau**sigma, sigma)


@kernel
def _softplus(v: float) -> float:
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


@kernel
def _mode(n: float, K: float, b: float, sigma: float) -> float:
    """Return the root of F(v) = log(b u (1 + u)^sigma) - log(n + sigma K u), increasing in v.

    Newton's step is replaced where it leaves the bracket.
    """
    log_b = math.log(b)
    low, high = -math.inf, math.inf
    v = (math.log(n) - log_b) / (1.0 + sigma)
    for _ in range(200):
        e = math.exp(-abs(v))
        t = 1.0 / (1.0 + e) if v > 0.0 else e / (1.0 + e)
        x = max(v, 0.0) + math.log1p(e)
        # n + sigma K u, divided by max(1, u) so that a huge u cannot overflow.
        fresh, old = (n * e, sigma * K) if v > 0.0 else (n, sigma * K * e)
        F = log_b + sigma * x + min(v, 0.0) - math.log(fresh + old)
        if abs(F) < 1e-12:
            break
        if F > 0.0:
            high = v
        else:
            low = v
        step = v - F / (fresh / (fresh + old) + sigma * t)
        if low < step < high:
            v = step
        elif low == -math.inf or high == math.inf:
            v = v - 2.0 if F > 0.0 else v + 2.0
        else:
            v = 0.5 * (low + high)
    return v


@kernel
def _integrate(
    n: float, K: float, b: float, sigma: float, mode: float
) -> tuple[float, float, float, float]:
    """Integrate exp(g) / (1 + u) and exp(g) u / (1 + u) over v = log u by the trapezoid rule.

    A fixed number of nodes would not do: for small b and sigma the density is skewed with a
    sharp left edge. So nodes run out from the mode until g has fallen by 38. The right tail is
    as long as 1 / b or 1 / sigma, which may be a million, and smooth: there steps grow.

    Returns
    -------
    peak, h : float
        g about the mode, and the step.
    rest, share : float
        The two sums, to be multiplied by ``h * exp(peak)``.
    """
    stretch = 1.0 / (b + sigma * (1.0 + math.sqrt(K)))
    if stretch < FLAT:
        stretch = 1.0
    start = _unstretched(mode, stretch)
    v, slope = _stretched(start, stretch)
    peak, rest, share = _node(n, K, b, sigma, v)
    x = _softplus(v)
    spread = (n - sigma * K) * rest + b * math.exp(sigma * x) * (rest + sigma * share)
    h = min(WIDEST_STEP, 0.5 / (slope * math.sqrt(share * spread)))
    h = max(h, 1e-12 * (1.0 + abs(start)))  # a step that rounding swallows would never arrive
    rest, share = slope * rest, slope * share
    # Below this point g(v) = n v up to rounding, and the rest of the sum is a geometric series.
    floor = -40.0 - math.log(1.0 + n + b)
    for sign in (1.0, -1.0):
        weight = 1.0
        j = 0
        while weight > EDGE:
            j += 1
            v, slope = _stretched(start + sign * j * h, stretch)
            g, r, s = _node(n, K, b, sigma, v)
            weight = math.exp(g - peak)
            rest += weight * slope * r
            share += weight * slope * s
            if sign < 0.0 and v < floor:
                rest += weight / math.expm1(n * h)
                break
    return peak, h, rest, share


@kernel
def _stretched(s: float, stretch: float) -> tuple[float, float]:
    """Return v(s) and its slope, which goes from 1 to ``stretch`` where all is smooth.

    For v > 40 nothing is left of 1 / (1 + u) and its poles.
    """
    if stretch == 1.0:
        return s, 1.0
    x = s - 40.0 - math.log(stretch)
    e = math.exp(-abs(x))
    more = stretch - 1.0
    turned = 1.0 / (1.0 + e) if x > 0.0 else e / (1.0 + e)
    return s + more * (max(x, 0.0) + math.log1p(e)), 1.0 + more * turned


@kernel
def _unstretched(v: float, stretch: float) -> float:
    """Return s with v(s) = v, nearly; v(s) is convex, so Newton's steps come from the right."""
    s = v
    for _ in range(100):
        reached, slope = _stretched(s, stretch)
        step = (reached - v) / slope
        s -= step
        if abs(step) < 1e-3:
            break
    return s


@kernel
def _node(n: float, K: float, b: float, sigma: float, v: float) -> tuple[float, float, float]:
    """Return g(v), 1 / (1 + u) and u / (1 + u).

    In the form n (v - log(1 + u)) no term of g is much larger than omega at the mode.
    """
    e = math.exp(-abs(v))
    large = 1.0 / (1.0 + e)
    small = e * large
    x = math.log1p(e)
    if v > 0.0:
        g = -n * x
        x += v
        rest, share = small, large
    else:
        g = n * (v - x)
        rest, share = large, small
    y = sigma * x
    power = math.exp(y) - 1.0 if y > 1.0 else math.expm1(y)  # expm1 is slow
    g += K * y - b / sigma * power
    return g, rest, share
