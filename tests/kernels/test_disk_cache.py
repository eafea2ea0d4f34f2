"""Kernels are compiled once per machine, not once per process."""

import os
import pickle
import subprocess
import sys

import numba
import pytest

from evermix.kernels.scoring import score_rows

SCRIPT = """
import numpy as np
from numba.core import event

from evermix.families import FixedGaussian
from evermix.kernels.scoring import score_rows
from evermix.tally import Tally

with event.install_recorder("numba:compile") as recorder:
    X = np.ones((3, 2))
    family = FixedGaussian(1.0, 1.0).candidates(X)[0]
    tally = Tally.empty(family.n_stats)
    work = family.workspace(tally, family.columns(tally))
    score_rows(work, family.rows(X), 1, np.empty((3, 1)))
print(len(recorder.buffer))
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    """Verbs that are chosen by the type of the work must not defeat numba's disk cache."""
    compiled = [_compilations(tmp_path) for _ in range(2)]
    assert compiled[0] > 0
    assert compiled[1] == 0


def _compilations(cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_cache_of_other_kernels_is_not_read(tmp_path, monkeypatch):
    """An old index may name types that are gone, so that it cannot even be unpickled."""
    file = score_rows._cache._cache_file
    monkeypatch.setattr(file, "_index_path", str(tmp_path / "old.nbi"))
    index = pickle.dumps(numba.__version__) + b"types that are gone"
    (tmp_path / "old.nbi").write_bytes(index)
    assert file._load_index() == {}
