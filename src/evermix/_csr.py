"""A CSR matrix in the memory of another array library, such as PyTorch or CuPy.

The array standard has no sparse matrices, and those of PyTorch cannot be sliced. So the operations
that families need are here, once for all libraries.
"""

import importlib
import warnings
from typing import Any, Self, TypeAlias

import array_api_compat
import numpy as np
from scipy import sparse

Array: TypeAlias = Any


def is_foreign_csr(x: Any) -> bool:
    """Whether this is a CSR matrix of PyTorch or CuPy."""
    if array_api_compat.is_torch_array(x):
        return str(x.layout) == "torch.sparse_csr"
    return type(x).__module__.startswith("cupyx.") and getattr(x, "format", "") == "csr"


class DeviceCSR:
    """A CSR matrix (N, V) whose entries are on the device of their library.

    Like an array it has a namespace, a device and a dtype.

    Attributes
    ----------
    indptr : int64 array (N + 1,)
        Where rows begin, in the memory of the host.
    indices, data : arrays (nnz,)
        Column and value of each entry, on the device.
    shape : (int, int)
    """

    ndim = 2

    def __init__(self, indptr: Array, indices: Array, data: Array, width: int) -> None:
        self.indptr, self.indices, self.data = indptr, indices, data
        self.shape = len(indptr) - 1, width

    @classmethod
    def of(cls, x: Array) -> Self:
        """Convert a CSR matrix of another library, or a dense array.

        Entries of a row are sorted by column, without duplicates.
        """
        if not is_foreign_csr(x):
            return cls._of_dense(x)
        if array_api_compat.is_torch_array(x):
            indptr, indices, data = x.crow_indices(), x.col_indices(), x.values()
        else:
            indptr, indices, data = x.indptr, x.indices, x.data
        found = cls(_host(indptr).astype(np.int64), indices, data, int(x.shape[1]))
        found._check()
        return found if found._canonical() else found._summed()

    @classmethod
    def _of_dense(cls, x: Array) -> Self:
        xp, width = array_api_compat.array_namespace(x), int(x.shape[1])
        row, column = xp.nonzero(x)
        counts = xp.sum(xp.astype(x != 0, xp.int64), axis=1)
        data = xp.take(xp.reshape(x, (-1,)), row * width + column)
        return cls(np.append(0, np.cumsum(_host(counts))), column, data, width)

    # ---- as arrays -------------------------------------------------------------------------

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.array_namespace(self.data)

    @property
    def device(self) -> Any:
        """Device of the entries."""
        return array_api_compat.device(self.data)

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.data.dtype

    def __getitem__(self, key: Any) -> "DeviceCSR":
        """Return the rows of a slice, or of a slice and all columns."""
        rows = key[0] if isinstance(key, tuple) else key
        start, stop, _ = rows.indices(self.shape[0])
        first, last = int(self.indptr[start]), int(self.indptr[max(stop, start)])
        indptr = self.indptr[start : max(stop, start) + 1] - first
        return self._with(indptr, self.indices[first:last], self.data[first:last])

    def astype(self, dtype: Any) -> "DeviceCSR":
        """Return a matrix with entries of another type."""
        data = self.__array_namespace__().astype(self.data, dtype, copy=False)
        return self._with(self.indptr, self.indices, data)

    # ---- for families ----------------------------------------------------------------------

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return int(self.indptr[-1])

    @property
    def row(self) -> Array:
        """Row of each entry, (nnz,), on the device."""
        xp, times = self.__array_namespace__(), np.diff(self.indptr)
        rows = xp.arange(self.shape[0], device=self.device)
        return xp.repeat(rows, xp.asarray(times, device=self.device))

    def take(self, rows: Array) -> "DeviceCSR":
        """Return the rows with these numbers (M,)."""
        xp, rows = self.__array_namespace__(), _host(rows)
        length = np.diff(self.indptr)[rows]
        indptr = np.append(0, np.cumsum(length))
        entries = np.repeat(self.indptr[rows] - indptr[:-1], length) + np.arange(indptr[-1])
        where = xp.asarray(entries, device=self.device)
        return self._with(indptr, xp.take(self.indices, where), xp.take(self.data, where))

    def host(self) -> sparse.csr_matrix:
        """Return the matrix in the memory of the host."""
        parts = _host(self.data), _host(self.indices), self.indptr
        return sparse.csr_matrix(parts, self.shape)

    def __matmul__(self, other: Array) -> Array:
        """Return the product with an array (V, K), (N, K)."""
        return self._times(other, transposed=False)

    def weighted(self, r: Array) -> Array:
        """Return sums (K, V) of rows with weights r (N, K)."""
        return self._times(r, transposed=True).T

    # ---- internal --------------------------------------------------------------------------

    def _with(self, indptr: Array, indices: Array, data: Array) -> "DeviceCSR":
        return DeviceCSR(indptr, indices, data, self.shape[1])

    def _times(self, other: Array, transposed: bool) -> Array:
        if array_api_compat.is_torch_array(self.data):
            matrix = self._native()
            return (matrix.transpose(0, 1) if transposed else matrix) @ other
        if array_api_compat.is_cupy_array(self.data):
            matrix = self._native()
            return (matrix.T if transposed else matrix) @ other
        matrix = self.host()
        product = (matrix.T if transposed else matrix) @ _host(other)
        return self.__array_namespace__().asarray(product, device=self.device)

    def _native(self) -> Array:
        """Return a sparse matrix of the library itself."""
        if array_api_compat.is_cupy_array(self.data):
            cupyx = importlib.import_module("cupyx.scipy.sparse")
            indptr = self.__array_namespace__().asarray(self.indptr.astype(np.int32))
            return cupyx.csr_matrix((self.data, self.indices, indptr), shape=self.shape)
        torch: Any = importlib.import_module("torch")
        indptr = torch.as_tensor(self.indptr, dtype=self.indices.dtype, device=self.device)
        with warnings.catch_warnings():  # "in beta state"
            warnings.simplefilter("ignore", UserWarning)
            return torch.sparse_csr_tensor(indptr, self.indices, self.data, self.shape)

    def _check(self) -> None:
        """Raise ValueError unless row pointers and columns are valid."""
        xp, indptr, width = self.__array_namespace__(), self.indptr, self.shape[1]
        sound = indptr[0] == 0 and np.all(np.diff(indptr) >= 0)
        if not sound or not indptr[-1] == self.indices.shape[0] == self.data.shape[0]:
            raise ValueError(
                "the row pointers of the sparse matrix do not match its data. Build it again."
            )
        if self.nnz:
            first, last = int(xp.min(self.indices)), int(xp.max(self.indices))
            if not 0 <= first <= last < width:
                raise ValueError(
                    f"the sparse matrix has {width} columns, but entries in columns from {first} "
                    f"to {last}. Build it again."
                )

    def _canonical(self) -> bool:
        """Whether the columns of each row ascend, so that none occurs twice."""
        xp = self.__array_namespace__()
        place = self.row * self.shape[1] + xp.astype(self.indices, xp.int64)
        return bool(xp.all(place[1:] > place[:-1]))

    def _summed(self) -> Self:
        """Return the matrix with duplicate entries added up."""
        xp, matrix = self.__array_namespace__(), self.host()
        matrix.sum_duplicates()
        indices, data = (xp.asarray(x, device=self.device) for x in (matrix.indices, matrix.data))
        return type(self)(matrix.indptr.astype(np.int64), indices, data, self.shape[1])


def _host(x: Array) -> Array:
    if array_api_compat.is_torch_array(x) or array_api_compat.is_cupy_array(x):
        x = array_api_compat.to_device(x, "cpu")
    return np.asarray(x)
