"""What is missing in rows of a table, from what was learnt."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._random import generator
from evermix._xp import host
from evermix.estimators.data.refilling import refilled
from evermix.estimators.data.tables import is_table
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.validation import rows_to_score
from evermix.families import Mixed
from evermix.families.imputing import drawn, imputed


class Imputation:
    """Fills the holes of tables."""

    learner_: Learner
    random_state: Any

    def impute(self, X: Any, draw: bool = False, random_state: Any = None) -> Any:
        """Return the rows with every hole filled, given what was seen of each row.

        Numbers get their mean over the clusters that a row may belong to (positive ones, on the log
        scale, that of their logarithms), levels and yes/no the most probable value. Of a row that
        holds nothing the clusters are as probable as they are large.

        With ``draw``, holes get a draw from what is missing given what was seen: a cluster by its
        probability given the row (a new one included), then values from its predictive
        distribution. Several calls with different seeds give several imputations.

        Parameters
        ----------
        X : array (N, D) or table
            A model of the family :class:`Mixed` takes it.
        draw : bool
        random_state : int, RandomState, Generator or None
            Seed of the draws; None is that of the mixture, as for :meth:`sample`.

        Returns
        -------
        array (N, D), or a table of the same library
            What was seen stays as it is, and columns keep their types: where all numbers that are
            there are whole, holes get whole numbers, in columns of durations durations, and among
            objects, such as the strings "$33.53" and "30 kg", plain numbers. A column of a type of
            strings (``str``) that holds such numbers cannot take plain ones, and comes back as one
            of numbers.
        """
        check_is_fitted(self)
        fitted = self.learner_.shown.fitted
        model, state, _ = fitted.point
        family = model.family
        if not isinstance(family, Mixed):
            raise TypeError(
                f"only models of the family Mixed know rows with holes, this is {family!r}. Fit "
                "em.Mixture(em.Mixed())."
            )
        rows = host(rows_to_score(self, family, X))
        tally = fitted.engine.believed(state)
        eta = family.posterior(tally.stats, tally.mass)
        if draw:
            seed = self.random_state if random_state is None else random_state
            rng = generator(seed).spawn(1)[0]  # not the numbers that the fit drew
            eta = np.vstack([eta, family.eta0])
            found = drawn(family, rows, eta, fitted.predict_proba(rows, new_cluster=True), rng)
        else:
            found = imputed(family, rows, eta, fitted.predict_proba(rows))
        if not is_table(X):
            return found
        kept = vars(self)
        learnt = kept.get("levels_", {}), kept.get("written_", {}), kept.get("whole_", ())
        return refilled(family, X, rows, found, *learnt)
