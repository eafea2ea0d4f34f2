"""Documents of two topics, for tests of topic models."""

import numpy as np

SHORT = {"burn_in": 6, "draws": 6, "random_state": 0}


def documents(D=24, seed=0):
    """Two topics of three words each; the second takes over from 2001 to 2003."""
    rng = np.random.default_rng(seed)
    years = np.repeat([2001, 2002, 2003], D // 3)
    second = rng.random(D) < np.repeat([0.1, 0.5, 0.9], D // 3)
    rate = np.where(second[:, None], [0, 0, 0, 4.0, 4, 4], [4.0, 4, 4, 0, 0, 0])
    return rng.poisson(rate), years


X, YEARS = documents()
