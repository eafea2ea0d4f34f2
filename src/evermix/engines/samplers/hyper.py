"""Learning hyperparameters inside a sampler: one at a time, by slice sampling [neal2003]_.

Two ways lead to those of a prior. Given the partition alone, the target is the hyperprior times the
partition probability (:func:`update_prior`). Given also the auxiliary variable U of a normalised
generalised gamma process, no integral is needed and ``a`` is conjugate (:func:`update_augmented`)
[favaro2013]_.

References
----------
.. [neal2003] R. Neal. Slice sampling. Annals of Statistics, 2003.
.. [favaro2013] S. Favaro and Y. W. Teh. MCMC for normalized random measure mixture models.
   Statistical Science, 2013.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.random import Generator

from evermix._xp import Floats
from evermix.families.base import Family
from evermix.priors.base import POSITIVE, Prior
from evermix.priors.dirichlet_process import DP
from evermix.priors.hyper import Gamma, HyperPrior
from evermix.priors.jumps import Jumps
from evermix.tally import Tally

FAMILY = "family."  # the names of a family's hyperparameters begin with this
WIDTH = 1.5  # initial width of a slice, in logs or log odds
STEPS_OUT = 1000  # largest width of a slice, in units of WIDTH
U_STEPS = 3  # slice steps for log U, which cost little beside a sweep
MIN_VALUE, MAX_VALUE = 1e-200, 1e20  # outside, special functions lose accuracy

Part = TypeVar("Part", bound=Prior | Family)


# ---- slice sampling ------------------------------------------------------------------------


def slice_sample(
    log_density: Callable[[float], float], x: float, rng: Generator, width: float
) -> float:
    """Make one step, from x, of a chain on the real line that leaves a density invariant.

    The slice is found by stepping out from x, and sampled by shrinking it.

    ``log_density`` is known up to a constant, and -inf or nan where there is no density. ``width``
    is the step of stepping out, about the width of the density; a bad value only costs time.
    """
    here = log_density(x)
    if not here > -math.inf:
        raise ValueError(f"a slice step must begin where the density is positive, got x = {x}.")
    level = here - rng.exponential()
    low = x - width * rng.random()
    high = low + width
    to_the_left = int(STEPS_OUT * rng.random())
    for _ in range(to_the_left):
        if not log_density(low) > level:
            break
        low -= width
    for _ in range(STEPS_OUT - 1 - to_the_left):
        if not log_density(high) > level:
            break
        high += width
    while True:
        y = low + (high - low) * rng.random()
        if y == x or log_density(y) > level:
            return y
        low, high = (y, high) if y < x else (low, y)


def _sampled(
    part: Part,
    name: str,
    hyperprior: HyperPrior,
    log_likelihood: Callable[[Part], float],
    rng: Generator,
) -> Part:
    """Return a prior or a family after a slice step of one hyperparameter."""
    most = min(hyperprior.domain[1], MAX_VALUE)

    def log_density(y: float) -> float:
        x = hyperprior.from_real(y)
        if not MIN_VALUE < x < most:
            return -math.inf
        prior = hyperprior.log_density(x) + hyperprior.log_jacobian(x)
        return prior + log_likelihood(_with(part, name, x))

    y = slice_sample(log_density, hyperprior.to_real(getattr(part, name)), rng, WIDTH)
    return _with(part, name, hyperprior.from_real(y))


def _with(part: Part, name: str, x: float) -> Part:
    changes: Any = {name: x}
    return replace(part, **changes)


# ---- which hyperparameters are learnt ------------------------------------------------------


def check_hyperpriors(hyperpriors: Mapping[str, HyperPrior], prior: Prior, family: Family) -> None:
    """Raise unless every hyperprior belongs to a hyperparameter that can be learnt.

    Names are those of hyperparameters of the prior, or "family." and one of the resolved family.
    """
    domains = {**prior.tunable, **{FAMILY + name: POSITIVE for name in family.tunable}}
    for name, hyperprior in hyperpriors.items():
        if not isinstance(hyperprior, HyperPrior):
            raise TypeError(
                f"the hyperprior of {name!r} must be em.Gamma or em.Beta, got {hyperprior!r}."
            )
        owner: Prior | Family = family if str(name).startswith(FAMILY) else prior
        if name not in domains:
            raise ValueError(
                f"{type(owner).__name__} has no {name!r} that can be learnt. "
                f"What can be learnt here: {', '.join(domains) or 'nothing'}."
            )
        _check_start(name, getattr(owner, name.removeprefix(FAMILY)), hyperprior, domains[name])


def _check_start(
    name: str, value: Any, hyperprior: HyperPrior, domain: tuple[float, float]
) -> None:
    """Raise unless a hyperparameter can start at this value, in the hyperprior's domain."""
    low, high = domain
    if hyperprior.domain != domain:
        wanted = "em.Gamma" if domain == POSITIVE else "em.Beta"
        raise ValueError(
            f"{name!r} lies in ({low:g}, {high:g}), which asks for {wanted}, got {hyperprior!r}."
        )
    if np.ndim(value):
        raise ValueError(
            f"only single numbers can be learnt, got an array of shape {np.shape(value)} for "
            f"{name!r}. Give one number, or no hyperprior."
        )
    if not low < value < high:
        raise ValueError(
            f"{name!r} must start inside ({low:g}, {high:g}) to be learnt, got {value}. "
            "Give another value, or no hyperprior."
        )
    if not MIN_VALUE < value < MAX_VALUE:
        raise ValueError(
            f"{name!r} must start between {MIN_VALUE:g} and {MAX_VALUE:g} to be learnt, got "
            f"{value}. Give another value, or no hyperprior."
        )


