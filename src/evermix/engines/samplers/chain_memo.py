"""What a sampler remembers, and whether what a file says of it can be.

The record ``chain`` of the memo holds the labels of all rows and their base measure, the record
``draws`` what was kept of labels and numbers, with room for more behind it.
"""

from collections.abc import Mapping

import numpy as np

from evermix._xp import Array
from evermix.priors.hyper import HyperPrior
from evermix.state import Record, State

CHAIN, DRAWS = "chain", "draws"  # keys of the memo: the chain's labels, and what was kept of them
SCALAR = "scalar "  # the names of arrays of draws that hold one number each begin with this


def check_chain(state: State, laws: Mapping[str, HyperPrior], n_rows: int) -> None:
    """Raise ValueError unless a chain over ``n_rows`` rows can go on from this state.

    Parameters
    ----------
    state : State
    laws : mapping of str to HyperPrior
        The hyperparameters that the sampler learns.
    n_rows : int
    """
    if set(state.memo) != {CHAIN, DRAWS}:
        raise ValueError(f"wanted a chain and its draws, got {sorted(state.memo)}.")
    _check_labels(state, n_rows)
    _check_draws(state.memo[DRAWS], laws, int(state.latents["kept"][0]), n_rows)
    for name, law in laws.items():
        _check_inside(name, state.latents[name], law)
    if "log_u" in state.latents and not np.isfinite(state.latents["log_u"][0]):
        raise ValueError(f"log_u must be finite, got {state.latents['log_u'][0]}.")
    for name in ("chain_no", "sweep"):
        if not 0 <= state.latents[name][0] < 2**62:
            raise ValueError(f"{name} must be at least 0, got {state.latents[name][0]}.")


def _check_labels(state: State, n_rows: int) -> None:
    """Raise unless the chain's labels are those of the clusters."""
    labels, base = state.memo[CHAIN]["labels"], state.memo[CHAIN]["base"]
    if labels.shape != (n_rows,) or labels.dtype != np.int64:
        raise ValueError(f"wanted labels of {n_rows} rows, got {labels.shape}.")
    if base.shape != (n_rows,) or base.dtype != np.float64 or not np.all(np.isfinite(base)):
        raise ValueError(f"wanted a base measure for {n_rows} rows, got {base.shape}.")
    if labels.min(initial=0) < 0 or labels.max(initial=-1) >= state.tally.K:
        raise ValueError("labels name clusters that are not there.")
    if not np.array_equal(np.bincount(labels, minlength=state.tally.K), state.tally.mass):
        raise ValueError("clusters do not have the masses that the labels say.")


def _check_draws(draws: Record, laws: Mapping[str, HyperPrior], kept: int, n_rows: int) -> None:
    """Raise unless the kept draws are partitions of the rows, each with its numbers."""
    wanted = {"labels", "chain"}
    if kept:  # a burn-in has no numbers of draws yet
        wanted |= {SCALAR + name for name in ("K", "log_joint", *laws)}
    if not wanted <= set(draws) or not 0 <= kept <= len(draws["chain"]):
        raise ValueError(f"{kept} draws need the arrays {sorted(wanted)}, got {sorted(draws)}.")
    kinds = {"labels": "i4", "chain": "i8"}
    for name, values in draws.items():
        shape = (len(draws["chain"]), *([n_rows] if name == "labels" else []))
        if values.shape != shape or values.dtype != kinds.get(name, "f8"):
            raise ValueError(f"draws need {name} of shape {shape}, got {values.shape}.")
    for labels in draws["labels"][:kept]:
        if labels.min() < 0 or labels.max() >= n_rows or not np.bincount(labels).all():
            raise ValueError("the labels of a draw must be 0, 1, ... with no number left out.")
    for name, law in laws.items() if kept else ():
        _check_inside(name, draws[SCALAR + name][:kept], law)


def _check_inside(name: str, values: Array, law: HyperPrior) -> None:
    low, high = law.domain
    if not np.all((values > low) & (values < high)):
        raise ValueError(f"{name} must lie in ({low:g}, {high:g}), got others.")
