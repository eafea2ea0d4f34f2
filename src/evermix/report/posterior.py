"""The posterior that a sampler draws: partitions, their summaries and representative draw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evermix.kernels.partitions import (
    TILE,
    count_matches,
    number_clusters,
    shared_terms,
    size_terms,
)
from evermix.report.chains import summarise, to_inference_data

MAX_ENTRIES = 2 * 10**8  # of a matrix of pairs: 1.6 GB
MAX_REFERENCES = 200  # draws that candidates are compared with

Loss: TypeAlias = Literal["vi", "binder"]
"""Variation of information, in nats; or Binder's loss, the share of pairs that disagree."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws of partitions from a posterior, and scalars that go with each draw.

    Cluster numbers have no meaning beyond one draw: all results are the same however the clusters
    of a draw are numbered.

    Parameters
    ----------
    labels : int array (M, N)
        The cluster of each of N rows in each of M draws.
    chain : int array (M,)
        The chain that each draw comes from.
    scalars : mapping of arrays (M,)
        Scalars of each draw, by name: ``log_joint``, hyperparameters.

    Examples
    --------
    >>> from evermix.report import Posterior
    >>> posterior = Posterior([[0, 0, 1, 1], [7, 7, 3, 3], [0, 0, 0, 1]], chain=[0, 0, 0])
    >>> posterior.n_clusters
    array([2, 2, 2])
    >>> posterior.co_clustering()[0].round(2)
    array([1.  , 1.  , 0.33, 0.  ])
    >>> posterior.labels[posterior.point()]
    array([0, 0, 1, 1], dtype=int32)
    """

    labels: NDArray[Any]
    chain: NDArray[Any]
    scalars: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels, chain = np.asarray(self.labels), np.asarray(self.chain)
        if labels.ndim != 2 or labels.size == 0:
            raise ValueError(
                "labels must be (draws, rows) with at least one of each, got shape "
                f"{labels.shape}. A chain has no draws before its burn-in is over."
            )
        scalars = {name: np.asarray(v, dtype=np.float64) for name, v in self.scalars.items()}
        for name, values in {"chain": chain, **scalars}.items():
            if values.shape != labels.shape[:1]:
                raise ValueError(
                    f"{name} must have one entry per draw, {labels.shape[:1]}, "
                    f"got shape {values.shape}."
                )
        object.__setattr__(self, "labels", _whole(labels, np.int32, "labels"))
        object.__setattr__(self, "chain", _whole(chain, np.int64, "chain"))
        object.__setattr__(self, "scalars", scalars)

    def __repr__(self) -> str:
        M, N = self.labels.shape
        return f"Posterior({M} draws of {self.n_chains} chains, {N} rows)"

    @property
    def n_draws(self) -> int:
        """Number of draws, of all chains together."""
        return len(self.labels)

    @property
    def n_chains(self) -> int:
        """Number of chains that have draws."""
        return len(np.unique(self.chain))

    @cached_property
    def n_clusters(self) -> NDArray[Any]:
        """Number of clusters (M,) in each draw."""
        return numbered(self.labels)[1]

    @cached_property
    def size_entropy(self) -> NDArray[Any]:
        """Entropy (M,) of the cluster sizes in each draw, in nats: 0 if all rows are together."""
        return entropies(numbered(self.labels)[0])

    def traces(self) -> dict[str, NDArray[Any]]:
        """Scalars (M,) of each draw, by name: K, the entropy of the sizes, and those given."""
        counted = {"K": self.n_clusters, "size_entropy": self.size_entropy}
        return {**self.scalars, **counted}

    def co_clustering(self, rows: NDArray[Any] | slice | None = None) -> NDArray[Any]:
        """Probability that two rows are in the same cluster.

        Parameters
        ----------
        rows : int array (R,), mask (N,) or slice, optional
            The rows to compare; all if None.

        Returns
        -------
        array (R, R)
            Symmetric, with ones on the diagonal.
        """
        chosen = _selected(slice(None) if rows is None else rows, self.labels.shape[1])
        R = len(chosen)
        if R * R > MAX_ENTRIES:
            raise ValueError(
                f"co_clustering of {R:,} rows would have {R * R:,} entries, more than "
                f"{MAX_ENTRIES:,}; pass fewer rows, such as "
                "rows=rng.choice(n, 5000, replace=False)."
            )
        draws = np.ascontiguousarray(self.labels[:, chosen].T)
        together = np.empty((R, R))
        for start in range(0, R, TILE):
            count_matches(draws, start, together)
        together /= self.n_draws
        return together

    def expected_loss(self, labels: NDArray[Any], loss: Loss = "vi") -> float:
        """Mean loss between a partition and all draws; the smaller, the more representative it is.

        Parameters
        ----------
        labels : int array (N,)
            The cluster of each row.
        loss : {"vi", "binder"}
            "vi" is the variation of information [meila2007]_, in nats. "binder" is Binder's loss
            [binder1978]_ as the share of the N x N ordered pairs of rows that are together in one
            partition and apart in the other.

        References
        ----------
        .. [meila2007] M. Meila. Comparing clusterings: an information based distance. Journal of
           Multivariate Analysis, 2007.
        .. [binder1978] D. Binder. Bayesian cluster analysis. Biometrika, 1978.
        """
        labels = np.asarray(labels)
        if labels.shape != self.labels.shape[1:]:
            raise ValueError(
                f"labels must have one entry per row, {self.labels.shape[1:]}, "
                f"got shape {labels.shape}."
            )
        candidate, _ = numbered(_whole(labels, np.int32, "labels")[None])
        return float(expected_losses(candidate, numbered(self.labels)[0], loss)[0])

    def point(self, loss: Loss = "vi") -> int:
        """Index of the most representative draw: the one with the smallest expected loss.

        Only draws are candidates (the "draws" method of Wade and Ghahramani [wade2018]_); a
        partition that was never drawn could be better still. With more than 200 draws, each is
        compared with 200 of them, evenly spaced over the chains.

        Parameters
        ----------
        loss : {"vi", "binder"}
            See :meth:`expected_loss`. Binder's loss tends to favour more and smaller clusters.

        References
        ----------
        .. [wade2018] S. Wade and Z. Ghahramani. Bayesian cluster analysis: point estimation and
           credible balls. Bayesian Analysis, 2018.
        """
        codes, _ = numbered(self.labels)
        by_chain = np.argsort(self.chain, kind="stable")
        size = min(self.n_draws, MAX_REFERENCES)
        references = by_chain[np.linspace(0, self.n_draws - 1, size).round().astype(np.int64)]
        return int(np.argmin(expected_losses(codes, codes[references], loss)))

    def summary(self) -> dict[str, dict[str, float]]:
        """Summarise K, the entropy of the cluster sizes and every scalar.

        Returns
        -------
        dict of dicts
            By name: ``mean``, ``sd``, ``median``, ``5%`` and ``95%`` of all draws; ``ess_bulk`` and
            ``ess_tail``, the effective sample sizes in the middle and at these two quantiles; and
            ``r_hat``, which is near 1 if the chains agree [vehtari2021]_. ArviZ computes the last
            three from chains cut to the length of the shortest one with draws. They are nan if all
            draws are equal or a chain has fewer than 4; r_hat also for a single chain.

        Raises
        ------
        ImportError
            ArviZ is not installed.

        References
        ----------
        .. [vehtari2021] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Burkner.
           Rank-normalization, folding, and localization: an improved R-hat for assessing
           convergence of MCMC. Bayesian Analysis, 2021.
        """
        return {name: summarise(values, self.chain) for name, values in self.traces().items()}

    def to_arviz(self) -> Any:
        """Return the traces for ArviZ's plots and diagnostics.

        The group ``posterior`` holds K, the entropy of the cluster sizes and the scalars;
        ``log_joint`` goes to ``sample_stats``. Labels are left out, since cluster numbers have no
        meaning beyond one draw. Chains of unequal length (of an interrupted fit) are cut to the
        length of the shortest one with draws.

        Returns
        -------
        xarray.DataTree (ArviZ 1) or arviz.InferenceData (ArviZ 0)

        Raises
        ------
        ImportError
            ArviZ is not installed.
        """
        posterior = self.traces()
        groups = {"posterior": posterior}
        if "log_joint" in posterior:
            groups["sample_stats"] = {"log_joint": posterior.pop("log_joint")}
        return to_inference_data(groups, self.chain)


def _selected(rows: NDArray[Any] | slice, n: int) -> NDArray[Any]:
    """Return the numbers of the rows that indices, a mask or a slice select among n."""
    array = np.arange(n)[rows] if isinstance(rows, slice) else np.asarray(rows)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "biu"):
        raise ValueError(f"rows must be row numbers (R,) or a mask (N,), got {rows!r}.")
    return np.arange(n)[array if array.size else array.astype(np.int64)]


def _whole(values: NDArray[Any], dtype: type[np.signedinteger[Any]], name: str) -> NDArray[Any]:
    """Return integers as this dtype. ValueError: they are not integers, or too large."""
    limits = np.iinfo(dtype)
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got the type {values.dtype}.")
    if values.min() < limits.min or values.max() > limits.max:
        raise ValueError(
            f"{name} must be whole numbers from {limits.min} to {limits.max}, got some from "
            f"{values.min()} to {values.max()}."
        )
    return np.ascontiguousarray(values, dtype=dtype)


# ---- partitions as arrays ------------------------------------------------------------------


def numbered(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Number the clusters of each partition 0, 1, ... in order of appearance.

    Parameters
    ----------
    labels : int32 array (M, N)
        M partitions of N rows; any numbers.

    Returns
    -------
    codes : int32 array (M, N)
        The same partitions; equal ones have equal codes.
    K : int64 array (M,)
        How many clusters each has.
    """
    low, high = int(labels.min()), int(labels.max())
    if high - low > max(labels.size, 2**16):  # too large a range for a table
        ranks = np.unique(labels, return_inverse=True)[1]
        labels, low = ranks.reshape(labels.shape).astype(np.int32), 0
    codes = np.empty(labels.shape, dtype=np.int32)
    K = np.empty(len(labels), dtype=np.int64)
    number_clusters(labels, low, codes, K)
    return codes, K


