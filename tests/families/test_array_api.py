"""The maths of dense families runs on any array library: here on the strictest there is.

array_api_strict has what the array API standard promises, and nothing else.
"""

import array_api_strict as strict
import numpy as np
import pytest

from evermix._csr import DeviceCSR
from evermix._xp import digamma, gammaln, host, multidigamma, multigammaln
from evermix.families._covariance import log_det
from helpers.family_cases import CASES

DENSE = [name for name, (family, _) in CASES.items() if not family.sparse]


@pytest.fixture(params=DENSE)
def case(request):
    """A family, and what its methods take, by name."""
    family, X = CASES[request.param]
    r = np.random.default_rng(3).dirichlet(np.ones(3), size=len(X))
    stats, mass = family.accumulate(X, r), r.sum(axis=0)
    eta = family.posterior(stats, mass)
    sums = r.T @ family.features(X)
    params = family.mean_params(eta)
    values = {"r": r, "stats": stats, "mass": mass, "eta": eta, "sums": sums, "params": params}
    return family, {"X": X, **values}


@pytest.mark.parametrize(
    ("method", "takes"),
    [
        ("statistic", "X"),
        ("features", "X"),
        ("log_base", "X"),
        ("self_log_likelihood", "X"),
        ("accumulate", "X r"),
        ("slopes", "params"),
        ("from_features", "sums"),
        ("log_likelihood", "X params"),
        ("expected_log_likelihood", "X eta"),
        ("log_predictive", "X eta"),
        ("posterior", "stats mass"),
        ("log_marginal", "stats mass"),
        ("log_partition", "eta"),
        ("mean_params", "eta"),
    ],
)
def test_methods_on_strict_arrays_equal_those_on_numpy_arrays(case, method, takes):
    family, values = case
    given = [values[name] for name in takes.split()]
    want = getattr(family, method)(*given)
    got = getattr(family, method)(*(strict.asarray(value) for value in given))
    assert isinstance(got, type(strict.asarray(0.0)))
    assert got.dtype == strict.float64
    np.testing.assert_allclose(host(got), want, rtol=1e-10, atol=1e-10 * np.abs(want).max())


@pytest.mark.parametrize("name", [name for name, (family, _) in CASES.items() if family.sparse])
@pytest.mark.parametrize("method", ["log_base", "self_log_likelihood", "log_predictive"])
def test_sparse_rows_of_other_libraries_are_asked_the_same(name, method):
    family, X = CASES[name]
    more = (family.eta0 + family.statistic(X[:3]).cumsum(axis=0)[:, : len(family.eta0)],)
    more = more if method == "log_predictive" else ()
    want = getattr(family, method)(X, *more)
    got = getattr(family, method)(DeviceCSR.of(strict.asarray(X.toarray())), *more)
    assert isinstance(got, type(strict.asarray(0.0)))
    np.testing.assert_allclose(host(got), want, rtol=1e-10, atol=1e-10 * np.abs(want).max())


@pytest.mark.parametrize("name", [name for name in DENSE if "offset" not in name])
def test_rows_of_single_precision_are_scored_by_clusters_of_double(name):
    family, X = CASES[name]
    eta = family.eta0[None] + np.stack([family._step(X[:5]).sum(axis=0), 0 * family.eta0])
    got = family.log_predictive(strict.asarray(X, dtype=strict.float32), eta)
    want = family.log_predictive(X.astype(np.float32).astype(np.float64), eta)
    assert got.dtype == strict.float32
    np.testing.assert_allclose(host(got), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_a_ridge_makes_up_for_cancelled_digits_in_any_library():
    far = np.array([1e20, 3e19, 1.0])
    B = np.stack([np.diag([1.0, 2.0, 4.0]), np.eye(3) + np.outer(far, far)])
    with pytest.raises(np.linalg.LinAlgError):
        strict.linalg.cholesky(strict.asarray(B))
    np.testing.assert_allclose(host(log_det(strict.asarray(B))), log_det(B), rtol=1e-14)


@pytest.mark.parametrize("function", [gammaln, digamma])
def test_special_functions_take_numbers_and_arrays(function):
    x = np.array([0.5, 2.0, 30.0])
    np.testing.assert_array_equal(host(function(strict.asarray(x))), function(x))
    assert function(2.0) == function(x)[1]


@pytest.mark.parametrize("function", [multigammaln, multidigamma])
def test_multivariate_special_functions_take_arrays(function):
    x = np.array([[1.5, 2.0], [7.0, 30.0]])
    np.testing.assert_allclose(host(function(strict.asarray(x), 3)), function(x, 3), rtol=1e-14)
