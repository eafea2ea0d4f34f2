"""Kernels for CUDA devices, in the language of Triton: see ``evermix.kernels.device.dispatch``."""

from collections.abc import Callable
from inspect import signature
from types import SimpleNamespace
from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:
    triton, tl = None, SimpleNamespace(constexpr=Any)

COUNTS = ("N", "K", "each", "apart")  # arguments that must not trigger recompilation


def kernel(function: Callable[..., None]) -> Any:
    """Return a kernel that is compiled once for all numbers of rows and clusters."""
    if triton is None:
        return function
    counts = [name for name in signature(function).parameters if name in COUNTS]
    return triton.jit(function, do_not_specialize=counts)


@kernel
def products(
    x: "Any", left: "Any", right: "Any", out: "Any", N: "Any",
    D: tl.constexpr, F: tl.constexpr, WIDTH: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
    """Write products of columns ``left`` and ``right`` (F,) of rows x (N, D) into ``out``."""
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    here = column < F
    d = tl.load(left + column, mask=here, other=0)
    e = tl.load(right + column, mask=here, other=0)
    first = tl.program_id(0).to(tl.int64) * ROWS
    x += first * D
    out += first * WIDTH + WIDTH - F
    for row in range(0, tl.minimum(ROWS, N - first).to(tl.int32)):
        a = tl.load(x + row * D + d, mask=here)
        b = tl.load(x + row * D + e, mask=here)
        tl.store(out + row * WIDTH + column, a * b, mask=here)


@kernel
def softmax(
    scores: "Any", plus: "Any", weights: "Any", held: "Any", sums: "Any",
    owner: "Any", best: "Any", log_norm: "Any",
    N: "Any", K: "Any", each: "Any", apart: "Any",
    LEAST: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    """Write responsibilities; every program has rows of its own, and keeps the sums over them."""
    program = tl.program_id(0).to(tl.int64)
    begin = program * each
    scores += begin * K
    held += begin * K
    weights += begin
    owner += begin
    best += begin
    log_norm += begin
    count = tl.minimum(each, N - begin).to(tl.int32)
    k = tl.arange(0, WIDTH)
    inside = k < K
    offset = tl.load(plus + k, mask=inside, other=float("-inf"))
    mass = tl.zeros([WIDTH], dtype=tl.float64)
    entropy = tl.zeros([WIDTH], dtype=tl.float64)
    for first in range(0, count, ROWS):
        row = first + tl.arange(0, ROWS)
        at = row[:, None] * K + k[None, :]
        here = (row < count)[:, None] & inside[None, :]
        score = tl.load(scores + at, mask=here, other=0.0) + offset[None, :]
        weight = tl.load(weights + row, mask=row < count, other=0.0)
        peak = tl.max(score, axis=1)
        below = (score - peak[:, None]).to(weight.dtype)
        r = tl.where(below < LEAST, 0.0, tl.exp(below))
        total = tl.sum(r, axis=1)
        log_total, largest = tl.log(total), 1.0 / total
        r = r * largest[:, None]
        part = weight[:, None] * r
        gain = tl.where(r > 0, part * (log_total[:, None] - below), 0.0)
        mass += tl.sum(part.to(tl.float64), axis=0)
        entropy += tl.sum(gain.to(tl.float64), axis=0)
        tl.store(scores + at, r.to(score.dtype), mask=here)
        tl.store(held + at, part.to(score.dtype), mask=here)
        tl.store(owner + row, tl.argmax(score, axis=1), mask=row < count)
        tl.store(best + row, largest, mask=row < count)
        tl.store(log_norm + row, (peak + log_total).to(weight.dtype), mask=row < count)
    tl.store(sums + program * K + k, mass, mask=inside)
    tl.store(sums + apart + program * K + k, entropy, mask=inside)
