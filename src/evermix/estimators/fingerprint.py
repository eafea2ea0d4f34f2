"""Digests by which a fit knows its rows again, computed part by part."""

import hashlib

import numpy as np
from scipy import sparse

from evermix._xp import Array

__all__ = ["RowHash", "one_pass_digest"]

MARK = "2:"  # digests of before have none


class RowHash:
    """A digest of prepared rows that does not depend on how they are cut."""

    def __init__(self) -> None:
        self._hashes = [hashlib.blake2b(digest_size=16) for _ in range(3)]
        self._n_rows, self._n_features = 0, 0

    def update(self, X: Array) -> None:
        """Take in prepared rows X (N, D)."""
        parts: list[Array] = [X]
        if isinstance(X, sparse.csr_matrix | sparse.csr_array):
            end = X.indptr[-1]
            lengths, indices = np.diff(X.indptr), X.indices[:end]
            parts = [lengths.astype(np.int64), indices.astype(np.int64), X.data[:end]]
        for digest, values in zip(self._hashes, parts, strict=False):
            digest.update(np.ascontiguousarray(values).data)
        self._n_rows += X.shape[0]
        self._n_features = X.shape[1]

    def result(self, weights: Array) -> str:
        """Return the digest of the rows so far and their weights (N,)."""
        digest = hashlib.blake2b(repr((self._n_rows, self._n_features)).encode(), digest_size=16)
        for part in self._hashes:
            digest.update(part.digest())
        digest.update(np.ascontiguousarray(weights).data)
        return MARK + digest.hexdigest()


def one_pass_digest(X: Array, weights: Array) -> str:
    """Return the digest that files hold which were written before rows came in parts."""
    parts: list[Array] = [X]
    if isinstance(X, sparse.csr_matrix | sparse.csr_array):
        parts = [X.indptr, X.indices, X.data]
    digest = hashlib.blake2b(repr(X.shape).encode(), digest_size=16)
    for values in (*parts, weights):
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
