"""What batches have said may lie in files: the same bits, less memory, and nothing left behind."""

import copy
import errno
import os
import pickle
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import evermix as em
from evermix.engines.shards import Spill

RNG = np.random.default_rng(0)
TOPICS = RNG.dirichlet(np.full(12, 0.3), size=4)
X = np.array([RNG.multinomial(15, TOPICS[k]) for k in RNG.integers(4, size=150)])
ENGINE = em.MemoizedVB(laps=3, tol=0.0, batch_size=40)
MB = 2**20


def mixture(engine):
    return em.Mixture(em.Multinomial(0.3), engine=engine, random_state=1)


def assert_same(one, other):
    ours, theirs = one.state_.to_arrays()[0], other.state_.to_arrays()[0]
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        assert values.tobytes() == theirs[name].tobytes(), name
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_a_fit_that_spills_gives_the_same_bits_and_leaves_no_file(tmp_path):
    """Saved after any step and taken up again, too, with a folder or without."""
    whole, names, files = mixture(ENGINE).fit(X), [], tmp_path / "files"
    files.mkdir()
    engine = replace(ENGINE, spill=str(files))

    def keep(mix, info):
        names.append(tmp_path / f"{len(names)}.evermix")
        mix.save(names[-1])
        assert not list(files.iterdir())

    mix = mixture(engine).fit(X, observers=[keep])
    assert_same(mix, whole)
    for name in names[::4]:
        assert_same(em.load(name).resume(X), whole)
        assert_same(em.load(name).set_params(engine=ENGINE).resume(X), whole)
    assert not list(files.iterdir())


def test_copies_of_a_mixture_that_spilt_go_on(tmp_path):
    engine = replace(ENGINE, spill=str(tmp_path))
    mix = mixture(engine).fit(X)
    for other in (copy.deepcopy(mix), pickle.loads(pickle.dumps(mix))):
        assert_same(other, mix)
        other.set_params(engine=replace(engine, laps=4)).resume(X)
    assert_same(clone(mix).fit(X), mix)


def test_neither_a_fit_nor_a_checkpoint_needs_the_memory(tmp_path):
    """All records together are 48 MB, each is less than half of one."""
    N, V = 1500, 5000
    counts = sparse.random(N, V, density=0.004, random_state=0, format="csr")
    counts.data[:] = 1.0
    start = em.FullVB(laps=1, truncation=8, start="random")
    em.Mixture(em.Multinomial(), engine=start, random_state=0).fit(counts[:200]).save(
        tmp_path / "m"
    )
    engine = em.MemoizedVB(laps=1, batch_size=10, births=False, start=str(tmp_path / "m"))
    peaks = []
    for spill in (None, str(tmp_path)):
        mix = em.Mixture(em.Multinomial(), engine=replace(engine, spill=spill))
        for work in (lambda mix=mix: mix.fit(counts), lambda mix=mix: mix.save(tmp_path / "n")):
            tracemalloc.start()
            work()
            peaks.append(tracemalloc.get_traced_memory()[1] / MB)
            tracemalloc.stop()
    assert mix.n_clusters_ == 8
    assert peaks[0] > 40 and max(peaks[1:]) < 12


def test_arrays_are_copies_and_files_are_shared(tmp_path):
    spill, kept = Spill(str(tmp_path)), []
    for n in (0, 3, 10_000, 3_000_000):
        values = RNG.normal(size=(2, n))
        kept.append((spill.put(values), values.copy()))
        values[:] = 0.0
    for stored, want in kept:
        np.testing.assert_array_equal(stored, want)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="room is made at once on Linux")
def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="could not make room for 16 MB .*No space.*Give another"):
        mixture(replace(ENGINE, spill=str(tmp_path))).fit(X)


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(OSError, match="in the folder .*none.*Give another folder as spill"):
        mixture(replace(ENGINE, spill=str(tmp_path / "none"))).fit(X)
    with pytest.raises(TypeError, match="spill must be the path of a folder or None, got 3"):
        em.MemoizedVB(spill=3)
