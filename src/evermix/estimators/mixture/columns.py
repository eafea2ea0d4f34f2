"""Streams in which there may be more columns than before."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix.engines.batch import Batch
from evermix.estimators.mixture.learner import Learner, OnStep
from evermix.estimators.mixture.naming import own_names


class GrowingColumns:
    """The columns of a mixture, which may become more, and may be used anew."""

    learner_: Learner
    n_features_in_: int
    column_names_: list[str]

    def forget_columns(self, columns: Any) -> Self:
        """Forget the counts of some columns of ``Multinomial(growing=True)``, to use them anew.

        What is left is what the other words say. A stream goes on with the next
        :meth:`partial_fit`.
        """
        check_is_fitted(self)
        self.learner_.forget_columns(columns)
        if names := own_names(self):
            gone = set(np.atleast_1d(columns).tolist())
            self.column_names_ = ["" if d in gone else name for d, name in enumerate(names)]
        return self

    def _add(self, batch: Batch, on_step: list[OnStep]) -> None:
        """Learn rows of a stream, in which there may be more columns than before."""
        before = vars(self).get("n_features_in_")
        try:
            self.learner_.add(batch, on_step)
        finally:
            n_features = self.learner_.model.family.n_features
            if self.learner_.started and n_features is not None:
                self.n_features_in_ = n_features
                names = vars(self).get("column_names_", ())
                if before == len(names) < n_features:  # new columns have no names yet
                    self.column_names_ = [*names, *[""] * (n_features - len(names))]
