"""Answers beyond clusters: groups of them, and whether a row is of none."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array, Ints
from evermix.estimators.data.precision import as_precise_as
from evermix.estimators.mixture.fitted import Fitted
from evermix.estimators.mixture.hierarchy import Hierarchy
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.new_words import proba_with_new_words, with_new_words


class GroupQuestions:
    """Clusters joined into groups of any shape, and rows that are of no cluster."""

    learner_: Learner
    _prepared: Callable[[Any], Array]  # validates rows

    @property
    def hierarchy_(self) -> Hierarchy:
        """The clusters as a tree, joined by how deep the density dips between them.

        ``hierarchy_.linkage`` is a linkage matrix for ``scipy.cluster.hierarchy.dendrogram``.
        """
        return self._learnt().hierarchy

    @property
    def group_ids_(self) -> NDArray[np.int64]:
        """The group of each of ``cluster_ids_`` (K,), by the cut that the tree suggests."""
        return self.hierarchy_.cut()

    def groups(self, X: Any = None, cut: float | None = None, n_groups: int | None = None) -> Array:
        """Return the group of each row (N,): clusters joined where no valley parts them.

        Rings, chains and other shapes are made up of many clusters; this puts them together again.
        A group is named by the least id of its clusters. Nothing but the clusters is needed, so it
        works in streams too, and with every family. For a few coarse subjects of texts or
        embeddings, which no shape holds together, see :meth:`coarse`.

        Parameters
        ----------
        X : array or CSR matrix (N, D), optional
            Rows to predict. None: those of the last call of ``fit`` or ``partial_fit``; rows
            whose cluster is gone keep its name.
        cut : float, optional
            Join what valleys up to this depth part, in nats: by how much the log density falls from
            the lower of two peaks to the saddle.
        n_groups : int, optional
            Join until there are so many groups. With neither, the cut is the widest gap in the
            heights of ``hierarchy_``, see ``Hierarchy.n_groups``.

        Examples
        --------
        >>> import evermix as em
        >>> from sklearn.datasets import make_circles
        >>> X, y = make_circles(1000, factor=0.3, noise=0.05, random_state=0)
        >>> mix = em.Mixture().fit(X)
        >>> mix.n_clusters_ > 5
        True
        >>> len(set(mix.groups()))
        2
        """
        fitted = self._learnt()
        names = fitted.hierarchy.cut(cut, n_groups)
        return named_rows(self.learner_, fitted, names, None if X is None else self._prepared(X))

    def novelty(self, X: Any) -> Array:
        """Return the probability that each row is of a new cluster, (N,).

        It is what the prior gives to a new cluster times how well rows of any new cluster would
        look like this one, beside the clusters that there are. For samplers it is that of the
        draw that labels come from.

        Examples
        --------
        >>> import evermix as em
        >>> rng = np.random.default_rng(0)
        >>> mix = em.Mixture().fit(rng.normal(size=(500, 2)))
        >>> mix.novelty([[0.0, 0.0], [50.0, 50.0]]) > 0.5
        array([False,  True])
        >>> mix.predict([[50.0, 50.0]], novelty=0.5)
        array([-1])
        """
        if (all_words := with_new_words(self, X)) is not None:
            return proba_with_new_words(self, all_words)[:, -1]
        return as_precise_as(X, self._learnt().novelty(self._prepared(X)))

    def _learnt(self) -> Fitted:
        check_is_fitted(self)
        return self.learner_.shown.fitted


def named_rows(learner: Learner, fitted: Fitted, names: Ints, X: Array | None) -> Array:
    """Return the name (N,) of the cluster of each row, given names (K,) of the clusters.

    None is for the rows of the last call; those whose cluster is gone keep its id.
    """
    if X is not None:
        return fitted.predict(X, names=names)
    ids, labels = fitted.point.state.tally.ids, learner.shown.labels()
    order = np.argsort(ids)
    places = order[np.searchsorted(ids, labels, sorter=order).clip(max=len(order) - 1)]
    return np.where(ids[places] == labels, names[places], labels)


def checked_novelty(novelty: float | None) -> float | None:
    """Return a probability, or None."""
    if novelty is not None and not 0 <= novelty <= 1:
        raise ValueError(f"novelty is a probability: expected 0 to 1, got {novelty}.")
    return novelty
