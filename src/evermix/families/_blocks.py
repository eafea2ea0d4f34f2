"""Blocks of a table: columns that share a family, and what a row has seen of them.

A column that is 0 in many rows has two blocks, each with its own view of the numbers: one of
whether they are not 0, and one of those that are not, for which a row with a 0 has seen nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from evermix._registry import registered
from evermix._xp import Array, Floats, Ints, alike, is_numpy, namespace
from evermix.families import _hyperparameters as hyper
from evermix.families._table_work import Part
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_gaussian import LogGaussian
from evermix.families.log_normal import LogNormal
from evermix.families.poisson import Poisson
from evermix.families.zero_inflated import ZeroInflated
from evermix.kernels.families.mixed import COUNTS, GROUP, LEVELS, NORMAL, YES_NO

PRODUCTS = Bernoulli, Poisson, DiagonalGaussian, FixedGaussian  # whose columns are independent
NEUTRAL = 1.0  # stands in for a missing value; its weight is zero
COMPILED: dict[type, int] = {
    Gaussian: NORMAL,
    LogGaussian: NORMAL,
    DiagonalGaussian: NORMAL,
    LogNormal: NORMAL,
    Bernoulli: YES_NO,
    Poisson: COUNTS,
    Categorical: LEVELS,
}

ALL, WHETHER, REST = "all", "not 0", "rest"  # views: numbers, whether they are not 0, those others

Name: TypeAlias = str | int


class Block(NamedTuple):
    """Columns that share a family."""

    names: tuple[Name, ...]
    family: Family
    weight: float = 1.0
    view: str = ALL

    @property
    def label(self) -> str:
        """The names as one word; with another view, its name too."""
        names = "+".join(map(str, self.names))
        return names if self.view != WHETHER else f"{names} {WHETHER}"

    @property
    def support(self) -> tuple[str, str]:
        """What is wanted of values, and what to do about others."""
        if self.view == REST:
            return "ZeroInflated() needs numbers >= 0", "Use em.ZeroInflated(em.Gaussian())."
        return self.family.support

    @property
    def is_yes_no(self) -> bool:
        """Whether the columns hold yes or no."""
        return isinstance(self.family, Bernoulli) and self.view == ALL

    @property
    def of_zeros(self) -> bool:
        """Whether it tells in which rows a column that is often 0 is not."""
        return self.view == WHETHER

    @property
    def partly(self) -> bool:
        """Whether rows that have seen only some of the columns can be scored."""
        return isinstance(self.family, Gaussian) and len(self.names) > 1 and self.weight == 1.0

    def own(self, names: Collection[str]) -> list[str]:
        """Of names such as ``age.kappa``, return those of this block, without its label."""
        start = f"{self.label}."
        return [name.removeprefix(start) for name in names if name.startswith(start)]

    def columns_alone(self) -> "list[Block]":
        """Return a block for each column, where they are independent; else this block."""
        if not isinstance(self.family, PRODUCTS) or len(self.names) == 1:
            return [self]
        D, blocks = len(self.names), []
        values = {f.name: getattr(self.family, f.name) for f in fields(self.family)}
        for d, name in enumerate(self.names):
            own = {k: np.ravel(v)[d : d + 1] for k, v in values.items() if np.shape(v) == (D,)}
            changes: dict[str, Any] = {"n_features": None} | own
            blocks.append(Block((name,), replace(self.family, **changes), self.weight))
        return blocks

    def log_predictive(self, x: Array, eta: Array) -> Array:
        """Log density (N, K) of rows that have seen the block; it counts ``weight`` times."""
        family, xp = self.family, namespace(x)
        if self.weight == 1.0:
            return family.log_predictive(x, eta)
        t = family.statistic(x)
        one = alike(np.ones((x.shape[0], len(family.eta0) - family.n_stats)), t)
        step = self.weight * xp.concat([t, one], axis=1)
        after = [family.log_partition(eta[k, :] + step) for k in range(eta.shape[0])]
        return xp.stack(after, axis=1) - family.log_partition(eta)

    def part(self, columns: Ints) -> Part | None:
        """Return the block for compiled verbs; None if it has none."""
        kind = COMPILED.get(type(self.family))
        if kind is None or self.weight != 1.0:
            return None
        kind = GROUP if len(columns) > 1 else kind
        family = self.family
        scaled = family.scaled if isinstance(family, LogNormal | LogGaussian) else None
        return Part(kind, family, columns, partial(viewed, view=self.view), scaled)

    def to_spec(self) -> list[Any]:
        """Return the block as JSON-ready values."""
        spec = [list(self.names), type(self.family).__name__, self.family.to_spec(), self.weight]
        return spec if self.view == ALL else [*spec, self.view]


class Span(NamedTuple):
    """Where a block lies."""

    columns: Ints  # of the rows
    start: int  # of its statistics
    end: int  # behind them, without the count
    stop: int  # behind the count, if there is one

    def sums(self, stats: Array) -> tuple[Array, Array]:
        """Statistics (K, S) of the block, and the mass (K,) of the rows that have seen it."""
        own = stats[:, self.start : self.end]
        if self.stop > self.end:
            return own, stats[:, self.end]
        return own, namespace(own).sum(own, axis=1)


def checked_blocks(blocks: Any) -> tuple[Block, ...]:
    """Return blocks, given by the names of their columns, or raise TypeError or ValueError."""
    if isinstance(blocks, Mapping):
        blocks = [(names, *one) for names, family in blocks.items() for one in _parts_of(family)]
    found = []
    for names, family, weight, *view in blocks:
        names = tuple(names) if isinstance(names, tuple | list) else (names,)
        if not names or not all(isinstance(name, str | int) for name in names):
            raise TypeError(f"blocks must be named by columns (str or int), got {names!r}.")
        if not isinstance(family, Family) or family.sparse or family.missing or family.frame:
            raise TypeError(
                f"the block of {names!r} must be a family of dense rows such as em.Gaussian() (not "
                "LowRankGaussian), or em.ZeroInflated() for a column that is often 0, or a pair of "
                f"one of them and a weight, got {family!r}."
            )
        weight = hyper.positive(f"the weight of {names!r}", weight)
        found.append(Block(names, family, weight, *view))
    _check_views(found)
    columns = [name for block in found for name in block.names if block.view != REST]
    twice = sorted({str(name) for name in columns if columns.count(name) > 1})
    if not found or twice or len({type(name) for name in columns}) > 1:
        raise ValueError(
            f"blocks must name every column once, all by names or all by numbers, got {columns!r}."
        )
    return tuple(found)


def checked_order(order: Any, blocks: Sequence[Block] | None) -> tuple[str, ...]:
    """Return the names of all columns as rows have them, or raise ValueError."""
    found, names = tuple(order), names_of(blocks or ())
    if set(found) != set(names) or len(found) != len(names):
        raise ValueError(f"order must hold every column of blocks once, got {list(found)!r}.")
    return found


def names_of(blocks: Sequence[Block]) -> list[Name]:
    """Return the names of all columns, each once."""
    return list(dict.fromkeys(name for block in blocks for name in block.names))


def shown(blocks: Sequence[Block]) -> str:
    """Return blocks as they are given to :class:`Mixed`."""
    found, zero = [], None
    for names, family, weight, view in blocks:
        if view == WHETHER:
            zero = family
            continue
        key = repr(names[0] if len(names) == 1 else names)
        one = repr(ZeroInflated(family, zero) if view == REST else family)  # type: ignore[arg-type]
        found.append(f"{key}: {one}" if weight == 1 else f"{key}: ({one}, {weight})")
    return f"{{{', '.join(found)}}}"


def _parts_of(family: Any) -> list[tuple[Any, ...]]:
    """Return families with their weights and views, as they are given for some columns."""
    weighted = isinstance(family, tuple) and len(family) == 2
    family, weight = family if weighted else (family, 1)
    if isinstance(family, ZeroInflated):
        return [(family.zero, weight, WHETHER), (family.family, weight, REST)]
    return [(family, weight)]


def _check_views(blocks: Sequence[Block]) -> None:
    """Raise TypeError or ValueError unless a column's two views are where they belong."""
    for block, after in zip(blocks, [*blocks[1:], None], strict=False):  # there may be none
        if len(block.names) > 1 and block.view != ALL:
            raise ValueError(
                f"em.ZeroInflated is for one column, got {block.names!r}. Give each column a block."
            )
        if block.view == WHETHER and after and (after.names, after.view) == (block.names, REST):
            ZeroInflated(after.family, block.family)  # type: ignore[arg-type]
    views = [(block.names, block.view) for block in blocks]
    whole = [(names, ALL) for names, view in views if view == ALL]
    pairs = [(names, each) for names, view in views if view == WHETHER for each in (WHETHER, REST)]
    if [one for one in views if one[1] != ALL] != pairs or len(whole) + len(pairs) < len(views):
        raise ValueError("the blocks of a column that is often 0 must come one after the other.")