# ---- given the partition -------------------------------------------------------------------


def update_prior(
    prior: Any, hyperpriors: Mapping[str, HyperPrior], sizes: Floats, rng: Generator
) -> Any:
    """Return the prior with new hyperparameters, given cluster sizes (K,)."""
    for name in prior.tunable:
        if name in hyperpriors:
            prior = _sampled(prior, name, hyperpriors[name], lambda p: p.log_eppf(sizes), rng)
    return prior


def update_family(
    family: Family, hyperpriors: Mapping[str, HyperPrior], tally: Tally, rng: Generator
) -> Family:
    """Return the family with new hyperparameters, given the clusters' statistics."""

    def log_likelihood(family: Family) -> float:
        return float(family.log_marginals(tally).sum())

    for name in family.tunable:
        if FAMILY + name in hyperpriors:
            family = _sampled(family, name, hyperpriors[FAMILY + name], log_likelihood, rng)
    return family


# ---- given the partition and U -------------------------------------------------------------


def draw_log_u(prior: Prior, n: int, K: int, v: float, rng: Generator) -> float:
    """Return a new value of v = log U, given that all n observations are in K clusters.

    Raises TypeError unless the prior is a DP or an NGGP.
    """
    jumps = Jumps.of(prior)
    _, spread = jumps.log_u_peak(n, K)
    for _ in range(U_STEPS):
        v = slice_sample(lambda v: jumps.log_u_density(v, n, K), v, rng, 3.0 * spread)
    return v


def update_augmented(
    prior: Prior, hyperpriors: Mapping[str, HyperPrior], sizes: Floats, log_u: float, rng: Generator
) -> Prior:
    """Return the prior with new hyperparameters, given cluster sizes (K,) and U.

    Raises TypeError unless the prior is a DP or an NGGP.
    """
    Jumps.of(prior)
    name, K = "alpha" if isinstance(prior, DP) else "a", len(sizes)
    law = hyperpriors.get(name)
    assert law is None or isinstance(law, Gamma)  # `check_hyperpriors` ensures it

    def log_likelihood(prior: Prior) -> float:
        jumps = Jumps.of(prior)
        psi = jumps.psi(log_u)
        if law is None:
            mass = -jumps.a * psi
        else:  # sigma and tau mix better with a integrated out, which is drawn afterwards
            mass = -(law.shape + K) * math.log(law.rate + psi)
        return mass + jumps.log_partition(sizes, log_u)

    for other in ("sigma", "tau"):
        if other in hyperpriors:
            prior = _sampled(prior, other, hyperpriors[other], log_likelihood, rng)
    if law is not None:
        rate = law.rate + Jumps.of(prior).psi(log_u)
        prior = _with(prior, name, rng.gamma(law.shape + K) / rate)
    return prior
