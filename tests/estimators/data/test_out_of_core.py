"""Rows that do not fit into memory: the same bits as from an array, in bounded memory."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.io.sources import open_source
from helpers.same_models import assert_same

RNG = np.random.default_rng(0)
KIND = RNG.integers(3, size=90)
REAL = RNG.normal(size=(90, 2)) + 6 * np.eye(3)[KIND][:, :2]
TOPICS = RNG.dirichlet(np.full(6, 0.3), size=3)
COUNTS = np.array([RNG.multinomial(20, TOPICS[k]) for k in KIND])
ROWS = {"float32": REAL.astype("f4"), "uint8": COUNTS.astype("u1"), "bool": COUNTS > 2}
ENGINES = {
    "adf": em.ADF(),
    "ep": em.EP(laps=3, tol=0.0, shuffle=True),
    "full": em.FullVB(laps=3, truncation=4),
    "stochastic": em.StochasticVB(laps=2, batch_size=20, truncation=4),
    "memoized": em.MemoizedVB(laps=4, batch_size=20),
}
each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
MB = 2**20


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("evermix.engines.base.ROWS", 20)
    monkeypatch.setattr("evermix.estimators.data.lazy.ROWS", 7)


def mixture(engine, family="auto"):
    return em.Mixture(family, engine=engine, random_state=0)


def mapped(path, X):
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def in_chunks(X):
    return em.Chunks([X[:31], X[31:31], X[31:32], X[32:33], X[33:]])


@pytest.mark.parametrize("name", ROWS)
@each_engine
def test_memory_maps_and_chunks_give_the_bits_of_an_array(engine, name, tmp_path):
    """Whatever their type and however they are cut; the rows are known again in any form."""
    X = ROWS[name]
    weights = np.tile([1.0, 0.0, 2.0], 30)
    family = em.Multinomial() if name == "uint8" else "auto"
    whole = mixture(engine, family).fit(X, sample_weight=weights)
    for rows in (mapped(tmp_path / "x.npy", X), in_chunks(X)):
        mix = mixture(engine, family).fit(rows, sample_weight=weights)
        assert_same(mix, whole)
        assert_same(mix.resume(X, sample_weight=weights), whole)
        assert_same(whole.resume(rows, sample_weight=weights), mix)


@each_engine
def test_chunks_may_be_sparse(engine):
    X = sparse.csr_matrix(COUNTS)
    assert_same(mixture(engine).fit(in_chunks(X)), mixture(engine).fit(X))


def test_chunks_may_come_from_sources_functions_and_frames(tmp_path):
    import pandas as pd

    np.save(tmp_path / "x.npy", REAL)
    frame = pd.DataFrame(REAL, columns=["a", "b"])
    engine = ENGINES["memoized"]
    whole = mixture(engine).fit(REAL)
    assert_same(mixture(engine).fit(em.Chunks(open_source(tmp_path / "x.npy"))), whole)

    def read():
        return (frame[start : start + 17] for start in range(0, 90, 17))

    mix = mixture(engine).fit(em.Chunks(read))
    assert_same(mix, whole)
    assert mix.feature_names_in_.tolist() == ["a", "b"]


def test_reading_goes_forward_and_begins_anew_only_to_go_back(tmp_path):
    begun = []

    def read():
        begun.append(1)
        yield from np.array_split(REAL, 7)

    mix = mixture(em.FullVB(laps=3, truncation=3)).fit(em.Chunks(read))
    # To look at all of them, to choose scales, to start; then for every lap.
    assert mix.state_.lap > 1 and len(begun) == 3 + mix.state_.lap


@pytest.mark.parametrize("form", ["map", "chunks"])
def test_memory_does_not_grow_with_the_rows(form, tmp_path):
    """The rows are 160 MB as float64; what is allocated stays below a tenth of that."""
    N, D = 40_000, 500
    X = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (N, D))
    probability = np.repeat([0.2, 0.8], D // 2)
    for start in range(0, N, 4000):
        X[start : start + 4000] = RNG.random((4000, D)) < probability
        X[start : start + 2000] ^= 1
    X.flush()
    em.Mixture(em.Bernoulli(), engine=em.FullVB(truncation=2)).fit(X[:4000]).save(tmp_path / "m")
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    if form == "chunks":
        rows = em.Chunks(lambda: (X[start : start + 1500] for start in range(0, N, 1500)))
    engine = em.MemoizedVB(laps=1, batch_size=500, births=False, start=str(tmp_path / "m"))
    tracemalloc.start()
    try:
        mix = em.Mixture(em.Bernoulli(), engine=engine).fit(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert mix.n_clusters_ == 2
    assert peak < 16 * MB


def test_rows_that_have_changed_are_refused(tmp_path):
    rows = mapped(tmp_path / "x.npy", REAL)
    mix = mixture(ENGINES["memoized"]).fit(rows)
    with pytest.raises(ValueError, match="not the rows"):
        mix.resume(mapped(tmp_path / "y.npy", REAL[::-1]))
    with pytest.raises(ValueError, match="not the rows"):
        mix.resume(em.Chunks([REAL[:50], REAL[50:] + 1e-9]))
    with pytest.raises(ValueError, match="not the rows"):
        mix.resume(rows, sample_weight=np.full(90, 2.0))


def test_chunks_that_end_early_or_late_are_reported(tmp_path):
    lengths = []

    def read(n):
        lengths.append(n)
        yield REAL[:40]
        yield REAL[: 50 if len(lengths) == 1 else n]

    for n, now in ((3, "43"), (60, "at least 100")):
        lengths.clear()
        with pytest.raises(ValueError, match=f"there were 90 rows .* now there are {now}"):
            mixture(em.FullVB(laps=2)).fit(em.Chunks(lambda n=n: read(n)))


def test_rows_that_can_be_read_once_are_refused_with_advice():
    def read():
        yield REAL

    with pytest.raises(TypeError, match=r"read only once.*em.Chunks\(make\), not"):
        em.Chunks(read())
    with pytest.raises(TypeError, match=r"read more than once.*fit\(em.Chunks\(make\)\)"):
        mixture(ENGINES["full"]).fit(read())
    once = read()
    with pytest.raises(ValueError, match="now there are 0. Rows must come anew"):
        mixture(ENGINES["full"]).fit(em.Chunks(lambda: once))
    with pytest.raises(TypeError, match="expected a function that returns an iterator"):
        em.Chunks(3)


@pytest.mark.parametrize("engine", [em.Gibbs(sweeps=2, burn_in=0), em.Slice(sweeps=2, burn_in=0)])
def test_samplers_read_memory_maps_whole_and_no_chunks(engine, tmp_path):
    whole = mixture(engine).fit(REAL)
    assert_same(mixture(engine).fit(mapped(tmp_path / "x.npy", REAL)), whole)
    with pytest.raises(TypeError, match="engines that learn batch by batch"):
        mixture(engine).fit(in_chunks(REAL))


def test_only_fits_read_chunks():
    mix = mixture(em.ADF()).fit(REAL)
    for ask in (mix.predict, mix.score, mix.partial_fit):
        with pytest.raises(TypeError, match="read by fit and resume"):
            ask(in_chunks(REAL))


def test_texts_are_no_rows(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a b"}\n')
    with pytest.raises(TypeError, match="the source holds texts"):
        em.Chunks(open_source(tmp_path / "t.jsonl"))


@pytest.mark.parametrize(
    ("family", "bad", "error"),
    [
        (em.Gaussian(), np.nan, "contains NaN"),
        (em.Gaussian(), 1e200, "up to 1e\\+200"),
        (em.Poisson(), -1.0, "in rows from 40 on: Negative values.*row 2, column 1"),
    ],
)
def test_bad_rows_are_reported_before_anything_is_learnt(family, bad, error, tmp_path, monkeypatch):
    monkeypatch.setattr("evermix.estimators.data.lazy.ROWS", 40)
    X = np.abs(REAL)
    mix = em.Mixture(family, engine=em.FullVB(laps=2, truncation=2)).fit(X)
    want = mix.score_samples(X)
    broken = X.copy()
    broken[42, 1] = bad
    for rows in (mapped(tmp_path / "x.npy", broken), em.Chunks([broken[:40], broken[40:]])):
        with pytest.raises(ValueError, match=error):
            mix.fit(rows)
    with pytest.raises(ValueError, match="3 features, but"):
        mix.fit(em.Chunks([np.ones((5, 2)), np.ones((5, 3))]))
    with pytest.raises(ValueError, match="the chunks hold none"):
        mix.fit(em.Chunks([]))
    np.testing.assert_array_equal(mix.score_samples(X), want)
