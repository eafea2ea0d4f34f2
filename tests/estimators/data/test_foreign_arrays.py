"""Rows of other array libraries: learnt where they are, and labelled like any others."""

import array_api_strict as strict
import numpy as np
import pytest

import evermix as em
from evermix._xp import host

RNG = np.random.default_rng(0)
REAL = np.concatenate([RNG.normal(c, 0.3, size=(60, 3)) for c in (-3.0, 0.0, 3.0)])
FAMILIES = {
    "gaussian": (em.Gaussian(scale=0.1), REAL),
    "zero-mean": (em.ZeroMeanGaussian(scale=1.0), REAL),
    "diagonal": (em.DiagonalGaussian(rate=0.1), REAL),
    "fixed": (em.FixedGaussian(0.1, 10.0), REAL),
    "bernoulli": (em.Bernoulli(), (REAL > 0).astype(float)),
    "poisson": (em.Poisson(), RNG.poisson(np.exp(REAL)).astype(float)),
}
ENGINES = [
    em.FullVB(laps=4, truncation=4),
    em.StochasticVB(laps=4, truncation=4, batch_size=50),
    em.MemoizedVB(laps=4, batch_size=50),
]
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)


def mixture(engine, family):
    return em.Mixture(family=family, prior=em.DP(1.0), engine=engine, random_state=0)


@pytest.mark.parametrize("name", FAMILIES)
@every_engine
def test_a_fit_is_that_of_numpy_arrays(engine, name):
    family, X = FAMILIES[name]
    ours = mixture(engine, family).fit(strict.asarray(X))
    theirs = mixture(engine, family).fit(X)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.tally_.mass, theirs.tally_.mass, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
@every_engine
def test_single_precision_is_nearly_as_good(engine, name):
    """The bounds of these rows are small sums of large terms, so errors are taken per row."""
    family, X = FAMILIES[name]
    ours = mixture(engine, family).fit(strict.asarray(X, dtype=strict.float32))
    theirs = mixture(engine, family).fit(X.astype(np.float32))
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-4 * len(X))
    assert ours.tally_.stats.dtype == np.float64


@every_engine
def test_weights_and_whole_numbers(engine):
    X = np.round(REAL * 3).astype(np.int64)
    weights = RNG.random(len(X))
    for given in (weights, None):
        fits = [
            mixture(engine, em.Gaussian(scale=1.0)).fit(rows, sample_weight=given)
            for rows in (strict.asarray(X), X)
        ]
        assert fits[0].lower_bound_ == pytest.approx(fits[1].lower_bound_, rel=1e-10)


def test_a_fit_goes_on_where_it_was_whichever_library_holds_the_rows():
    engine = em.MemoizedVB(laps=3, batch_size=50)
    mix = mixture(engine, "auto").fit(strict.asarray(REAL))
    mix.set_params(engine=em.MemoizedVB(laps=8, batch_size=50)).resume(REAL)
    whole = mixture(em.MemoizedVB(laps=8, batch_size=50), "auto").fit(REAL)
    assert mix.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-9)
    with pytest.raises(ValueError, match="not the rows"):
        mix.resume(strict.asarray(REAL + 1.0))


@pytest.mark.parametrize("engine", [em.ADF(), em.EP(laps=2), em.Gibbs(sweeps=5)])
def test_other_engines_learn_them_too(engine):
    family = em.DiagonalGaussian(rate=0.1)
    ours, theirs = (
        em.Mixture(family=family, engine=engine, random_state=0).fit(rows)
        for rows in (strict.asarray(REAL), REAL)
    )
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)


QUESTIONS = ("predict", "predict_proba", "score_samples")
COUNTS = RNG.poisson(np.exp(REAL))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FAMILIES)
def test_questions_are_answered_in_kind(name, dtype):
    family, X = FAMILIES[name]
    mix = mixture(ENGINES[2], family).fit(X)
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 1e-4, "atol": 2e-3}
    rows = strict.asarray(X, dtype=getattr(strict, dtype))
    for name in QUESTIONS:
        answer = getattr(mix, name)(rows)
        assert isinstance(answer, type(rows))
        assert answer.dtype == (strict.int64 if name == "predict" else rows.dtype)
        np.testing.assert_allclose(host(answer), getattr(mix, name)(X), **close)
    assert mix.score(rows) == pytest.approx(mix.score(X), rel=1e-4)


