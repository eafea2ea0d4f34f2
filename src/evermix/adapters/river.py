"""Mixtures for River: rows are dicts of features, and come one at a time."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals
import numpy as np
from numpy.typing import NDArray
from river import base
from scipy import sparse

from evermix.engines.base import Engine
from evermix.estimators import Mixture
from evermix.families.base import Family
from evermix.families.dense import DenseFamily
from evermix.families.imputing import imputed
from evermix.families.mixed import Mixed
from evermix.families.multinomial import Multinomial
from evermix.forgetting import Exponential
from evermix.priors.base import Prior

KEPT = 1024  # rows with which a model begins anew when there are new features


class RiverMixture(base.Clusterer):
    """A :class:`evermix.Mixture` as a clusterer of River.

    A feature that a row lacks is zero there, as everywhere in River, and so it is in the rows
    before its first. A feature that is there but not a number (NaN) is missing, and integrated out
    if one of the first 64 rows has such a value, or with ``em.Mixed()``; later it is an error.

    Features that no row has had are ignored in predictions. A new feature in a row to learn becomes
    a new column. Models of counts go on with it. Models of vectors begin anew with the last 1,024
    rows, and clusters that hold the same rows keep their names.

    Parameters
    ----------
    family : "auto" or Family
        "auto" takes counts (``em.Multinomial()``) if the first row looks like one of
        ``BagOfWords``: values of type int from 1 on, at least half of them 1 or 2. Else it is that
        of a stream of :class:`evermix.Mixture`.
    prior, engine, forgetting, max_clusters
        Those of :class:`evermix.Mixture`; the engine must stream.
    seed : int or None
        Its ``random_state``.

    Examples
    --------
    >>> from evermix.adapters.river import RiverMixture
    >>> from river import preprocessing
    >>> model = preprocessing.StandardScaler() | RiverMixture(seed=0)
    >>> for height in [1.0, 1.1, 0.9, 1.0] * 10 + [9.0, 9.1, 8.9, 9.0] * 10:
    ...     model.learn_one({"height": height})
    >>> model.predict_one({"height": 1.0}) == model.predict_one({"height": 9.0})
    False
    """

    def __init__(
        self,
        family: str | Family = "auto",
        prior: Prior | None = None,
        engine: Engine | None = None,
        forgetting: Exponential | None = None,
        max_clusters: int | None = None,
        seed: int | None = None,
    ) -> None:
        self.family = family
        self.prior = prior
        self.engine = engine
        self.forgetting = forgetting
        self.max_clusters = max_clusters
        self.seed = seed
        self._columns: dict[Any, int] = {}
        self._counts = False
        self._mixture: Mixture | None = None
        self._kept: deque[Mapping[Any, Any]] = deque(maxlen=KEPT)
        self._names: dict[int, int] = {}  # of clusters that were there before the model began anew
        self._offset = 0  # of the names of all others

    @property
    def mixture(self) -> Mixture | None:
        """What was learnt, with names of clusters of its own; None before the first row."""
        return self._mixture

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return 0 if self._mixture is None else self._mixture.n_clusters_

    @property
    def centers(self) -> dict[int, dict[Any, float]]:
        """The mean of every cluster by its name, for metrics of River."""
        if self._mixture is None:
            return {}
        family, tally = self._mixture.model_.family, self._mixture.tally_
        if isinstance(family, Mixed):  # means of numbers, most probable levels
            unknown = np.full((tally.K, len(self._columns)), np.nan)
            eta = family.posterior(tally.stats, tally.mass)
            means = imputed(family, unknown, eta, np.eye(tally.K))
        elif isinstance(family, DenseFamily):
            means = family.means(tally.stats, tally.mass)
        else:
            means = tally.stats[:, : len(self._columns)] / tally.mass[:, None]
        return {
            self._name(int(k)): dict(zip(self._columns, mean.tolist(), strict=False))
            for k, mean in zip(tally.ids, means, strict=True)
        }

    # ---- learning --------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn one row."""
        self._learn([x])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a data frame."""
        self._learn(_dicts(X))

    def _learn(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        if not rows:
            return
        if self._mixture is None:
            self._begin(rows)
        elif self._know_all(rows):
            self._mixture.partial_fit(self._array(rows))
        else:
            self._widen(rows)
        self._kept.extend(map(dict, rows))

    def _know_all(self, rows: Sequence[Mapping[Any, Any]]) -> bool:
        """Whether there are columns for all features of some rows."""
        known = self._columns.keys()
        for x in rows:
            if not x.keys() <= known:
                return False
        return True

    def _begin(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Learn the first rows."""
        first = rows[0].values()
        counts = isinstance(self.family, Family) and self.family.sparse
        if self.family == "auto":
            counts = all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in first)
            counts = counts and 0 < len(first) <= 2 * sum(v <= 2 for v in first)
        self._counts = counts
        columns = self._columns_with(rows)
        self._columns, self._mixture = columns, self._learnt(rows, columns)

    def _columns_with(self, rows: Sequence[Mapping[Any, Any]]) -> dict[Any, int]:
        """Return the columns of all features, those of some rows included."""
        keys = dict.fromkeys([*self._columns, *(key for x in rows for key in x)])
        return {key: column for column, key in enumerate(keys)}

    def _learnt(self, rows: Sequence[Mapping[Any, Any]], columns: dict[Any, int]) -> Mixture:
        """Return a new model that has learnt rows."""
        family = self.family
        if self._counts:
            given = family if isinstance(family, Multinomial) else Multinomial()
            family = replace(given, growing=True)
        mixture = Mixture(
            family,
            self.prior,
            self.engine,
            self.forgetting,
            self.max_clusters,
            self.seed,
        )
        return mixture.partial_fit(_array(rows, columns, self._counts))

    def _widen(self, rows: Sequence[Mapping[Any, Any]]) -> None:
        """Learn rows with new features."""
        assert self._mixture is not None
        columns = self._columns_with(rows)
        if self._counts:
            self._mixture.partial_fit(_array(rows, columns, counts=True))
            self._columns = columns
            return
        before = self._mixture.predict(self._array(self._kept))
        mixture = self._learnt([*self._kept, *rows], columns)
        after = mixture.predict(_array(self._kept, columns, counts=False))
        names = self._names_after(before, after)
        known = [self._name(int(k)) for k in range(self._mixture.lineage_.next_id)]
        self._names, self._offset = names, max(known, default=-1) + 1
        self._columns, self._mixture = columns, mixture

    def _names_after(self, before: NDArray[Any], after: NDArray[Any]) -> dict[int, int]:
        """Return names for clusters, given the ids of the rows that are kept before and after."""
        pairs, shared = np.unique(np.stack([before, after]), axis=1, return_counts=True)
        names: dict[int, int] = {}
        for pair in np.argsort(-shared, kind="stable"):
            old, new = (int(k) for k in pairs[:, pair])
            if new not in names and self._name(old) not in names.values():
                names[new] = self._name(old)
        return names

    # ---- predicting ------------------------------------------------------------------------

    def predict_one(self, x: dict[Any, Any]) -> int:
        """Return the name of the most probable cluster; 0, that of the first, if there is none."""
        return self._predict([x])[0]

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[int, float]:
        """Return the probability of every cluster by its name."""
        if self._mixture is None:
            return {0: 1.0}
        shares = self._mixture.predict_proba(self._array([x]))[0].tolist()
        names = (self._name(int(k)) for k in self._mixture.cluster_ids_)
        return dict(zip(names, shares, strict=True))

    def predict_many(self, X: Any) -> Any:
        """Return the name of the most probable cluster of every row, a series like the frame."""
        frame = narwhals.from_native(X, eager_only=True)
        labels = self._predict(_dicts(X))
        series = narwhals.new_series("cluster", labels, backend=frame.implementation)
        index = narwhals.maybe_get_index(frame)
        return narwhals.maybe_set_index(series, index=index).to_native()

    def _predict(self, rows: Sequence[Mapping[Any, Any]]) -> list[int]:
        if self._mixture is None or not rows:
            return [0] * len(rows)
        return [self._name(k) for k in self._mixture.predict(self._array(rows)).tolist()]

    def _name(self, id: int) -> int:
        return self._names.get(id, id + self._offset)

    def _array(self, rows: Sequence[Mapping[Any, Any]]) -> Any:
        return _array(rows, self._columns, self._counts)


