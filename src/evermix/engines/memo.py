"""Checks of the records in a state's memo, after it was read from a file.

Records are indexed by positions of clusters, children and pairs, and added to the sums of a step,
so arrays of other shapes would be broadcast without an error.
"""

from collections.abc import Mapping

import numpy as np

from evermix._schema import COUNT, FLOAT, ORDERED, SHORT, WHOLE, Field, check_arrays
from evermix._xp import Floats, Ints
from evermix.priors.hyper import HyperPrior
from evermix.state import DROPPED, Record, State

MASS = 0.0, 1e300  # the range of sums of responsibilities
CHAIN, DRAWS = "chain", "draws"  # keys of samplers: labels and base measure of rows; draws kept
SCALAR = "scalar "  # prefix of the names of arrays of draws that hold one number each


def check_plan(state: State, F: int) -> tuple[int, int]:
    """Raise ValueError unless a plan is valid; return its numbers of pairs and of children."""
    record, sizes = state.memo["plan"], dict[str, int]()
    cluster = 0, len(record["ids"]) - 1
    wanted = {
        "ids": Field(WHOLE, ("K",)),
        "pairs": Field(WHOLE, ("P", 2), cluster),
        "targets": Field(WHOLE, ("T",), cluster),
        "parents": Field(WHOLE, ("M",), cluster),
        "n_parents": Field(WHOLE, ("T",)),
        "slopes": Field(FLOAT, ("C", F if len(record["targets"]) else 0)),
        "intercepts": Field(FLOAT, ("C",)),
        "n_children": Field(WHOLE, ("T",)),
    }
    check_arrays("a plan", record, wanted, sizes)
    P, M, C = (sizes[name] for name in "PMC")
    if np.any(record["pairs"][:, 0] == record["pairs"][:, 1]):
        raise ValueError("a planned pair must be two different clusters.")
    for name, total in (("n_parents", M), ("n_children", C)):
        if np.any((record[name] < 1) | (record[name] > total)) or record[name].sum() != total:
            raise ValueError(f"{name} must be at least 1 each and {total} in all.")
    followed = np.array_equal(record["ids"], state.tally.ids)  # else clusters were dropped later
    return (P, C) if followed else (0, 0)


def recorded_batches(
    state: State, size: int, n_rows: int, order: Ints, others: tuple[str, ...] = ()
) -> dict[int, int]:
    """Return the number of rows of each batch learnt so far, by key; raise unless all have records.

    ``size`` is the number of rows of a batch, ``n_rows`` that of the rows learnt so far (of all
    rows, if the first lap does not follow their order), ``order`` (n,) that in which a lap takes
    the batches. ``others`` are keys of records that do not belong to a batch.
    """
    if state.at > len(order):
        raise ValueError(f"{state.at} batches of a lap are done, but there are {len(order)}.")
    known = sorted(order[: state.at].tolist()) if state.lap == 0 else range(len(order))
    keys = [key for key in state.memo if key not in others]
    if sorted(keys) != sorted(map(str, known)):
        raise ValueError(f"wanted records of {len(known)} batches, got {sorted(keys)}.")
    return {key: min(size, n_rows - key * size) for key in known}


def check_batches(
    state: State, F: int, size: int, n_rows: int, order: Ints, planned: tuple[int, int]
) -> None:
    """Raise ValueError unless there are sums of all batches learnt so far.

    ``F`` is the number of features, ``planned`` the numbers of pairs and children in the plan of
    this lap; for the others see :func:`recorded_batches`.
    """
    done = set(order[: state.at].tolist())
    for b, rows in recorded_batches(state, size, n_rows, order, ("start", "plan")).items():
        record, visited = state.memo[str(b)], b in done
        _check_batch(f"batch {b}", record, F, rows, state.lineage.next_id)
        if visited and not np.array_equal(record["ids"], state.tally.ids):
            raise ValueError(f"batch {b} was learnt in this lap, but has other clusters.")
        looked = len(record["pairs"]), len(record["child_mass"])
        if looked != (planned if visited else (0, 0)):
            raise ValueError(f"batch {b} has {looked} pairs and children of another plan.")


def _check_batch(name: str, record: Record, F: int, rows: int, next_id: int) -> None:
    """Raise unless a record holds the sums of a batch and the best cluster of every row."""
    K, C = len(record["ids"]), len(record["child_mass"])
    wanted = {
        "ids": Field(WHOLE, ("K",), (DROPPED, next_id - 1)),
        "mass": Field(FLOAT, ("K",), MASS),
        "sums": Field(FLOAT, ("K", F)),
        "entropy": Field(FLOAT, ("K",)),
        "base": Field(FLOAT, (1,)),
        "owner": Field(SHORT, (rows,), (0, K - 1)),
        "pairs": Field(FLOAT, ("P",)),
        "child_mass": Field(FLOAT, ("C",), MASS),
        "child_sums": Field(FLOAT, ("C", F)),
        "child_entropy": Field(FLOAT, ("C",)),
        "child_owner": Field(SHORT, (rows,), (-1, C - 1)),
    }
    check_arrays(name, record, wanted)


# ---- samplers ------------------------------------------------------------------------------


def check_chain(state: State, laws: Mapping[str, HyperPrior], n_rows: int) -> None:
    """Raise ValueError unless a chain over ``n_rows`` rows can be continued from this state."""
    if set(state.memo) != {CHAIN, DRAWS}:
        raise ValueError(f"wanted a chain and its draws, got {sorted(state.memo)}.")
    _check_labels(state, n_rows)
    _check_draws(state.memo[DRAWS], laws, int(state.latents["kept"][0]), n_rows)
    for name, law in laws.items():
        _check_inside(name, state.latents[name], law)


def _check_labels(state: State, n_rows: int) -> None:
    """Raise unless the chain's labels agree with the clusters."""
    cluster = 0, state.tally.K - 1
    wanted = {"labels": Field(WHOLE, (n_rows,), cluster), "base": Field(FLOAT, (n_rows,))}
    check_arrays("the chain", state.memo[CHAIN], wanted)
    labels = state.memo[CHAIN]["labels"]
    if not np.array_equal(np.bincount(labels, minlength=state.tally.K), state.tally.mass):
        raise ValueError("the masses of clusters must be the counts of their labels.")


def _check_draws(draws: Record, laws: Mapping[str, HyperPrior], kept: int, n_rows: int) -> None:
    """Raise unless the kept draws are partitions of the rows, each with its scalars.

    Behind them there is room for others.
    """
    fields = {
        "labels": Field(SHORT, ("M", n_rows), (0, n_rows - 1)),
        "chain": Field(WHOLE, ("M",), COUNT),
    }
    scalars = [name for name in draws if name.startswith(SCALAR)]
    if kept:  # scalars are stored after the burn-in
        scalars += [SCALAR + name for name in ("K", "log_joint", *laws)]
    check_arrays("the draws", draws, fields | {n: Field(FLOAT, ("M",), ORDERED) for n in scalars})
    if kept > len(draws["chain"]):
        raise ValueError(f"there must be {kept} draws, got {len(draws['chain'])}.")
    for labels in draws["labels"][:kept]:
        if not np.bincount(labels).all():
            raise ValueError("the labels of a draw must be 0, 1, ... without gaps.")
    for name, law in laws.items() if kept else ():
        _check_inside(name, draws[SCALAR + name][:kept], law)


def _check_inside(name: str, values: Floats, law: HyperPrior) -> None:
    low, high = law.domain
    if not np.all((values > low) & (values < high)):
        raise ValueError(f"{name} must lie in ({low:g}, {high:g}), got others.")
