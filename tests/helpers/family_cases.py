"""Resolved families of every kind, with rows that suit them."""

import numpy as np
from scipy import sparse

from evermix.families import (
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    FixedGaussian,
    Gaussian,
    LogGaussian,
    LogNormal,
    LowRankGaussian,
    Mixed,
    Multinomial,
    Poisson,
    VonMisesFisher,
    ZeroInflated,
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
WIDE = _rng.normal(size=(N, 3)) @ _rng.normal(size=(3, 9)) + _rng.normal(size=(N, 9)) / 4
COVARIANCE = _mixing @ _mixing.T
LEVELS = _rng.integers(0, 3, size=(N, 1)).astype(np.float64)
TABLE = np.column_stack([REALS, LEVELS, BITS[:, :2], COUNTS[:, :1], np.exp(REALS[:, :1] / 9)])
_gone = _rng.random((N, 8)) < 0.3  # of each block
HOLES = np.where(np.column_stack([_gone[:, [0, 1, 1]], _gone[:, 2:]]), np.nan, TABLE)
HOLES[5] = np.nan  # a row of which nothing is known
BLOCKS = {
    "a": Gaussian(),
    ("b", "c"): Gaussian(0.5, 0.2, 4.5, np.array([[2.0, 0.3], [0.3, 1.0]])),
    "d": DiagonalGaussian(),
    "level": Categorical(),
    ("yes", "no"): Bernoulli(a=np.array([0.5, 1.5])),
    "count": Poisson(),
    "size": LogNormal(),
}
WEIGHTS = BLOCKS | {"a": (Gaussian(), 0.5), "level": (Categorical(0.7), 2.5)}
AMOUNTS = {("a", "b", "c"): LogGaussian(knees=np.array([0.0, 0.5, 2.0])), "d": LogNormal(knee=0.5)}
SOME_HOLES = np.where((_rng.random((N, 2)) < 0.2)[:, [0, 0, 0, 1]], np.nan, REALS)
ZEROS = {
    "spent": ZeroInflated(),
    "yes": Bernoulli(),
    "change": ZeroInflated(Gaussian(), Bernoulli(0.5, 2.0)),
    "worth": ZeroInflated(LogNormal(knee=0.5)),
}
_OFTEN = np.column_stack([np.exp(REALS[:, 0] / 3), BITS[:, 0], REALS[:, 2:]])
_OFTEN[:, [0, 2, 3]] *= _rng.random((N, 3)) < 0.6
OFTEN = np.where(_rng.random((N, 4)) < 0.2, np.nan, _OFTEN)

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
    "directions": (VonMisesFisher(4.0, metric=1.0), DIRECTIONS),
    "directions-prior": (VonMisesFisher(30.0, np.array([1.0, 0, -2.0, 0.1])), DIRECTIONS),
    "poisson": (Poisson(), COUNTS),
    "log-normal": (LogNormal(), np.exp(REALS / 3)),
    "log-gaussian": (LogGaussian(), np.exp(REALS / 3)),
    "log-gaussian-knees": (LogGaussian(knees=np.array([0.5, 0.0, 2.0, 0.0])), REALS),
    "low-rank": (LowRankGaussian(2), REALS),
    "low-rank-open": (LowRankGaussian(), WIDE * np.geomspace(1, 1e4, 9) + 1e3),
    "low-rank-given": (LowRankGaussian(1, 0.5, 0.2, 3.5, 2.0, 1.5, 0.8), REALS),
    "log-normal-knee": (LogNormal(knee=0.5), REALS),
    "categorical": (Categorical(), LEVELS),
    "categorical-levels": (Categorical(alpha=0.1, n_levels=7), LEVELS),
    "mixed": (Mixed(BLOCKS), TABLE),
    "mixed-holes": (Mixed(BLOCKS), HOLES),
    "mixed-amounts": (Mixed(AMOUNTS), SOME_HOLES),
    "mixed-zeros": (Mixed(ZEROS), OFTEN),
    "mixed-weights": (Mixed(WEIGHTS), HOLES),
    "mixed-numbers": (Mixed(), REALS),
    "poisson-fractions": (Poisson(shape=0.3, rate=np.linspace(0.5, 2, 6)), FRACTIONS),
}

CASES = {name: (family.candidates(X)[0], X) for name, (family, X) in _CASES.items()}