def entropies(codes: NDArray[Any]) -> NDArray[Any]:
    """Entropy (M,), in nats, of the cluster sizes of each partition (M, N), numbered from 0."""
    N = codes.shape[1]
    return np.maximum(np.log(N) - _size_terms(codes, _terms("vi", N)), 0.0)


def expected_losses(candidates: NDArray[Any], draws: NDArray[Any], loss: Loss) -> NDArray[Any]:
    """Mean loss (C,) between each candidate and all draws.

    With N_A, N_B and N_AB the sizes of the clusters of two partitions and of their intersections,
    both losses are sum f(N_A) + sum f(N_B) - 2 sum f(N_AB): with f(n) = n log(n) / N it is the
    variation of information, with f(n) = (n / N)^2 it is Binder's loss.

    Parameters
    ----------
    candidates : int32 array (C, N)
        Partitions, numbered from 0.
    draws : int32 array (M, N)
        Partitions, numbered from 0.
    loss : {"vi", "binder"}
    """
    f = _terms(loss, draws.shape[1])
    shared = np.array([shared_terms(candidate, draws, f) for candidate in candidates])
    losses = _size_terms(candidates, f) + _size_terms(draws, f).mean() - 2.0 * shared
    return np.maximum(losses, 0.0)  # the last bits of a difference may be negative


def _terms(loss: Loss, N: int) -> NDArray[Any]:
    n = np.arange(N + 1.0)
    if loss == "vi":
        return special.xlogy(n, n) / N
    if loss == "binder":
        return (n / N) ** 2
    raise ValueError(f"loss must be 'vi' or 'binder', got {loss!r}.")


def _size_terms(codes: NDArray[Any], f: NDArray[Any]) -> NDArray[Any]:
    out = np.empty(len(codes))
    size_terms(codes, f, out)
    return out
