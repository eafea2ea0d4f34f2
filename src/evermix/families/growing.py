"""Vocabularies that grow: a Multinomial gets columns for words that were not known before.

A symmetric Dirichlet prior over V words does not say which words are still to come: those that
were never counted are columns of zeros, and each has the same alpha. So a column gets its word when
that is first met, and the result is that of a run in which all words were known, exactly, as long
as V stays. V is the number of columns. Where more words come than there are columns, V becomes the
next number of :func:`room`: from then on the prior is that over the larger vocabulary, with the
same alpha for each word.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Ints
from evermix.families.base import Family
from evermix.families.multinomial import Multinomial
from evermix.tally import Layout, Tally


def grows(family: Family | None) -> bool:
    """Whether rows of a family may come with more columns than the rows before them."""
    return isinstance(family, Multinomial) and family.growing


def room(n: int) -> int:
    """Return how many columns there are for n words: n rounded up to three binary digits."""
    step = 1 << max(int(n).bit_length() - 3, 0)
    return max(-(-int(n) // step) * step, 4)


def needed(X: Any) -> Ints:
    """Return how many columns the rows X (N, D) up to each one need, (N,); CSR, sorted."""
    columns = np.zeros(X.shape[0], dtype=np.int64)
    filled = np.flatnonzero(np.diff(X.indptr))
    columns[filled] = X.indices[X.indptr[filled + 1] - 1].astype(np.int64) + 1
    return np.maximum.accumulate(columns)


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
    n_features, least = family.n_features or 0, int(needed(X).max(initial=0))
    return resized(X, n_features if least <= n_features else room(least))


def widened(family: Family, tally: Tally, n_features: int) -> tuple[Family, Tally]:
    """Return a family and its clusters with further columns, of words that nobody has counted."""
    assert tally.layout is Layout.STATISTIC_MAJOR  # words, and last the length
    old = tally.stats_buffer
    stats = np.zeros((n_features + 1, tally.capacity))
    stats[: len(old) - 1], stats[-1] = old[:-1], old[-1]
    return replace(family, n_features=n_features), replace(tally, stats_buffer=stats)


def forgotten(tally: Tally, columns: Ints) -> Tally:
    """Return clusters without the counts of some columns, as if these words had been left out.

    What is left of a Dirichlet distribution without some words is one with the same alphas.
    """
    stats = tally.stats_buffer.copy()
    stats[-1] = np.maximum(stats[-1] - stats[columns].sum(axis=0), 0.0)
    stats[columns] = 0.0
    return replace(tally, stats_buffer=stats)
