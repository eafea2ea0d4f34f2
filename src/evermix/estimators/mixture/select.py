"""Choosing a prior on the first rows of a stream.

References
----------
Tank, Foti, Fox (2015), supplement, section 4.1: run the filter on part of a prefix for a grid of
hyperparameters, and keep the one that predicts the rest of the prefix best.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from evermix._random import generator
from evermix._xp import doubled
from evermix.engines.base import Engine
from evermix.estimators.mixture.estimator import Mixture
from evermix.families.base import Family
from evermix.priors.base import Prior


class PriorScore(NamedTuple):
    """A prior, the held-out log likelihood that it reached, and the number of clusters."""

    prior: Prior
    log_likelihood: float
    n_clusters: int


def select_prior(
    X: Any,
    priors: Iterable[Prior],
    *,
    family: str | Family = "auto",
    engine: Engine | None = None,
    train: float = 0.8,
    random_state: Any = None,
) -> Prior:
    """Return the prior that predicts the end of a prefix best after learning its beginning.

    Parameters
    ----------
    X : array or CSR matrix (N, D)
        The prefix: the first rows of the stream.
    priors : iterable of Prior
        The grid. Points that are the same law in other parameters are tried once.
    family, engine : as for :class:`evermix.Mixture`
    train : float
        Share of the prefix that is learnt; the rest is predicted.
    random_state : int, RandomState, Generator or None
        Seed for engines that draw, the same for every prior.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> em.select_prior(X, [em.DP(0.1), em.DP(100.0)])
    DP(alpha=0.1)
    """
    scores = score_priors(
        X, priors, family=family, engine=engine, train=train, random_state=random_state
    )
    return max(scores, key=lambda score: score.log_likelihood).prior


def score_priors(
    X: Any,
    priors: Iterable[Prior],
    *,
    family: str | Family = "auto",
    engine: Engine | None = None,
    train: float = 0.8,
    random_state: Any = None,
) -> list[PriorScore]:
    """Return the held-out log likelihood of every distinct prior; see :func:`select_prior`."""
    if not 0 < train < 1:
        raise ValueError(f"train must lie strictly between 0 and 1, got {train}.")
    X = check_array(X, accept_sparse="csr", dtype="numeric")
    cut = round(train * X.shape[0])
    if not 0 < cut < X.shape[0]:
        raise ValueError(f"the prefix must hold rows to learn and to predict, got {X.shape[0]}.")
    distinct: dict[Prior, Prior] = {}
    for prior in priors:
        if not isinstance(prior, Prior):
            raise TypeError(f"priors must hold Priors such as em.DP(1.0), got {prior!r}.")
        distinct.setdefault(prior.canonical(), prior)
    if not distinct:
        raise ValueError("priors is empty; give at least one, such as em.DP(1.0).")
    seed = random_state
    if not isinstance(seed, int | np.integer):  # others would move on from prior to prior
        seed = int(generator(seed).integers(2**31))
    scores = []
    for prior in distinct.values():
        mix = Mixture(family, prior, engine, random_state=seed).fit(X[:cut])
        total = doubled(mix.score_samples(X[cut:])).sum()
        scores.append(PriorScore(prior, float(total), mix.n_clusters_))
    return scores
