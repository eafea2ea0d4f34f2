"""Gibbs sampling for mixtures: the exact posterior, one row at a time.

References
----------
Favaro, Teh (2013). MCMC for normalized random measure mixture models. Statistical Science.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evermix._xp import Bools, Floats, Ints, logsumexp
from evermix.engines.batch import Batch, RowResults, cap_of, warn_once
from evermix.engines.memo import CHAIN
from evermix.engines.samplers.links import Links, Pairs, checked_pairs, sweep_blocks
from evermix.engines.samplers.sampler import Sampler
from evermix.engines.settings import check_switch
from evermix.kernels.engines import adf, gibbs
from evermix.kernels.weights import MODE, QUADRATURE
from evermix.model import Model
from evermix.priors.base import GibbsType, HasPredictive
from evermix.priors.hyper import HyperPrior
from evermix.priors.jumps import Jumps
from evermix.state import State
from evermix.tally import Layout


@dataclass(frozen=True)
class Gibbs(Sampler):
    """Draws partitions from the exact posterior by moving one row at a time.

    Parameters
    ----------
    sweeps : int
        Passes over the data of each chain, those of the burn-in included.
    burn_in : int or None
        Sweeps at the start of each chain that are not kept; None for half of them.
    augmented : bool
        Carry the auxiliary variable U along with the partition (Favaro and Teh) instead of
        integrating it out. DP and NGGP only; the draws have the same law.
    chains : int
        Independent chains, one after another.
    thin : int
        Keep every ``thin``-th sweep.
    hyperpriors : mapping of str to Gamma or Beta, or None
        Hyperparameters to learn, by name: of the prior (``"a"``, ``"sigma"``, ``"alpha"``, ...) or
        of the family (``"family.alpha"``, ...). None keeps all as they are.
    must_link : sequence of pairs of int
        Numbers of rows that are known to be in one cluster.
    cannot_link : sequence of pairs of int
        Numbers of rows that are known to be in different clusters.

    Notes
    -----
    The model keeps the rows: every draw is a partition of them, and densities are averaged over
    draws.

    Links are exact: the draws are from the posterior, given that they hold. Rows that are linked
    are moved by array maths, all others by the compiled loop.

    Examples
    --------
    >>> import evermix as em
    >>> X = np.array([[0.0], [0.1], [0.2], [9.0]])
    >>> engine = em.Gibbs(sweeps=50, must_link=[(0, 3)], cannot_link=[(0, 1)])
    >>> mix = em.Mixture(em.FixedGaussian(1.0, 9.0), engine=engine, random_state=0)
    >>> labels = mix.fit_predict(X)
    >>> bool(labels[0] == labels[3]), bool(labels[0] == labels[1])
    (True, False)
    """

    sweeps: int = 200
    burn_in: int | None = None
    augmented: bool = False
    chains: int = 1
    thin: int = 1
    hyperpriors: Mapping[str, HyperPrior] | None = None
    must_link: Pairs = ()
    cannot_link: Pairs = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_switch("augmented", self.augmented)
        for name in ("must_link", "cannot_link"):
            object.__setattr__(self, name, checked_pairs(name, getattr(self, name)))
        if self.augmented and self._linked:
            raise ValueError("linked rows need augmented=False: their moves integrate U out.")

    @property
    def _linked(self) -> bool:
        return bool(self.must_link or self.cannot_link)

    def check(self, model: Model) -> None:
        """Raise if this engine cannot work with the model."""
        super().check(model)
        if self.cannot_link and model.max_clusters is not None:
            raise ValueError(
                "cannot_link needs max_clusters=None: below a cap there may be no place for a row."
            )

    @property
    def uses_u(self) -> bool:
        """Whether U is part of the chain's state."""
        return self.augmented

    def _sweep(
        self, model: Model, state: State, batch: Batch, results: RowResults, rng: Generator
    ) -> Ints:
        """Return new labels (N,) of all rows, each drawn given all others."""
        # Before the first sweep there is no U; any partition can be the first.
        given_u = self.augmented and state.latents["sweep"][0] > 0
        if not self._linked:
            return gibbs_sweep(model, state, batch, results, rng, given_u)
        links = Links.of(self.must_link, self.cannot_link, len(batch.weights))
        labels = gibbs_sweep(model, state, batch, results, rng, some=links.free)
        sweep_blocks(model, batch, links, labels, results, rng.random(len(links.blocks)))
        return labels


