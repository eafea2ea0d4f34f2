"""A digest of rows, by which a fit recognises them when it is resumed."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evermix._xp import Array
from evermix.kernels.digest import digest_dense, digest_sparse, multipliers
from evermix.kernels.rows import plain


class OtherRowsError(ValueError):
    """A fit cannot go on with other rows than those that it was begun with."""


class RowHash:
    """A digest of prepared rows; it does not depend on how they are cut into parts.

    Parameters
    ----------
    first : int
        Number of the first row.
    """

    def __init__(self, first: int = 0) -> None:
        self._at, self._n_rows, self._n_features = first, 0, 0
        self._total = np.zeros(2, dtype=np.uint64)

    def update(self, X: Array) -> None:
        """Add the rows X (N, D) that follow."""
        if X.shape[1] != self._n_features:
            self._n_features, self._multipliers = X.shape[1], multipliers(X.shape[1])
        if isinstance(X, sparse.csr_matrix | sparse.csr_array):
            digest_sparse(
                plain(X.indptr, np.int64),
                plain(X.indices, np.int64),
                plain(X.data, np.float64).view(np.uint64),
                self._multipliers,
                self._at,
                self._total,
            )
        else:
            bits = plain(X, np.float64).view(np.uint64)
            digest_dense(bits, self._multipliers, self._at, self._total)
        self._at += X.shape[0]
        self._n_rows += X.shape[0]

    def add(self, other: "RowHash") -> None:
        """Add the rows of another digest, wherever they stand."""
        self._n_rows += other._n_rows
        self._n_features = max(self._n_features, other._n_features)
        self._total += other._total

    def result(self, *beside: NDArray[Any] | None) -> str:
        """Return the digest of the rows so far and of arrays beside them: weights, times."""
        digest = hashlib.blake2b(repr((self._n_rows, self._n_features)).encode(), digest_size=16)
        for part in (self._total, *beside):
            if part is not None:
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()
