"""Random generators, made once at the border and passed down, and a draw that NumPy lacks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

LEAST_SHAPE = 1e-250  # smaller ones would overflow, and their draws are as good as zero anyway
_PLACES = {"MT19937": {"pos": 624}, "Philox": {"buffer_pos": 4}}  # the last place of a buffer
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def generator(random_state: Any) -> np.random.Generator:
    """Return a new Generator from None, an int, a RandomState or a Generator.

    A RandomState or Generator advances, so that the next one made from it differs. The result
    depends on its current state only; ``spawn`` would depend on how it was seeded, which a restored
    one need not know.
    """
    if isinstance(random_state, np.random.Generator):
        bits = type(random_state.bit_generator)
        return np.random.Generator(bits(random_state.integers(2**32, size=4)))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def restore(state: dict[str, Any]) -> np.random.Generator:
    """Return a Generator in the state of ``rng.bit_generator.state``."""
    name = state["bit_generator"]
    if name not in BIT_GENERATORS:
        raise ValueError(f"{name!r} is not one of {', '.join(BIT_GENERATORS)}.")
    numbers = {**state, **state["state"]} if name == "MT19937" else state
    for place, most in _PLACES.get(name, {}).items():  # NumPy would read there without looking
        if type(numbers[place]) is not int or not 0 <= numbers[place] <= most:
            raise ValueError(f"{place} of {name} must lie in [0, {most}], got {numbers[place]}.")
    rng = np.random.Generator(getattr(np.random, name)())
    rng.bit_generator.state = _with_arrays(state)
    return rng


def draw_log_gamma(shape: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw log g with g ~ Gamma(shape, 1), finite also where g itself is too small for a float.

    With G ~ Gamma(shape + 1, 1) and U uniform, g = G U^(1 / shape) in law [marsaglia2000]_.

    References
    ----------
    .. [marsaglia2000] G. Marsaglia and W. W. Tsang. A simple method for generating gamma
       variables. ACM Transactions on Mathematical Software, 2000.
    """
    shape = np.maximum(shape, LEAST_SHAPE)
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def _with_arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists of a state that was saved as JSON into the arrays that NumPy needs."""
    wide = np.uint32 if state["bit_generator"] == "MT19937" else np.uint64

    def restored(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: restored(part) for name, part in value.items()}
        return np.array(value, dtype=wide) if isinstance(value, list) else value

    return {name: restored(part) for name, part in state.items()}
