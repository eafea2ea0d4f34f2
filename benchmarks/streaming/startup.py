"""Starting up: the import beside scikit-learn's, and whether a second process compiles anything."""

import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from benchmarks.common import target

__all__ = ["startup"]

IMPORTS = {"evermix": "import evermix", "sklearn.mixture": "import sklearn.mixture"}
TIMED = "import time\n{work}\nprint(time.process_time())"
FITS = """
import numba.core.event as event
with event.install_recorder("numba:compile") as compiled:
    import numpy as np, evermix as em
    from scipy import sparse
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(1.0, size=(1100, 20)))
    values = rng.normal(size=(1100, 3))
    text = em.Mixture(em.Multinomial(0.1), em.NGGP()).fit(counts)
    vectors = em.Mixture(em.Gaussian(), em.DP()).fit(values)
    text.score_samples(counts), vectors.predict(values)
print(len(compiled.buffer) // 2)  # each compilation begins and ends
"""


def startup(repeats: int) -> dict[str, Any]:
    """Time fresh processes in turn; processor time, the interpreter's own start included."""
    seconds: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(max(repeats, 7) + 1):
        for name, line in IMPORTS.items():
            seconds[name].append(float(_python(TIMED.format(work=line))))
    imports = {name: median(values[1:]) for name, values in seconds.items()}  # the first one warms
    with tempfile.TemporaryDirectory() as cache:
        first = _python(FITS + "import time; print(time.process_time())", cache).split()
        second = _python(FITS + "import time; print(time.process_time())", cache).split()
    return {
        "seconds of import": imports,
        "import, over sklearn.mixture": target(
            imports["evermix"] / imports["sklearn.mixture"], below=1.5
        ),
        "seconds with an empty cache": float(first[1]),
        "seconds of a second process": float(second[1]),
        "functions compiled at first": int(first[0]),
        "functions compiled in a second process": target(int(second[0]), below=1),
    }


def _python(code: str, cache: str | None = None) -> str:
    environment = dict(os.environ) | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout
