"""Compiled loops of a lap on CUDA tensors, written for Triton, which PyTorch brings along.

They are what the kernels of products and of shares are for NumPy arrays: each number is read and
written once, where array maths would go through memory for every operation. Where Triton is not at
hand, array maths does the same.
"""

import importlib
from functools import cache
from inspect import signature
from types import SimpleNamespace
from typing import Any

import array_api_compat
import numpy as np

from evermix._xp import Array, namespace
from evermix.kernels.shares import LEAST

try:
    import triton
    import triton.language as tl
except ImportError:
    triton, tl = None, SimpleNamespace(constexpr=Any)

__all__ = ["can_share", "can_write_products", "share_rows", "write_products"]

ROWS, COLUMNS = 32, 512  # of products that a program writes
NUMBERS, TALL = 512, 16  # scores, and rows, that a program holds at a time, at most
PROGRAMS = 4096  # that share rows side by side: several for each processor of a device
COUNTS = {"N", "K", "each", "apart"}  # arguments of kernels that change all the time
MOST = 2048  # clusters whose scores of a row a program can hold


def can_write_products(x: Array) -> bool:
    """Whether :func:`write_products` takes this array."""
    return triton is not None and array_api_compat.is_torch_array(x) and x.is_cuda


def can_share(scores: Array) -> bool:
    """Whether :func:`share_rows` takes these scores (N, K)."""
    return can_write_products(scores) and 0 < scores.shape[0] and scores.shape[1] <= MOST


def write_products(x: Array, out: Array) -> None:
    """Write products x_d x_e, d <= e, of rows x (N, D) into the last columns of ``out``.

    Consumes: out.
    """
    (N, D), width = x.shape, out.shape[1]
    F = D * (D + 1) // 2
    left, right = _pairs(D, x.device)
    grid = triton.cdiv(N, ROWS), triton.cdiv(F, COLUMNS)
    _kernel(_products)[grid](
        x.contiguous(), left, right, out, N, D, F, width, ROWS=ROWS, COLUMNS=COLUMNS
    )


@cache
def _pairs(D: int, device: Any) -> Array:
    """Return the columns d and e of each product, (2, D (D + 1) / 2), on a device."""
    torch: Any = importlib.import_module("torch")
    return torch.as_tensor(np.array(np.triu_indices(D)), dtype=torch.int32, device=device)


def share_rows(scores: Array, weights: Array, plus: Array) -> tuple[Array, ...]:
    """Share rows with weights (N,) in proportion to the exponentials of scores (N, K) plus (K,).

    Returns shares (N, K), mass (K,), entropy (K,), owners (N,), their shares (N,), the logs of the
    sums of exponentials (N,), and shares times weights (N, K). Shares are as precise as weights,
    sums over rows are in double precision.   Consumes: scores.
    """
    xp, (N, K) = namespace(scores), scores.shape
    here = {"device": scores.device}
    scores = scores.contiguous()
    held, width = xp.empty_like(scores), triton.next_power_of_2(K)
    rows = min(max(NUMBERS // width, 1), TALL)
    each = triton.cdiv(triton.cdiv(N, PROGRAMS), rows) * rows
    programs = triton.cdiv(N, each)
    sums = xp.empty((2, programs, K), dtype=xp.float64, **here)
    owner = xp.empty((N,), dtype=xp.int32, **here)
    best, log_norm = (xp.empty((N,), dtype=weights.dtype, **here) for _ in range(2))
    _kernel(_share)[(programs,)](
        scores, plus, weights.contiguous(), held, sums, owner, best, log_norm,
        N, K, each, programs * K, LEAST=LEAST, ROWS=rows, WIDTH=width,
    )  # fmt: skip
    mass, entropy = xp.sum(sums, axis=1)
    return scores, mass, entropy, owner, best, log_norm, held


@cache
def _kernel(function: Any) -> Any:
    """Return a kernel, which is compiled once for all numbers of rows and clusters."""
    return triton.jit(function, do_not_specialize=[*COUNTS & {*signature(function).parameters}])


def _products(
    x: "Any", left: "Any", right: "Any", out: "Any", N: "Any",
    D: tl.constexpr, F: tl.constexpr, WIDTH: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
) -> None:  # fmt: skip
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


def _share(
    scores: "Any", plus: "Any", weights: "Any", held: "Any", sums: "Any",
    owner: "Any", best: "Any", log_norm: "Any",
    N: "Any", K: "Any", each: "Any", apart: "Any",
    LEAST: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
) -> None:  # fmt: skip
    # Every program goes through rows of its own, and keeps the sums over them.
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
        share = tl.where(below < LEAST, 0.0, tl.exp(below))
        total = tl.sum(share, axis=1)
        log_total, largest = tl.log(total), 1.0 / total
        share = share * largest[:, None]
        part = weight[:, None] * share
        gain = tl.where(share > 0, part * (log_total[:, None] - below), 0.0)
        mass += tl.sum(part.to(tl.float64), axis=0)
        entropy += tl.sum(gain.to(tl.float64), axis=0)
        tl.store(scores + at, share.to(score.dtype), mask=here)
        tl.store(held + at, part.to(score.dtype), mask=here)
        tl.store(owner + row, tl.argmax(score, axis=1), mask=row < count)
        tl.store(best + row, largest, mask=row < count)
        tl.store(log_norm + row, (peak + log_total).to(weight.dtype), mask=row < count)
    tl.store(sums + program * K + k, mass, mask=inside)
    tl.store(sums + apart + program * K + k, entropy, mask=inside)
