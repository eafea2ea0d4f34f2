"""Small data and models that the engine tests share."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evermix.families import FAMILIES, Multinomial
from evermix.model import Model
from evermix.priors import NGGP
from evermix.priors.base import HasPredictive, Prior
from helpers.variants import slow_but

# Each engine's loop takes long to compile, for each family anew. ADF's tests and those of the
# families themselves take all families.
FEW_FAMILIES = slow_but(("Gaussian", "Multinomial", "Mixed"), FAMILIES)


def documents(n=120, V=12, words=15, groups=4, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.2), size=groups)
    X = np.array([rng.multinomial(words, topics[rng.integers(groups)]) for _ in range(n)])
    return sparse.csr_matrix(X, dtype=np.float64)


def vectors(n=120, D=3, groups=3, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(groups, D))
    return centres[rng.integers(groups, size=n)] + rng.normal(size=(n, D))


def data_for(name, n=120):
    if name == "Multinomial":
        return documents(n)
    X = vectors(n)
    if name == "Bernoulli":
        return (X > 0).astype(np.float64)
    if name == "Poisson":
        return np.random.default_rng(1).poisson(np.exp(0.3 * np.abs(X))).astype(np.float64)
    if name == "Categorical":
        return np.minimum(np.abs(np.rint(X[:, :1])), 4.0)
    if name == "VonMisesFisher":
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    if name.startswith("Log"):
        return np.exp(X / 4)
    if name == "Mixed":
        return np.where(np.random.default_rng(2).random(X.shape) < 0.05, np.nan, X)
    return X


def model_for(name, prior=None, n=120):
    """Return a model of the named family, resolved on its data, and the data."""
    X = data_for(name, n)
    family = FAMILIES[name]().candidates(X)[0]
    return Model(family, NGGP() if prior is None else prior), X


def text_model(prior, alpha=0.1, V=12):
    return Model(Multinomial(alpha, n_features=V), prior)


@dataclass(frozen=True)
class Plain(Prior, HasPredictive):
    """The same law as ``prior``, but without scalars: engines must take the array path."""

    prior: NGGP = NGGP()

    def log_eppf(self, sizes):
        return self.prior.log_eppf(sizes)

    def log_weights(self, mass, occupied):
        return self.prior.log_weights(mass, occupied)

    def log_merge_odds(self, mass, occupied, pairs):
        return self.prior.log_merge_odds(mass, occupied, pairs)
