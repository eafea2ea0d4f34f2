"""The first run on a machine compiles the kernels, later ones read them from the disk."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evermix.io import checkpoint


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "diagonal", "multinomial", "poisson"])
def test_compiled_and_cached_kernels_give_the_same_bits(tmp_path, family):
    """A stream that began with the first run and was resumed by the second depends on it."""
    rng = np.random.default_rng(0)
    X = rng.poisson(3.0 * rng.gamma(0.5, size=(3, 6))[rng.integers(3, size=1200)])
    np.save(tmp_path / "rows.npy", X)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = []
    for run in ("first", "second"):
        command = [sys.executable, "-m", "evermix", "stream", "rows.npy", "--quiet"]
        command += ["--family", family, "--out", f"{run}.jsonl", "--checkpoint", f"{run}.evermix"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        found.append(checkpoint.read(tmp_path / f"{run}.evermix")[0])
    differing = [name for name in found[0] if found[0][name].tobytes() != found[1][name].tobytes()]
    assert differing == []
