"""Draws from Gamma distributions, on the log scale."""

import numpy as np

from evermix._xp import Array

LEAST_SHAPE = 1e-250  # smaller ones would overflow, and their draws are as good as zero anyway


def draw_log_gamma(shape: Array, rng: np.random.Generator) -> Array:
    """Draw log g with g ~ Gamma(shape, 1), finite also where g itself is too small for a float.

    With G ~ Gamma(shape + 1, 1) and U uniform, g = G U^(1 / shape) in law [marsaglia2000]_.

    References
    ----------
    .. [marsaglia2000] G. Marsaglia and W. W. Tsang. A simple method for generating gamma
       variables. ACM Transactions on Mathematical Software, 2000.
    """
    shape = np.maximum(shape, LEAST_SHAPE)
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape
