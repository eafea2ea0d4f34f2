r"""Tables: every column, or group of columns, has a family of its own, and cells may be missing.

Given its cluster, a row is a product of *blocks*. What a row has not seen of it is integrated
out: the factor of that block is 1, exactly. So statistics are those of the blocks one after
another, each followed by the mass of the rows that have seen it, instead of the cluster's mass:

.. math::

    t(x) = [o_1 t_1(x_1), o_1, \ldots, o_B t_B(x_B), o_B], \qquad o_b = 1 \text{ if } x_b
    \text{ was seen, else } 0.

All natural parameters pair with these statistics, and none with the mass. The entry of a count says
how many rows were seen; what the prior counts is added where a block computes.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evermix._xp import Array, Floats, alike, host, namespace
from evermix.families._blocks import (
    NEUTRAL,
    REST,
    Block,
    Name,
    Span,
    blocks_of_spec,
    checked_blocks,
    checked_order,
    filled,
    marginal_base,
    marginal_scores,
    names_of,
    shown,
    viewed,
)
from evermix.families._table_work import Part, table_rows, table_work
from evermix.families.base import Family
from evermix.families.gaussian import Gaussian
from evermix.families.values import first_outside
from evermix.tally import Tally


@dataclass(frozen=True)
class Mixed(Family):
    """Columns of a table with a family each; missing values (NaN) are integrated out.

    Parameters
    ----------
    blocks : dict, optional
        By the name of a column, or the names of several: the family of the block, or a pair of the
        family and a weight. Names are those of a table's columns; in arrays they are the numbers of
        columns. The log likelihood of a block counts ``weight`` times (1 if it is not given). A
        column that is 0 in many rows can have :class:`ZeroInflated` for a family. None: chosen from
        the columns.
    ignored : sequence of str, default=()
        Columns that tables may have beside these, and that are not looked at, such as ids of rows.
    order : sequence of str, optional
        The names of all columns in the order of rows; set from tables. None: that of the blocks.
    n_features : int, optional
        Number of columns D; set from data.

    Notes
    -----
    A full covariance (``Gaussian`` for several columns) is learnt from rows that have seen all its
    columns. Where a row has seen some of them, predictions use the exact marginal distribution of
    these. Columns of other families are independent, and learnt from all that was seen.

    Examples
    --------
    >>> from evermix.families import Categorical, Gaussian
    >>> family = Mixed({0: Gaussian(0.0, 0.1, 3.0, 1.0), 1: Categorical(1.0, 3)})
    >>> family = family.candidates(np.zeros((1, 2)))[0]
    >>> nan, eta = np.nan, family.eta0[None]
    >>> np.exp(family.log_predictive(np.array([[nan, 2.0], [nan, nan]]), eta)).round(3).tolist()
    [[0.333], [1.0]]
    """

    missing: ClassVar[bool] = True

    blocks: Any = None
    ignored: Sequence[str] = ()
    order: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ignored", tuple(map(str, self.ignored)))
        if self.blocks is not None:
            object.__setattr__(self, "blocks", checked_blocks(self.blocks))
        if self.order is not None:
            object.__setattr__(self, "order", checked_order(self.order, self.blocks))

    # ---- columns ---------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns, in the order of rows."""
        if self.order is not None:
            return tuple(self.order)
        found = names_of(self.blocks)
        return tuple(sorted(found) if isinstance(found[0], int) else found)

    @cached_property
    def columns_of_blocks(self) -> list[Any]:
        """The places of each block's columns in a row, arrays (d,)."""
        return [np.array([self.names.index(name) for name in b.names]) for b in self.blocks]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Where the blocks of a resolved family lie."""
        found, start = [], 0
        for block, columns in zip(self.blocks, self.columns_of_blocks, strict=True):
            end = start + block.family.n_stats
            stop = end + (len(block.family.eta0) > block.family.n_stats)
            found.append(Span(columns, start, end, stop))
            start = stop
        return tuple(found)

    @property
    def _parts(self) -> Iterator[tuple[Block, Span]]:
        return zip(self.blocks, self.spans, strict=True)

    def for_columns(self, n_features: int) -> Self:
        """Return the family with blocks for so many columns, or raise ValueError."""
        if self.blocks is None:
            return replace(self, blocks={j: Gaussian() for j in range(n_features)})
        D = len(self.names)
        if D != n_features:
            raise ValueError(f"Mixed has blocks for {D} columns, got rows of {n_features}.")
        if isinstance(self.names[0], int) and self.names != tuple(range(D)):
            raise ValueError(f"blocks must name the columns 0 to {D - 1}, got {self.names}.")
        return self

    def inside(self, X: Array) -> Array:
        """Return which values are missing or in the support of their block, (N, D)."""
        family, X = self.for_columns(X.shape[1]), host(X)
        inside = np.ones(X.shape, dtype=bool)
        for block, columns in zip(family.blocks, family.columns_of_blocks, strict=True):
            part = viewed(X[:, columns], block.view)
            found = block.family.inside(np.where(np.isnan(part), NEUTRAL, part))
            if found is not None:
                inside[:, columns] &= found if found.ndim == 2 else found[:, None]
        return inside

    def check(self, X: Array) -> None:
        """Raise ValueError if a value that is not missing is outside its block's support."""
        inside = self.inside(X)
        if np.all(inside):
            return
        column = int(np.argmin(inside)) % X.shape[1]
        name = self.names[column]
        block = [block for block in self.blocks if name in block.names][-1]
        wanted, advice = block.support
        known = "" if isinstance(name, int) else f" ({name!r})"
        raise ValueError(f"{wanted}, got {first_outside(X, inside)}{known}. {advice}".rstrip())

    # ---- resolving and learning hyperparameters --------------------------------------------

    @property
    def resolved(self) -> bool:
        """Whether everything is set."""
        blocks = self.blocks or ()
        return self.n_features is not None and all(b.family.resolved for b in blocks)

    @property
    def open(self) -> bool:
        """Whether hyperparameters of a block must come from data."""
        return self.blocks is None or any(block.family.open for block in self.blocks)

    def candidates(self, X: Array) -> list[Self]:
        """Return resolved families; proposals of the blocks are taken side by side."""
        X = np.asarray(X, dtype=np.float64)
        each = [(block, block.family.candidates(rows)) for block, rows in self._seen(X)]
        return [
            self._with([b._replace(family=some[min(j, len(some) - 1)]) for b, some in each], X)
            for j in range(max(len(some) for _, some in each))
        ]

    def guess(self, X: Array) -> Self:
        """Return a resolved family with weak priors, from which what is open is learnt."""
        X = np.asarray(X, dtype=np.float64)
        blocks = [b._replace(family=b.family.guess(rows)) for b, rows in self._seen(X)]
        return self._with(blocks, X)

    def _with(self, blocks: list[Block], X: Floats) -> Self:
        return replace(self, blocks=tuple(blocks), n_features=int(X.shape[1]))

    def _seen(self, X: Floats) -> Iterator[tuple[Block, Floats]]:
        """Yield blocks, independent columns apart, with the rows (M, d) that have seen them."""
        family = self.for_columns(X.shape[1])
        for block in (one for several in family.blocks for one in several.columns_alone()):
            part = viewed(X[:, [family.names.index(name) for name in block.names]], block.view)
            rows = part[~np.isnan(part).any(axis=1)]
            yield block, rows if len(rows) else np.full((1, part.shape[1]), NEUTRAL)

    @property
    def learns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of hyperparameters of the blocks that can be learnt, such as ``age.kappa``."""
        return tuple(f"{b.label}.{name}" for b in self.blocks or () for name in b.family.learns)

    def learnt(self, first: Self, names: Collection[str], stats: Floats, mass: Floats) -> Self:
        """Return the family with some hyperparameters nearer to what K clusters say of them."""
        blocks = []
        for (block, span), start in zip(self._parts, first.blocks, strict=True):
            mine, counts = span.sums(stats)
            some = counts > 0  # clusters that have seen the block
            if own := block.own(names):
                family = block.family.learnt(start.family, own, mine[some], counts[some])
                block = block._replace(family=family)
            blocks.append(block)
        return replace(self, blocks=tuple(blocks))

    def log_hyperprior(self, first: Self) -> float:
        """Log density of the hyperparameters of all blocks, 0 at those of ``first``."""
        pairs = zip(self.blocks, first.blocks, strict=True)
        return sum(mine.family.log_hyperprior(other.family) for mine, other in pairs)

    # ---- the exponential family ------------------------------------------------------------

    @property
    def n_stats(self) -> int:
        """The statistics of all blocks, and their counts."""
        return self.spans[-1].stop

    @property
    def n_slopes(self) -> int:
        """The features of all blocks, and their counts."""
        return sum(b.family.n_slopes + span.stop - span.end for b, span in self._parts)

    @cached_property
    def eta0(self) -> Floats:
        """Priors of the blocks, each followed by a count of zero."""
        eta = np.zeros(self.n_stats)
        for block, span in self._parts:
            eta[span.start : span.end] = block.family.eta0[: block.family.n_stats]
        return eta

    def statistic(self, X: Array) -> Array:
        """Statistics and counts of the blocks that each row has seen, (N, S)."""
        return self._stacked(X, lambda family, x: family.statistic(x))

    def features(self, X: Array) -> Array:
        """Features and counts of the blocks that each row has seen, (N, F)."""
        return self._stacked(X, lambda family, x: family.features(x))

    def _stacked(self, X: Array, numbers: Any) -> Array:
        parts = []
        for block, span in self._parts:
            x, seen = filled(X, span.columns, block.view)
            weight = namespace(x).astype(seen, x.dtype)[:, None] * block.weight
            parts.append(numbers(block.family, x) * weight)
            if span.stop > span.end:
                parts.append(weight)
        return namespace(parts[0]).concat(parts, axis=1)

    def slopes(self, params: Array) -> Array:
        """Coefficients (K, F) of the features."""
        xp, parts = namespace(params), []
        for block, span in self._parts:
            own = params[:, span.start : span.end]
            counts = len(block.family.eta0) - block.family.n_stats
            nothing = xp.zeros_like(params[:, :counts])
            parts += [block.family.slopes(xp.concat([own, nothing], axis=1))]
            parts += [params[:, span.end : span.stop]]
        return xp.concat(parts, axis=1)

    def from_features(self, sums: Array) -> Array:
        """Return statistics (K, S) from sums of features (K, F)."""
        parts, at = [], 0
        for block, span in self._parts:
            width, counts = block.family.n_slopes, span.stop - span.end
            parts.append(block.family.from_features(sums[:, at : at + width]))
            parts.append(sums[:, at + width : at + width + counts])
            at += width + counts
        return namespace(sums).concat(parts, axis=1)

    def log_base(self, X: Array) -> Array:
        """Log base measure of what each row has seen, (N,)."""
        total = 0.0
        for block, span in self._parts:
            x, seen = filled(X, span.columns, block.view)
            base = block.weight * block.family.log_base(x)
            total = total + namespace(x).where(seen, base, 0.0 * base)
            if block.partly:
                part = host(X)[:, span.columns]
                total = total + alike(marginal_base(block.family, part), x)
        return total

    def etas(self, eta: Array) -> Iterator[tuple[Block, Span, Array]]:
        """Yield the blocks with the natural parameters (K, E) that they have in eta (K, S)."""
        xp = namespace(eta)
        for block, span in self._parts:
            own = eta[:, span.start : span.end]
            if span.stop > span.end:
                prior = alike(block.family.eta0[block.family.n_stats :], eta)
                own = xp.concat([own, prior + eta[:, span.end : span.stop]], axis=1)
            yield block, span, own

    def log_partition(self, eta: Array) -> Array:
        """Sum of the log normalisers of the blocks, (K,)."""
        parts = [block.family.log_partition(own) for block, _, own in self.etas(eta)]
        return sum(parts[1:], parts[0])

    def mean_params(self, eta: Array) -> Array:
        """Means of the blocks' parameters; those that pair with a count are summed, (K, S)."""
        return self._joined(eta, lambda family, own: family.mean_params(own))

    def draw_params(self, eta: Floats, rng: np.random.Generator) -> Floats:
        """Draw the parameters of all blocks, (K, S)."""
        return self._joined(eta, lambda family, own: family.draw_params(own, rng))

    def _joined(self, eta: Array, params: Any) -> Array:
        xp, parts = namespace(eta), []
        for block, span, own in self.etas(eta):
            found, S = params(block.family, own), block.family.n_stats
            parts.append(found[:, :S])
            if span.stop > span.end:
                parts.append(xp.sum(found[:, S:], axis=1)[:, None])
        return xp.concat(parts, axis=1)

    def log_predictive(self, X: Array, eta: Array) -> Array:
        """Log density (N, K) of what each row has seen, base measure left out."""
        total = 0.0
        for block, span, own in self.etas(alike(eta, X)):
            x, seen = filled(X, span.columns, block.view)
            score = block.log_predictive(x, own)
            total = total + namespace(x).where(seen[:, None], score, 0.0 * score)
            if block.partly:
                part = host(X)[:, span.columns]
                total = total + alike(marginal_scores(block.family, part, host(own)), x)
        return total

    def moved(self, stats: Floats, mass: Floats, to: Self) -> Floats:
        """Return statistics (K, S) about the origins of another family."""
        stats = stats.copy()
        for (block, span), other in zip(self._parts, to.blocks, strict=True):
            own, counts = span.sums(stats)
            stats[:, span.start : span.end] = block.family.moved(own, counts, other.family)
        return stats

    def draw(self, eta: Floats, mass: float, rng: np.random.Generator) -> Floats:
        """Draw one row (D,), with nothing missing."""
        row = np.empty(self._D)
        for block, span, own in self.etas(eta[None, :]):
            values = block.family.draw(own[0], mass, rng)
            zero = block.view == REST and not row[span.columns].any()
            row[span.columns] = 0.0 if zero else values
        return row

    # ---- loops over rows -------------------------------------------------------------------

    @cached_property
    def _compiled(self) -> list[Part] | None:
        """The blocks for compiled verbs; None if one of them has none."""
        parts = [block.part(span.columns) for block, span in self._parts]
        return None if None in parts else [part for part in parts if part is not None]

    def rows(self, X: Array) -> Any:
        """Pack rows X (N, D)."""
        return table_rows(self._compiled, X) if self._compiled else super().rows(X)

    def workspace(self, tally: Tally, columns: dict[str, Floats]) -> Any:
        """Pack the tally's buffers and what is derived from them."""
        if self._compiled is None:
            return super().workspace(tally, columns)
        return table_work(self._compiled, tally)

    # ---- a family is plain data ------------------------------------------------------------

    def to_spec(self) -> dict[str, Any]:
        """Return names and families of the blocks as a JSON-ready dict."""
        blocks = None if self.blocks is None else [block.to_spec() for block in self.blocks]
        order = None if self.order is None else list(self.order)
        spec = {"blocks": blocks, "ignored": list(self.ignored), "order": order}
        return spec | {"n_features": self.n_features}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Self:
        """Return the family that :meth:`to_spec` described."""
        blocks = None if spec["blocks"] is None else blocks_of_spec(spec["blocks"])
        order = spec.get("order")  # files of the first versions have none
        return cls(blocks, spec.get("ignored", ()), order, n_features=spec["n_features"])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine = self.blocks, self.ignored, self.order, self.n_features
        return mine == (other.blocks, other.ignored, other.order, other.n_features)

    def __repr__(self) -> str:
        ignored = f", ignored={self.ignored!r}" if self.ignored else ""
        return f"Mixed({shown(self.blocks)}{ignored})" if self.blocks else "Mixed()"