def gibbs_sweep(
    model: Model,
    state: State,
    batch: Batch,
    results: RowResults,
    rng: Generator,
    given_u: bool = False,
    some: Bools | None = None,
) -> Ints:
    """Return new labels (N,), each drawn given all others, and U if ``given_u``.

    With a mask ``some`` (N,) only these rows move.
    """
    n = len(batch.weights)
    order, uniforms = rng.permutation(n), rng.random(n)
    if some is not None:
        order, uniforms = order[some[order]], uniforms[some[order]]
    if isinstance(model.prior, GibbsType):
        fixed = _weight_given_u(model, state) if given_u else 0.0
        return _compiled(model, state, batch, results, order, uniforms, fixed)
    return _by_arrays(model, state, batch, results, order, uniforms)


def _weight_given_u(model: Model, state: State) -> float:
    """Weight of a new cluster, a (U + tau)^sigma."""
    jumps = Jumps.of(model.prior)
    return jumps.a * math.exp(jumps.sigma * jumps.log_sum(float(state.latents["log_u"][0])))


def _compiled(
    model: Model,
    state: State,
    batch: Batch,
    results: RowResults,
    order: Ints,
    uniforms: Floats,
    fixed: float,
) -> Ints:
    """Sweep with the compiled loop."""
    assert isinstance(model.prior, GibbsType)
    scalars, rows = model.prior.scalars(), model.family.rows(batch.X)
    if scalars.kind == MODE:  # the mode would not be exact, nor faster, since weights are cached
        scalars = scalars._replace(kind=QUADRATURE)
    major = state.tally.layout is Layout.STATISTIC_MAJOR
    settings = gibbs.SweepSettings(scalars, fixed, cap_of(model), major)
    sweep = gibbs.SweepRows(rows, order, uniforms, gibbs.SweepOutputs(*results[1:4]))
    labels = state.memo[CHAIN]["labels"].copy()
    position = gibbs.SweepPosition(state.tally.K, 0, int(np.count_nonzero(labels >= 0)), 0)
    holes, why = np.empty(0, dtype=np.int64), adf.ROOM
    while why == adf.ROOM:
        state.reserve(state.tally.K + 2)
        tally, capacity = state.tally, state.tally.capacity
        with np.errstate(divide="ignore"):
            log_weight = np.log(np.maximum(tally.mass_buffer - scalars.sigma, 0.0))
        stack = np.zeros(capacity, dtype=np.int64)
        stack[: len(holes)] = holes
        chain = gibbs.ChainBuffers(
            labels,
            tally.mass_buffer,
            log_weight,
            np.empty(capacity),
            stack,
            np.full(capacity, np.nan),
        )
        fields, refused, why = gibbs.gibbs_pass(
            model.family.workspace(tally, state.columns), sweep, settings, chain, position
        )
        position = gibbs.SweepPosition(*fields)
        tally.K, holes = position.K, stack[: position.n_holes]
        if refused:
            warn_once(model, state)
        if why == adf.ROOM:
            state.reserve(2 * capacity)
    return labels


def _by_arrays(
    model: Model, state: State, batch: Batch, results: RowResults, order: Ints, uniforms: Floats
) -> Ints:
    """Sweep with array maths: for any prior, and the reference for the kernel."""
    prior, family, X = model.prior, model.family, batch.X
    assert isinstance(prior, HasPredictive)
    cap, labels = cap_of(model), state.memo[CHAIN]["labels"].copy()
    sizes, stats = state.tally.mass.copy(), state.tally.stats.copy()
    for i, uniform in zip(order, uniforms, strict=True):
        t = family.accumulate(X[i : i + 1], np.ones((1, 1)))
        if labels[i] >= 0:
            sizes[labels[i]] -= 1.0
            stats[labels[i]] -= t[0]
        alive = np.flatnonzero(sizes > 0)
        eta = family.posterior(np.vstack([stats[alive], 0.0 * t]), np.append(sizes[alive], 0.0))
        rho = prior.log_weights(sizes[alive], np.ones(len(alive)))
        rho = rho + family.log_predictive(X[i : i + 1], eta)[0]
        results.log_predictive[i] = logsumexp(rho)
        if len(alive) >= cap:
            rho[-1] = -np.inf
        q = np.exp(rho - logsumexp(rho))
        pick = min(int(np.searchsorted(np.cumsum(q), uniform * q.sum(), side="right")), len(alive))
        results.probabilities[i], results.born[i] = q[pick], pick == len(alive)
        if pick == len(alive):
            sizes, stats = np.append(sizes, 0.0), np.vstack([stats, 0.0 * t])
            labels[i] = len(sizes) - 1
        else:
            labels[i] = alive[pick]
        sizes[labels[i]] += 1.0
        stats[labels[i]] += t[0]
    return labels
