"""Resolved families of every kind, with rows that suit them."""

import numpy as np
from scipy import sparse

from evermix.families import (
    Bernoulli,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    Multinomial,
    Poisson,
    VonMisesFisher,
    ZeroMeanGaussian,
)

N, D = 30, 4
_rng = np.random.default_rng(7)
_mixing = _rng.normal(size=(D, D))
REALS = _rng.normal(size=(N, D)) @ _mixing + 3.0
COUNTS = _rng.poisson(1.5, size=(N, 6)).astype(np.float64)
COUNTS[0] = 0.0  # an empty document
COUNTS[1, 2] = 70.0  # too large for factors
FRACTIONS = _rng.gamma(0.5, 2.0, size=(N, 6)) * (_rng.random((N, 6)) < 0.6)
BITS = (_rng.random((N, 6)) < 0.3).astype(np.float64)
DIRECTIONS = REALS / np.linalg.norm(REALS, axis=1, keepdims=True)
COVARIANCE = _mixing @ _mixing.T

_CASES = {
    "multinomial": (Multinomial(), sparse.csr_array(COUNTS)),
    "multinomial-fractions": (Multinomial(alpha=2.0), sparse.csr_array(FRACTIONS)),
    "multinomial-alphas": (Multinomial(np.geomspace(1e-30, 9, 6)), sparse.csr_array(COUNTS)),
    "gaussian": (Gaussian(1.0, 0.5, D + 2.5, 0.7), REALS),
    "gaussian-matrix": (Gaussian(np.arange(D), 0.1, D + 4.0, COVARIANCE), REALS),
    "gaussian-offset": (Gaussian(), REALS + 1e4),
    "zero-mean": (ZeroMeanGaussian(), REALS),
    "zero-mean-matrix": (ZeroMeanGaussian(nu=9.0, scale=COVARIANCE), REALS),
    "diagonal": (DiagonalGaussian(0.0, 0.3, 1.5, 2.0), REALS),
    "diagonal-open": (DiagonalGaussian(), REALS),
    "fixed": (FixedGaussian(variance=2.0, mean_variance=5.0), REALS),
    "fixed-columns": (FixedGaussian(np.arange(1.0, D + 1), 3.0, mean=None), REALS),
    "bernoulli": (Bernoulli(), BITS),
    "bernoulli-columns": (Bernoulli(a=np.linspace(0.1, 2, 6), b=0.5), BITS),
    "directions": (VonMisesFisher(4.0), DIRECTIONS),
    "directions-prior": (VonMisesFisher(30.0, np.array([1.0, 0, -2.0, 0.1])), DIRECTIONS),
    "poisson": (Poisson(), COUNTS),
    "poisson-fractions": (Poisson(shape=0.3, rate=np.linspace(0.5, 2, 6)), FRACTIONS),
}

CASES = {name: (family.candidates(X)[0], X) for name, (family, X) in _CASES.items()}
