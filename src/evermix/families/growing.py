"""Vocabularies that grow, and levels: words and categories that were not known before.

A symmetric Dirichlet prior over V words does not say which words are still to come: those that
were never counted are columns of zeros, and each has the same alpha. So a column gets its word when
that is first met, and the result is that of a run in which all words were known, exactly, as long
as V stays. V is the number of columns. Where more words come than there are columns, V becomes the
next number of :func:`room`: from then on the prior is that over the larger vocabulary, with the
same alpha for each word. Levels of a Categorical, alone or as a block of Mixed, are the same thing
in one column: its statistics get further entries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from evermix._xp import Bools, Floats, Ints, alike, host
from evermix.families.base import Family
from evermix.families.categorical import Categorical
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.tally import Layout, Tally

Widths: TypeAlias = tuple[int, ...]
"""How many words, or levels of each column of categories, a family has room for."""


def grows(family: Family | None) -> bool:
    """Whether rows of a family may come with more columns than the rows before them."""
    return isinstance(family, Multinomial) and family.growing


def room(n: int, least: int = 4) -> int:
    """Return how many columns there are for n words: n rounded up to three binary digits."""
    step = 1 << max(int(n).bit_length() - 3, 0)
    return max(-(-int(n) // step) * step, least)


def widths(family: Family) -> Widths:
    """Return how many words, or levels of each column of categories, a family has room for."""
    if isinstance(family, Mixed):
        return tuple(n for block in family.blocks or () for n in widths(block.family))
    if isinstance(family, Categorical):
        return (family.n_levels or 0,)
    return (family.n_features or 0,) if grows(family) else ()


def needed(family: Family, X: Any) -> Ints:
    """Return the widths that rows X (N, D) up to each one need, (N, W); CSR sorted."""
    if grows(family):
        columns = np.zeros((X.shape[0], 1), dtype=np.int64)
        filled = np.flatnonzero(np.diff(X.indptr))
        columns[filled, 0] = X.indices[X.indptr[filled + 1] - 1].astype(np.int64) + 1
    else:
        codes = X[:, _categories(family)]
        columns = np.where(np.isnan(codes), 0, codes + 1).astype(np.int64)
    return np.maximum.accumulate(columns, axis=0)


def _categories(family: Family) -> list[int]:
    """Return the columns of rows that hold codes of levels."""
    if not isinstance(family, Mixed):
        return [0]
    each = zip(family.blocks, family.columns_of_blocks, strict=True)
    return [int(columns[0]) for block, columns in each if isinstance(block.family, Categorical)]


def wide_enough(family: Family, need: Any) -> Widths:
    """Return the widths of a family, with room where these (W,) are more."""
    least = 4 if grows(family) else 2
    pairs = zip(widths(family), need, strict=True)
    return tuple(have if n <= have else room(int(n), least) for have, n in pairs)


def for_levels(family: Family, parts: Iterable[Any]) -> Family:
    """Return a family with room for all levels of rows, which come in parts (N, D)."""
    if grows(family) or not widths(family):
        return family
    for X in parts:
        need = needed(family, X)[-1] if X.shape[0] else ()
        wide = tuple(max(pair) for pair in zip(widths(family), need, strict=False))
        family = with_widths(family, wide) if wide else family
    return family


def with_widths(family: Family, wide: Widths) -> Family:
    """Return a family with other widths."""
    if isinstance(family, Mixed):
        left = iter(wide)
        blocks = [
            b._replace(family=with_widths(b.family, (next(left),))) if widths(b.family) else b
            for b in family.blocks
        ]
        return replace(family, blocks=tuple(blocks))
    if isinstance(family, Categorical):
        return replace(family, n_levels=wide[0])
    return replace(family, n_features=wide[0])


def resized(X: Any, n_features: int) -> Any:
    """Return the CSR matrix X with another number of columns, all entries being in these."""
    if X.shape[1] == n_features:
        return X
    return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def fitting(family: Family, X: Any) -> Any:
    """Return rows X in the columns of a family that grows; for other families as they are."""
    return resized(X, family.n_features or X.shape[1]) if grows(family) else X


def with_room(family: Family, X: Any) -> Any:
    """Return rows X, CSR, with as many columns as they would be learnt with."""
    n_features, least = family.n_features or 0, int(needed(family, X).max(initial=0))
    return resized(X, n_features if least <= n_features else room(least))


def widened(family: Family, tally: Tally, wide: Widths) -> tuple[Family, Tally]:
    """Return a family and its clusters with room for words or levels that nobody has counted."""
    wider, old = with_widths(family, wide), tally.stats_buffer
    if grows(family):
        assert tally.layout is Layout.STATISTIC_MAJOR  # words, and last the length
        stats = np.zeros((wide[0] + 1, tally.capacity))
        stats[: len(old) - 1], stats[-1] = old[:-1], old[-1]
    else:
        stats = np.zeros((tally.capacity, wider.n_stats))
        for (start, stop), (place, _) in zip(_spans(family), _spans(wider), strict=True):
            stats[:, place : place + stop - start] = old[:, start:stop]
    return wider, replace(tally, stats_buffer=stats)


def with_new(family: Family, tally: Tally, X: Any) -> tuple[Family, Tally, Any]:
    """Return a family, its clusters and rows X (N, D) so that what nobody has counted has room.

    Words have the columns of X. A level that was never met is one more of its column, whichever it
    is; :func:`gain_of_known` tells what rows without such levels gain over these scores.
    """
    have = widths(family)
    if grows(family) and have != (X.shape[1],):
        return *widened(family, tally, (X.shape[1],)), X
    new = new_levels(family, X)
    if not new.any():
        return family, tally, X
    rows, columns = host(X).copy(), _categories(family)
    rows[:, columns] = np.where(new, have, rows[:, columns])
    return *widened(family, tally, tuple(np.add(have, new.any(axis=0)).tolist())), alike(rows, X)


def new_levels(family: Family, X: Any) -> Bools:
    """Return which levels of rows X (N, D) were never met, (N, W) by column of categories."""
    have = widths(family)
    if grows(family) or not have:
        return np.zeros((X.shape[0], 0), dtype=np.bool_)
    new: Bools = host(X)[:, _categories(family)] >= have
    return new


def gain_of_known(family: Family, wider: Family, tally: Tally, X: Any) -> Any:
    """Return what rows X (N, D) gain where another column's new level has made a family wider.

    They are scored as without the new level, so that no row depends on others: (N, K + 1), the last
    for a new cluster. All known levels of a column gain the same.
    """
    have, columns = widths(family), _categories(family)
    at = [i for i, pair in enumerate(zip(have, widths(wider), strict=True)) if len(set(pair)) > 1]
    one = np.full((len(at), X.shape[1]), np.nan)  # a row for each column, which holds it alone
    one[range(len(at)), [columns[i] for i in at]] = 0.0
    both = (family, tally), widened(family, tally, widths(wider))
    few, many = (kind.log_predictive(one, with_empty(kind, some)) for kind, some in both)
    known = host(X)[:, [columns[i] for i in at]] < [have[i] for i in at]
    return known @ (few - many)


def with_empty(family: Family, tally: Tally) -> Floats:
    """Return the posteriors (K + 1, E) of clusters and, last, of one without rows."""
    stats = np.vstack([tally.stats, np.zeros(tally.size)])
    return family.posterior(stats, np.append(tally.mass, 0.0))


def recoded(
    family: Family, tally: Tally, wide: Widths, codes: Sequence[Ints]
) -> tuple[Family, Tally]:
    """Return a family and its clusters with other widths, and other codes for their levels.

    ``codes`` are the new ones (L,) of the levels, for each column of categories.
    """
    wider, tally = widened(family, tally, wide)
    old, stats = tally.stats_buffer, tally.stats_buffer.copy()
    blocks = [(family, 0)]
    if isinstance(family, Mixed):
        starts = [start for start, _ in _spans(wider)]
        blocks = list(zip((block.family for block in family.blocks), starts, strict=True))
    places = [start for kind, start in blocks if widths(kind)]
    for start, n, new in zip(places, wide, codes, strict=True):
        stats[:, start : start + n] = 0.0
        stats[:, start + new] = old[:, start : start + len(new)]
    return wider, replace(tally, stats_buffer=stats)


def _spans(family: Family) -> list[tuple[int, int]]:
    """Where the statistics of each block begin and end."""
    if isinstance(family, Mixed):
        return [(span.start, span.stop) for span in family.spans]
    return [(0, family.n_stats)]


def forgotten(tally: Tally, columns: Ints) -> Tally:
    """Return clusters without the counts of some columns, as if these words had been left out.

    What is left of a Dirichlet distribution without some words is one with the same alphas.
    """
    stats = tally.stats_buffer.copy()
    stats[-1] = np.maximum(stats[-1] - stats[columns].sum(axis=0), 0.0)
    stats[columns] = 0.0
    return replace(tally, stats_buffer=stats)
