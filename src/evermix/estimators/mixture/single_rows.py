"""Calls with one row, which take a fraction of the time of others.

Parameters and rows are looked at only so far as to see that all checks would pass. Everything else
is left to the calls for any number of rows, errors included.
"""

from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._xp import Bools
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.settings import parameters_of
from evermix.families.base import Family
from evermix.families.growing import new_levels

DOUBLE = np.dtype(np.float64)


class SingleRows:
    """Learning and labelling of one row, where nothing else has to be done."""

    learner_: Learner
    whole_: Bools
    n_features_in_: int

    def _learn_row(self, X: Any) -> bool:
        """Learn one row of a stream that has begun, and return True; else do nothing."""
        learner: Learner | None = vars(self).get("learner_")
        if learner is None or not learner.started or learner.timed:
            return False
        same = all(map(is_, learner.parameters, parameters_of(self)))  # they were checked
        if not learner.parameters or not same or not self._is_row(learner.model.family, X):
            return False
        if "whole_" in vars(self):
            self.whole_ = self.whole_ & (X[0] == np.rint(X[0]))
        learner.learn_row(X)
        return True

    def _label_row(self, X: Any) -> NDArray[np.int64] | None:
        """Return the id (1,) of the most probable cluster of one row, or None."""
        learner: Learner | None = vars(self).get("learner_")
        if learner is None:
            return None
        learner = learner.shown
        family = learner.model.family
        if not self._is_row(family, X) or new_levels(family, X).any():
            return None
        label = learner.engine.likeliest(learner.model, learner.state, X)
        return None if label is None else np.array([label])

    def _is_row(self, family: Family, X: Any) -> bool:
        """Whether X is one row of numbers that can be learnt as it is."""
        if type(X) is not np.ndarray or X.dtype != DOUBLE or family.sparse:
            return False
        if X.shape != (1, self.n_features_in_) or "feature_names_in_" in vars(self):
            return False
        x = X[0]
        if not (X.flags.c_contiguous and x.dot(x) < family.largest**2):
            return False
        family.check(X)
        return True
