"""Digests by which a fit knows its rows again, computed part by part, wherever the parts are."""

import hashlib
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.kernels.digest import digest_dense, digest_sparse, multipliers
from evermix.kernels.rows import plain

MARK = "3:"  # digests of before have another, or none
ROWS = 4096  # taken at a time


class RowHash:
    """A digest of prepared rows that does not depend on how they are cut.

    Parameters
    ----------
    first : int
        Number of the first row.
    """

    def __init__(self, first: int = 0) -> None:
        self._at, self._n_rows, self._n_features = first, 0, 0
        self._total = np.zeros(2, dtype=np.uint64)

    def update(self, X: Array) -> None:
        """Take in the rows X (N, D) that follow."""
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
        """Take in the rows of another digest, wherever they stand."""
        self._n_rows += other._n_rows
        self._n_features = max(self._n_features, other._n_features)
        self._total += other._total

    def result(self, weights: Array) -> str:
        """Return the digest of the rows so far and their weights (N,)."""
        digest = hashlib.blake2b(repr((self._n_rows, self._n_features)).encode(), digest_size=16)
        for part in (self._total, weights):
            digest.update(np.ascontiguousarray(part).data)
        return MARK + digest.hexdigest()


def same_rows(seen: str, X: Any, weights: Array, digest: str) -> bool:
    """Whether a digest that was ``seen`` is that of rows X (N, D), whose digest is now another.

    X may be read in slices. Files hold digests of how they were computed when they were written.
    """
    if seen.startswith(MARK):
        return seen == digest
    if seen.startswith("2:"):
        return seen[2:] == _in_order(X, weights)
    parts: list[Array] = [X]
    if isinstance(X, sparse.csr_matrix | sparse.csr_array):
        parts = [X.indptr, X.indices, X.data]
    elif not isinstance(X, np.ndarray):
        return False
    whole = hashlib.blake2b(repr(X.shape).encode(), digest_size=16)
    for values in (*parts, weights):
        whole.update(np.ascontiguousarray(values).data)
    return whole.hexdigest() == seen


def _in_order(X: Any, weights: Array) -> str:
    """Return the digest of files of format 2."""
    hashes = [hashlib.blake2b(digest_size=16) for _ in range(3)]
    n = X.shape[0]
    for start in range(0, n, ROWS):
        some = X[start : min(start + ROWS, n)]
        parts: list[Array] = [some]
        if isinstance(some, sparse.csr_matrix | sparse.csr_array):
            lengths, indices = np.diff(some.indptr), some.indices
            parts = [lengths.astype(np.int64), indices.astype(np.int64), some.data]
        for part, values in zip(hashes, parts, strict=False):
            part.update(np.ascontiguousarray(values).data)
    digest = hashlib.blake2b(repr((n, X.shape[1])).encode(), digest_size=16)
    for part in hashes:
        digest.update(part.digest())
    digest.update(np.ascontiguousarray(weights).data)
    return digest.hexdigest()
