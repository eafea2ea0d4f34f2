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

from evermix._xp import Ints, host
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


def wide_for(family: Family, X: Any) -> Widths:
    """Return the widths for all of the rows X (N, D), which for words are those of X."""
    if grows(family):
        return (X.shape[1],)
    if not widths(family) or not X.shape[0]:
        return widths(family)
    return wide_enough(family, needed(family, host(X))[-1])


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
