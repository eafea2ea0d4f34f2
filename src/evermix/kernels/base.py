"""How kernels are compiled, and the three verbs through which loops see a family.

An engine's loop over observations is written once, against the verbs :func:`score`, :func:`add`
and :func:`refresh`. A family with compiled verbs packs its arrays into a NamedTuple (its *work*)
and registers them with :func:`implement`; numba picks them by the type of the work when it compiles
the loop, so that a loop knows no family and a family knows no engine. (Compiled functions as
arguments would do the same, but defeat numba's disk cache.) For a family that has only array maths,
Python runs the loop: ``evermix.kernels.interpreted``.

Slots are the rows of the buffers: 0..K-1 are the clusters, slot K is empty and stands for a new
cluster. Scores leave out the base measure log h(x), which is the same for every slot.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numba
from numba.extending import overload

from evermix._xp import Floats
from evermix.kernels.disk_cache import cached, remember_verbs
from evermix.kernels.interpreted import interpretable

if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError(
        "evermix runs compiled loops, and NUMBA_DISABLE_JIT=1 (or numba's configuration) switches "
        "the compiler off. Switch it on again: unset NUMBA_DISABLE_JIT. Loops of a family of your "
        "own without kernels are plain Python, which a debugger can follow."
    )

F = TypeVar("F", bound=Callable[..., Any])

# Keeps nan and inf as they are; allows the reordering that vector units need.
FASTMATH = {"contract", "arcp", "nsz", "reassoc"}

_njit: Any = partial(numba.njit, nogil=True, error_model="numpy")


def kernel(function: F) -> F:
    """Compile a module-level function, cached on disk, free of the interpreter lock."""
    # A callee that is not inlined has one copy in each function that calls it, each rounded its own
    # way, and which copy runs depends on what this process compiled and what it read from the disk.
    return _finished(_njit(fastmath=FASTMATH, forceinline=True)(function))


def lean(function: F) -> F:
    """Compile like :func:`kernel` a function that makes no array and returns none.

    numba counts references to every array of a tuple whenever the tuple is handed to a function,
    with locked instructions, which take most of the time of short functions. Without memory of its
    own a function has nothing to count.
    """
    return _finished(_njit(fastmath=FASTMATH, forceinline=True, _nrt=False)(function))


def exact(function: F) -> F:
    """Compile like :func:`kernel`, but with one result wherever the function is inlined.

    Values derived from saved numbers are computed inside loops and again where a batch begins, and
    both must agree to the last bit. (Without ``fastmath=False`` a function inherits the fast maths
    of its caller.)
    """
    return _finished(_njit(fastmath=False)(function))


def strict(function: F) -> F:
    """Compile a function whose operations must keep their order, inlined wherever it is called.

    A loop becomes vector code only if every call in it is inlined.
    """
    return _finished(_njit(fastmath={"contract"}, forceinline=True)(function))


def compiled_for(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Return the machine code of a compiled function for arguments of the types of these.

    Otherwise numba looks at the types of all arguments in every call, which takes longer than
    learning a row. The caller sees to it that types, dtypes and layouts are always the same.
    """
    return function.compile(tuple(map(numba.typeof, args)))  # type: ignore[attr-defined]


def _finished(compiled: Any) -> Any:
    return interpretable(cached(compiled))


def score(work: Any, rows: Any, i: int, slots: int, out: Floats) -> None:
    """Write log p(x_i | slot) - log h(x_i) into ``out[:slots]``."""
    work.score(rows, i, slots, out)


def add(work: Any, rows: Any, i: int, slot: int, weight: float, mass: float) -> None:
    """Add ``weight`` times the statistic of row i to a slot, whose mass is now ``mass``."""
    work.add(rows, i, slot, weight, mass)


def refresh(work: Any, slot: int, mass: float) -> None:
    """Compute what is derived from a slot's statistics; mass zero sets it to the prior's values.

    A compiled one must be an :func:`exact` function that calls no other maths.
    """
    work.refresh(slot, mass)


_IMPLEMENTATIONS: dict[tuple[str, type], Callable[..., Any]] = {}


def implement(work: type, *, score: F, add: F, refresh: F) -> None:
    """Register a family's compiled verbs for its work type (a NamedTuple class)."""
    _IMPLEMENTATIONS["score", work] = score
    _IMPLEMENTATIONS["add", work] = add
    _IMPLEMENTATIONS["refresh", work] = refresh
    remember_verbs(work, (score, add, refresh))


@overload(score, inline="never", strict=False)
def _score(work: Any, rows: Any, i: int, slots: int, out: Floats) -> Any:
    chosen = _IMPLEMENTATIONS["score", work.instance_class]
    return lambda work, rows, i, slots, out: chosen(work, rows, i, slots, out)


@overload(add, inline="never", strict=False)
def _add(work: Any, rows: Any, i: int, slot: int, weight: float, mass: float) -> Any:
    chosen = _IMPLEMENTATIONS["add", work.instance_class]
    return lambda work, rows, i, slot, weight, mass: chosen(work, rows, i, slot, weight, mass)


@overload(refresh, inline="never", strict=False)
def _refresh(work: Any, slot: int, mass: float) -> Any:
    chosen = _IMPLEMENTATIONS["refresh", work.instance_class]
    return lambda work, slot, mass: chosen(work, slot, mass)


@kernel
def clear(work: Any, slot: int, statistic_major: bool) -> None:
    """Empty a slot: no statistics, and the prior's values for what is derived from them."""
    if statistic_major:
        for s in range(work.stats.shape[0]):
            work.stats[s, slot] = 0.0
    else:
        for s in range(work.stats.shape[1]):
            work.stats[slot, s] = 0.0
    refresh(work, slot, 0.0)


@kernel
def refresh_all(work: Any, mass: Floats, K: int) -> None:
    """Compute what is derived, for slots 0..K (the last is empty)."""
    for k in range(K):
        refresh(work, k, mass[k])
    refresh(work, K, 0.0)
