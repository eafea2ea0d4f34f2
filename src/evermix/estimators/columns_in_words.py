"""What was decided of the columns of rows, and how many of their cells are missing, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evermix._words import listed
from evermix.estimators.plain_words import KINDS, NUMBERS
from evermix.families import DiagonalGaussian, FixedGaussian, Mixed
from evermix.families.base import Family
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal

SHOWN = 8  # names in a line
TOGETHER, APART = "vary together", "each on its own"
LOGS, ZEROS, IGNORED = "on the log scale", "often 0", "ignored"
ONE = {"categories": "category", "counts": "count", "directions": "direction"}
ABOUT = {  # beside the names
    TOGETHER: "a covariance of its own for each cluster",
    LOGS: "ratios count, not differences",
    ZEROS: "0 has a probability of its own in each cluster",
}


def column_groups(family: Family, names: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return the names of columns by what a family makes of them; nothing of counts of words.

    Parameters
    ----------
    family : Family
    names : sequence of str, optional
        Names of the columns of an array; those of a table it knows itself.
    """
    found: dict[str, list[str]] = {}
    if not isinstance(family, Mixed):
        if names:
            _add(found, family, list(names))
        return found
    for block in family.blocks or ():
        own = [names[d] if names and isinstance(d, int) else str(d) for d in block.names]
        if block.of_zeros:
            found.setdefault(ZEROS, []).extend(own)
        else:
            _add(found, block.family, own)
    if family.ignored:
        found[IGNORED] = list(family.ignored)
    order = dict.fromkeys([TOGETHER, APART, LOGS, ZEROS, *found])
    return {name: found[name] for name in order if name in found}


def _add(found: dict[str, list[str]], family: Family, names: list[str]) -> None:
    """Put the names of a block where they belong.   Consumes: found."""
    kind = KINDS.get(type(family))
    if kind is None:
        alone = len(names) == 1 or isinstance(family, DiagonalGaussian | FixedGaussian | LogNormal)
        kind = APART if alone else TOGETHER
    found.setdefault(kind, []).extend(names)
    if isinstance(family, LogNormal | LogGaussian):
        every = np.ones(len(names), dtype=bool)
        logs = family.on_log_scale if isinstance(family, LogGaussian) else every
        some = [name for name, is_log in zip(names, logs, strict=True) if is_log]
        found.setdefault(LOGS, []).extend(some)


def groups_in_words(groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return a line for each group of columns, by its title."""
    about = {name: f" ({ABOUT[name]})" if name in ABOUT else "" for name in groups}
    return {name: listed(names, SHOWN) + about[name] for name, names in groups.items() if names}


def groups_in_a_line(groups: Mapping[str, Sequence[str]]) -> str:
    """Return how many columns are in each group."""
    sizes = {n: len(names) for n, names in groups.items() if names and n not in (LOGS, ZEROS)}
    counts = [f"{n:,} {ONE.get(name, name) if n == 1 else name}" for name, n in sizes.items()]
    also = [f"{len(groups[name]):,} of them {name}" for name in (LOGS, ZEROS) if groups.get(name)]
    return "; ".join([", ".join(counts), *also])


def kinds_in_a_line(family: Mixed) -> str:
    """Return which columns of a table are of which kind, before rows say which vary together."""
    groups = column_groups(family)
    numbers = [*groups.pop(TOGETHER, ()), *groups.pop(APART, ())]
    kinds = {NUMBERS: numbers} | groups
    return ", ".join(f"{kind} ({listed(names, SHOWN)})" for kind, names in kinds.items() if names)


def count_missing(X: Any) -> dict[str, int]:
    """Return how many cells of each column of a dict of columns hold nothing; none of arrays."""
    if not isinstance(X, Mapping):
        return {}
    empty = {name: sum(v is None or v != v for v in values.tolist()) for name, values in X.items()}
    return {str(name): n for name, n in empty.items() if n}


def missing_in_words(missing: Mapping[str, int], family: Family, n_rows: float) -> str | None:
    """Return how many cells of the columns that tell of clusters are missing; None if none is."""
    names = list(map(str, family.names)) if isinstance(family, Mixed) else []
    some = {name: missing[name] for name in names if missing.get(name)}
    if not some:
        return None
    each = sorted(some.items(), key=lambda pair: -pair[1])
    columns = listed((f"{name} {n:,}" for name, n in each), SHOWN)
    cells = f"{sum(some.values()):,} of {round(n_rows) * len(names):,}"
    return f"{cells} ({columns}): clusters are found by what is there"
