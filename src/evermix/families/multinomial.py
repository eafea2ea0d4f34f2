r"""Counts of words: documents, baskets, histograms."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from evermix._csr import DeviceCSR
from evermix._random import draw_log_gamma
from evermix._xp import (
    Array,
    Floats,
    alike,
    digamma,
    doubled,
    gammaln,
    logsumexp,
    namespace,
    summed_by,
)
from evermix.families import _hyperparameters as hyper
from evermix.families.base import Family
from evermix.kernels.families.multinomial import MultinomialWork, fuse_pairs, log_marginals
from evermix.kernels.rising import factors
from evermix.kernels.rows import SparseRows, plain
from evermix.tally import Layout, Tally

ALPHA = 0.1  # at first
LOG_SPREAD = 2.0  # standard deviation of log alpha in its hyperprior
LEAST_ALPHA, MOST_ALPHA = 1e-4, 10.0
PRIOR_LENGTH = 100  # words of a document drawn from the prior
COMMON = 512  # words by which similar clusters are found


@dataclass(frozen=True)
class Multinomial(Family):
    r"""Rows are counts, each cluster has its own word probabilities.

    The statistic of a row is its counts and, last, their sum, which saves a sum over all words;
    :math:`a(\eta) = \sum_w \log\Gamma(\eta_w) - \log\Gamma(\eta_{V+1})`. Rows may hold any
    numbers >= 0; a row of zeros is as likely in every cluster.

    Parameters
    ----------
    alpha : float or array (V,), optional
        Dirichlet prior on the word probabilities of a cluster. Small values ask for clusters
        that use few words. None: learnt, from 0.1 on.
    growing : bool
        Whether rows of a stream may come with more columns than the rows before them, for words
        that were not known. The prior is over the words that there are columns for: the columns
        of the first rows, or ``n_features``; where a row has more, a few more than it has, see
        ``evermix.families.growing``. Rows may also have fewer.
    n_features : int, optional
        Number of words V; set from data. If ``growing``, a number here is the size of the
        vocabulary before it must grow: up to it, results are those of a run that knew all words.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> family = Multinomial(alpha=0.5, n_features=2)
    >>> family.log_predictive(csr_array([[1.0, 0.0]]), family.eta0[None]).round(3)
    array([[-0.693]])
    """

    layout: ClassVar[Layout] = Layout.STATISTIC_MAJOR
    largest: ClassVar[float] = 1e15  # sums stay below 1e25, where the gamma functions are exact
    sparse: ClassVar[bool] = True
    wide: ClassVar[bool] = True
    support: ClassVar[tuple[str, str]] = (
        "Negative values in data: Multinomial needs counts >= 0",
        "Use a Gaussian family for signed data.",
    )
    learns: ClassVar[tuple[str, ...]] = ("alpha",)
    tunable: ClassVar[tuple[str, ...]] = ("alpha",)

    alpha: float | Floats | None = None
    growing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.growing, bool):
            raise TypeError(f"growing must be True or False, got {self.growing!r}.")

    def inside(self, X: Array) -> Array:
        """Return which counts are not negative, (nnz,)."""
        return X.data >= 0

    def candidates(self, X: Array) -> list[Self]:
        """Return this family for the words of ``X`` (N, V)."""
        V = int(X.shape[1])
        if self.growing and isinstance(self.alpha, np.ndarray | list | tuple):
            raise ValueError(
                "a vocabulary that grows needs one alpha for all words, got "
                f"{len(self.alpha)} numbers. Give a single number or None."
            )
        alpha = ALPHA if self.alpha is None else hyper.positive_as_given("alpha", self.alpha, V)
        return [replace(self, alpha=alpha, n_features=V)]

    @property
    def open(self) -> bool:
        """Whether hyperparameters must come from data before anything is learnt: none must."""
        return False

    def log_hyperprior(self, first: Self) -> float:
        """Log density of alpha, normal in its logarithm, 0 at that of ``first``."""
        ratio = float(self._alpha[0] / first._alpha[0])  # only a single number is learnt
        return -0.5 * (math.log(ratio) / LOG_SPREAD) ** 2

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        """Return the family after a fixed-point step for alpha (Minka 2000)."""
        del first, mass
        if "alpha" not in names:
            return self
        alpha, V = float(self._alpha[0]), self._D
        words = np.sum(digamma(stats[:, :-1] + alpha)) - stats.shape[0] * V * digamma(alpha)
        lengths = np.sum(digamma(stats[:, -1] + V * alpha) - digamma(V * alpha))
        step = words / (V * lengths) if lengths > 0 else 1.0
        return replace(self, alpha=float(np.clip(alpha * step, LEAST_ALPHA, MOST_ALPHA)))

    @property
    def n_stats(self) -> int:
        """V + 1: the words, and the length."""
        return self._D + 1

    @property
    def n_slopes(self) -> int:
        """V."""
        return self._D

    @cached_property
    def eta0(self) -> Floats:
        """The Dirichlet parameters and their sum, (V + 1,)."""
        alpha = self._alpha
        return np.append(alpha, alpha.sum())

    def statistic(self, X: Array) -> Array:
        """Counts and length of each row, (N, V + 1), dense."""
        counts = sparse.csr_array(X).toarray()
        return np.column_stack([counts, counts.sum(axis=1)])

    def features(self, X: Array) -> Array:
        """Counts of each row, (N, V), CSR: their sum is no feature of its own."""
        return X if isinstance(X, DeviceCSR) else sparse.csr_array(X)

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, V) of the counts; each count also adds to the length."""
        return params[:, :-1] + params[:, -1:]

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, V + 1) from sums of counts (K, V)."""
        # Word by word, so that rounding is the same however the sums lie in memory.
        length = np.ascontiguousarray(sums.T).sum(axis=0)
        return np.column_stack([sums, length])

    def log_base(self, X: Array) -> Array:
        """Log multinomial coefficient of each row, (N,)."""
        row, _, count, length = _entries(X)
        return gammaln(length + 1) - summed_by(row, gammaln(count + 1), X.shape[0])

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of the Dirichlet distribution, (K,)."""
        return gammaln(eta[:, :-1]).sum(axis=1) - gammaln(eta[:, -1])

    def mean_params(self, eta: Array) -> Array:
        """E log of the word probabilities, as digamma of the words and of the sum, (K, V + 1)."""
        mean = digamma(eta)
        mean[:, -1] *= -1
        return mean

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log Dirichlet-multinomial probability (N, K), coefficient left out."""
        row, word, count, length = _entries(X)
        xp, eta = namespace(count), alike(eta, count)
        before = gammaln(eta)
        parts = []
        for k in range(eta.shape[0]):
            rising = gammaln(xp.take(eta[k, :], word) + count) - xp.take(before[k, :], word)
            total = gammaln(eta[k, -1] + length) - before[k, -1]
            parts.append(summed_by(row, rising, X.shape[0]) - total)
        out = xp.stack(parts, axis=1)
        return alike(out, X) if isinstance(X, DeviceCSR) else out

    def self_log_likelihood(self, X: Array) -> Array:
        """E log p(x | word probabilities) of each row (N,) when its cluster has learnt it alone."""
        row, word, count, length = _entries(X)
        alpha = alike(self._alpha, count)
        words = count * digamma(namespace(count).take(alpha, word) + count)
        fit = summed_by(row, words, X.shape[0])
        return fit - length * digamma(float(self._alpha.sum()) + length)

    def numbers_seen(self, tally: Tally) -> Array:
        """How many words each cluster was learnt from, (K,)."""
        return tally.stats[:, -1]

    def log_fusion(self, tally: Tally, pairs: Array, times: float | Array = 1.0) -> Array:
        """Log marginal likelihood of each pair (P, 2) of clusters fused, minus apart; (P,)."""
        out, times = np.empty(len(pairs)), plain(np.broadcast_to(times, len(pairs)))
        some, pairs = np.unique(pairs, return_inverse=True)
        stats, pairs = plain(tally.stats_of(some)), plain(pairs.reshape(-1, 2), np.int64)
        fuse_pairs(stats, self.eta0, pairs, times, out)
        return out

    def log_marginals(self, tally: Tally) -> Array:
        """Log marginal likelihood of each cluster (K,), word by word where the counts lie.

        Soft counts below 1e-6 are taken for zero.
        """
        out = np.empty(tally.K)
        log_marginals(tally.stats_buffer, self.eta0, out)
        return out

    def fusion_bound(self, tally: Tally, rows: Array) -> Array:
        """Cheap lower bound (R, K) on :meth:`log_fusion`, word by word where the counts lie."""
        K = tally.K
        seen, prior = tally.stats_buffer[:, :K], self.eta0[:, None]
        eta = seen + prior
        mean = digamma(eta)
        mean[-1] *= -1
        marginal = self.log_marginals(tally)
        if 2 * len(rows) > K:  # one product for all pairs serves both directions
            fit = seen.T @ mean
            return np.maximum(fit - marginal[:, None], fit.T - marginal)[rows]
        gone = seen[:, rows].T @ mean - marginal[rows, None]
        stays = mean[:, rows].T @ seen - marginal
        return np.maximum(gone, stays)

    def sketch(self, tally: Tally, some: Array) -> tuple[Self, Tally]:
        """Return the family of the most common words only, and some clusters of a tally."""
        if self._D <= COMMON:
            return super().sketch(tally, some)
        counts = tally.stats_buffer[:-1]
        words = np.argpartition(-(counts @ np.ones(tally.capacity)), COMMON)[:COMMON]
        seen = np.take(counts[words], some, axis=1).T
        stats = np.column_stack([seen, seen.sum(axis=1)])
        family = replace(self, n_features=COMMON, alpha=self._alpha[words])
        return family, Tally.of(tally.ids[some], tally.mass[some], stats, {}, tally.layout)

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw log gammas of the words, and last minus the log of their sum, (K, V + 1).

        Word probabilities are gammas over their sum. Small alphas make gammas that underflow, not
        so their logs.
        """
        logs = draw_log_gamma(eta[:, :-1], rng)
        return np.column_stack([logs, -logsumexp(logs, axis=1)])

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw word probabilities, then a document (V,) as long as the cluster's average."""
        length = PRIOR_LENGTH
        if mass > 0:
            length = max(1, round((eta[-1] - self._alpha.sum()) / mass))
        return rng.multinomial(length, rng.dirichlet(eta[:-1])).astype(np.float64)

    def rows(self, X: Array) -> SparseRows:
        """Pack rows X (N, V), CSR without duplicate entries."""
        return SparseRows(
            plain(X.indptr, np.int64), plain(X.indices, np.int32), plain(X.data, np.float64)
        )

    def workspace(self, tally: Tally, columns: dict[str, Floats]) -> MultinomialWork:
        """Pack the tally's counts for the kernels."""
        alpha = self._alpha
        return MultinomialWork(
            stats=tally.stats_buffer,
            alpha=alpha,
            alpha_sum=float(alpha.sum()),
            waiting=factors(alpha, tally.capacity),
        )

    @cached_property
    def _alpha(self) -> Floats:
        return hyper.positive_columns("alpha", self.alpha, self._D)


def _entries(X: Array) -> tuple[Array, Array, Array, Array]:
    """Row, word and count (nnz,) of each entry, and the length (N,) of each row.

    Counts are doubles: the logarithms of rising factorials are small differences of large numbers.
    """
    if isinstance(X, DeviceCSR):
        row, count = X.row, doubled(X.data)
        return row, X.indices, count, summed_by(row, count, X.shape[0])
    counts = sparse.csr_array(X)
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    return row, counts.indices, counts.data, counts.sum(axis=1)
