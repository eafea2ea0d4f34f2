"""Compiled loops of a lap on CUDA tensors, written for Triton, which PyTorch brings along.

They do what compiled kernels do for NumPy arrays: each number is read and written once, where array
maths would go through memory for every operation. Without Triton, array maths is used instead.
"""

import importlib
from functools import cache, lru_cache
from typing import Any

import array_api_compat
import numpy as np

from evermix._xp import Array, namespace
from evermix.kernels.engines.local import LEAST

ROWS, COLUMNS = 32, 512  # of the block of products that a program writes
NUMBERS, TALL = 512, 16  # most scores, and rows, that a program holds at a time
PROGRAMS = 4096  # that run side by side: several for each processor of a device
MOST = 2048  # most clusters whose scores of a row a program can hold


def can_write_products(x: Array) -> bool:
    """Whether :func:`write_products` takes this array."""
    some = array_api_compat.is_torch_array(x) and x.is_cuda and x.shape[0] > 0
    return some and _cuda() is not None


def can_softmax(scores: Array) -> bool:
    """Whether :func:`softmax_rows` takes these scores (N, K)."""
    return can_write_products(scores) and scores.shape[1] <= MOST


def write_products(x: Array, out: Array) -> None:
    """Write products x_d x_e, d <= e, of rows x (N, D) into the last columns of ``out``.

    Consumes: out.
    """
    (N, D), width = x.shape, out.shape[1]
    F = D * (D + 1) // 2
    left, right = _pairs(D, x.device)
    grid = _parts(N, ROWS), _parts(F, COLUMNS)
    with _torch("torch.cuda").device_of(x):
        _cuda().products[grid](
            x.contiguous(), left, right, out, N, D, F, width, ROWS=ROWS, COLUMNS=COLUMNS
        )


@lru_cache(maxsize=16)
def _pairs(D: int, device: Any) -> Array:
    """Return the columns d and e of each product, (2, D (D + 1) / 2), on a device."""
    torch = _torch("torch")
    return torch.as_tensor(np.array(np.triu_indices(D)), dtype=torch.int32, device=device)


def softmax_rows(scores: Array, weights: Array, plus: Array) -> tuple[Array, ...]:
    """Return responsibilities, the softmax of scores (N, K) plus (K,), and sums over weighted rows.

    Returns responsibilities (N, K), mass (K,), entropy (K,), the best cluster (N,) and its
    responsibility (N,), the logs of the sums of exponentials (N,), and responsibilities times
    weights (N, K). Responsibilities have the precision of weights, sums over rows are doubles.
    Consumes: scores.
    """
    xp, (N, K) = namespace(scores), scores.shape
    here = {"device": scores.device}
    scores = scores.contiguous()
    held, width = xp.empty_like(scores), 1 << (K - 1).bit_length()
    rows = min(max(NUMBERS // width, 1), TALL)
    each = _parts(_parts(N, PROGRAMS), rows) * rows
    programs = _parts(N, each)
    sums = xp.empty((2, programs, K), dtype=xp.float64, **here)
    owner = xp.empty((N,), dtype=xp.int32, **here)
    best, log_norm = (xp.empty((N,), dtype=weights.dtype, **here) for _ in range(2))
    with _torch("torch.cuda").device_of(scores):
        _cuda().softmax[(programs,)](
            scores, plus, weights.contiguous(), held, sums, owner, best, log_norm,
            N, K, each, programs * K, LEAST=LEAST, ROWS=rows, WIDTH=width,
        )  # fmt: skip
    mass, entropy = xp.sum(sums, axis=1)
    return scores, mass, entropy, owner, best, log_norm, held


@cache
def _cuda() -> Any:
    """Return the module of kernels, or None without Triton; to load it takes time."""
    module = importlib.import_module("evermix.kernels.device.triton")
    return None if module.triton is None else module


def _torch(name: str) -> Any:
    return importlib.import_module(name)


def _parts(n: int, size: int) -> int:
    """Return how many parts of a size, or less, n is cut into."""
    return -(-n // size)
