"""A small table of stays in a hotel, as people write them down, and files of it."""

import csv

import numpy as np
import pytest

N = 120  # rows


def stays(n=N, seed=0):
    """Two groups, which differ by a number, by few whole numbers, by a word and by a postcode."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        yield {
            "temp": f"{rng.normal([10.0, 30.0][i % 2]):.1f}",
            "nights": str([0, 5][i % 2] + rng.integers(0, 3)),
            "kind": "ab"[i % 2],
            "zip": [["01067", "10115"], ["80331", "50667"]][i % 2][rng.integers(0, 2)],
        }


def write_csv(path, rows):
    rows = list(rows)
    with open(path, "w", newline="") as file:
        lines = csv.DictWriter(file, list(rows[0]))
        lines.writeheader()
        lines.writerows(rows)


def library(name):
    """Return what makes a table of a library."""
    if name == "dict":
        return dict
    module = pytest.importorskip({"pandas": "pandas", "polars": "polars"}.get(name, "pyarrow"))
    return module.table if name == "arrow" else module.DataFrame
