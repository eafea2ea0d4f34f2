"""What estimators that draw from a posterior over times share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array
from evermix.engines.settings import check_whole
from evermix.estimators.data.times import Times
from evermix.estimators.keeping import or_as_before


class Drawn(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator of rows or documents that have times, whose answers are draws of a chain."""

    _times: Times
    _views: dict[str, Any]  # what was derived from the draws, once it was asked for

    def __init__(
        self, prior: Any, sampler: Any, burn_in: int, draws: int, random_state: Any
    ) -> None:
        self.prior = prior
        self.sampler = sampler
        self.burn_in = burn_in
        self.draws = draws
        self.random_state = random_state

    @property
    def times_(self) -> Array:
        """The times in order, (T,)."""
        check_is_fitted(self)
        return self._times.array

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Put the old model back where a fit fails before its first sweep is done."""
        known = vars(self).get("_times")  # which a fit sets last
        with or_as_before(
            self, lambda _: vars(self).get("_times") is not known and self.n_sweeps_ > 0
        ):
            yield

    @property
    @abstractmethod
    def n_sweeps_(self) -> int:
        """Number of sweeps so far, burn-in included."""

    def _check_settings(self) -> None:
        check_whole("burn_in", self.burn_in, least=0)
        check_whole("draws", self.draws)

    def _check_drawn(self) -> None:
        check_is_fitted(self)
        if not self._n_drawn:
            raise AttributeError(
                "no draw was kept yet: the fit ended in its burn-in. Go on with resume."
            )

    @property
    @abstractmethod
    def _n_drawn(self) -> int:
        """Number of draws that were kept."""
