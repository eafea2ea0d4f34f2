"""The attributes of a fitted mixture."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from evermix._xp import logsumexp
from evermix.engines.batch import Info
from evermix.estimators.mixture.fitted import Fitted
from evermix.estimators.mixture.learner import Learner
from evermix.model import Model
from evermix.report.posterior import Posterior
from evermix.state import Lineage, State
from evermix.tally import Tally


class FittedAttributes:
    """Read-only properties that pass on what the learner holds; rows that wait count as learnt."""

    learner_: Learner

    def _learner(self) -> Learner:
        """What has learnt all rows so far."""
        if "learner_" not in vars(self):
            check_is_fitted(self)  # which raises
        return self.learner_.shown

    def _fitted(self) -> Fitted:
        return self._learner().fitted

    @property
    def model_(self) -> Model:
        """The family and prior with every hyperparameter set."""
        return self._fitted().model

    @property
    def state_(self) -> State:
        """What was learnt: mass and statistics of the clusters, and the clock. Only to be read."""
        return self._fitted().state

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return self.tally_.K

    @property
    def cluster_ids_(self) -> NDArray[np.int64]:
        """Ids of the clusters, (K,)."""
        return self.tally_.ids.copy()

    @property
    def tally_(self) -> Tally:
        """Mass and statistics of the clusters ``cluster_ids_``. Only to be read."""
        return self._fitted().point.state.tally

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Predictive probability of each cluster (K,), if the next row is not of a new one."""
        fitted = self._fitted()
        model, state, _ = fitted.point
        log_weights = fitted.engine.log_weights(model, state)[:-1]
        return np.exp(log_weights - logsumexp(log_weights))

    @property
    def labels_(self) -> NDArray[np.int64]:
        """Id of the most probable cluster of each row of the last call, (N,)."""
        return self._learner().labels()

    @property
    def probabilities_(self) -> NDArray[np.float64]:
        """Probability of the cluster ``labels_`` of each row of the last call, (N,)."""
        return self._learner().probabilities()

    @property
    def lineage_(self) -> Lineage:
        """Birth, end and heir of every id."""
        return self.state_.lineage

    @property
    def label_maps_(self) -> list[NDArray[np.int64]]:
        """For each model that this one was merged from: the ids of its clusters here."""
        current = self.state_.lineage.current
        if not self.learner_.label_maps:
            raise AttributeError("this model was not merged from others: see em.merge.")
        return [np.maximum(current(names), -1) for names in self.learner_.label_maps]

    @property
    def history_(self) -> list[Info]:
        """The last steps."""
        return list(self._learner().history)

    @property
    def lower_bound_(self) -> float:
        """Lower bound (ELBO) on the log evidence of the rows, of a variational engine.

        It is that of the last whole lap, before clusters that own no row were dropped; of
        ``StochasticVB`` it is known when the fit has ended, and not of merged models (-inf).
        """
        fitted = self._fitted()
        bound = fitted.engine.lower_bound(fitted.state)
        if bound is None:
            raise AttributeError(
                f"{type(fitted.engine).__name__} has no lower bound. Use a variational engine: "
                "em.MemoizedVB, em.FullVB or em.StochasticVB."
            )
        return bound

    @property
    def n_clusters_posterior_(self) -> NDArray[np.float64]:
        """Probabilities (L + 1,) that the data are of 0, 1, ... L clusters, of :class:`RCRP`."""
        fitted = self._fitted()
        probabilities = fitted.engine.n_clusters_probabilities(fitted.state)
        if probabilities is None:
            raise AttributeError(
                f"{type(fitted.engine).__name__} does not follow the number of clusters. Use "
                "em.RCRP, or the draws of a sampler: posterior_.n_clusters."
            )
        return probabilities

    @property
    def posterior_(self) -> Posterior:
        """The draws of a sampler, and what follows from them."""
        fitted = self._fitted()
        draws = fitted.engine.draws(fitted.state)
        if draws is None:
            raise AttributeError(
                f"{type(fitted.engine).__name__} makes no draws, so there is no posterior_. Use a "
                "sampler: em.Gibbs or em.Slice."
            )
        if not draws.n_draws:
            raise AttributeError("no draw was kept yet: go on with resume, or shorten burn_in.")
        return Posterior(*draws)
