r"""Clusters of rows with many correlated columns: images, spectra, readings of sensors."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, alike, digamma, filled, gammaln, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families import _planes as planes
from evermix.families.dense import DenseFamily
from evermix.families.gaussian import Gaussian
from evermix.kernels.families.low_rank_gaussian import LowRankGaussianWork, project
from evermix.kernels.rows import PlaneRows, plain
from evermix.tally import Tally

COUNT = 4.0  # rows that the expected distance from the plane counts for
LEAST_SHAPE = 0.5  # of the law of squared distances, that of one direction
LEAST_SQUARE = 1e-12  # squared distance, in units of the typical one, that counts as zero
STEPS = 3  # of learning the noise, at a time
PLANE = ("rank", "units", "basis", "centre")  # where the plane lies
ABOUT = ("mean", "kappa", "nu", "scale")  # hyperparameters of clusters in the plane


@dataclass(frozen=True)
class LowRankGaussian(DenseFamily):
    r"""Rows of a cluster share a mean and a full covariance in a plane, and their distance from it.

    All clusters share the plane: ``rank`` directions in which the first rows vary most. In it a
    cluster is a :class:`Gaussian`. A row's squared distance from the plane has a Gamma law with a
    rate of the cluster's own, and all directions away from the plane are alike. With m columns
    more than directions and ``shape = m / 2`` a cluster is a Gaussian with the covariance
    :math:`W \Sigma_k W^T + \sigma_k^2 (I - W W^T)`; less even distances, as in real data, have a
    smaller shape. So a row costs D Q + K Q^2 operations, and statistics add up.

    Parameters
    ----------
    rank : int, optional
        Number of directions Q, less than the number of columns. None: from the data, at most 20.
    mean : float or array (Q,), optional
        Prior mean of the cluster means, in the plane.
    kappa : float, optional
        How many rows the prior mean is worth.
    nu : float, optional
        Degrees of freedom, > Q + 1: how many rows the prior covariance is worth.
    scale : float, array (Q,) or array (Q, Q), optional
        Expected covariance of a cluster in the plane.
    noise : float, optional
        Expected squared distance of a row from the plane.
    shape : float, optional
        Shape of the law of squared distances: half the number of directions that they consist of.
    units : array (D,), optional
        What columns are divided by first. None: 1, or their ranges if those differ much.
    basis : array (Q, D), optional
        Orthonormal directions that span the plane. None: those in which the first rows vary most.
    centre : array (D,), optional
        A point of the plane. None: the mean of the first rows.
    n_features : int, optional
        Number of columns D; set from data.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) @ np.ones((3, 40))
    >>> family = LowRankGaussian().candidates(X)[0]
    >>> family.rank
    1

    References
    ----------
    Tipping, Bishop (1999). Mixtures of probabilistic principal component analysers.
    Bouveyron, Girard, Schmid (2007). High-dimensional data clustering.
    """

    learns: ClassVar[tuple[str, ...]] = (*ABOUT, "noise", "shape", *PLANE)
    frame: ClassVar[tuple[str, ...]] = PLANE

    rank: int | None = None
    mean: float | Floats | None = None
    kappa: float | None = None
    nu: float | None = None
    scale: float | Floats | None = None
    noise: float | None = None
    shape: float | None = None
    units: Floats | None = None
    basis: Floats | None = None
    centre: Floats | None = None

    # ---- resolving -------------------------------------------------------------------------

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several expected covariances if scale is open."""
        family, Z = self._placed_in_plane(X)
        return [family._with_plane(plane) for plane in self._open_plane.candidates(Z)]

    def guess(self, X: Array) -> Self:
        """Return a resolved family with a weak prior, from which what is open is learnt."""
        family, Z = self._placed_in_plane(X)
        return family._with_plane(self._open_plane.guess(Z))

    @property
    def _open_plane(self) -> Gaussian:
        return Gaussian(**{name: getattr(self, name) for name in ABOUT})

    def _with_plane(self, plane: Gaussian) -> Self:
        return replace(self, **{name: getattr(plane, name) for name in ABOUT})

    def _placed_in_plane(self, X: Array) -> tuple[Self, Floats]:
        """Return the family with a plane and distances from it, and rows X (N, D) in the plane."""
        X = np.asarray(X, dtype=np.float64)
        centre, units, basis = self._frame(X)
        D, q = X.shape[1], len(basis)
        values: dict[str, Any] = {"n_features": D, "rank": q, "basis": basis}
        family = replace(self, centre=centre, units=units, **values)
        Z, squares = family.split(X)
        typical = float(squares.mean())
        if not typical > 0:  # all rows lie in the plane: as constant columns, see hyper
            typical = 0.01 * float(np.mean(hyper.column_variances(X / units))) * (D - q)
        noise = typical if self.noise is None else hyper.positive("noise", self.noise)
        shape = self.shape
        if shape is None:
            spread = float(squares.var())
            shape = typical**2 / max(spread, typical**2 / (D - q) * 2)
            shape = max(shape, LEAST_SHAPE)
        shape = hyper.positive("shape", shape)
        return replace(family, noise=noise, shape=shape), Z

    def _frame(self, X: Floats) -> planes.Frame:
        """Return the plane, as far as it is given, or that of rows X (N, D)."""
        D, rank = X.shape[1], self.rank
        if D < 2:
            raise ValueError(f"LowRankGaussian needs at least 2 columns, got {D}. Use Gaussian().")
        if rank is not None and (rank != int(rank) or not 1 <= rank < D):
            raise ValueError(
                f"rank must be a whole number from 1 to {D - 1}, one less than there are columns, "
                f"got {rank!r}."
            )
        units = None if self.units is None else hyper.positive_columns("units", self.units, D)
        found = planes.frame(X, rank, units)
        if self.centre is not None:
            found = found._replace(centre=hyper.column("centre", self.centre, D))
        if self.basis is not None:
            found = found._replace(basis=planes.checked_basis(self.basis, D, rank))
        return found

    # ---- the plane -------------------------------------------------------------------------

    def split(self, X: Array) -> tuple[Array, Array]:
        """Return the rows X (N, D) in the plane, (N, Q), and squared distances from it, (N,)."""
        if isinstance(X, np.ndarray):
            assert self.centre is not None and self.units is not None and self.basis is not None
            Z, squares = np.empty((len(X), len(self.basis))), np.empty(len(X))
            frame = plain(self.centre), plain(self.units), plain(self.basis)
            project(plain(X), *frame, Z, squares)
            return Z, squares
        x = (X - alike(self.centre, X)) / alike(self.units, X)
        basis = alike(self.basis, x)
        Z = x @ basis.T
        away = x - Z @ basis
        return Z, namespace(x).sum(away * away, axis=1)

    def outgrown(self, X: Floats) -> bool:
        """Whether rows X (N, D) vary much in directions outside the plane."""
        assert self.centre is not None and self.units is not None and self.basis is not None
        return planes.outgrown(X, planes.Frame(self.centre, self.units, self.basis))

    def means(self, stats: Floats, mass: Floats) -> Floats:
        """Return the mean row (K, D) of clusters: a point of the plane."""
        assert self.basis is not None and self.units is not None and self.centre is not None
        return self.centre + self.units * (stats[:, : self.rank] / mass[:, None] @ self.basis)

    @cached_property
    def plane(self) -> Gaussian:
        """The law of clusters in the plane, about its centre."""
        assert self.rank is not None
        return replace(self._open_plane, n_features=self.rank, origin=np.zeros(self.rank))

    def in_plane(self, eta: Array) -> Array:
        """Return natural parameters, or mean parameters, (K, E) of the clusters in the plane."""
        S = self.plane.n_stats
        return namespace(eta).concat([eta[:, :S], eta[:, S + 1 : S + 3]], axis=1)

    def _joined(self, plane: Array, rate: Array, count: Array) -> Array:
        """Return parameters (K, E) from those in the plane, and those of distances (K,)."""
        S = self.plane.n_stats
        parts = [plane[:, :S], rate[:, None], plane[:, S:], count[:, None]]
        return namespace(plane).concat(parts, axis=1)

    def _distances(self, eta: Array) -> tuple[Array, Array]:
        """Return shapes and rates (K,) of the Gamma laws of the clusters' rates."""
        return self._a * eta[:, -1], eta[:, self.plane.n_stats]

    # ---- the exponential family ------------------------------------------------------------

    @property
    def n_stats(self) -> int:
        """Q + Q Q + 1."""
        return self.plane.n_stats + 1

    @property
    def n_slopes(self) -> int:
        """Q + Q (Q + 1) / 2 + 1."""
        return self.plane.n_slopes + 1

    @cached_property
    def eta0(self) -> Floats:
        """Prior in the plane with that of distances, (Q + Q Q + 4,)."""
        assert self.noise is not None
        rate, count = np.array([COUNT * self.noise]), np.array([COUNT])
        return self._joined(self.plane.eta0[None, :], rate, count)[0]

    def statistic(self, X: Array) -> Array:
        """[z, z z^T, squared distance], (N, Q + Q Q + 1)."""
        Z, squares = self.split(X)
        return namespace(Z).concat([self.plane.statistic(Z), squares[:, None]], axis=1)

    def features(self, X: Array) -> Array:
        """[z, products z_d z_e with d <= e, squared distance], (N, Q + Q (Q + 1) / 2 + 1)."""
        Z, squares = self.split(X)
        return namespace(Z).concat([self.plane.features(Z), squares[:, None]], axis=1)

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, Q + Q (Q + 1) / 2 + 1) of the features."""
        S = self.plane.n_stats
        plane = self.plane.slopes(self.in_plane(params))
        return namespace(params).concat([plane, params[:, S : S + 1]], axis=1)

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, Q + Q Q + 1) from sums of features."""
        plane = self.plane.from_features(sums[:, :-1])
        return namespace(sums).concat([plane, sums[:, -1:]], axis=1)

    def log_base(self, X: Array) -> Array:
        """Log base measure of each row, (N,): of the plane, of distance and direction, of units."""
        assert self.noise is not None and self.units is not None
        assert self.rank is not None
        xp, m = namespace(X), self._D - self.rank
        squares = self.split(X)[1]
        squares = xp.maximum(squares, filled(LEAST_SQUARE * self.noise, squares, 1))
        sphere = math.log(2) + 0.5 * m * math.log(math.pi) - math.lgamma(0.5 * m)
        constant = math.log(2) - sphere - math.lgamma(self._a) - float(np.sum(np.log(self.units)))
        constant -= 0.5 * self.rank * math.log(2 * math.pi)
        return (self._a - 0.5 * m) * xp.log(squares) + constant

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser, (K,): of a Normal-Wishart and of a Gamma distribution."""
        shape, rate = self._distances(eta)
        gamma = gammaln(shape) - shape * namespace(eta).log(rate)
        return self.plane.log_partition(self.in_plane(eta)) + gamma

    def mean_params(self, eta: Array) -> Array:
        """Those of the plane, E[-rate] and E[a log rate] of distances, (K, E)."""
        shape, rate = self._distances(eta)
        logs = self._a * (digamma(shape) - namespace(eta).log(rate))
        return self._joined(self.plane.mean_params(self.in_plane(eta)), -shape / rate, logs)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log density (N, K) in the plane and of the distance, base measure left out."""
        Z, squares = self.split(X)
        shape, rate = self._distances(eta)
        constant = gammaln(shape + self._a) - gammaln(shape) - self._a * namespace(eta).log(rate)
        constant, power, rate = (alike(part, Z) for part in (constant, shape + self._a, rate))
        away = constant - power * namespace(Z).log1p(squares[:, None] / rate)
        return self.plane.log_predictive(Z, self.in_plane(eta)) + away

    def self_log_likelihood(self, X: Array) -> Array:
        """E log p(x | phi) of each row (N,) when its cluster has learnt that row alone."""
        assert self.noise is not None
        Z, squares = self.split(X)
        shape = filled(self._a * (COUNT + 1.0), squares, squares.shape[0])
        rate = COUNT * self.noise + squares
        away = self._a * (digamma(shape) - namespace(Z).log(rate)) - squares * shape / rate
        return self.plane.self_log_likelihood(Z) + away

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw parameters of each cluster, (K, E)."""
        plane = self.plane.draw_params(self.in_plane(eta), rng)
        shape, rate = self._distances(eta)
        drawn = np.maximum(rng.gamma(shape) / rate, 1e-300)
        return self._joined(plane, -drawn, self._a * np.log(drawn))

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw parameters, then one row (D,)."""
        assert self.basis is not None and self.units is not None and self.centre is not None
        z = self.plane.draw(self.in_plane(eta[None, :])[0], mass, rng)
        (shape,), (rate,) = self._distances(eta[None, :])
        square = rng.gamma(self._a) * rate / max(rng.gamma(shape), 1e-300)
        away = rng.standard_normal(self._D)
        away -= (away @ self.basis.T) @ self.basis
        away *= math.sqrt(square) / np.linalg.norm(away)
        return self.centre + self.units * (z @ self.basis + away)

    # ---- learning hyperparameters ----------------------------------------------------------

    def learnt(self, first: Self, names: Collection[str], stats: Floats, mass: Floats) -> Self:
        """Return the family with some hyperparameters nearer to what K clusters say of them."""
        own = [name for name in names if name in ABOUT]
        family = self._with_plane(self.plane.learnt(first.plane, own, stats[:, :-1], mass))
        for _ in range(STEPS if "noise" in names else 0):
            family = family._noise_step(first, stats[:, -1], mass)
        return family

    def _noise_step(self, first: Self, squares: Floats, mass: Floats) -> Self:
        """Raise the evidence of distances, of which a pseudo-cluster has one row, over the noise.

        The evidence has the terms -a (count + mass) log(rate + squares), convex in the rate, and
        a count log(rate); with tangents in place of the former it is maximal at the new rate.
        """
        assert self.noise is not None and first.noise is not None
        mass, squares = np.append(mass, 1.0), np.append(squares, first.noise)
        rate = COUNT * self.noise
        return replace(self, noise=float(len(mass) / np.sum((COUNT + mass) / (rate + squares))))

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the hyperparameters, 0 at those of ``first``."""
        assert first.noise is not None
        pseudo = self._log_pseudo(first.noise) - first._log_pseudo(first.noise)
        return self.plane.log_hyperprior(first.plane) + pseudo

    def _log_pseudo(self, square: float) -> float:
        """Log evidence of the pseudo-cluster, up to a constant."""
        assert self.noise is not None
        rate, a = COUNT * self.noise, self._a
        return a * (COUNT * math.log(rate) - (COUNT + 1) * math.log(rate + square))

    # ---- loops over rows -------------------------------------------------------------------

    def rows(self, X: Array) -> Any:
        """Pack rows X (N, D) by where they are in the plane, and how far from it."""
        Z, squares = self.split(X)
        return PlaneRows(plain(Z), plain(squares))

    def columns(self, tally: Tally) -> dict[str, Floats]:
        """Return the whitener of every cluster in the plane, {"whitener": (capacity, Q, Q)}."""
        eta = self.in_plane(self.posterior(tally.stats, tally.mass))
        return {"whitener": self.plane.whiteners(eta, tally.capacity)}

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> LowRankGaussianWork:
        return LowRankGaussianWork(
            stats=tally.stats_buffer,
            plane=self.plane.packed(tally, columns),
            terms=np.zeros((tally.capacity, 3)),
            shape=self._a,
            prior_count=COUNT,
            prior_rate=float(self.eta0[self.plane.n_stats]),
        )

    @property
    def _a(self) -> float:
        assert self.shape is not None
        return float(self.shape)
