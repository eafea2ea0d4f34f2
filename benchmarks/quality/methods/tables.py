"""What a user would take for tables instead.

Holes are filled by medians of numbers and the commonest levels of categories. Categories become a
column of zeros and ones for each level, but in k-prototypes, which knows them.
"""

from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.quality.methods.base import Answer, Method, NotThere, standardised
from benchmarks.quality.methods.batch import gmm_bic, hdbscan_1pct, hdbscan_5
from benchmarks.quality.sets.base import LabelledSet

__all__ = ["METHODS"]

STARTS = 3


def kprototypes_given_k(one: LabelledSet, seed: int) -> Answer:
    """k-prototypes with the true K, numbers standardised; k-means or k-modes without one kind."""
    try:
        from kmodes.kmodes import KModes
        from kmodes.kprototypes import KPrototypes
    except ImportError as error:
        raise NotThere("kmodes is not installed: pip install 'evermix[bench]'.") from error
    numbers, categories = _filled(one)
    options = {"n_clusters": one.K, "n_init": STARTS, "random_state": seed}
    if not categories.shape[1]:
        return Answer(KMeans(**options).fit_predict(numbers))
    if not numbers.shape[1]:
        return Answer(KModes(**options).fit_predict(categories))
    X = np.column_stack([numbers.astype(object), categories])
    places = list(range(numbers.shape[1], X.shape[1]))
    return Answer(KPrototypes(**options).fit_predict(X, categorical=places))


def onehot_gmm_bic(one: LabelledSet, seed: int) -> Answer:
    """The Gaussian mixture with the best BIC."""
    return gmm_bic(_onehot(one), seed)


def onehot_hdbscan_5(one: LabelledSet, seed: int) -> Answer:
    """HDBSCAN at its defaults."""
    return hdbscan_5(_onehot(one), seed)


def onehot_hdbscan_1pct(one: LabelledSet, seed: int) -> Answer:
    """HDBSCAN with clusters of at least 1% of the rows."""
    return hdbscan_1pct(_onehot(one), seed)


def _filled(one: LabelledSet) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers (N, D), standardised, and levels (N, C) of a table, with all holes filled."""
    numbers = one.X.select_dtypes(["number"])
    words = one.X.drop(columns=numbers.columns).astype(object)
    filled = words.fillna(words.mode().iloc[0]) if words.shape[1] else words
    codes = np.unique(filled.to_numpy().astype(str), return_inverse=True)[1].reshape(words.shape)
    if numbers.shape[1]:
        return standardised(numbers.fillna(numbers.median())), codes
    return np.empty((one.n, 0)), codes


def _onehot(one: LabelledSet) -> LabelledSet:
    numbers, codes = _filled(one)
    flags = [
        codes[:, j] == level for j in range(codes.shape[1]) for level in np.unique(codes[:, j])
    ]
    return replace(one, kind="vectors", X=np.column_stack([numbers, *flags]).astype(np.float64))


METHODS = (
    Method("kprototypes_given_k", "peers", ("tables",), kprototypes_given_k),
    Method("onehot_gmm_bic", "peers", ("tables",), onehot_gmm_bic),
    Method("onehot_hdbscan_5", "peers", ("tables",), onehot_hdbscan_5),
    Method("onehot_hdbscan_1pct", "peers", ("tables",), onehot_hdbscan_1pct),
)