def _dicts(X: Any) -> list[dict[Any, Any]]:
    """Return the rows of a data frame."""
    return narwhals.from_native(X, eager_only=True).rows(named=True)


def _array(rows: Sequence[Mapping[Any, Any]], columns: Mapping[Any, int], counts: bool) -> Any:
    """Return rows as an array with these columns or, if they are counts, as a CSR matrix."""
    if counts:
        places = [{columns[k]: v for k, v in x.items() if k in columns and v} for x in rows]
        data = [value for place in places for value in place.values()]
        indices = [column for place in places for column in place]
        ends = np.cumsum([0, *map(len, places)])
        return sparse.csr_matrix((_numbers(data, rows), indices, ends), (len(rows), len(columns)))
    return _numbers([[x.get(key, 0.0) for key in columns] for x in rows], rows)


def _numbers(values: Any, rows: Sequence[Mapping[Any, Any]]) -> NDArray[np.float64]:
    """Return values of rows as an array; raise ValueError if one is no number."""
    array = np.array(values)
    if array.dtype.kind not in "fiub" and array.size:
        key, value = next(
            (k, v) for x in rows for k, v in x.items() if np.array(v).dtype.kind not in "fiub"
        )
        raise ValueError(
            f"features must be numbers, got {value!r} for {key!r}. Leave it out with "
            "compose.Discard, or encode it, for example with preprocessing.OneHotEncoder."
        )
    return array.astype(np.float64, copy=False)
