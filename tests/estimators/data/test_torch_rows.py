"""Rows of PyTorch: what the strictest array library cannot say, sparse matrices above all."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import evermix as em

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
REAL = np.concatenate([RNG.normal(c, 0.3, size=(60, 3)) for c in (-3.0, 0.0, 3.0)])
TOPICS = RNG.dirichlet(np.full(30, 0.1), size=3)
COUNTS = sparse.csr_matrix(np.concatenate([RNG.multinomial(40, p, size=60) for p in TOPICS]))
ENGINES = [
    em.FullVB(laps=4, truncation=4),
    em.StochasticVB(laps=4, truncation=4, batch_size=50),
    em.MemoizedVB(laps=6, batch_size=50),
]
QUESTIONS = ("predict", "predict_proba", "score_samples")
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)


def mixture(engine, family="auto"):
    return em.Mixture(family, em.DP(1.0), engine, random_state=0)


def csr(X, dtype=torch.float64):
    parts = [torch.as_tensor(part) for part in (X.indptr, X.indices)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "in beta state"
        return torch.sparse_csr_tensor(*parts, torch.as_tensor(X.data, dtype=dtype), X.shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@every_engine
def test_sparse_counts_are_learnt_and_asked_about(engine, dtype):
    rows = csr(COUNTS, dtype)
    ours, theirs = mixture(engine).fit(rows), mixture(engine).fit(COUNTS)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=1e-6)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    for name in QUESTIONS:
        answer = getattr(ours, name)(rows)
        assert answer.dtype == (torch.int64 if name == "predict" else dtype)
        want = getattr(theirs, name)(COUNTS)
        np.testing.assert_allclose(answer, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("engine", [em.ADF(), em.EP(laps=2), em.Gibbs(sweeps=5)])
def test_sparse_counts_are_learnt_by_other_engines(engine):
    mix = em.Mixture(engine=engine, random_state=0)
    np.testing.assert_array_equal(mix.fit(csr(COUNTS)).labels_, mix.fit(COUNTS).labels_)
    answer = mix.score_samples(csr(COUNTS))
    np.testing.assert_allclose(answer, mix.score_samples(COUNTS), rtol=1e-9)


def test_a_fit_of_sparse_counts_is_known_again():
    mix = mixture(em.MemoizedVB(laps=3, batch_size=50)).fit(csr(COUNTS))
    mix.set_params(engine=em.MemoizedVB(laps=6, batch_size=50)).resume(COUNTS)
    whole = mixture(em.MemoizedVB(laps=6, batch_size=50)).fit(COUNTS)
    assert mix.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-9)


def test_sparse_rows_are_counts():
    with pytest.raises(TypeError, match="Multinomial"):
        mixture(ENGINES[0], em.Gaussian(scale=1.0)).fit(csr(COUNTS))


@every_engine
def test_labels_of_a_fit_come_back_in_kind(engine):
    labels = mixture(engine).fit_predict(torch.as_tensor(REAL))
    assert isinstance(labels, torch.Tensor) and labels.dtype == torch.int64
    np.testing.assert_array_equal(labels, mixture(engine).fit_predict(REAL))
    assert isinstance(mixture(ENGINES[0]).fit_predict(csr(COUNTS)), torch.Tensor)


def test_half_precision_is_read_as_single():
    family = em.Gaussian(scale=0.1)
    mix = mixture(ENGINES[0], family).fit(REAL)
    for dtype in (torch.float16, torch.bfloat16):
        rows = torch.as_tensor(REAL, dtype=dtype)
        assert mix.predict_proba(rows).dtype == torch.float32
        again = mixture(ENGINES[0], family).fit(rows)
        assert again.n_clusters_ == mix.n_clusters_


def test_weights_may_be_tensors_and_models_forget_where_rows_were():
    weights = torch.linspace(0.5, 2.0, len(REAL))
    ours = mixture(ENGINES[0]).fit(torch.as_tensor(REAL), sample_weight=weights)
    theirs = mixture(ENGINES[0]).fit(REAL, sample_weight=weights.numpy())
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=1e-10)
    assert isinstance(ours.labels_, np.ndarray)
    assert b"torch" not in pickle.dumps(ours)
