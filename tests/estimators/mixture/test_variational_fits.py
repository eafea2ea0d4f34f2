"""Fits by variational engines: weights, hard cases, and starts from a saved model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import evermix as em

RNG = np.random.default_rng(0)
KIND = RNG.integers(3, size=90)
REAL = RNG.normal(size=(90, 2)) + 6 * np.eye(3)[KIND][:, :2]
TOPICS = RNG.dirichlet(np.full(6, 0.3), size=3)
COUNTS = np.array([RNG.multinomial(20, TOPICS[k]) for k in KIND])
ROWS = {
    "Gaussian": (em.Gaussian(), REAL),
    "DiagonalGaussian": (em.DiagonalGaussian(), REAL),
    "FixedGaussian": (em.FixedGaussian(), REAL),
    "ZeroMeanGaussian": (em.ZeroMeanGaussian(), REAL),
    "Multinomial": (em.Multinomial(0.3), sparse.csr_matrix(COUNTS)),
    "Bernoulli": (em.Bernoulli(), COUNTS > 2),
    "Poisson": (em.Poisson(), COUNTS),
}
ENGINES = {
    "full": em.FullVB(laps=10, truncation=5),
    "stochastic": em.StochasticVB(laps=3, batch_size=30, truncation=5),
    "memoized": em.MemoizedVB(laps=6, batch_size=30),
}
each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
each_family = pytest.mark.parametrize("name", ROWS)


def fitted(name, engine, X=None, weights=None, cap=None):
    family, rows = ROWS[name]
    mix = em.Mixture(family, engine=engine, max_clusters=cap, random_state=0)
    return mix.fit(rows if X is None else X, sample_weight=weights)


@each_engine
@each_family
def test_a_fit_says_what_it_found(name, engine, tmp_path):
    mix, X = fitted(name, engine), ROWS[name][1]
    assert set(mix.labels_) == set(range(mix.n_clusters_))
    assert np.isfinite(mix.lower_bound_) and np.isfinite(mix.score(X))
    np.testing.assert_allclose(mix.predict_proba(X).sum(axis=1), 1.0)
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix")
    assert again.lower_bound_ == mix.lower_bound_
    np.testing.assert_array_equal(again.score_samples(X), mix.score_samples(X))


@each_engine
@each_family
def test_one_row_and_two_equal_rows_are_one_cluster(name, engine):
    X = ROWS[name][1][:1]
    twice = sparse.vstack([X, X], "csr") if sparse.issparse(X) else np.repeat(X, 2, axis=0)
    assert fitted(name, engine, X).n_clusters_ == fitted(name, engine, twice).n_clusters_ == 1


@pytest.mark.filterwarnings("ignore::evermix.engines.batch.CapacityWarning")
@each_engine
@pytest.mark.parametrize("cap", [1, 2])
def test_there_are_no_more_clusters_than_allowed(engine, cap):
    for name in ROWS:
        assert fitted(name, engine, cap=cap).n_clusters_ <= cap


@pytest.mark.parametrize("name", ["Gaussian", "Multinomial", "Bernoulli"])
@pytest.mark.parametrize("engine", ["full", "memoized"])
def test_rows_of_weight_zero_teach_nothing(name, engine):
    """They come last here: where batches end decides which rows are learnt together."""
    X, weights = ROWS[name][1], np.repeat([1.0, 0.0], [60, 30])
    with_zeros, without = (
        fitted(name, ENGINES[engine], rows, w) for rows, w in ((X, weights), (X[:60], None))
    )
    assert with_zeros.lower_bound_ == pytest.approx(without.lower_bound_, rel=1e-12)
    assert with_zeros.n_clusters_ == without.n_clusters_
    np.testing.assert_allclose(with_zeros.tally_.stats, without.tally_.stats, atol=1e-9)
    assert with_zeros.labels_.min() >= 0


@each_family
def test_a_row_of_weight_w_counts_like_w_rows(name, tmp_path):
    """From the same start, that is: a start draws a row once, whatever its weight."""
    fitted(name, ENGINES["full"]).save(tmp_path / "start.evermix")
    weights = np.tile([1, 2, 3], 30)
    order = np.repeat(np.arange(90), weights)
    engine = em.FullVB(laps=5, tol=0.0, start=str(tmp_path / "start.evermix"))
    X = ROWS[name][1]
    weighted, repeated = fitted(name, engine, X, weights), fitted(name, engine, X[order])
    if weighted.model_ == repeated.model_:  # scales that are open come from the first rows
        assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-9)
        np.testing.assert_array_equal(weighted.labels_[order], repeated.labels_)
        np.testing.assert_allclose(weighted.tally_.mass, repeated.tally_.mass, rtol=1e-9)
    assert weighted.tally_.mass.sum() == pytest.approx(weights.sum())


# ---- starts from a saved model -------------------------------------------------------------------


@each_family
def test_a_saved_model_is_where_a_fit_starts(name, tmp_path):
    """Where coordinate ascent has settled, it stays, but for the order of the sticks."""
    before = fitted(name, em.FullVB(laps=200, tol=0.0, truncation=4))
    before.save(tmp_path / "start.evermix")
    for engine in (em.FullVB(laps=1), em.MemoizedVB(laps=1, batch_size=30)):
        again = fitted(name, replace(engine, start=str(tmp_path / "start.evermix")))
        assert again.lower_bound_ > before.lower_bound_ - 1.0
        assert np.mean(again.labels_ == before.labels_) > 0.95


def test_a_start_may_be_of_other_rows_another_engine_and_another_origin(tmp_path):
    em.Mixture(em.Gaussian(0.0, 0.1, 4.0, 1.0)).fit(REAL[::-1]).save(tmp_path / "adf.evermix")
    engine = em.MemoizedVB(laps=2, births=False, start=str(tmp_path / "adf.evermix"))
    mix = em.Mixture(em.Gaussian(0.0, 0.1, 4.0, 1.0), engine=engine).fit(REAL)
    assert mix.n_clusters_ == 3
    assert mix.tally_.mass.sum() + mix.state_.latents["dropped"][0] == pytest.approx(90)
    np.testing.assert_array_equal(mix.model_.family.origin, REAL[-1])
    means = mix.tally_.stats[:, :2] / mix.tally_.mass[:, None] + REAL[-1]
    want = [REAL[mix.labels_ == k].mean(axis=0) for k in mix.cluster_ids_]
    np.testing.assert_allclose(means, want, atol=0.1)


def test_going_on_does_not_need_the_start(tmp_path):
    path = tmp_path / "start.evermix"
    fitted("Gaussian", ENGINES["full"]).save(path)
    mix = fitted("Gaussian", em.MemoizedVB(laps=2, batch_size=30, start=str(path)))
    mix.save(tmp_path / "m.evermix")
    path.unlink()
    again = em.load(tmp_path / "m.evermix")
    again.set_params(engine=replace(again.engine, laps=4)).resume(REAL)
    assert again.state_.lap > 2


def test_starts_that_cannot_be_are_refused_and_change_nothing(tmp_path):
    path = tmp_path / "start.evermix"
    mix = fitted("Multinomial", ENGINES["full"])
    mix.save(path)
    want = mix.score_samples(COUNTS)
    refused = "start must be 'one', 'kmeans\\+\\+', 'random' or the path of a saved model, got 'no'"
    with pytest.raises(ValueError, match=refused):
        mix.set_params(engine=em.FullVB(start="no")).fit(COUNTS)
    mix.set_params(engine=em.FullVB(start=str(path)))
    with pytest.raises(ValueError, match="clusters of Multinomial with 6 features.*with 3"):
        mix.fit(COUNTS[:, :3])
    with pytest.raises(ValueError, match="cannot be the start of a Poisson"):
        mix.set_params(family=em.Poisson()).fit(COUNTS)
    with pytest.raises(ValueError, match="clusters, more than max_clusters = 1"):
        mix.set_params(family=em.Multinomial(), max_clusters=1).fit(COUNTS)
    path.write_bytes(b"nothing")
    with pytest.raises(em.CheckpointError, match="is not an evermix model.*in Python.$"):
        mix.fit(COUNTS)
    np.testing.assert_array_equal(mix.score_samples(COUNTS), want)
