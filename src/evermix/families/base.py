r"""What one cluster looks like: a conjugate exponential family.

.. math::

    p(x | \phi) = h(x) \exp\{\phi^T t(x) - A(\phi)\}, \qquad
    p(\phi | \eta) = \exp\{\eta^T [\phi; -A(\phi)] - a(\eta)\}.

The posterior after statistics ``s = sum r t(x)`` and mass ``N = sum r`` is
``eta = eta0 + [s; N, ..., N]``: the first ``S`` entries pair with ``t(x)``, the rest (counts) with
the parts of ``-A``. A family defines ``eta0``, ``t``, ``a`` and its gradient, and ``h`` unless that
is 1. Everything else is derived here, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evermix._threads import cuts
from evermix._xp import Array, Floats, alike, filled, is_foreign, namespace
from evermix.families.values import finite, first_outside, short
from evermix.kernels.interpreted import ArrayRows, ArrayWork
from evermix.tally import Layout, Tally

STEPS = 3  # of learning hyperparameters, at a time
PAIRS = 64  # pairs of clusters fused at a time, to bound memory
CHUNK = 2**20  # features and scores computed at a time: at most 8 MB, to stay in fast memory
DEVICE_CHUNK = 2**28  # the same on a device that does much at once: 2 GB


@dataclass(frozen=True)
class Family(ABC):
    """A likelihood with its conjugate prior.

    Hyperparameters that are ``None`` are open: :meth:`candidates` fills them from data.
    A *resolved* family has no open hyperparameter, knows ``n_features``, and can compute.

    Your own family is a frozen dataclass with :attr:`eta0`, :meth:`statistic`,
    :meth:`log_partition` and :meth:`mean_params`. That is all that engines need, but for ``Slice``,
    which needs :meth:`draw_params`. ``Mixture.sample`` needs :meth:`draw`.
    """

    n_features: int | None = field(default=None, kw_only=True)

    layout: ClassVar[Layout] = Layout.CLUSTER_MAJOR
    largest: ClassVar[float] = 1e100
    """Largest value that rows may hold: squares and their sums must stay finite."""
    sparse: ClassVar[bool] = False
    """Whether rows come as a CSR matrix (float64) or as a dense array (float64)."""
    wide: ClassVar[bool] = False
    """Whether rows are so wide that splits are hard to find: searches begin with many clusters."""
    missing: ClassVar[bool] = False  # whether rows may hold NaN, for values that are not known
    support: ClassVar[tuple[str, str]] = "Rows must lie in the support of the family", ""
    """What rows must be, and advice where they are not: both are part of an error message."""
    log_base_of_column: ClassVar[float] = 0.0  # log base measure of a row / D, if constant
    learns: ClassVar[tuple[str, ...]] = ()  # names of hyperparameters that are learnt if left open
    frame: ClassVar[tuple[str, ...]] = ()
    """Those that statistics depend on, so that they are learnt from rows, not from clusters."""
    tunable: ClassVar[tuple[str, ...]] = ()
    """Names of positive hyperparameters that can be learnt from data, where they are numbers.

    Only ``eta0`` may depend on them: not the statistics, the base measure or the support.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("__eq__", "__repr__"):  # those of @dataclass cannot deal with arrays
            setattr(cls, name, getattr(cls, name))

    # ---- resolving -------------------------------------------------------------------------

    def inside(self, X: Array) -> Array | None:
        """Return which entries, or which rows (N,), of finite rows X (N, D) are in the support.

        The entries are (N, D), or (nnz,) where rows are sparse. None, the default: all are.
        """
        return None

    def check(self, X: Array) -> None:
        """Raise ValueError if finite rows ``X`` (N, D) are outside the family's support."""
        inside = self.inside(X)
        if inside is not None and not np.all(inside):
            wanted, advice = self.support
            raise ValueError(f"{wanted}, got {first_outside(X, inside)}. {advice}".rstrip())

    def supports(self, X: Array) -> bool:
        """Whether finite rows ``X`` (N, D) of any library lie in the family's support."""
        inside = self.inside(X)
        return inside is None or bool(namespace(inside).all(inside))

    @property
    def resolved(self) -> bool:
        """Whether everything is set."""
        return all(getattr(self, f.name) is not None for f in fields(self))

    @property
    def open(self) -> bool:
        """Whether hyperparameters, other than the width and the origin, must come from data."""
        names = {f.name for f in fields(self)} - {"n_features", "origin"}
        return any(getattr(self, name) is None for name in names)

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families to choose among, given the first rows ``X`` (N, D).

        One candidate where nothing is open; several where the data must decide (by evidence).
        """
        if self.open:
            what = f"{self!r} has open hyperparameters, but {type(self).__name__} cannot set them"
            raise TypeError(f"{what} from data. Set them, or define the method candidates.")
        return [replace(self, n_features=int(X.shape[1]))]

    # ---- learning hyperparameters ----------------------------------------------------------

    def guess(self, X: Array) -> Self:
        """Return a resolved family from which what is open, see :attr:`learns`, is learnt."""
        return self.candidates(X)[0]

    def learnt(self, first: Self, names: Collection[str], stats: Floats, mass: Floats) -> Self:
        """Return the family with some hyperparameters nearer to what K clusters say of them.

        ``first`` is the family before anything was learnt, about which the hyperprior is. The
        evidence of the clusters, plus :meth:`log_hyperprior`, never falls.
        """
        family = self
        for _ in range(STEPS if names else 0):
            family = family._learning_step(first, names, stats, mass)
        better = family._objective(first, stats, mass) > self._objective(first, stats, mass)
        return family if better else self  # steps do not lower it, except by rounding

    def coarse(self, n_rows: int) -> Self:
        """Return the family with the evidence that so many rows are worth: here, all of it."""
        return self

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the hyperparameters, 0 at those of ``first``; here all are as likely."""
        return 0.0

    def _learning_step(
        self, first: Self, names: Collection[str], stats: Floats, mass: Floats
    ) -> Self:
        return self  # here nothing is learnt

    def _objective(self, first: Self, stats: Floats, mass: Floats) -> float:
        return float(np.sum(self.log_marginal(stats, mass))) + self.log_hyperprior(first)

    # ---- the exponential family ------------------------------------------------------------

    @property
    def n_stats(self) -> int:
        """Number of sufficient statistics, S; here all entries of ``eta0`` but one count."""
        return len(self.eta0) - 1

    @property
    @abstractmethod
    def eta0(self) -> Floats:
        """Natural hyperparameters of the prior (E,), E = S + number of counts."""

    @abstractmethod
    def statistic(self, X: Array) -> Array:
        """Sufficient statistics t(x) of each row, (N, S)."""

    def log_base(self, X: Array) -> Array:
        """Log base measure log h(x) of each row, (N,)."""
        return filled(self._D * self.log_base_of_column, X.data if self.sparse else X, X.shape[0])

    @abstractmethod
    def log_partition(self, eta: Array) -> Array:
        """Log normaliser a(eta) of the conjugate prior, (K,) for eta (K, E)."""

    @abstractmethod
    def mean_params(self, eta: Array) -> Array:
        """Gradient of :meth:`log_partition`: E[phi; -A(phi)], (K, E)."""

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw parameters [phi; -A(phi)] of each cluster from its law eta (K, E), (K, E).

        Their mean is :meth:`mean_params`; they are finite.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot draw parameters of clusters: define the method "
            "draw_params, or use an engine that needs none, such as em.Gibbs()."
        )

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw a parameter from the prior ``eta`` (E,), then one row (D,) from it.

        ``mass`` is the cluster's mass, for families whose rows have a size of their own.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot draw rows: define the method draw."
        )

    # ---- derived ---------------------------------------------------------------------------

    @property
    def n_slopes(self) -> int:
        """Number of features, F."""
        return self.n_stats

    def features(self, X: Array) -> Array:
        """What the log likelihood of each row is linear in, (N, F).

        The statistic, without entries that repeat others; CSR where rows are.
        """
        return self.statistic(X)

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, F) of the features under parameters [phi; -A(phi)] (K, E)."""
        return params[:, : self.n_stats]

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, S) from sums of features (K, F)."""
        return sums

    def accumulate(self, X: Array, r: Array) -> Array:
        """Return summed statistics (K, S) of rows X (N, D) with responsibilities r (N, K)."""
        chunks = self.chunks(X, r.shape[1])
        parts = [r[rows, :].T @ self.features(X[rows, :]) for rows in chunks]
        return self.from_features(sum(parts[1:], parts[0]))

    def chunks(self, X: Array, K: int = 100, width: int | None = None) -> list[slice]:
        """Cut rows X (N, D) so that a part, scored by K clusters, stays in fast memory.

        A row takes ``width`` numbers beside its scores: as many as it has features, if None. There
        is at least one part.
        """
        n = X.shape[0]
        if self.sparse:
            width = X.nnz // max(n, 1)
        elif width is None:
            width = self.n_slopes
        numbers = DEVICE_CHUNK if is_foreign(X) else CHUNK
        return cuts(n, max(numbers // (width + K), 64))

    def posterior(self, stats: Array, mass: Array) -> Array:
        """Natural parameters (K, E) of clusters with statistics (K, S) and mass (K,)."""
        xp = namespace(stats)
        counts = self.eta0.shape[0] - self.n_stats
        mass = xp.broadcast_to(mass[:, None], (mass.shape[0], counts))
        return alike(self.eta0, stats) + xp.concat([stats, mass], axis=1)

    def log_marginal(self, stats: Array, mass: Array) -> Array:
        """Log marginal likelihood of each cluster (K,), base measure left out."""
        return self.log_partition(self.posterior(stats, mass)) - alike(self._log_prior, stats)

    def log_marginals(self, tally: Tally) -> Array:
        """Log marginal likelihood of each cluster of a tally (K,), base measure left out."""
        return self.log_marginal(tally.stats, tally.mass)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log predictive density (N, K) of rows X under clusters eta, base measure left out.

        Rows of other libraries are scored where they are, and as precisely as they are; eta may be
        a NumPy array nevertheless.
        """
        step = self._step(X)
        eta = alike(eta, step)
        by_row = step.shape[0] < eta.shape[0]
        few, many = (step, eta) if by_row else (eta, step)
        after = [self.log_partition(many + few[j, :]) for j in range(few.shape[0])]
        return namespace(eta).stack(after, axis=0 if by_row else 1) - self.log_partition(eta)

    def log_likelihood(self, X: Array, params: Array) -> Array:
        """Log p(x | phi) (N, K) of rows X under parameters [phi; -A(phi)] (K, E).

        The base measure is left out. Parameters may be infinite (a probability of zero).
        """
        xp, params = namespace(params), finite(params)
        slopes, chunks = self.slopes(params).T, self.chunks(X, params.shape[0])
        parts = [self.features(X[rows, :]) @ slopes for rows in chunks]
        return xp.concat(parts, axis=0) + xp.sum(params[:, self.n_stats :], axis=1)

    def expected_log_likelihood(self, X: Array, eta: Array) -> Array:
        """E log p(x | phi) under clusters eta, (N, K), base measure left out.

        The log likelihood is linear in [phi; -A(phi)], so that their mean is all it takes.
        """
        return self.log_likelihood(X, self.mean_params(eta))

    def self_log_likelihood(self, X: Array) -> Array:
        """E log p(x | phi) of each row (N,) when its cluster has learnt that row alone.

        The base measure is left out.
        """
        step = self._step(X)
        learnt = finite(self.mean_params(alike(self.eta0, step) + step))
        return namespace(step).sum(step * learnt, axis=1)

    def moved(self, stats: Array, mass: Array, to: Self) -> Array:
        """Return statistics (K, S) with mass (K,) as those of a family with another origin.

        ``to`` is this family in all else. Families without an origin have nothing to do.
        """
        return stats

    def numbers_seen(self, tally: Tally) -> Array:
        """How many numbers each cluster was learnt from, (K,)."""
        return tally.mass * self._D

    def log_fusion(self, tally: Tally, pairs: Array, times: float | Array = 1.0) -> Array:
        """Log marginal likelihood of each pair (P, 2) of clusters fused, minus apart; (P,).

        The clusters of each pair are taken to have ``times`` (a number, or (P,)) their data.
        """
        gain, times = np.empty(len(pairs)), np.broadcast_to(times, len(pairs))
        for start in range(0, len(pairs), PAIRS):
            some = slice(start, start + PAIRS)
            a, b = pairs[some].T
            stats_a, stats_b = (times[some, None] * tally.stats[k] for k in (a, b))
            mass_a, mass_b = (times[some] * tally.mass[k] for k in (a, b))
            fused = self.log_marginal(stats_a + stats_b, mass_a + mass_b)
            apart = self.log_marginal(stats_a, mass_a) + self.log_marginal(stats_b, mass_b)
            gain[some] = fused - apart
        return gain

    def fusion_bound(self, tally: Tally, rows: Array) -> Array:
        """Cheap lower bound (R, K) on :meth:`log_fusion` of clusters ``rows`` (R,) with all others.

        By Jensen, log p(x_b | x_a) >= E[log p(x_b | phi) | x_a], whichever of the two comes first.
        """
        eta = self.posterior(tally.stats, tally.mass)
        seen, mean = eta - self.eta0, self.mean_params(eta)
        marginal = self.log_partition(eta) - self.log_partition(self.eta0[None, :])
        gone = seen[rows] @ mean.T - marginal[rows, None]
        stays = mean[rows] @ seen.T - marginal
        return np.maximum(gone, stays)

    def sketch(self, tally: Tally, some: Array) -> tuple[Self, Tally]:
        """Return a family and some clusters of a tally, in which similar ones are found faster."""
        return self, tally.take(some)

    def _step(self, X: Array) -> Array:
        """What each row adds to the natural parameters of its cluster, (N, E)."""
        t = self.statistic(X)
        one = alike(np.ones((t.shape[0], self.eta0.shape[0] - self.n_stats)), t)
        return namespace(t).concat([t, one], axis=1)

    @cached_property
    def _log_prior(self) -> Array:
        """Log normaliser of the prior, (1,)."""
        return self.log_partition(self.eta0[None, :])

    @property
    def _D(self) -> int:
        """Number of columns; known once the family is resolved."""
        assert self.n_features is not None
        return self.n_features

    # ---- loops over rows -------------------------------------------------------------------

    def rows(self, X: Array) -> Any:
        """Pack rows X (N, D) for the loops of engines: here for array maths, which needs no more.

        A family with compiled verbs returns a NamedTuple, see ``evermix.kernels.base``.
        """
        return ArrayRows(self, X)

    def workspace(self, tally: Tally, columns: dict[str, Floats]) -> Any:
        """Pack the tally's buffers and what is derived from them: the *work* of the loops.

        Derived values of slots 0..K are up to date on return. A family with compiled verbs returns
        the NamedTuple that they are registered for.
        """
        return ArrayWork(self, tally)

    def columns(self, tally: Tally) -> dict[str, Floats]:
        """Return caches that are updated step by step, recomputed from the tally.

        Each is an array (capacity, ...), saved with the state and rebuilt only at fixed clocks.
        """
        return {}

    # ---- a family is plain data ------------------------------------------------------------

    def to_spec(self) -> dict[str, Any]:
        """Return the hyperparameters as a JSON-ready dict."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: None if v is None else np.asarray(v).tolist() for k, v in plain.items()}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the family that :meth:`to_spec` described."""
        values = {k: np.array(v) if isinstance(v, list) else v for k, v in spec.items()}
        return cls(**values)  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
        )

    def __repr__(self) -> str:
        order = sorted(fields(self), key=lambda f: bool(f.kw_only))
        values = ((f.name, getattr(self, f.name)) for f in order)
        shown = [f"{k}={short(v)}" for k, v in values if v is not None and v is not False]
        return f"{type(self).__name__}({', '.join(shown)})"