@pytest.mark.parametrize("engine", [em.ADF(), em.EP(laps=2), em.Gibbs(sweeps=5)])
def test_every_engine_answers_in_kind(engine):
    mix = em.Mixture(em.DiagonalGaussian(rate=0.1), engine=engine, random_state=0).fit(REAL)
    for name in QUESTIONS:
        answer = getattr(mix, name)(strict.asarray(REAL))
        np.testing.assert_allclose(host(answer), getattr(mix, name)(REAL), rtol=1e-9, atol=1e-9)


def test_answers_in_parts_are_those_at_once(monkeypatch):
    mix = mixture(ENGINES[2], em.Gaussian(scale=0.1)).fit(REAL)
    rows = strict.asarray(REAL)
    whole = {name: host(getattr(mix, name)(rows)) for name in QUESTIONS}
    monkeypatch.setattr("evermix.families.base.DEVICE_CHUNK", 1)  # 64 rows
    for name in QUESTIONS:
        np.testing.assert_array_equal(host(getattr(mix, name)(rows)), whole[name])


@pytest.mark.parametrize(
    ("family", "bad", "message"),
    [
        (em.Gaussian(scale=0.1), [[0.0, np.nan]], "NaN"),
        (em.Gaussian(scale=0.1), [[0.0, -1e200]], "overflow"),
        (em.Gaussian(scale=0.1), [0.0, 1.0], "1D"),
        (em.Gaussian(scale=0.1), np.zeros((0, 2)), "0 sample"),
        (em.Gaussian(scale=0.1), [[0.0, 1.0, 2.0]], "3 features"),
        (em.Poisson(), [[0.0, -1.0]], "column 1"),
        (em.Bernoulli(), [[0.5, 1.0]], "column 0"),
        (em.Multinomial(), [[0.0, -1.0]], "column 1"),
        (em.Multinomial(), [[0.0, np.inf]], "infinity"),
    ],
)
def test_questions_about_bad_rows(family, bad, message):
    mix = mixture(ENGINES[0], family).fit(np.eye(2))
    with pytest.raises(ValueError, match=message):
        mix.predict(strict.asarray(np.asarray(bad)))


@every_engine
def test_a_fit_of_counts_is_that_of_numpy_arrays(engine):
    ours = mixture(engine, em.Multinomial()).fit(strict.asarray(COUNTS))
    theirs = mixture(engine, em.Multinomial()).fit(COUNTS)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, rel=1e-10)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    for name in QUESTIONS:
        answer = getattr(ours, name)(strict.asarray(COUNTS))
        np.testing.assert_allclose(
            host(answer), getattr(theirs, name)(COUNTS), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    "bad, message",
    [
        (np.array([[0.0, np.nan]] * 5), "NaN"),
        (np.array([[0.0, np.inf]] * 5), "infinity"),
        (np.ones(5), "wanted rows"),
        (np.ones((0, 2)), "wanted rows"),
    ],
)
def test_bad_rows(bad, message):
    with pytest.raises(ValueError, match=message):
        mixture(ENGINES[0], em.Gaussian(scale=0.1)).fit(strict.asarray(bad))


def test_rows_that_a_family_cannot_have_are_named():
    X = np.zeros((2**16 + 5, 1))
    X[-1] = -1.0
    with pytest.raises(ValueError, match="in rows from 65536 on"):
        mixture(ENGINES[0], em.Poisson()).fit(strict.asarray(X))


def test_the_number_of_features_is_remembered():
    mix = mixture(ENGINES[0], em.Gaussian(scale=0.1)).fit(strict.asarray(REAL))
    assert mix.n_features_in_ == 3
    with pytest.raises(ValueError, match="2 features"):
        mix.predict(strict.asarray(REAL[:, :2]))
