"""What a fitted mixture tells of its clusters, its rows and how it came to them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array, logsumexp
from evermix.engines.batch import Info
from evermix.estimators.mixture.learner import Learner
from evermix.model import Model
from evermix.report.posterior import Posterior
from evermix.state import Lineage, State
from evermix.tally import Tally


class Told(Learner):
    """The attributes of a fitted mixture."""

    @property
    def model_(self) -> Model:
        """The family and prior with every hyperparameter set."""
        self._settle()
        assert self._model is not None
        return self._model

    @property
    def state_(self) -> State:
        """What was learnt: mass and statistics of the clusters, and the clock. Only to be read."""
        self._settle()
        return self._state

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return self._point().state.tally.K

    @property
    def cluster_ids_(self) -> Array:
        """Ids of the clusters, (K,)."""
        return self._point().state.tally.ids.copy()

    @property
    def tally_(self) -> Tally:
        """Mass and statistics of the clusters ``cluster_ids_``. Only to be read."""
        return self._point().state.tally

    @property
    def weights_(self) -> Array:
        """Predictive probability of each cluster (K,), if the next row is not of a new one."""
        model, state, _ = self._point()
        log_weights = self._taught.log_weights(model, state)[:-1]
        return np.exp(log_weights - logsumexp(log_weights))

    @property
    def labels_(self) -> Array:
        """Id of the most probable cluster of each row of the last call, (N,)."""
        labels = self._point().labels
        if labels is None:  # results stay as they were met, so that a fit can go on bit for bit
            labels = np.maximum(self._state.lineage.current(self._results.labels), -1)
        return labels

    @property
    def probabilities_(self) -> Array:
        """Probability of the cluster ``labels_`` of each row of the last call, (N,)."""
        labels = self._point().labels
        if labels is None or self._batch is None:
            return self._results.probabilities
        joint = self._joint(self._batch.X)[:, :-1]
        return np.exp(joint[np.arange(len(labels)), labels] - logsumexp(joint, axis=1))

    @property
    def lineage_(self) -> Lineage:
        """Birth, end and heir of every id."""
        self._settle()
        return self._state.lineage

    @property
    def label_maps_(self) -> list[Array]:
        """For each model that this one was merged from: what its clusters are called here."""
        check_is_fitted(self)
        if not self._label_maps:
            raise AttributeError("this model was not merged from others: see em.merge.")
        current = self._state.lineage.current
        return [np.maximum(current(names), -1) for names in self._label_maps]

    @property
    def history_(self) -> list[Info]:
        """What happened in the last steps."""
        self._settle()
        return list(self._history)

    @property
    def lower_bound_(self) -> float:
        """Lower bound (ELBO) on the log evidence of the rows, of a variational engine.

        It is that of the last whole lap, before clusters that own no row were dropped; of
        ``StochasticVB`` it is known when the fit has ended, and not of merged models (-inf).
        """
        self._settle()
        bound = self._taught.lower_bound(self._state)
        if bound is None:
            raise AttributeError(
                f"{type(self._taught).__name__} has no lower bound. Use a variational engine: "
                "em.MemoizedVB, em.FullVB or em.StochasticVB."
            )
        return bound

    @property
    def n_clusters_posterior_(self) -> Array:
        """Probabilities (L + 1,) that the data are of 0, 1, ... L clusters, of :class:`RCRP`."""
        self._settle()
        probabilities = self._taught.n_clusters_probabilities(self._state)
        if probabilities is None:
            raise AttributeError(
                f"{type(self._taught).__name__} does not follow the number of clusters. Use "
                "em.RCRP, or the draws of a sampler: posterior_.n_clusters."
            )
        return probabilities

    @property
    def posterior_(self) -> Posterior:
        """The draws of a sampler, and what follows from them."""
        self._settle()
        draws = self._taught.draws(self._state)
        if draws is None:
            raise AttributeError(
                f"{type(self._taught).__name__} makes no draws, so there is no posterior_. Use a "
                "sampler: em.Gibbs or em.Slice."
            )
        if not draws.n_draws:
            raise AttributeError("no draw was kept yet: go on with resume, or shorten burn_in.")
        return Posterior(*draws)
