"""What people do to clusters: name, merge, split and pin them, and undo it."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._xp import host, is_foreign
from evermix.engines.filters.by_hand import merged, rows_of, split
from evermix.estimators.mixture.cards import CardQuestions
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.going_on import kept, live
from evermix.estimators.mixture.held import absent, cluster_id
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.settings import Settings, parameters_of
from evermix.estimators.plain_words import ids_in_words
from evermix.hand import NOTHING_TO_UNDO, PIN, RENAME, UNPIN, Change, new_name
from evermix.state import State


class ByHand(CardQuestions):
    """Clusters that people name, merge, split and pin; learning goes on afterwards.

    Clusters are called by their ids or by their names. Names, pins and what was done are part of
    ``lineage_.hand`` and of saved files.
    """

    engine: Any

    def rename(self, id: int | str, name: str | None) -> Self:
        """Call a cluster by a name, on cards and in the output of the command line.

        Labels stay ids, and a name must not be a whole number, as they are. The name stays with the
        cluster, also when others become part of it; if it becomes part of one without a name, that
        gets it. It does not keep the cluster whole: a review may split a part from it, which has no
        name, unless it is pinned (:meth:`pin`). None takes the name away. Samplers have no clusters
        to name: those of a draw are gone with the next one.

        Examples
        --------
        >>> import evermix as em
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2)) + [[0.0, 9.0]] * (rng.random((400, 1)) < 0.25)
        >>> mix = em.Mixture().fit(X)
        >>> mix.rename(mix.predict([[0.0, 9.0]])[0], "tall").cards()[1].name
        'tall'
        """
        learner = self._checked_learner([id := cluster_id(self, id)])
        hand = deepcopy(learner.state.lineage.hand)
        if name is None:
            hand.names.pop(id, None)
        else:
            owner = {other: own for own, other in hand.names.items()}.get(new_name(name), id)
            if owner != id:
                raise ValueError(
                    f"cluster {owner} is called {name!r} already: choose another name."
                )
            hand.names[id] = name
        hand.changes.append(Change(RENAME, rows_learnt(learner), (id,)))
        lineage = replace(learner.state.lineage, hand=hand)
        self._go_on(learner, replace(learner.state, lineage=lineage), named=True)
        return self

    def merge_clusters(self, ids: Iterable[int | str], pin: bool = True) -> int:
        """Make one cluster of several: the first of these ids, which is returned.

        Mass and statistics add up, so that nothing is lost. After a ``fit`` the model goes on as a
        stream, as it does with :meth:`partial_fit`, and can no longer be resumed. Engines that can
        do this are those of streams without an engine given, ``ADF``, ``SUGS`` and ``OnlineCRP``.

        Parameters
        ----------
        ids : iterable of int or str
            Two or more of ``cluster_ids_``, or their names.
        pin : bool
            Whether to :meth:`pin` the result. Otherwise a review may split it again.
        """
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise TypeError(
                f"merge_clusters takes a list of ids, such as merge_clusters([2, 4]), got {ids!r}."
            )
        some = list(dict.fromkeys(cluster_id(self, id) for id in ids))
        if len(some) < 2:
            raise ValueError(f"merge_clusters wants two or more different ids, got {some}.")
        learner = self._editable(some)
        state = merged(learner.model, learner.state, some)
        pinned = bool(learner.state.lineage.hand.pinned & set(some))
        if pin or pinned:
            state.lineage.hand.pinned.add(some[0])
        self._go_on(learner, state, merges=[(gone, some[0]) for gone in some[1:]])
        return some[0]

    def split_cluster(self, id: int | str, X: Any = None, pin: bool = True) -> int:
        """Make two clusters of one, and return the id of the new one, which is the smaller part.

        The rows of a cluster are divided as well as two clusters can, and each part gets its share
        of mass and statistics. Where rows are a sample, statistics are theirs. After
        :meth:`merge_clusters` the id stays with the part whose rows had it before, and the other
        part gets back its name, until the rows that a stream keeps are next reviewed. Labels of
        rows that were learnt before name the part that keeps the id. For engines see
        :meth:`merge_clusters`.

        Parameters
        ----------
        id : int or str
            One of ``cluster_ids_``, or its name.
        X : array, CSR matrix or table (N, D), optional
            Rows of the cluster; those of others are left out. None: the rows that a stream keeps.
        pin : bool
            Whether to :meth:`pin` both parts. Otherwise a review may merge them again.
        """
        learner = self._editable([id := cluster_id(self, id)])
        if X is not None:
            rows = self._prepared(X)
            rows = host(rows) if is_foreign(rows) else rows
            rows = rows[np.flatnonzero(learner.fitted.predict(rows) == id)]
            found = rows, np.ones(rows.shape[0])
        else:
            sample = rows_of(learner.state, id)
            if sample is None:
                raise ValueError(
                    "this model keeps no rows of its clusters: give some, split_cluster(id, X)."
                )
            found = sample
        state, new = split(learner.model, learner.state, id, *found)
        if pin or id in state.lineage.hand.pinned:
            state.lineage.hand.pinned |= {id, new}
        self._go_on(learner, state, births=[new])
        return new

    def pin(self, id: int | str) -> Self:
        """Keep a cluster: it is never dropped, merged or split, but by hand.

        It goes on learning its rows. In models that forget, it fades until one row is left of it,
        so that it is there when its subject comes back. For engines see :meth:`merge_clusters`.
        """
        return self._set_pin(cluster_id(self, id), True)

    def unpin(self, id: int | str) -> Self:
        """Undo :meth:`pin`."""
        return self._set_pin(cluster_id(self, id), False)

    def _set_pin(self, id: int, pinned: bool) -> Self:
        learner = self._editable([id])
        lineage = deepcopy(learner.state.lineage)
        lineage.hand.pinned.discard(id)
        if pinned:
            lineage.hand.pinned.add(id)
        change = Change(PIN if pinned else UNPIN, learner.state.clock, (id,))
        lineage.hand.changes.append(change)
        self._go_on(learner, replace(learner.state, lineage=lineage))
        return self

    def undo(self) -> Change:
        """Undo the last change by hand, and return what it was.

        Everything is as it was before, bit for bit: a fit can be resumed again, and the change is
        not part of ``lineage_.hand``. This is so until rows are learnt, also after saving and
        loading; then ValueError is raised, since what was learnt cannot be separated. One change
        can be undone, not those before it.

        Examples
        --------
        >>> import evermix as em
        >>> X = np.random.default_rng(0).normal(size=(400, 1)) + np.repeat([[0.0], [9.0]], 200, 0)
        >>> mix = em.Mixture().fit(X)
        >>> mix.merge_clusters(mix.cluster_ids_), mix.n_clusters_
        (0, 1)
        >>> mix.undo().what, mix.n_clusters_
        ('merge', 2)
        """
        check_is_fitted(self)
        if self.learner_.before is None:
            raise ValueError(NOTHING_TO_UNDO)
        undone = self.learner_.state.lineage.hand.changes[-1]
        self.learner_ = self.learner_.before
        return undone

    def _checked_learner(self, ids: list[int]) -> Learner:
        """Return the learner, if it has clusters with these ids that will be there later."""
        check_is_fitted(self)
        learner = self.learner_
        if not learner.started:
            raise ValueError(
                "the first rows still wait for others, which set hyperparameters: clusters may get "
                "other ids. Learn more rows first."
            )
        if learner.engine.draws(learner.state) is not None:
            raise TypeError(
                f"clusters of {type(learner.engine).__name__} are those of one draw, and gone with "
                "the next. Use em.Mixture() or em.ADF()."
            )
        known = learner.fitted.point.state.tally.ids
        for id in ids:
            if not np.isin(id, known):
                lineage = learner.fitted.point.state.lineage
                raise ValueError(absent(lineage, id, ids_in_words(known.tolist())))
        return learner

    def _editable(self, ids: list[int]) -> Learner:
        """Return a learner whose engine lets people change clusters, or raise TypeError."""
        learner = self._checked_learner(ids)
        if learner.engine.by_hand:
            return learner
        if learner.engine.streams or self.engine is not None:
            raise TypeError(
                f"{type(learner.engine).__name__} cannot keep what people have merged, split or "
                "pinned. Use em.Mixture() without an engine, or em.ADF(), em.SUGS() or "
                "em.OnlineCRP()."
            )
        return live(learner, Settings.of(self, streaming=True).engine)

    def _go_on(self, learner: Learner, state: State, **events: Any) -> None:
        """Go on from a state that was changed, which can be undone."""
        before = kept(self.learner_)
        learner.edit(state, **events)
        if learner is not self.learner_:
            learner.parameters = parameters_of(self)
        learner.before, self.learner_ = before, learner