def blocks_of_spec(spec: list[Any]) -> list[tuple[Any, ...]]:
    """Return what :meth:`Block.to_spec` described."""
    known = registered(Family)
    found = []
    for names, kind, values, *rest in spec:
        found.append((tuple(names), known[kind].from_spec(values), *rest))
    return found


def viewed(part: Array, view: str) -> Array:
    """Return numbers as a block sees them: what it does not is missing."""
    if view == ALL:
        return part
    xp = namespace(part)
    nan = xp.full_like(part, np.nan)
    if view == REST:
        return xp.where(part == 0, nan, part)
    return xp.where(xp.isnan(part), nan, xp.astype(part != 0, part.dtype))


def filled(X: Array, columns: Ints, view: str = ALL) -> tuple[Array, Array]:
    """Return some columns (N, d), with numbers where they are missing, and who saw all, (N,)."""
    xp = namespace(X)
    part = X[:, columns] if is_numpy(X) else xp.take(X, alike(columns, X), axis=1)
    part = viewed(part, view)
    gone = xp.isnan(part)
    return xp.where(gone, xp.full_like(part, NEUTRAL), part), ~xp.any(gone, axis=1)


# ---- groups of which only some columns were seen ---------------------------------------------


def patterns(part: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Yield rows of a group (N, d) that have seen the same columns, some but not all; and these."""
    known = ~np.isnan(part)
    some = np.flatnonzero(known.any(axis=1) & ~known.all(axis=1))
    kinds, kind = np.unique(known[some], axis=0, return_inverse=True)
    for j, columns in enumerate(kinds):
        yield some[np.ravel(kind) == j], np.flatnonzero(columns)


def marginal(family: Gaussian, eta: Floats, columns: Ints) -> tuple[Gaussian, Floats]:
    """Return the family of some columns of a group, and its clusters (K, E) for those eta.

    A covariance with nu degrees of freedom has nu - m of them where m columns are left out.
    """
    D = family.n_features
    assert D is not None  # the family is resolved
    squares = D + (D * columns[:, None] + columns).ravel()
    entries: Ints = np.concatenate([columns, squares, np.array([eta.shape[1] - 2])])
    nu = eta[:, -1:] - (D - len(columns))
    some = np.column_stack([np.take(eta, entries, axis=1), nu])
    return family.of_columns(columns), some


def marginal_base(family: Family, part: Floats) -> Floats:
    """Log base measure (N,) of what rows have seen of a group, 0 for those that saw all or none."""
    assert isinstance(family, Gaussian)  # as `Block.partly` says
    base = np.zeros(len(part))
    for rows, columns in patterns(part):
        base[rows] = family.of_columns(columns).log_base(part[np.ix_(rows, columns)])
    return base


def marginal_scores(family: Family, part: Floats, eta: Floats) -> Floats:
    """Log density (N, K) of what rows have seen of a group, 0 for those that saw all or nothing.

    The base measure is left out.
    """
    assert isinstance(family, Gaussian)  # as `Block.partly` says
    scores = np.zeros((len(part), len(eta)))
    for rows, columns in patterns(part):
        small, own = marginal(family, eta, columns)
        scores[rows] = small.log_predictive(part[np.ix_(rows, columns)], own)
    return scores
