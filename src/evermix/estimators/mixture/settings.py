"""What an estimator is asked for, and the rows that it is given, checked."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from evermix._xp import Array, host, is_foreign
from evermix.distributed.collections import in_memory, is_collection, one_by_one
from evermix.engines.base import Engine
from evermix.engines.filters.adf import ADF
from evermix.estimators.data.dask import ClusterRows
from evermix.estimators.data.lazy import ChunkedRows, ForeignRows, MappedRows, check_readable
from evermix.estimators.data.rows import Rows, automatic_family, prepare_rows, prepare_weights
from evermix.estimators.resolve import check_cap
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.io.chunks import Chunks
from evermix.model import Model
from evermix.priors.base import Prior
from evermix.state import State


def check_family(family: object) -> None:
    """Raise ValueError or TypeError unless this is "auto" or a family."""
    if isinstance(family, str) and family != "auto":
        raise ValueError(f"family must be 'auto' or a Family, got {family!r}.")
    if not isinstance(family, str | Family):
        raise TypeError(f"family must be 'auto' or a Family, got {family!r}.")


def with_family(tags: Any, family: object) -> Any:
    """Return scikit-learn's tags with what a family says of rows.   Consumes: tags."""
    tags.input_tags.sparse = family == "auto" or (isinstance(family, Family) and family.sparse)
    tags.input_tags.positive_only = isinstance(family, Family) and family.sparse
    return tags


class Asked(BaseEstimator):  # type: ignore[misc]
    """The settings of an estimator of mixtures."""

    family: str | Family
    prior: Prior | None
    engine: Engine | None
    forgetting: Exponential | None
    max_clusters: int | None
    random_state: Any

    _family: Family  # what a stream began with
    _state: State

    def __sklearn_tags__(self) -> Any:
        return with_family(super().__sklearn_tags__(), self.family)

    def _prior(self) -> Prior:
        prior = self._engine().default_prior() if self.prior is None else self.prior
        if not isinstance(prior, Prior):
            raise TypeError(f"prior must be a Prior such as em.DP(1.0) or None, got {prior!r}.")
        return prior

    def _forgetting(self) -> Exponential | None:
        forgetting = self.forgetting
        if forgetting is not None and not isinstance(forgetting, Exponential):
            raise TypeError(
                f"forgetting must be em.Exponential(half_life=...) or None, got {forgetting!r}."
            )
        return forgetting

    def _engine(self) -> Engine:
        engine = ADF() if self.engine is None else self.engine
        if not isinstance(engine, Engine):
            raise TypeError(f"engine must be an Engine such as em.ADF() or None, got {engine!r}.")
        return engine

    def _validated(
        self, X: Any, sample_weight: Any, reset: bool, lazy: bool = False
    ) -> tuple[Family, Rows, Array]:
        """Return the family asked for, and rows and weights that nothing inside need doubt.

        ``lazy`` says that rows may stay where they are, and be read when they are needed.
        """
        check_readable(X, lazy)
        check_family(self.family)
        check_cap(self.max_clusters)
        asked = self.family if isinstance(self.family, Family) else None
        if asked is None and self._engine().families:
            asked = self._engine().families[0]()
        # A stream keeps the family that it began with, whatever set_params says since.
        spec = asked if reset else self._family
        accept = "csr" if spec is None or spec.sparse else False

        def validate(some: Any, first: bool) -> Array:
            return validate_data(self, some, reset=first, accept_sparse=accept, dtype="numeric")

        rows: Rows
        if is_collection(X):
            if lazy and self._engine().divides:
                rows = ClusterRows(spec, X, lambda some, first: validate(some, reset and first))
                weights = prepare_weights(sample_weight, rows)
                self._engine().check(Model(rows.family, self._prior()))  # before rows are loaded
                known = {} if reset else self._engine().records(self._state)
                rows.place(weights, self._engine().batch_rows(*rows.shape), known)
                return rows.family, rows, weights
            X = one_by_one(X) if lazy else in_memory(X)
        if isinstance(X, Chunks):
            rows = ChunkedRows(spec, X, lambda some, first: validate(some, reset and first))
            return rows.family, rows, prepare_weights(sample_weight, rows)
        if is_foreign(X):
            if lazy and self._engine().foreign:
                rows = ForeignRows(spec, X, lambda some, first: validate(some, reset and first))
                return rows.family, rows, prepare_weights(sample_weight, rows)
            X = host(X)
        mapped = isinstance(X, np.memmap)  # which validation takes for an array
        X = validate(X, reset)
        family = automatic_family(X) if spec is None else spec
        rows = MappedRows(family, X) if mapped and lazy else prepare_rows(family, X)
        return family, rows, prepare_weights(sample_weight, rows)
