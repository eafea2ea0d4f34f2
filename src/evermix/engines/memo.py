"""Checks of the records in a state's memo, after it was read from a file.

Records are indexed by positions of clusters, children and pairs, and added to the sums of a step,
so arrays of other shapes would be broadcast without an error.
"""

from collections.abc import Mapping

import numpy as np

from evermix._xp import Floats, Ints
from evermix.priors.hyper import HyperPrior
from evermix.state import DROPPED, Record, State

FLOAT, WHOLE, SHORT = "f8", "i8", "i4"
CHAIN, DRAWS = "chain", "draws"  # keys of samplers: labels and base measure of rows; draws kept
SCALAR = "scalar "  # prefix of the names of arrays of draws that hold one number each


def check_numbers(state: State, finite: tuple[str, ...], counts: tuple[str, ...]) -> None:
    """Raise ValueError unless these latents are finite, and those are not negative."""
    for name in finite:
        if not np.all(np.isfinite(state.latents[name])):
            raise ValueError(f"{name} must be finite, got {state.latents[name]}.")
    for name in counts:
        if np.any(state.latents[name] < 0):
            raise ValueError(f"{name} must be at least 0, got {state.latents[name]}.")


def check_arrays(
    key: str, record: Record, wanted: Mapping[str, tuple[tuple[int, ...], str]]
) -> None:
    """Raise ValueError unless a record holds these arrays, (shape, type) by name, all finite."""
    if record.keys() != wanted.keys():
        raise ValueError(f"{key} must hold {sorted(wanted)}, got {sorted(record)}.")
    for name, (shape, kind) in wanted.items():
        values = record[name]
        if values.shape != shape or values.dtype != kind:
            raise ValueError(
                f"{name} of {key} must be {np.dtype(kind)} of shape {shape}, "
                f"got {values.dtype} of shape {values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{name} of {key} must hold finite numbers only.")


def check_plan(state: State, F: int) -> tuple[int, int]:
    """Raise ValueError unless a plan is valid; return its numbers of pairs and of children."""
    record = state.memo["plan"]
    P, T, M, C = (len(record[name]) for name in ("pairs", "targets", "parents", "intercepts"))
    K = len(record["ids"])
    wanted = {
        "ids": ((K,), WHOLE),
        "pairs": ((P, 2), WHOLE),
        "targets": ((T,), WHOLE),
        "parents": ((M,), WHOLE),
        "n_parents": ((T,), WHOLE),
        "slopes": ((C, F if T else 0), FLOAT),
        "intercepts": ((C,), FLOAT),
        "n_children": ((T,), WHOLE),
    }
    check_arrays("a plan", record, wanted)
    for name in ("pairs", "targets", "parents"):
        _check_within(name, record[name], 0, K)
    if np.any(record["pairs"][:, 0] == record["pairs"][:, 1]):
        raise ValueError("a planned pair must be two different clusters.")
    for name, total in (("n_parents", M), ("n_children", C)):
        if np.any((record[name] < 1) | (record[name] > total)) or record[name].sum() != total:
            raise ValueError(f"{name} must be at least 1 each and {total} in all.")
    followed = np.array_equal(record["ids"], state.tally.ids)  # else clusters were dropped later
    return (P, C) if followed else (0, 0)


def check_stride(state: State) -> None:
    """Raise ValueError unless a step learns at least one batch."""
    if state.latents["stride"][0] < 1:
        raise ValueError(f"stride must be at least 1, got {state.latents['stride'][0]}.")


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
    K, P, C = (len(record[part]) for part in ("ids", "pairs", "child_mass"))
    wanted = {
        "ids": ((K,), WHOLE),
        "mass": ((K,), FLOAT),
        "sums": ((K, F), FLOAT),
        "entropy": ((K,), FLOAT),
        "base": ((1,), FLOAT),
        "owner": ((rows,), SHORT),
        "pairs": ((P,), FLOAT),
        "child_mass": ((C,), FLOAT),
        "child_sums": ((C, F), FLOAT),
        "child_entropy": ((C,), FLOAT),
        "child_owner": ((rows,), SHORT),
    }
    check_arrays(name, record, wanted)
    _check_within(f"ids of {name}", record["ids"], DROPPED, next_id)
    _check_within(f"owners of {name}", record["owner"], 0, K)
    _check_within(f"owners among children of {name}", record["child_owner"], -1, C)


def _check_within(name: str, values: Floats, low: int, high: int) -> None:
    if np.any((values < low) | (values >= high)):
        raise ValueError(f"{name} must lie in [{low}, {high}), got others.")


# ---- samplers ------------------------------------------------------------------------------


def check_chain(state: State, laws: Mapping[str, HyperPrior], n_rows: int) -> None:
    """Raise ValueError unless a chain over ``n_rows`` rows can be continued from this state."""
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
    """Raise unless the chain's labels agree with the clusters."""
    labels, base = state.memo[CHAIN]["labels"], state.memo[CHAIN]["base"]
    if labels.shape != (n_rows,) or labels.dtype != np.int64:
        raise ValueError(f"wanted labels of {n_rows} rows, got {labels.shape}.")
    if base.shape != (n_rows,) or base.dtype != np.float64 or not np.all(np.isfinite(base)):
        raise ValueError(f"wanted a base measure for {n_rows} rows, got {base.shape}.")
    if labels.min(initial=0) < 0 or labels.max(initial=-1) >= state.tally.K:
        raise ValueError("labels must be positions of clusters.")
    if not np.array_equal(np.bincount(labels, minlength=state.tally.K), state.tally.mass):
        raise ValueError("the masses of clusters must be the counts of their labels.")


def _check_draws(draws: Record, laws: Mapping[str, HyperPrior], kept: int, n_rows: int) -> None:
    """Raise unless the kept draws are partitions of the rows, each with its scalars."""
    wanted = {"labels", "chain"}
    if kept:  # scalars are stored after the burn-in
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
            raise ValueError("the labels of a draw must be 0, 1, ... without gaps.")
    for name, law in laws.items() if kept else ():
        _check_inside(name, draws[SCALAR + name][:kept], law)


def _check_inside(name: str, values: Floats, law: HyperPrior) -> None:
    low, high = law.domain
    if not np.all((values > low) & (values < high)):
        raise ValueError(f"{name} must lie in ({low:g}, {high:g}), got others.")
