"""Do a GPU and the CPU say the same? ``python -m experiments.scale.agreement``.

Every family is learnt by FullVB for five laps from the same start, by NumPy and on the GPU, in
double and in single precision. Then births and merges go from one cluster on the edges, and what
is born and merged in each lap is compared. The results go to ``results/scale/agreement.json``.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer
from scipy import sparse

import evermix as em
from evermix.engines.base import Engine
from evermix.families import Family
from experiments.memoized.data import bars, edges

__all__ = ["main"]

FILE = Path("results/scale/agreement.json")
LAPS, K = 5, 10
LIMITS = {"float64": 1e-10, "float32": 1e-5}  # that relative differences of bounds must not pass
ENGINES = {
    "FullVB": em.FullVB(laps=LAPS, truncation=K, tol=0.0),
    "StochasticVB": em.StochasticVB(laps=LAPS, truncation=K, batch_size=10_000),
    "MemoizedVB": em.MemoizedVB(
        laps=LAPS, truncation=K, start="kmeans++", births=False, merges=False, deletes=False,
        batch_size=10_000, tol=0.0,
    ),
}  # fmt: skip


def main(library: str = "torch", n: int = 100_000) -> None:
    """Compare bounds, moves and answers; --library is torch or cupy."""
    put = PUT[library]
    found: dict[str, Any] = {"library": library, "N": n}
    found["bounds"] = {
        f"{name}, {engine}": _bounds(family, X, ENGINES[engine], put)
        for name, (family, X) in _families(n).items()
        for engine in ENGINES
    }
    found["answers"] = {
        name: _answers(family, X, put) for name, (family, X) in _families(10_000).items()
    }
    found["edges"] = _moves(edges(n)[0], put)
    _check(found)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def _families(n: int) -> dict[str, tuple[Family, Any]]:
    X, rng = edges(n)[0], np.random.default_rng(0)
    return {
        "ZeroMeanGaussian": (em.ZeroMeanGaussian(27.0, 1e-3), X),
        "Gaussian": (em.Gaussian(0.0, 0.01, 27.0, 1e-3), X),
        "DiagonalGaussian": (em.DiagonalGaussian(0.0, 0.01, 2.0, 1e-3), X),
        "FixedGaussian": (em.FixedGaussian(1e-3, 1.0), X),
        "Bernoulli": (em.Bernoulli(), (X > 0).astype(float)),
        "Poisson": (em.Poisson(), rng.poisson(np.exp(X)).astype(float)),
        "Multinomial": (em.Multinomial(), sparse.csr_matrix(bars(min(n, 20_000))[0])),
    }


def _to_torch(X: Any, dtype: str) -> Any:
    import torch

    kind = getattr(torch, dtype)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    if sparse.issparse(X):
        parts = (torch.as_tensor(x, device=where) for x in (X.indptr, X.indices))
        return torch.sparse_csr_tensor(*parts, torch.as_tensor(X.data, dtype=kind, device=where))
    return torch.as_tensor(X, dtype=kind, device=where)


def _to_cupy(X: Any, dtype: str) -> Any:
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    return csr_matrix(X.astype(dtype)) if sparse.issparse(X) else cupy.asarray(X, dtype=dtype)


PUT = {"torch": _to_torch, "cupy": _to_cupy}


def _fit(family: Family, X: Any, engine: Engine, **more: Any) -> em.Mixture:
    return em.Mixture(family, em.DP(1.0), engine, random_state=0).fit(X, **more)


def _bounds(family: Family, X: Any, engine: Engine, put: Any) -> dict[str, float]:
    bound = _fit(family, X, engine).lower_bound_
    found = {"NumPy": bound}
    for dtype in LIMITS:
        ours = _fit(family, put(X, dtype), engine).lower_bound_
        found[dtype] = abs(ours - bound) / abs(bound)
    return found


def _answers(family: Family, X: Any, put: Any) -> dict[str, Any]:
    """Return the largest differences of answers, and the share of labels that are the same."""
    mix, found = _fit(family, X, ENGINES["FullVB"]), {}
    for dtype in LIMITS:
        rows = put(X, dtype)
        same = _host(mix.predict(rows)) == mix.predict(X)
        probability = np.abs(_host(mix.predict_proba(rows)) - mix.predict_proba(X))
        density = np.abs(_host(mix.score_samples(rows)) - mix.score_samples(X))
        worst = float(probability.max()), float(density.max())
        found[dtype] = {"same labels": float(same.mean()), "probability, density": worst}
    return found


def _host(x: Any) -> np.ndarray:
    return x.get() if type(x).__module__.startswith("cupy") else x.cpu().numpy()


def _moves(X: np.ndarray, put: Any) -> dict[str, Any]:
    """Return bound, K, births and merges by lap, for each precision and size of batches."""
    family, found = em.ZeroMeanGaussian(X.shape[1] + 2.0, 1e-3), {}
    for size in (1_000, 10_000):
        engine = em.MemoizedVB(laps=20, batch_size=size)
        for dtype in ("NumPy", *LIMITS):
            rows = X if dtype == "NumPy" else put(X, dtype)
            laps: list[dict[str, Any]] = []

            def look(mix: em.Mixture, info: em.Info, laps: list[dict[str, Any]] = laps) -> None:
                if not info.rows:
                    moves = {"births": info.births, "merges": info.merges, "lost": info.dropped}
                    laps.append({"K": info.K, "elbo": info.scalars["elbo"]} | moves)

            began = time.perf_counter()
            _fit(family, rows, engine, observers=[look])
            spent = time.perf_counter() - began
            found[f"{dtype}, batches of {size}"] = {"seconds": spent, "laps": laps}
    return found


def _check(found: dict[str, Any]) -> None:
    """Add whether all is as it should be."""
    found["bounds agree"] = {
        dtype: max(each[dtype] for each in found["bounds"].values()) <= limit
        for dtype, limit in LIMITS.items()
    }
    moves = {
        name: [(lap["births"], lap["merges"], lap["lost"]) for lap in run["laps"]]
        for name, run in found["edges"].items()
    }
    found["the same births and merges"] = {
        name: each == moves["NumPy, " + name.split(", ")[1]] for name, each in moves.items()
    }


if __name__ == "__main__":
    typer.run(main)
