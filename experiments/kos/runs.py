"""Learning the KOS posts once, by any engine: what the table and the curves are made of."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import evermix as em
from experiments.common import counts, remember

__all__ = ["DP", "IG", "PRIORS", "chain", "draws", "passes", "split", "stream"]

HELD_OUT = 686
FAMILY = em.Multinomial(alpha=0.1)
IG, DP = em.NGGP(a=10.0, sigma=0.5, tau=100.0), em.DP(alpha=100.0)
PRIORS = {"IG": IG, "DP": DP}


def split() -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the posts to learn (2744, V) and those held out (686, V)."""
    X = counts("kos/kos.npz")
    order = np.random.default_rng(0).permutation(X.shape[0])
    return X[order[HELD_OUT:]], X[order[:HELD_OUT]]


def passes(
    prior: Any,
    engine: em.ADF | em.EP,
    train: sparse.csr_array,
    test: sparse.csr_array,
    seed: int,
) -> dict[str, Any]:
    """Return the held-out log likelihood and K of ADF or EP, in one random order of the posts.

    They are given after the fit, and ``by_lap`` after every lap of it.
    """

    def learn() -> dict[str, Any]:
        order = np.random.default_rng(seed).permutation(train.shape[0])
        mix = em.Mixture(family=FAMILY, prior=prior, engine=engine)
        by_lap = _follow(mix, train[order], test)
        held_out, K = _look(mix, test)
        return {"held_out": held_out, "K": K, "by_lap": by_lap}

    return _remembered(prior, engine, seed, learn)


def stream(
    prior: Any,
    engine: em.ADF,
    train: sparse.csr_array,
    test: sparse.csr_array,
    seed: int,
    parts: int,
) -> list[tuple[float, int]]:
    """Return held-out log likelihood and K after each part of one pass in a random order."""
    order = np.random.default_rng(seed).permutation(train.shape[0])
    mix = em.Mixture(family=FAMILY, prior=prior, engine=engine)
    return [_look(mix.partial_fit(train[part]), test) for part in np.array_split(order, parts)]


def draws(
    prior: Any, engine: em.Gibbs, train: sparse.csr_array, test: sparse.csr_array
) -> dict[str, Any]:
    """Return what the draws of a sampler say.

    ``held_out`` and ``K`` hold one number for each draw, ``chain`` the chain that it comes from.
    ``inside`` is the held-out log likelihood of the densities averaged over draws, inside the log.
    ``mixing`` tells how well the chains mixed, if ArviZ is installed.
    """

    def learn() -> dict[str, Any]:
        mix = em.Mixture(family=FAMILY, prior=prior, engine=engine, random_state=0).fit(train)
        posterior = mix.posterior_
        return {
            "held_out": mix.score_draws(test).sum(axis=1).tolist(),
            "inside": float(mix.score_samples(test).sum()),
            "K": posterior.n_clusters.tolist(),
            "chain": posterior.chain.tolist(),
            "mixing": _mixing(posterior),
        }

    return _remembered(prior, engine, 0, learn)


def chain(
    prior: Any, sweeps: int, train: sparse.csr_array, test: sparse.csr_array, seed: int
) -> list[tuple[float, int]]:
    """Return the held-out log likelihood and K of a chain as it is after every sweep."""
    # Nothing is kept before the last sweep, so the mixture speaks of the chain as it is.
    engine = em.Gibbs(sweeps=sweeps, burn_in=sweeps - 1)

    def learn() -> dict[str, Any]:
        mix = em.Mixture(family=FAMILY, prior=prior, engine=engine, random_state=seed)
        return {"by_lap": _follow(mix, train, test)}

    return _remembered(prior, engine, seed, learn)["by_lap"]


def _follow(
    mix: em.Mixture, train: sparse.csr_array, test: sparse.csr_array
) -> list[tuple[float, int]]:
    """Fit, and return what the mixture says after every lap or sweep."""
    by_lap: list[tuple[float, int]] = []

    def look(mix: em.Mixture, info: em.Info) -> None:
        if info.rows == 0:
            by_lap.append(_look(mix, test))

    mix.fit(train, observers=[look])
    return by_lap


def _look(mix: em.Mixture, test: sparse.csr_array) -> tuple[float, int]:
    return float(mix.score_samples(test).sum()), mix.n_clusters_


def _mixing(posterior: Any) -> dict[str, dict[str, float]] | None:
    try:
        summary = posterior.summary()
    except ImportError:
        return None
    return {name: summary[name] for name in ("K", "log_joint")}


def _remembered(
    prior: Any, engine: Any, seed: int, learn: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    names = type(engine).__name__, type(prior).__name__
    settings = {"engine": engine.to_spec(), "prior": prior.to_spec(), "names": names, "seed": seed}
    return remember(f"kos/runs/{names[0]}-{names[1]}-{seed}", settings, learn)
