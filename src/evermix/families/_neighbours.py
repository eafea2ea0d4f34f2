"""What near rows of unit length say of clusters: how close they are, and in which directions."""

import numpy as np
from scipy import sparse

from evermix._xp import Floats, Ints

ROWS = 1000  # among which the nearest ones are looked for
METRIC_ROWS = 3000  # the same, for a metric
MOST_COLUMNS = 1024  # of a metric: it has as many numbers squared
PARTNERS, ROWS_PER_PARTNER = 10, 100  # near rows of each: most of them, and all rows for one
FEW_COLUMNS = 8.0  # about as many columns as a metric says little of, see `metric`


def cosine(X: Floats) -> float:
    """Return the typical cosine between a row of X (N, D) and the nearest other one."""
    if len(X) < 2:
        return 0.5
    cosines = X @ X.T
    np.fill_diagonal(cosines, -1.0)
    return float(np.median(cosines.max(axis=1)))


def metric(X: Floats) -> float | Floats:
    r"""Return a matrix (D, D) under which near rows of X (N, D) differ alike in all directions.

    Near rows are mostly of one cluster, so that the second moments W of their differences are
    those of rows within clusters, up to a factor. The matrix is :math:`(W + a \bar w I)^{-1/2}`
    with the mean :math:`\bar w` of the variances and a = 8 / D + D / (N - 2 D): where there are few
    columns, near rows hardly differ in the direction of their mean; and up to 2 D rows would be
    near each other under the metric for no other reason than that it was learnt from them.
    """
    X = X[np.linspace(0, len(X) - 1, min(len(X), METRIC_ROWS)).astype(np.int64)]
    N, D = X.shape
    if N <= 2 * D or D > MOST_COLUMNS:
        return 1.0
    cosines = X @ X.T
    np.fill_diagonal(cosines, -np.inf)
    count = min(max(N // ROWS_PER_PARTNER, 1), PARTNERS)
    near = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
    variances, directions = np.linalg.eigh(_second_moments(X, near))
    typical = float(variances.mean())
    if not typical > 1e-12:  # all rows are equal
        return 1.0
    even = FEW_COLUMNS / D + D / (N - 2 * D)
    spread = np.sqrt(np.maximum(variances, 0.0) / typical + even)
    return np.asarray((directions / spread) @ directions.T)


def _second_moments(X: Floats, near: Ints) -> Floats:
    """Return the mean (D, D) of d d^T over differences d of rows X (N, D) and those ``near`` them.

    Of P near rows (N, P) for each. The sum over all pairs is X^T L X with the Laplacian L of the
    graph that joins them.
    """
    N, P = near.shape
    graph = sparse.csr_array((np.ones(near.size), near.ravel(), P * np.arange(N + 1)), (N, N))
    times = P + np.bincount(near.ravel(), minlength=N)  # that a row is one of a pair
    return np.asarray(X.T @ (times[:, None] * X - graph @ X - graph.T @ X)) / near.size
