"""Answers of a fitted mixture about rows: clusters, probabilities, densities, new rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError

from evermix._random import generator
from evermix._xp import Array, doubled, namespace
from evermix.estimators.data.precision import as_precise_as
from evermix.estimators.data.texts import counted
from evermix.estimators.mixture.attributes import FittedAttributes
from evermix.estimators.mixture.coarse import CoarseQuestions
from evermix.estimators.mixture.groups import GroupQuestions, checked_novelty
from evermix.estimators.mixture.new_words import proba_with_new_words, with_new_words
from evermix.estimators.mixture.single_rows import SingleRows
from evermix.estimators.mixture.validation import rows_to_score


class Questions(
    FittedAttributes,
    GroupQuestions,
    CoarseQuestions,
    SingleRows,
    TransformerMixin,  # type: ignore[misc]
):
    """Answers about rows. Those about rows in single precision (float32) are in it too."""

    random_state: Any

    def predict(self, X: Any, novelty: float | None = None) -> Array:
        """Return the id of the most probable cluster of each row, (N,).

        With ``novelty`` it is -1 where a new cluster is more probable than this number. Rows of
        PyTorch or CuPy are answered in kind, where they are; so it is with all questions. If the
        command line has learnt the model from texts, it takes texts in place of rows.
        """
        label = self._label_row(X) if novelty is None else None
        if label is not None:
            return label
        if novelty is not None and with_new_words(self, X) is not None:
            new = self.novelty(X) > checked_novelty(novelty)
            return np.where(new, -1, self.predict(X))
        return self._fitted().predict(self._prepared(X), checked_novelty(novelty))

    def predict_proba(self, X: Any, new_cluster: bool = False) -> Array:
        """Return the probability of each cluster (N, K); column j is ``cluster_ids_[j]``.

        With ``new_cluster`` the last column of (N, K + 1) is that of a new one. Of rows in single
        precision (float32) all probabilities and densities are in single precision too.
        """
        if new_cluster and (all_words := with_new_words(self, X)) is not None:
            return proba_with_new_words(self, all_words)
        return as_precise_as(X, self._fitted().predict_proba(self._prepared(X), new_cluster))

    def transform(self, X: Any) -> Array:
        """Return the probability of each cluster (N, K), as features for what comes next.

        It is :meth:`predict_proba` under the name that pipelines know; after
        ``set_output(transform="pandas")`` it is a data frame with the names of
        :meth:`get_feature_names_out`.

        Examples
        --------
        >>> import numpy as np, evermix as em
        >>> X = np.random.default_rng(0).normal(size=(300, 2)) + 9 * (np.arange(300) % 2)[:, None]
        >>> mix = em.Mixture().fit(X)
        >>> mix.transform(X).shape, sorted(mix.get_feature_names_out())
        ((300, 2), ['mixture0', 'mixture1'])
        """
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of :meth:`transform`, (K,).

        They are ``mixture`` and the id of the cluster, so that the column of a cluster keeps its
        name while others come and go. ``input_features`` is ignored.
        """
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{id}" for id in self.cluster_ids_], dtype=object)

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row (N,), base measure included."""
        return as_precise_as(X, self._fitted().log_density(self._prepared(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log predictive density of the rows."""
        each = doubled(self._fitted().log_density(self._prepared(X)))
        return float(namespace(each).mean(each))

    def score_draws(self, X: Any) -> Array:
        """Return the log predictive density of each row under each draw of a sampler, (M, N).

        :meth:`score_samples` averages the densities over draws, inside the log.
        """
        return as_precise_as(X, self._fitted().log_densities(self._prepared(X)))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Draw new rows from the predictive distribution, that of :meth:`score_samples`.

        With an int as ``random_state`` every call draws the same rows, as in scikit-learn; with a
        RandomState or a Generator each call draws others. What is learnt later does not change.

        Returns
        -------
        X : array (n_samples, D)
        labels : int64 array (n_samples,)
            The id of the cluster that each row comes from, one of ``cluster_ids_``; -1 for a
            cluster not seen before, and for labels of ``RCRP`` that are not shown as clusters.
            Several draws of a sampler have no names in common: -1 for all of their rows.
        """
        rng = generator(self.random_state).spawn(1)[0]  # not the numbers that the fit drew
        return self._fitted().sample(n_samples, rng)

    def to_arviz(self) -> Any:
        """Return the draws of a sampler for ArviZ: hyperparameters, K, log joint density."""
        return self.posterior_.to_arviz()

    def _prepared(self, X: Any) -> Array:
        """Return validated rows to predict or score."""
        fitted = self._fitted()
        if not fitted.state.tally.K:
            raise NotFittedError(
                "no row was learnt yet: the fit ended before its first step. Go on with resume, or "
                "call fit."
            )
        family = fitted.model.family
        return rows_to_score(self, family, counted(self, X, dense=not family.sparse))
