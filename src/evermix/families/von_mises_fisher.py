r"""Rows of length 1: directions, such as embeddings of sentences or of images."""

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import uniform_direction, vonmises_fisher

from evermix._xp import Array, Floats, alike, filled, namespace, real
from evermix.families import _hyperparameters as hyper
from evermix.families import _neighbours as neighbours
from evermix.families.dense import DenseFamily
from evermix.kernels.families.von_mises_fisher import LEAST_ORDER, VonMisesFisherWork, turn
from evermix.kernels.rows import DenseRows, plain
from evermix.tally import Tally

TOL = 0.01  # how far the square of a length may be from 1
STEPS = 4  # candidates for an open concentration, by factors of 2
BOUNDS = 1e-2, 1e8  # of a concentration that is learnt
SPREAD = 3.0  # standard deviation of the log of the concentration under its hyperprior
ENOUGH = 800.0  # rows after which more of them hardly count as evidence


@dataclass(frozen=True)
class VonMisesFisher(DenseFamily):
    r"""Rows of a cluster lie about a mean direction, all clusters are equally concentrated.

    The density on the sphere is :math:`\exp(c \mu^T z) / S_D(c)`; the prior of the mean direction
    is proportional to :math:`\exp(c s_0^T \mu)`, uniform if :math:`s_0 = 0`. Here z is the
    direction :math:`T x / |T x|` of a row x under the ``metric`` T, and the density of x has the
    factor :math:`|T| / |T x|^D`. A metric that is left open is learnt from differences between
    near rows: directions in which rows of a cluster vary most count least.

    A concentration that is left open is learnt, and then lowered: columns of real embeddings depend
    on each other, and with ever more rows a family without covariances would split clusters to
    explain that. Of n rows at hand the evidence is that of n / (1 + n / 800), see :meth:`coarse`.

    Parameters
    ----------
    concentration : float, optional
        How close rows are to the mean direction of their cluster. None: learnt.
    prior_sum : float or array (D,), default=0.0
        The sum of unit vectors that the prior is worth, of rows under the metric.
    metric : float or array (D, D), optional
        Symmetric matrix that rows are multiplied by; a number leaves them as they are. None:
        learnt, if there are at most 1,024 columns.
    n_features : int, optional
        Number of columns D; set from data.

    Examples
    --------
    >>> family = VonMisesFisher(concentration=2.0, metric=1.0, n_features=3)
    >>> x = np.array([[1.0, 0.0, 0.0]])
    >>> density = np.exp(family.log_predictive(x, family.eta0[None]))  # uniform
    >>> (density * 4 * np.pi).round(6)
    array([[1.]])

    References
    ----------
    Banerjee, Dhillon, Ghosh, Sra (2005). Clustering on the unit hypersphere using von Mises-Fisher
    distributions. Miller, Dunson (2019). Robust Bayesian inference via coarsening.
    """

    learns: ClassVar[tuple[str, ...]] = ("concentration", "metric")
    frame: ClassVar[tuple[str, ...]] = ("metric",)
    wide: ClassVar[bool] = True
    support: ClassVar[tuple[str, str]] = (
        "VonMisesFisher needs rows of length 1",
        "Divide each by its length (sklearn.preprocessing.normalize); leave out rows of zeros.",
    )

    concentration: float | None = None
    prior_sum: float | Floats = 0.0
    metric: float | Floats | None = None

    def inside(self, X: Array) -> Array:
        """Return which rows have length 1, (N,)."""
        xp = namespace(X)
        return xp.abs(xp.sum(X * X, axis=1) - 1.0) < TOL

    def check(self, X: Array) -> None:
        """Raise ValueError if a row has another length."""
        bad = np.flatnonzero(~np.asarray(self.inside(X)))
        if len(bad):
            length, (wanted, advice) = np.linalg.norm(X[bad[0]]), self.support
            raise ValueError(f"{wanted}, got length {length:.3g} in row {bad[0]}. {advice}")

    @property
    def resolved(self) -> bool:
        """Whether everything is set, and the metric fits."""
        square = (self.n_features,) * 2
        fits = not isinstance(self.metric, np.ndarray) or self.metric.shape == square
        return super().resolved and fits

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families: one, or several concentrations if it is open."""
        X, D = np.asarray(X, dtype=np.float64), int(X.shape[1])
        if D < 2:
            raise ValueError(f"VonMisesFisher needs at least 2 columns, got {D}.")
        hyper.column("prior_sum", self.prior_sum, D)  # checks it
        metric = neighbours.metric(X) if self.metric is None else _checked_metric(self.metric, D)
        prior_sum: Any = hyper.as_given(self.prior_sum)
        family = replace(self, prior_sum=prior_sum, metric=metric, n_features=D)
        if self.concentration is not None:
            given = hyper.positive("concentration", self.concentration)
            return [replace(family, concentration=given)]
        first = _neighbourly(family.statistic(X[: neighbours.ROWS]))
        return [replace(family, concentration=first / 2.0**j) for j in range(STEPS)]

    def coarse(self, n_rows: int) -> Self:
        """Return the family with the evidence that so many rows are worth.

        Where all clusters are equally concentrated, a likelihood to some power differs from that of
        a smaller concentration only by a constant.
        """
        assert self.concentration is not None
        return replace(self, concentration=self.concentration / (1.0 + n_rows / ENOUGH))

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the concentration, log-normal about that of ``first``."""
        assert self.concentration is not None and first.concentration is not None
        return -0.5 * (math.log(self.concentration / first.concentration) / SPREAD) ** 2

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        if "concentration" not in names:
            return self
        vectors = np.vstack([self.posterior(stats, mass), self.eta0])[:, : self._D]
        lengths, n = np.append(_lengths(vectors), 1.0), float(mass.sum())

        def loss(log_concentration: float) -> float:
            family = replace(self, concentration=math.exp(log_concentration))
            *clusters, prior, row = log_sphere(family._c * lengths, self._D)[0]
            evidence = np.sum(clusters) - len(clusters) * prior - n * row
            return -float(evidence) - family.log_hyperprior(first)

        bounds = math.log(BOUNDS[0]), math.log(BOUNDS[1])
        best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
        return replace(self, concentration=math.exp(float(best.x)))

    @cached_property
    def eta0(self) -> Floats:
        """Prior [s0, 0], (D + 1,)."""
        prior = np.broadcast_to(np.asarray(self.prior_sum, dtype=np.float64), (self._D,))
        return np.append(prior, 0.0)

    # ---- rows under the metric -------------------------------------------------------------

    def statistic(self, X: Array) -> Array:
        """Return the directions of rows under the metric, (N, D)."""
        x = real(X)
        if not self._turns:
            return x
        z = x @ alike(self.metric, x)
        return z / _lengths(z)[:, None]

    def log_base(self, X: Array) -> Array:
        """Log of the volume by which the metric changes that about each row, (N,)."""
        x = real(X)
        if not self._turns:
            return filled(0.0, x, x.shape[0])
        return self._log_volume - self._D * namespace(x).log(_lengths(x @ alike(self.metric, x)))

    def rows(self, X: Array) -> DenseRows:
        """Pack the directions of rows X (N, D) under the metric."""
        if not self._turns:
            return super().rows(X)
        Z = np.empty(X.shape)
        turn(plain(X), plain(self.metric), Z)
        return DenseRows(Z)

    def means(self, stats: Floats, mass: Floats) -> Floats:
        """Return the mean row (K, D) of clusters: its direction, and how well rows agree on it."""
        means = stats / mass[:, None]
        return self._turned_back(means) * _lengths(means)[:, None] if self._turns else means

    def _turned_back(self, Z: Floats) -> Floats:
        """Return unit rows (N, D) whose directions under the metric are those of rows Z."""
        x = Z @ self._inverse
        return np.asarray(x / np.maximum(_lengths(x), 1e-300)[:, None])

    @property
    def _turns(self) -> bool:
        return isinstance(self.metric, np.ndarray)

    @cached_property
    def _inverse(self) -> Floats:
        return np.linalg.inv(np.asarray(self.metric))

    @cached_property
    def _log_volume(self) -> float:
        return float(np.linalg.slogdet(np.asarray(self.metric))[1])

    # ---- the exponential family ------------------------------------------------------------

    def log_partition(self, eta: Array) -> Array:
        """Log normaliser of a von Mises-Fisher prior, less that of the rows, (K,)."""
        z = self._c * _lengths(eta[:, : self._D])
        return log_sphere(z, self._D)[0] - eta[:, self._D] * self._log_normaliser

    def mean_params(self, eta: Array) -> Array:
        """E[c mu, -log S_D(c)], (K, D + 1)."""
        sums = eta[:, : self._D]
        _, ratio = log_sphere(self._c * _lengths(sums), self._D)
        xp = namespace(eta)
        constant = xp.full_like(eta[:, self._D :], -self._log_normaliser)
        return xp.concat([self._c**2 * ratio[:, None] * sums, constant], axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log density (N, K) of rows on the sphere, base measure left out."""
        x = self.statistic(X)
        sums = alike(eta[:, : self._D], x)
        xp = namespace(x)
        square = xp.sum(x * x, axis=1)[:, None] + xp.sum(sums * sums, axis=1) + 2 * x @ sums.T
        after, _ = log_sphere(self._c * xp.sqrt(xp.where(square > 0, square, 0 * square)), self._D)
        before, _ = log_sphere(self._c * _lengths(sums), self._D)
        return after - before - self._log_normaliser

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw [c mu, -log S_D(c)], (K, D + 1)."""
        params = np.full(eta.shape, -self._log_normaliser)
        for each, total in zip(params, eta[:, : self._D], strict=True):
            each[: self._D] = self._c * self._direction(total, rng)
        return params

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a mean direction, then one row (D,)."""
        z = self._direction(self._direction(eta[: self._D], rng), rng)
        return self._turned_back(z[None])[0] if self._turns else z

    def _direction(self, total: Floats, rng: np.random.Generator) -> Floats:
        """Draw a unit vector (D,) from the law whose parameter is c times a vector."""
        length = float(np.linalg.norm(total))
        if length > 0:
            law: Any = vonmises_fisher(total / length, self._c * length)  # type: ignore[arg-type]
            return np.asarray(law.rvs(1, random_state=rng)).reshape(-1)
        return np.asarray(uniform_direction(self._D).rvs(1, random_state=rng)).reshape(-1)

    def _work(self, tally: Tally, columns: dict[str, Floats]) -> VonMisesFisherWork:
        return VonMisesFisherWork(
            stats=tally.stats_buffer,
            sums=np.zeros((tally.capacity, self._D)),
            squares=np.zeros(tally.capacity),
            constants=np.zeros(tally.capacity),
            prior=self.eta0[: self._D].copy(),
            concentration=np.array([self._c]),
        )

    @property
    def _c(self) -> float:
        assert self.concentration is not None
        return float(self.concentration)

    @cached_property
    def _log_normaliser(self) -> float:
        return float(log_sphere(np.array([self._c]), self._D)[0][0])


def log_sphere(z: Array, D: int) -> tuple[Array, Array]:
    """Log of the integral of exp(z mu_1) over unit vectors mu of D columns, and E mu_1 / z.

    ``z`` is an array of any library; see ``evermix.kernels.families.von_mises_fisher``.
    """
    v = 0.5 * D - 1.0
    order = v + max(0, math.ceil(LEAST_ORDER - v))
    value = _debye(order, z)
    ratio = namespace(z).exp(_debye(order + 1.0, z) - value)
    while order > v:
        order -= 1.0
        inverse = 2.0 * (order + 1.0) + z * z * ratio
        value = value + namespace(z).log(inverse)
        ratio = 1.0 / inverse
    return value + (v + 1.0) * math.log(2.0 * math.pi), ratio


def _debye(v: float, z: Array) -> Array:
    """Log of I_v(z) z^-v for a large order v."""
    xp = namespace(z)
    root = xp.sqrt(v * v + z * z)
    p = v / root
    q = p * p
    u1 = p * (3 - 5 * q) / 24
    u2 = q * (81 + q * (-462 + q * 385)) / 1152
    u3 = p * q * (30375 + q * (-369603 + q * (765765 - q * 425425))) / 414720
    u4 = 4465125 + q * (-94121676 + q * (349922430 + q * (-446185740 + q * 185910725)))
    u4 = u4 * q * q / 39813120
    series = (u1 + (u2 + (u3 + u4 / v) / v) / v) / v
    lead = root - v * xp.log(v + root) - 0.5 * xp.log(2 * math.pi * root)
    return lead + xp.log1p(series)


def _lengths(vectors: Array) -> Array:
    xp = namespace(vectors)
    return xp.sqrt(xp.sum(vectors * vectors, axis=1))


def _neighbourly(X: Floats) -> float:
    """A concentration under which neighbours among the rows X (N, D) would share a cluster."""
    near = neighbours.cosine(X)
    rho = math.sqrt(min(max(near, 0.05), 1.0 - 1e-6))  # two rows of a cluster: E cos = rho^2
    return rho * (X.shape[1] - rho**2) / (1.0 - rho**2)


def _checked_metric(metric: float | Floats, D: int) -> float | Floats:
    """Return a given metric, a positive number or (D, D), or raise ValueError."""
    if np.ndim(metric) == 0:
        return hyper.positive("metric", metric)
    array = np.asarray(metric, dtype=np.float64)
    if array.shape != (D, D) or not np.allclose(array, array.T):
        raise ValueError(
            f"metric must be a number or a symmetric matrix of shape {D, D}, "
            f"got an array of shape {array.shape}."
        )
    if not np.all(np.linalg.eigvalsh(array) > 0):
        raise ValueError("metric must be positive definite, got a matrix that is not.")
    return array
