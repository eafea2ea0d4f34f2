"""Fewer, coarser clusters of a fitted mixture: how many there shall be is said."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._words import counted
from evermix._xp import Array
from evermix.estimators.mixture.card import Trait
from evermix.estimators.mixture.coarse_tree import cut_to, fused, name_of
from evermix.estimators.mixture.fitted import Fitted
from evermix.estimators.mixture.groups import named_rows
from evermix.estimators.mixture.hierarchy import Hierarchy
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.naming import Names, written_size
from evermix.estimators.mixture.traits import traits_of
from evermix.report.shares import percent


@dataclass(frozen=True, repr=False)
class CoarseCluster:
    """Several clusters that are shown as one.

    Attributes
    ----------
    id : int
        The least id of its clusters.
    clusters : tuple of int
        The ids of its clusters, the largest first.
    size : float
        Mass of its rows.
    share : float
        Of the mass of all rows.
    traits : tuple of Trait
        What sets it apart most, first.
    name : str
        The names that people gave to its clusters, the largest first, and how many others it has;
        "" if those with a name hold less than half of its rows.
    """

    id: int
    clusters: tuple[int, ...]
    size: float
    share: float
    traits: tuple[Trait, ...]
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, with a name if it has one."""
        values = asdict(self) | {
            "clusters": list(self.clusters),
            "traits": [trait.to_dict() for trait in self.traits],
        }
        return {key: value for key, value in values.items() if key != "name" or value}

    def __repr__(self) -> str:
        some = ", ".join(map(str, self.clusters))
        size = counted(written_size(self.size), "row")
        called = f"{self.id} ({self.name})" if self.name else f"{self.id}"
        head = f"coarse cluster {called}: {size}, {percent(self.share)}"
        return "\n".join([head, f"  clusters: {some}", *(f"  {trait}" for trait in self.traits)])


class CoarseQuestions:
    """Clusters joined into few coarse ones, by what they hold."""

    learner_: Learner
    _prepared: Callable[[Any], Array]  # validates rows

    @property
    def coarse_hierarchy_(self) -> Hierarchy:
        """The clusters as a tree, those joined first that are best described as one.

        Heights are the log evidence that a merge costs, in nats.
        """
        return self._shown().coarse_hierarchy

    def coarse(self, n_clusters: int, X: Any = None) -> Array:
        """Return the coarse cluster of each row (N,): clusters joined until there are so many.

        Each step joins the two whose rows are best described as one cluster, by the evidence of the
        model. A coarse cluster is named by the least id in it, and a row goes with its cluster;
        the model stays as it is. This is for subjects that are wider than clusters; :meth:`groups`
        is for shapes that many clusters make up.

        Parameters
        ----------
        n_clusters : int
            How many coarse clusters there shall be.
        X : array, CSR matrix or table (N, D), optional
            Rows to predict. None: those of the last call of ``fit`` or ``partial_fit``.

        Examples
        --------
        >>> import evermix as em
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(600, 2)) + [[0.0, 0.0], [7.0, 0.0], [90.0, 0.0]] * 200
        >>> mix = em.Mixture().fit(X)
        >>> mix.n_clusters_, np.unique(mix.coarse(2), return_counts=True)[1]
        (3, array([400, 200]))
        """
        fitted = self._shown()
        names = cut_to(fitted.coarse_hierarchy, n_clusters, "clusters")
        rows = None if X is None else self._prepared(X)
        return named_rows(self.learner_, fitted, names, rows)

    def coarse_clusters(
        self, n_clusters: int, names: Sequence[str] | None = None
    ) -> list[CoarseCluster]:
        """Return what the coarse clusters of :meth:`coarse` are, the largest first.

        ``names`` are those of the columns, such as the words of a vocabulary; None: those of the
        table.
        """
        model, state, _ = self._shown().point
        tally, given = state.tally, state.lineage.hand.names
        parts = cut_to(self.coarse_hierarchy_, n_clusters, "clusters")
        whole = fused(tally, parts)
        columns, found = Names.of(self, model.family, names), []
        for k in np.argsort(-whole.mass, kind="stable").tolist():
            own = np.flatnonzero(parts == whole.ids[k])
            own = own[np.argsort(-tally.mass[own], kind="stable")]
            size = float(whole.mass[k])
            traits = traits_of(model.family, whole, k, columns)[0]
            clusters, share = tuple(tally.ids[own].tolist()), size / float(whole.mass.sum())
            name = name_of(dict(zip(clusters, tally.mass[own].tolist(), strict=True)), given)
            found.append(CoarseCluster(int(whole.ids[k]), clusters, size, share, traits, name))
        return found

    def _shown(self) -> Fitted:
        check_is_fitted(self)
        return self.learner_.shown.fitted
