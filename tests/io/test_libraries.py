"""Rows of other libraries: datasets, lazy tables, Arrow streams, DLPack."""

import numpy as np
import pytest

import evermix as em
from evermix.io import libraries

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) + 9 * RNG.integers(0, 2, size=(300, 1))
COLUMNS = {f"c{j}": X[:, j] for j in range(3)}
ENGINE = em.MemoizedVB(laps=3)


def fitted(rows, engine=ENGINE):
    return em.Mixture(em.Gaussian(), engine=engine, random_state=0).fit(rows)


def check_same(rows, plain=X):
    """Learning and asking with rows of a library is as with an array."""
    ours, theirs = fitted(plain), fitted(rows())
    assert np.array_equal(ours.labels_, theirs.labels_)
    assert np.array_equal(ours.predict_proba(plain), theirs.predict_proba(rows()))
    assert np.array_equal(fitted(plain, em.Gibbs(4)).labels_, fitted(rows(), em.Gibbs(4)).labels_)
    stream = em.Mixture(em.Gaussian()).partial_fit(rows())
    assert np.array_equal(stream.labels_, em.Mixture(em.Gaussian()).partial_fit(plain).labels_)


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    monkeypatch.setattr(libraries, "ROWS", 70)


class OnlyDLPack:
    """Memory that can be shared, and nothing else."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.device


def test_dlpack():
    check_same(lambda: OnlyDLPack(X))
    single = fitted(X).predict_proba(OnlyDLPack(X.astype(np.float32)))
    assert np.allclose(single, fitted(X).predict_proba(X), atol=1e-5)
    with pytest.raises(TypeError, match=r"on a device \(DLPack kind 2\).*torch.from_dlpack"):
        fitted(OnlyDLPack(X, (2, 0)))


# ---- Arrow -----------------------------------------------------------------------------------


def arrow_table():
    return pytest.importorskip("pyarrow").table(COLUMNS)


def reader():
    table = arrow_table()
    return table.to_reader(max_chunksize=70)


def arrow_dataset(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow_table(), tmp_path / "rows.parquet")
    return pytest.importorskip("pyarrow.dataset").dataset(tmp_path / "rows.parquet")


def test_arrow_readers():
    check_same(reader)
    chunks = em.Chunks(reader)
    assert [len(chunk) for chunk in chunks] == [70, 70, 70, 70, 20]
    assert np.array_equal(fitted(chunks).labels_, fitted(X).labels_)
    with pytest.raises(TypeError, match="can be read only once. Give the function"):
        em.Chunks(reader())


def test_arrow_datasets(tmp_path):
    dataset = arrow_dataset(tmp_path)
    check_same(lambda: dataset)
    assert np.array_equal(fitted(em.Chunks(dataset)).labels_, fitted(X).labels_)


def test_arrow_batches():
    check_same(lambda: arrow_table().to_batches()[0])


@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_columns_of_vectors_are_arrays(kind):
    arrow = pytest.importorskip("pyarrow")
    inner = arrow.list_(arrow.float64(), 3)
    if kind != "fixed":
        inner = getattr(arrow, kind)(arrow.float64())
    column = arrow.array(X.tolist(), type=inner)
    check_same(lambda: arrow.table({"embedding": column}))
    sliced = arrow.table({"embedding": column}).slice(10, 200)
    assert np.array_equal(libraries.as_rows(sliced), X[10:210])
    both = arrow.table({"text": ["a"] * 300, "embedding": column})
    with pytest.raises(ValueError, match="'embedding' holds vectors, beside others"):
        fitted(both)


def test_vectors_of_different_lengths_are_refused():
    arrow = pytest.importorskip("pyarrow")
    for rows in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], None], [[1.0], [2.0, 3.0, 4.0]]):
        with pytest.raises(ValueError, match="must all be there and have the same length"):
            fitted(arrow.table({"embedding": rows}))


# ---- polars and HuggingFace ------------------------------------------------------------------


@pytest.mark.parametrize("batched", [True, False])
def test_lazy_frames(batched, monkeypatch):
    polars = pytest.importorskip("polars")
    if not batched and hasattr(polars.LazyFrame, "collect_batches"):
        monkeypatch.delattr(polars.LazyFrame, "collect_batches")
    lazy = polars.LazyFrame(COLUMNS)
    check_same(lambda: lazy)
    assert np.array_equal(fitted(em.Chunks(lazy)).labels_, fitted(X).labels_)
    assert sum(map(len, em.Chunks(lazy))) == 300


def test_vectors_of_polars():
    polars = pytest.importorskip("polars")
    for dtype in (polars.List(polars.Float64), polars.Array(polars.Float64, 3)):
        frame = polars.DataFrame({"embedding": polars.Series(X.tolist(), dtype=dtype)})
        check_same(lambda frame=frame: frame)
        check_same(lambda frame=frame: frame.lazy())
    with pytest.raises(ValueError, match="same length"):
        fitted(polars.DataFrame({"embedding": [[1.0], [2.0, 3.0]]}))


def test_lazy_tables_of_words_and_numbers():
    polars = pytest.importorskip("polars")
    kind = np.where(X[:, 0] > 4, "tall", "small")
    frame = polars.DataFrame({"height": X[:, 0], "kind": kind})
    lazy, eager = em.Mixture().fit(frame.lazy()), em.Mixture().fit(frame)
    assert lazy.levels_ == eager.levels_
    assert len(lazy.predict(frame.lazy())) == 300


@pytest.mark.filterwarnings("ignore")
def test_datasets_of_huggingface():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"embedding": X.tolist()})
    check_same(lambda: rows)
    assert np.array_equal(fitted(em.Chunks(rows)).labels_, fitted(X).labels_)
    columns = datasets.Dataset.from_dict(COLUMNS)
    check_same(lambda: columns)
    check_same(lambda: columns.to_iterable_dataset())
    with pytest.raises(TypeError, match=r"one part of the datasets \['test', 'train'\]"):
        fitted(columns.train_test_split(0.5))
