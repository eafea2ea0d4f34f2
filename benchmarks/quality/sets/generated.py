"""Sets drawn from known mixtures: overlap, shapes, single blobs, newcomers and drift."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.quality.sets.base import LabelledSet, Recipe

__all__ = ["recipes"]

SIZES, DIMENSIONS = (100, 1_000, 10_000), (1, 2, 10, 50)  # of single blobs
DISTANCES = (16, 30, 100, 1_000)  # of newcomers, in standard deviations
OLD, NEW = 1_000, 1_000  # rows before the newcomers appear, and after
STREAM, ERA = 2_000, 50  # rows of a drifting stream; those of an era change places


def recipes() -> Iterator[Recipe]:
    """Yield all generated sets."""
    for name, draw in _mixtures().items():
        yield Recipe(name, "vectors", partial(_drawn, name, "vectors", draw))
    for n in SIZES:
        for d in DIMENSIONS:
            name = f"blob_{n}x{d}"
            draw = partial(_blob, n=n, d=d)
            yield Recipe(name, "blobs", partial(_drawn, name, "blobs", draw), fresh=True)
    for distance in DISTANCES:
        name = f"newcomers_{distance}"
        draw = partial(_newcomers, distance=distance)
        yield Recipe(name, "newcomers", partial(_drawn, name, "newcomers", draw), fresh=True)
    for name, draw in {"drifting_lines": _lines, "drifting_wheel": _wheel}.items():
        yield Recipe(name, "drifting", partial(_drawn, name, "drifting", draw), fresh=True)


Parts = tuple[np.ndarray, ...]  # X, y, and eras where order has a meaning
Draw = Callable[[np.random.Generator], Parts]


def _drawn(name: str, kind: str, draw: Draw, seed: int) -> LabelledSet:
    return LabelledSet(name, kind, *draw(np.random.default_rng([seed, *name.encode()])))


# ---- mixtures ------------------------------------------------------------------------------


def _mixtures() -> dict[str, Draw]:
    """Sets of the kind "vectors"; clusters have unit variances unless said."""
    pairs = {f"pair_{apart}": partial(_pair, apart=apart) for apart in (2, 3, 4)}
    return pairs | {
        "overlap_5": partial(_overlapping, n=2_000),
        "unequal": partial(_unequal, sizes=(1_500, 300, 100, 60, 40)),
        "anisotropic": partial(_anisotropic, n=2_000),
        "student_t": partial(_heavy_tailed, n=2_000),
        "many_20x10": partial(_many, n=2_000, K=20, d=10, spread=4.0),
        "many_50x2": partial(_many, n=2_500, K=50, d=2, spread=25.0),
    }


def _around(rng: np.random.Generator, centres: np.ndarray, y: np.ndarray) -> np.ndarray:
    return centres[y] + rng.normal(size=(len(y), centres.shape[1]))


def _pair(rng: np.random.Generator, apart: float) -> Parts:
    y = np.repeat([0, 1], 500)
    return _around(rng, np.array([[0.0, 0.0], [apart, 0.0]]), y), y


def _overlapping(rng: np.random.Generator, n: int) -> Parts:
    """Four clusters at the corners of a square and one in its middle, 2.8 to 4 apart."""
    y = np.arange(n) % 5
    centres = 4.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0.5, 0.5]])
    return _around(rng, centres, y), y


def _unequal(rng: np.random.Generator, sizes: Sequence[int]) -> Parts:
    """Clusters at the corners of a pentagon, 7 apart, the largest of 75% of the rows."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    return _around(rng, _circle(len(sizes), 6.0), y), y


def _anisotropic(rng: np.random.Generator, n: int) -> Parts:
    """Four thin clusters, each with its own direction, some of which touch."""
    y = np.arange(n) % 4
    stretched = rng.normal(size=(n, 2)) * np.array([4.0, 0.5])
    angles = np.array([0.0, 0.8, 1.6, 2.4])[y]
    turned = np.column_stack(
        [
            np.cos(angles) * stretched[:, 0] - np.sin(angles) * stretched[:, 1],
            np.sin(angles) * stretched[:, 0] + np.cos(angles) * stretched[:, 1],
        ]
    )
    return turned + _circle(4, 7.0)[y], y


def _heavy_tailed(rng: np.random.Generator, n: int) -> Parts:
    """Four clusters of Student's t with 3 degrees of freedom, 10 apart."""
    y = np.arange(n) % 4
    tails = np.sqrt(3.0 / rng.chisquare(3, size=(n, 1)))
    return _circle(4, 7.0)[y] + tails * rng.normal(size=(n, 2)), y


def _many(rng: np.random.Generator, n: int, K: int, d: int, spread: float) -> Parts:
    y = np.arange(n) % K
    return _around(rng, rng.normal(scale=spread, size=(K, d)), y), y


def _circle(K: int, radius: float, turn: float = 0.0) -> np.ndarray:
    """Centres (K, 2) at equal distances on a circle."""
    angles = 2 * np.pi * np.arange(K) / K + turn
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


# ---- single blobs, and streams ---------------------------------------------------------------


def _blob(rng: np.random.Generator, n: int, d: int) -> Parts:
    return rng.normal(size=(n, d)), np.zeros(n, np.int64)


def _newcomers(rng: np.random.Generator, distance: float) -> Parts:
    """Three clusters around the origin; later three more, around a point that far away."""
    centres = _circle(3, 5.0)
    away = distance * np.array([np.cos(0.5), np.sin(0.5)])
    y = np.concatenate([np.arange(OLD) % 3, 3 + np.arange(NEW) % 3])
    X = _around(rng, np.vstack([centres, centres + away]), y)
    return X, y, np.repeat([0, 1], [OLD, NEW])


def _lines(rng: np.random.Generator) -> Parts:
    """Four clusters, 14 apart, that walk 10 standard deviations side by side."""
    y, age = rng.integers(0, 4, STREAM), np.arange(STREAM) / STREAM
    starts = 14.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    X = _around(rng, starts, y) + np.outer(age, [10.0, 0.0])
    return X, y, np.arange(STREAM) // ERA


def _wheel(rng: np.random.Generator) -> Parts:
    """Five clusters on a wheel that turns until each stands where the next one stood."""
    y, age = rng.integers(0, 5, STREAM), np.arange(STREAM) / STREAM
    angles = 2 * np.pi * (y + age) / 5
    X = 10.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(size=(STREAM, 2))
    return X, y, np.arange(STREAM) // ERA
