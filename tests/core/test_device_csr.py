"""CSR matrices of other array libraries: cut by rows, multiplied, and the same as SciPy's."""

import warnings

import array_api_strict as strict
import numpy as np
import pytest
from scipy import sparse

from evermix._csr import DeviceCSR, is_foreign_csr
from evermix._xp import alike, doubled, host, is_foreign, precise, take_rows

RNG = np.random.default_rng(0)
DENSE = RNG.poisson(0.4, size=(20, 7)).astype(np.float64)
DENSE[3] = 0.0
MATRIX = sparse.csr_matrix(DENSE)
OTHER = RNG.normal(size=(7, 3))
SHARES = RNG.dirichlet(np.ones(3), size=20)


def torch_csr(indptr, indices, data, shape):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "in beta state"
        parts = (torch.as_tensor(np.asarray(part)) for part in (indptr, indices, data))
        return torch.sparse_csr_tensor(*parts, shape, check_invariants=False)


def from_torch():
    return DeviceCSR.of(torch_csr(MATRIX.indptr, MATRIX.indices, MATRIX.data, MATRIX.shape))


@pytest.fixture(params=["strict", "torch"])
def ours(request):
    """The matrix, from a dense array and from a sparse one."""
    return from_torch() if request.param == "torch" else DeviceCSR.of(strict.asarray(DENSE))


def same(got, want):
    got = host(got)
    assert sparse.issparse(got) and got.has_canonical_format
    np.testing.assert_array_equal(got.toarray(), want)


def test_it_comes_back_as_it_was(ours):
    assert ours.shape == DENSE.shape and ours.nnz == MATRIX.nnz
    same(ours, DENSE)
    same(doubled(ours), DENSE)


@pytest.mark.parametrize("some", [slice(0, 5), slice(3, 4), slice(4, 4), slice(15, None)])
def test_slices_are_rows(ours, some):
    same(ours[some], DENSE[some])
    same(ours[some, :][:2], DENSE[some][:2])


def test_rows_are_taken_by_number(ours):
    rows = np.array([0, 3, 3, 19])
    same(take_rows(ours, rows), DENSE[rows])
    same(take_rows(ours, alike(rows, ours)), DENSE[rows])


def test_products(ours):
    np.testing.assert_allclose(host(ours @ alike(OTHER, ours)), DENSE @ OTHER)
    np.testing.assert_allclose(host(ours.weighted(alike(SHARES, ours))), SHARES.T @ DENSE)
    part = ours[5:9]
    np.testing.assert_allclose(
        host(part.weighted(alike(SHARES[5:9], part))), SHARES[5:9].T @ part.host()
    )


def test_it_says_what_it_is_of(ours):
    assert is_foreign(ours)
    assert alike(np.ones(2, dtype=np.float32), ours).dtype == ours.dtype
    assert precise(ours.astype(ours.__array_namespace__().float32)).dtype == ours.dtype
    np.testing.assert_array_equal(host(ours.row), MATRIX.tocoo().row)


def test_entries_of_the_same_place_are_added_up():
    """And entries of a row are put in the order of their columns."""
    twice = torch_csr([0, 3, 4], [2, 0, 2, 1], [1.0, 2.0, 3.0, 4.0], (2, 3))
    same(DeviceCSR.of(twice), [[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]])


@pytest.mark.parametrize(
    "parts", [([0, 3, 2], [0, 1]), ([1, 1, 2], [0, 1]), ([0, 1, 2], [0, 3]), ([0, 1, 2], [-1, 0])]
)
def test_matrices_that_cannot_be_are_refused(parts):
    """They would be read beyond their end."""
    with pytest.raises(ValueError, match="the sparse matrix|of the sparse matrix"):
        DeviceCSR.of(torch_csr(*parts, [1.0, 1.0], (2, 3)))


def test_only_csr_is_csr():
    torch = pytest.importorskip("torch")
    assert is_foreign_csr(torch_csr(MATRIX.indptr, MATRIX.indices, MATRIX.data, MATRIX.shape))
    for other in (torch.ones(2, 2), torch.eye(2).to_sparse_coo(), strict.ones(2), MATRIX, DENSE):
        assert not is_foreign_csr(other)
