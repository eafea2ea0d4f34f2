"""A lap over image-patch-sized rows, beside its floor and beside plain PyTorch.

The floor is the time that the two matrix products of a lap take at the rate of a large one: scores
are features times slopes, sums are shares times features, 4 N K F flop with F = D (D + 1) / 2.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

import evermix as em
from benchmarks.common import target
from evermix.engines.batch import Batch
from evermix.engines.variational import local
from evermix.model import Model

__all__ = ["lap", "peak", "products"]

N, D, K = 8_640_000, 64, 200
GOAL, AIM = 0.60, 0.40  # seconds, on an H200
PART = 2**16  # rows that plain PyTorch takes at a time
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the median time of some work on the device, after it was done once."""
    work()
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - began)
    return median(found)


def rows() -> torch.Tensor:
    """Return rows (N, D), float32, on the device."""
    return torch.randn(N, D, device="cuda", generator=torch.Generator("cuda").manual_seed(0))


def problem() -> tuple[Model, local.Beliefs]:
    """Return zero-mean Gaussians with full covariances, and beliefs about K of them."""
    rng = np.random.default_rng(0)
    family = em.ZeroMeanGaussian(nu=D + 2.0, scale=1.0).candidates(np.zeros((1, D)))[0]
    model = Model(family, em.DP(1.0))
    mass = rng.gamma(5.0, N / K / 5.0, size=K)
    spread = rng.normal(size=(K, D, D)) / np.sqrt(D) + np.eye(D)
    stats = mass[:, None] * (spread @ spread.transpose(0, 2, 1)).reshape(K, -1)
    return model, local.believe(model, mass, stats)


def lap(repeats: int) -> dict[str, Any]:
    """Time the local step and the sums of all rows, N = 8.64 million, D = 64, K = 200."""
    X, (model, beliefs) = rows(), problem()
    batch = Batch(X, torch.ones(N, device="cuda"))
    ours = seconds(lambda: local.summarise(model, beliefs, batch), repeats)
    singles = rate(torch.float32, repeats)
    fastest = max(singles, rate(torch.float64, repeats))
    flop = 4.0 * N * K * model.family.n_slopes
    return {
        "seconds": target(ours, below=GOAL),
        "seconds, aim": target(ours, below=AIM),
        "floor at the float32 rate": flop / singles,
        "floor at the faster of float32 and float64": flop / fastest,
        "over the floor at the float32 rate": ours * singles / flop,
        "plain PyTorch, moments": seconds(lambda: by_moments(X, beliefs), repeats),
        "plain PyTorch, Cholesky factors": seconds(lambda: by_factors(X, beliefs), 1),
        "teraflop": flop / 1e12,
        "peak of device memory, GB": torch.cuda.max_memory_allocated() / 1e9,
        "device": torch.cuda.get_device_name(),
    }


def rate(dtype: torch.dtype, repeats: int) -> float:
    """Return the flop per second of a product of large square matrices."""
    n = 8192
    a, b = (torch.randn(n, n, device="cuda", dtype=dtype) for _ in range(2))
    return 2.0 * n**3 / seconds(lambda: a @ b, repeats)


def peak(repeats: int) -> dict[str, float]:
    """Return the rates of large matrix products, in teraflop per second."""
    return {name: rate(dtype, repeats) / 1e12 for name, dtype in PRECISIONS.items()}


def products(repeats: int) -> dict[str, Any]:
    """Time the two products of a lap by themselves, for one part of the rows."""
    out = {}
    for name, dtype in PRECISIONS.items():
        F = torch.randn(PART, D * (D + 1) // 2, device="cuda", dtype=dtype)
        slopes = torch.randn(K, F.shape[1], device="cuda", dtype=dtype)
        r = torch.rand(PART, K, device="cuda", dtype=dtype)
        scores = seconds(lambda F=F, s=slopes: F @ s.T, repeats) * N / PART
        sums = seconds(lambda F=F, r=r: r.T @ F, repeats) * N / PART
        out[name] = {"scores of a lap": scores, "sums of a lap": sums}
    return out


def by_moments(X: torch.Tensor, beliefs: local.Beliefs) -> tuple[torch.Tensor, ...]:
    """Do a lap in plain PyTorch: products of columns, two matrix products, a softmax."""
    left, right = torch.triu_indices(D, D, device="cuda")
    slopes, intercepts = (torch.as_tensor(b, dtype=X.dtype, device="cuda") for b in beliefs)
    mass, sums = torch.zeros(K, device="cuda"), torch.zeros_like(slopes)
    entropy = torch.zeros_like(mass)
    for x in X.split(PART):
        F = x[:, left] * x[:, right]
        logs = torch.log_softmax(torch.addmm(intercepts, F, slopes.T), dim=1)
        r = torch.exp(logs)
        mass += r.sum(dim=0)
        entropy -= (r * logs).sum(dim=0)
        sums += r.T @ F
    torch.cuda.synchronize()
    return mass, sums, entropy


def by_factors(X: torch.Tensor, beliefs: local.Beliefs) -> tuple[torch.Tensor, ...]:
    """Do a lap as textbooks have it: whiten rows for each cluster, then sum r x x^T for each."""
    left, right = np.triu_indices(D)
    precision = np.zeros((K, D, D))
    half = np.where(left == right, -2.0, -1.0) * beliefs.slopes
    precision[:, left, right] = precision[:, right, left] = half
    factors = torch.as_tensor(np.linalg.cholesky(precision), dtype=X.dtype, device="cuda")
    intercepts = torch.as_tensor(beliefs.intercepts, dtype=X.dtype, device="cuda")
    mass, sums = torch.zeros(K, device="cuda"), torch.zeros(K, D, D, device="cuda")
    for x in X.split(PART):
        white = [(x @ factor).square().sum(dim=1) for factor in factors]
        r = torch.softmax(intercepts - 0.5 * torch.stack(white, dim=1), dim=1)
        mass += r.sum(dim=0)
        for k in range(K):
            sums[k].addmm_((r[:, k : k + 1] * x).T, x)
    torch.cuda.synchronize()
    return mass, sums
