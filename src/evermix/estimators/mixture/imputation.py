"""What is missing in rows of a table, from what was learnt."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from evermix._xp import host
from evermix.estimators.data.tables import is_table, refilled
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.validation import rows_to_score
from evermix.families import Mixed
from evermix.families.imputing import imputed


class Imputation:
    """Fills the holes of tables."""

    learner_: Learner

    def impute(self, X: Any) -> Any:
        """Return the rows with every hole filled, given what was seen of each row.

        Numbers get their mean over the clusters that a row may belong to (positive ones, on the log
        scale, that of their logarithms), levels and yes/no the most probable value. Of a row that
        holds nothing the clusters are as probable as they are large.

        Parameters
        ----------
        X : array (N, D) or table
            A model of the family :class:`Mixed` takes it.

        Returns
        -------
        array (N, D), or a table of the same library
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
        found = imputed(family, rows, eta, fitted.predict_proba(rows))
        if not is_table(X):
            return found
        return refilled(family, X, found, vars(self).get("levels_", {}))
