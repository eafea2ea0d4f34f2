"""Bad input gets an error that says what was wanted, what came and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import evermix as em

X = np.random.default_rng(0).normal(size=(30, 3))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("family", "data", "message"),
    [
        (em.Gaussian(), np.array([[1.0, np.nan]]), "NaN"),
        ("auto", np.array([[1.0, np.inf]]), "infinity"),
        ("auto", np.empty((4, 0)), "0 feature"),
        ("auto", np.empty((0, 4)), "0 sample"),
        ("auto", [["1", "b"]], "got 'b' in row 0 of column 1. Give columns .* as a table"),
        ("auto", np.array([[1.0, "b"]], object), "'b' in row 0 of column 1. Give columns"),
        ("auto", np.array([1.0, 2.0]), "Expected 2D array"),
        ("auto", np.array([[1e200, 1.0]]), "values up to 1e\\+200.*Rescale"),
        (
            em.Multinomial(),
            np.array([[1.0, -2.0]]),
            "Negative values in data: .*got -2.0 in row 0, column 1",
        ),
        ("auto", sparse.csr_matrix([[1.0, -2.0]]), "Negative values in data"),
        (em.Poisson(), np.array([[1.0, -2.0]]), "Negative values in data"),
        (em.Bernoulli(), np.array([[1.0, 0.5]]), "zeros and ones, got 0.5 in row 0, column 1"),
    ],
)
def test_bad_rows(method, family, data, message):
    with pytest.raises(ValueError, match=message):
        getattr(em.Mixture(family=family), method)(data)


def test_words_in_tables_for_a_family_of_numbers():
    table = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    with pytest.raises(ValueError, match="got 'red' in row 0 of column 'colour'. Leave the column"):
        em.Mixture(em.Gaussian()).fit(table)


def test_one_row_of_a_table_is_not_taken_for_texts():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": ["red", "blue"] * 30, "size": rng.normal(size=60)})
    mix = em.Mixture().fit(table)
    with pytest.raises(TypeError, match=r"give a table of one row, df.iloc\[\[0\]\]"):
        mix.predict(table.iloc[0])
    assert mix.predict(table.iloc[[0]]).shape == (1,)
    with pytest.raises(TypeError, match="must hold numbers, got texts"):
        mix.predict(table["colour"])


def test_sparse_rows_for_a_dense_family():
    with pytest.raises(TypeError, match="[Ss]parse"):
        em.Mixture(family=em.Gaussian()).fit(sparse.eye(3, format="csr"))


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [("indices", 2, 10**6), ("indices", 0, -1), ("indptr", 1, 50), ("indptr", 2, -5)],
)
def test_sparse_rows_that_are_not_whole(part, place, value):
    """SciPy takes the parts of a matrix on trust; compiled loops would run over wrong memory."""
    rows = sparse.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]]))
    getattr(rows, part)[place] = value
    with pytest.raises(ValueError, match="sparse matrix"):
        em.Mixture().fit(rows)


def test_a_changed_number_of_features():
    mix = em.Mixture().fit(X)
    for ask in (mix.partial_fit, mix.predict, mix.score_samples):
        with pytest.raises(ValueError, match="4 features, but Mixture is expecting 3"):
            ask(np.ones((2, 4)))
    mix.predict(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(30), "zero"),
        (-np.ones(30), "[Nn]egative"),
        (np.ones(29), "inconsistent|shape"),
        (np.full(30, np.nan), "NaN"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        em.Mixture().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"family": "gauss"}, ValueError, "'auto' or a Family, got 'gauss'"),
        ({"family": 3}, TypeError, "'auto' or a Family, got 3"),
        ({"prior": "dp"}, TypeError, "prior must be a Prior such as em.DP"),
        ({"engine": "adf"}, TypeError, "engine must be an Engine such as em.ADF"),
        ({"max_clusters": 0}, ValueError, "at least 1 or None, got 0"),
        ({"engine": em.ADF(rule="paper")}, ValueError, "needs birth >= sigma"),
        ({"family": em.Gaussian(nu=1.0)}, ValueError, "nu"),
        ({"family": em.Multinomial(alpha=-1.0)}, ValueError, "alpha must be a positive"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_parameters(method, params, error, message):
    data = np.abs(X) if isinstance(params.get("family"), em.Multinomial) else X
    with pytest.raises(error, match=message):
        getattr(em.Mixture(**params), method)(data)
        em.Mixture(**params).fit(data)


def test_asking_before_learning():
    from sklearn.exceptions import NotFittedError

    for ask in ("predict", "score_samples", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(em.Mixture(), ask)(X)
    for name in ("labels_", "weights_", "tally_", "model_", "posterior_", "probabilities_"):
        with pytest.raises(NotFittedError):
            getattr(em.Mixture(), name)
