"""Which family suits rows, and why: what ``family="auto"`` stands for."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from evermix._words import counted
from evermix._xp import Array
from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.categorical import Categorical
from evermix.families.dense import FULL_ONLY, MAX_FULL_COVARIANCE
from evermix.families.fixed_gaussian import FixedGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.low_rank_gaussian import LowRankGaussian
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.families.often_zero import zero_inflated
from evermix.families.von_mises_fisher import VonMisesFisher
from evermix.families.zero_inflated import ZeroInflated

FEW = 10  # different whole numbers up to which they are levels
SAMPLE = 1000  # rows that are looked at first
READ = 4096  # rows that are looked at where they are in a file
UNIT_ROWS, UNIT_TOL = 100, 1e-3  # rows that are looked at, and how far lengths may be from 1
FEW_WORDS = MAX_FULL_COVARIANCE  # columns up to which whole numbers are no counts of words


class Choice(NamedTuple):
    """A family with open hyperparameters, and why it suits the rows."""

    family: Family
    why: str


def choose(X: Array, levels: bool = True, enough: int | None = None) -> Choice:
    """Choose a family for real numbers X (N, D), dense or CSR.

    Parameters
    ----------
    X : array or CSR matrix (N, D)
    levels : bool
        Whether columns of few different whole numbers may be levels.
    enough : int or None
        Rows of a stream that decide. With fewer, the choice is one that waits for more: a family of
        real numbers. None: the rows are all there are.
    """
    if sparse.issparse(X):
        return _of_sparse(X, levels, enough)
    if X.dtype.kind == "b":
        return Choice(Bernoulli(), "all values are booleans")
    X = X if type(X) is np.ndarray else np.asarray(X[:READ])
    gone = has_gaps(X)
    first = X if enough is None else X[:enough]
    known = X.size > 0 and (enough is None or X.shape[0] >= enough)
    if known and not gone and is_binary(first):
        return Choice(Bernoulli(), "all values are 0 or 1")
    if known and are_counts(first):
        return Choice(
            Multinomial(),
            f"most of the whole numbers in {X.shape[1]} columns are 0, and most others 1 or 2, as "
            "counts of words are",
        )
    few = _columns_of_levels(first) if known and levels else []
    same = _constant_columns(X) if enough is None and levels else []
    often = _often_zero(first, few + same, gone) if known and levels else {}
    if gone or few or same or often:
        return _columns_apart(X.shape[1], few, same, often, gone)
    return _of_vectors(X)


def has_gaps(X: Array) -> bool:
    """Whether numbers X (N, D), dense or sparse, are missing: not a number."""
    values: Any = getattr(X, "data", X) if sparse.issparse(X) else X
    return bool(values.dtype.kind == "f" and values.size and np.isnan(values.min()))


def is_binary(X: Array) -> bool:
    """Whether all numbers X (N, D) are 0 or 1, and both occur."""
    return all(
        some.min() == 0 and some.max() == 1 and bool(np.all((some == 0) | (some == 1)))
        for some in (_sample(X), X)
    )


def are_counts(X: Array) -> bool:
    """Whether dense rows X (N, D) are plainly counts of words.

    A row has few of all words, and most of them once or twice: so most numbers are 0, and most
    others 1 or 2. Pixels have zeros too, but other numbers are large; ages and answers have no
    zeros. Few columns are no vocabulary, and not only the proportions in a row matter.
    """
    if X.shape[1] <= FEW_WORDS:
        return False
    some = _sample(X)
    there = some[some != 0]
    sparse_enough = 0 < 2 * there.size < some.size
    return bool(
        sparse_enough
        and 2 * np.count_nonzero(there <= 2) >= there.size
        and all(part.min() >= 0 and np.all(part == np.rint(part)) for part in (some, X))
    )


def are_levels(values: Array) -> bool:
    """Whether numbers, some of which may be missing, are few different whole ones, each often."""
    known = values[np.isfinite(values)]
    different = len(np.unique(known))
    return bool(np.all(known == np.rint(known))) and different <= min(FEW, len(known) // 10)


def _of_sparse(X: Any, levels: bool, enough: int | None) -> Choice:
    """Choose a family for a sparse matrix."""
    if np.all(X.data == np.rint(X.data)):
        return Choice(Multinomial(), "sparse rows of whole numbers are counts of words")
    if X.shape[1] > FEW_WORDS:
        raise ValueError(
            "the sparse rows hold fractions, so they are no counts. If they are weights of words "
            "from TfidfTransformer or TfidfVectorizer, give the counts themselves "
            "(CountVectorizer). Or give directions, as a dense array: "
            "sklearn.preprocessing.normalize(X).toarray() to em.Mixture(em.VonMisesFisher())."
        )
    family, why = choose(X.toarray(), levels, enough)
    return Choice(family, f"{why}; they were sparse with fractions, and were made dense")


def _columns_of_levels(X: Array) -> list[int]:
    """Return the columns of X (N, D) that hold few different whole numbers from 0 on."""
    if X.shape[1] > MAX_FULL_COVARIANCE or not 1 < X.shape[0]:
        return []
    return [j for j in range(X.shape[1]) if all(_are_codes(part[:, j]) for part in (_sample(X), X))]


def _often_zero(X: Array, others: list[int], apart: bool) -> dict[int, ZeroInflated]:
    """Return families for the columns of X (N, D) that are often 0, but for ``others``.

    ``apart`` says whether columns share no covariance in any case.
    """
    if X.shape[1] > MAX_FULL_COVARIANCE:
        return {}
    return zero_inflated({j: X[:, j] for j in range(X.shape[1]) if j not in others}, apart)


def _are_codes(values: Array) -> bool:
    """Whether numbers can be codes of levels, of which at least two occur."""
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if not known.size or not 0 <= known.min() < known.max() <= FEW:
        return False
    return are_levels(known)


def _constant_columns(X: Array) -> list[int]:
    """Return the columns of X (N, D) that hold one number only, unless all do."""
    if X.shape[1] > MAX_FULL_COVARIANCE or not 1 < X.shape[0]:
        return []
    same = np.flatnonzero(X.min(axis=0) == X.max(axis=0)).tolist()
    return same if len(same) < X.shape[1] else []


def _columns_apart(
    D: int, few: list[int], same: list[int], often: dict[int, ZeroInflated], gone: bool
) -> Choice:
    """Choose a table of columns, some of which hold levels, are constant or often 0.

    Values may be missing. If none is, columns of numbers share a covariance, unless they are many;
    where clusters are searched for, the rows decide whether they do. The variance of a constant
    column is not learnt: the more rows a cluster has, the nearer to zero it would be, and the
    better large clusters would look.
    """
    blocks: dict[Any, Family | ZeroInflated] = {j: Categorical() for j in few}
    blocks |= {j: FixedGaussian() for j in same}
    blocks |= often
    numbers = [j for j in range(D) if j not in blocks]
    together = 1 < len(numbers) <= MAX_FULL_COVARIANCE and not gone
    blocks |= dict.fromkeys([tuple(numbers)] if together else numbers, Gaussian())
    reasons = [f"{len(few)} of {D} columns hold few different whole numbers, taken for levels"]
    reasons = reasons if few else []
    reasons += [f"{len(same)} of {D} columns are constant"] if same else []
    reasons += [f"{len(often)} of {D} columns are often 0"] if often else []
    reasons += ["values are missing, which is integrated out"] if gone else []
    return Choice(Mixed(blocks), "; ".join(reasons))


def _of_vectors(X: Array) -> Choice:
    """Choose a family for real vectors."""
    D, numbers = X.shape[1], f"rows of {counted(X.shape[1], 'number')}"
    some = _sample(X)
    if X.size and some.min() >= 0 and np.all(some == np.rint(some)):
        numbers += " (if these are counts of words, give em.Multinomial())"
    if D <= MAX_FULL_COVARIANCE:
        others = "DiagonalGaussian, or of few rows LowRankGaussian,"
        either = f", or {others} if that explains them better" if D > FULL_ONLY else ""
        return Choice(Gaussian(), f"{numbers}{either}")
    lengths = np.linalg.norm(X[:UNIT_ROWS].astype(np.float64), axis=1)
    if np.all(np.abs(lengths - 1.0) < UNIT_TOL):
        return Choice(VonMisesFisher(), f"{numbers} with length 1 are directions")
    return Choice(
        LowRankGaussian(), f"{numbers} are too long for full covariances in all directions"
    )


def _sample(X: Array) -> Array:
    """Return some rows, spread evenly over all."""
    n = X.shape[0]
    return X if n <= SAMPLE else X[np.linspace(0, n - 1, SAMPLE).astype(np.int64)]
