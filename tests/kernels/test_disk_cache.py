"""Kernels are compiled once per machine, not once per process."""

import os
import pickle
import subprocess
import sys

import numba
import pytest

from evermix.kernels import disk_cache
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
    return int(_output(SCRIPT, cache))


def _output(script, cache, *folders):
    paths = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": paths}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_cache_of_other_kernels_is_not_read(tmp_path, monkeypatch):
    """An old index may name types that are gone, so that it cannot even be unpickled."""
    file = score_rows._cache._cache_file
    monkeypatch.setattr(file, "_index_path", str(tmp_path / "old.nbi"))
    index = pickle.dumps(numba.__version__) + b"types that are gone"
    (tmp_path / "old.nbi").write_bytes(index)
    assert file._load_index() == {}


def test_the_fingerprint_covers_subfolders_and_names(tmp_path):
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    seen = {disk_cache._fingerprint(tmp_path)}
    for path, text in (("a.py", "1"), ("a.py", "2"), ("deep/deeper/a.py", "1")):
        (tmp_path / path).write_text(text)
        seen.add(disk_cache._fingerprint(tmp_path))
    (tmp_path / "deep/deeper/a.py").rename(tmp_path / "deep/a.py")
    seen.add(disk_cache._fingerprint(tmp_path))
    assert len(seen) == 5


# ---- users' own kernels ---------------------------------------------------------------------

FAMILY = """
from typing import NamedTuple

import numpy as np

import helpers
from evermix.families import FixedGaussian
from evermix.kernels.base import exact, implement, kernel, refresh_all


class Work(NamedTuple):
    stats: np.ndarray
    constants: np.ndarray


@kernel
def score(work, rows, i, slots, out):
    for k in range(slots):
        out[k] = work.constants[k] + 99.0 * k + helpers.shifted(1.0)


@kernel
def add(work, rows, i, slot, weight, mass):
    work.stats[slot, 0] += weight


@exact
def refresh(work, slot, mass):
    work.constants[slot] = 0.0


implement(Work, score=score, add=add, refresh=refresh)


class Own(FixedGaussian):
    def workspace(self, tally, columns):
        work = Work(tally.stats_buffer, np.zeros(tally.capacity))
        refresh_all(work, tally.mass_buffer, tally.K)
        return work
"""

HELPERS = """
from constants import SHIFT
from evermix.kernels.base import kernel


@kernel
def shifted(x):
    return x + SHIFT
"""

FIT = """
import numpy as np

import evermix as em
from family import Own

X = np.random.default_rng(0).normal(size=(20, 1))
mix = em.Mixture(Own(1.0, 1.0), engine=em.ADF(merge=None)).fit(X)
print(len(np.unique(mix.labels_)))
"""

OWN = "from family import Own as FixedGaussian"
SCORE = SCRIPT.replace("from evermix.families import FixedGaussian", OWN).replace(
    "score_rows(work, family.rows(X), 1, np.empty((3, 1)))",
    "score_rows(work, family.rows(X), 1, out := np.empty((3, 1)))",
)
SCORE += "print(out[0, 0])"


@pytest.mark.slow
def test_a_loop_for_a_users_family_is_compiled_again_when_its_verbs_change(tmp_path):
    """Loops of evermix hold a user's verbs: those of today, wherever a part of them has changed."""
    cache, folder = tmp_path / "cache", tmp_path / "own"
    folder.mkdir()

    def written(name, text, script):
        (folder / f"{name}.py").write_text(text)
        return [float(word) for word in _output(script, cache, folder).split()]

    written("constants", "SHIFT = 0.0", "")
    written("helpers", HELPERS, "")
    assert written("family", FAMILY, FIT) == [20]  # the last slot, which is new, has the best score
    family = FAMILY.replace("99.0 * k", "-99.0 * k")
    assert written("family", family, FIT) == [1]

    compiled, value = written("family", family, SCORE)
    assert compiled > 0 and value == 1.0
    helpers = HELPERS.replace("x + SHIFT", "x + SHIFT + 3.0")
    compiled, value = written("helpers", helpers, SCORE)
    assert compiled > 0 and value == 4.0
    compiled, value = written("constants", "SHIFT = 10.0", SCORE)
    assert compiled > 0 and value == 14.0
    assert written("constants", "SHIFT = 10.0", SCORE) == [0, 14.0]
    _output(SCRIPT, cache)  # the user's module cannot be imported here, and need not be


def test_an_empty_cache_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "_FOLDERS", {str(tmp_path / "a"), str(tmp_path / "none")})
    assert disk_cache.is_empty()
    (tmp_path / "a").mkdir()
    assert disk_cache.is_empty()
    (tmp_path / "a" / "score.nbi").touch()
    assert not disk_cache.is_empty()
