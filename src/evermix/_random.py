"""Random generators, made once at the border and passed down."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def generator(random_state: Any) -> np.random.Generator:
    """Return a Generator of one's own from None, an int, a RandomState or a Generator.

    A RandomState or Generator moves on once, so that the next one made from it is another. What
    comes of it follows from its state, as restored from wherever; ``spawn`` would look at how it
    was seeded, which need not be known.
    """
    if isinstance(random_state, np.random.Generator):
        bits = type(random_state.bit_generator)
        return np.random.Generator(bits(random_state.integers(2**32, size=4)))
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def restore(state: dict[str, Any]) -> np.random.Generator:
    """Return a Generator in the state that ``rng.bit_generator.state`` described."""
    name = state["bit_generator"]
    if name not in BIT_GENERATORS:
        raise ValueError(f"{name!r} is not one of {', '.join(BIT_GENERATORS)}.")
    rng = np.random.Generator(getattr(np.random, name)())
    rng.bit_generator.state = _with_arrays(state)
    return rng


def _with_arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists of a state that went through JSON into the arrays that numpy wants."""
    wide = np.uint32 if state["bit_generator"] == "MT19937" else np.uint64

    def restored(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: restored(part) for name, part in value.items()}
        return np.array(value, dtype=wide) if isinstance(value, list) else value

    return {name: restored(part) for name, part in state.items()}
