"""Random generators, made once at the border and passed down."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["generator", "restore"]


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator from None, an int, a RandomState or a Generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def restore(state: dict[str, Any]) -> np.random.Generator:
    """Return a Generator in the state that ``rng.bit_generator.state`` described."""
    rng = np.random.Generator(getattr(np.random, state["bit_generator"])())
    rng.bit_generator.state = state
    return rng
