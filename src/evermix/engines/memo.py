"""Whether what a file says of the memory of batches can be.

Records are indexed by positions of clusters, children and pairs, and added to what a step finds, so
that arrays of other shapes would be stretched without a word.
"""

from collections.abc import Mapping

import numpy as np

from evermix._xp import Array
from evermix.state import DROPPED, Record, State

FLOAT, WHOLE, SHORT = "f8", "i8", "i4"


def check_numbers(state: State, finite: tuple[str, ...], counts: tuple[str, ...]) -> None:
    """Raise ValueError unless these latents are finite, and those whole numbers >= 0."""
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
            raise ValueError(f"{name} of {key} holds values that are no finite numbers.")


def check_plan(state: State, F: int) -> tuple[int, int]:
    """Raise ValueError unless a plan can be; return how many pairs and children are tried."""
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
        raise ValueError("a planned pair must be of two clusters.")
    for name, total in (("n_parents", M), ("n_children", C)):
        if np.any((record[name] < 1) | (record[name] > total)) or record[name].sum() != total:
            raise ValueError(f"{name} must be at least 1 each and {total} in all.")
    followed = np.array_equal(record["ids"], state.tally.ids)  # else clusters were dropped since
    return (P, C) if followed else (0, 0)


def check_stride(state: State) -> None:
    """Raise ValueError unless a step takes at least one batch."""
    if state.latents["stride"][0] < 1:
        raise ValueError(f"stride must be at least 1, got {state.latents['stride'][0]}.")


def remembered(
    state: State, size: int, n_rows: int, order: Array, others: tuple[str, ...] = ()
) -> dict[int, int]:
    """Return the rows of every batch that was visited, by its key; raise unless all have records.

    Parameters
    ----------
    state : State
    size : int
        Rows in a batch.
    n_rows : int
        Rows whose labels are known; where the first lap does not go in their order, all.
    order : int array (n,)
        In which a lap visits the batches that these rows make.
    others : tuple of str
        Keys of records that are of no batch.
    """
    if state.at > len(order):
        raise ValueError(f"{state.at} batches of a lap are done, but there are {len(order)}.")
    known = sorted(order[: state.at].tolist()) if state.lap == 0 else range(len(order))
    keys = [key for key in state.memo if key not in others]
    if sorted(keys) != sorted(map(str, known)):
        raise ValueError(f"wanted records of {len(known)} batches, got {sorted(keys)}.")
    return {key: min(size, n_rows - key * size) for key in known}


def check_batches(
    state: State, F: int, size: int, n_rows: int, order: Array, planned: tuple[int, int]
) -> None:
    """Raise ValueError unless there are sums of all batches that were visited.

    ``F`` is the number of features, ``planned`` says how many pairs and children this lap looks at;
    for the others see :func:`remembered`.
    """
    done = set(order[: state.at].tolist())
    for b, rows in remembered(state, size, n_rows, order, ("start", "plan")).items():
        record, visited = state.memo[str(b)], b in done
        _check_batch(f"batch {b}", record, F, rows, state.lineage.next_id)
        if visited and not np.array_equal(record["ids"], state.tally.ids):
            raise ValueError(f"batch {b} was visited in this lap, but knows other clusters.")
        looked = len(record["pairs"]), len(record["child_mass"])
        if looked != (planned if visited else (0, 0)):
            raise ValueError(f"batch {b} knows {looked} pairs and children of another plan.")


def _check_batch(name: str, record: Record, F: int, rows: int, next_id: int) -> None:
    """Raise unless a record holds the sums of a batch and the owner of every row."""
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


def _check_within(name: str, values: Array, low: int, high: int) -> None:
    if np.any((values < low) | (values >= high)):
        raise ValueError(f"{name} must lie in [{low}, {high}), got others.")
