"""Cards: what a person wants to know of a cluster, from what the state holds."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr
from sklearn.utils.validation import check_is_fitted

from evermix._words import counted
from evermix._xp import Array, Bools, Floats, Ints, host, is_foreign, logsumexp
from evermix.estimators.mixture.card import Card, Example, Trait
from evermix.estimators.mixture.explanation import ExplanationQuestions
from evermix.estimators.mixture.fit_results import in_order
from evermix.estimators.mixture.fitted import Fitted
from evermix.estimators.mixture.held import absent, cluster_id, held
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.naming import Names
from evermix.estimators.mixture.traits import marks_of, traits_of
from evermix.estimators.plain_words import ids_in_words
from evermix.families import Multinomial
from evermix.families.growing import gain_of_known, with_new
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.lookback import KeptRows, Lookback
from evermix.report import distinctive_words

ROWS, NEAREST = 3, 3  # on a card
RECENT = 0.125  # of the rows so far: the latest ones
FEWEST, LATEST = 40, 100  # rows of which shares are compared, and least number of latest ones
MISSED = 4.0  # rows that a cluster should have had since its last one to fade; of K, log(K) more
LEFT, CHANCE = 0.1, 1e-5  # of the rows that it should have had lately, and that there are so few


class CardQuestions(ExplanationQuestions):
    """Cards of the clusters, and why rows are in them."""

    def card(
        self,
        id: int | str,
        X: Any = None,
        names: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
    ) -> Card:
        """Return the card of the cluster of an id or name; parameters are as in :meth:`cards`."""
        writer, id = self._writer(X, names, texts), cluster_id(self, id)
        at = np.flatnonzero(writer.ids == id)
        if not len(at):
            raise ValueError(absent(writer.state.lineage, id, ids_in_words(writer.ids.tolist())))
        return writer.card(int(at[0]))

    def cards(
        self,
        X: Any = None,
        names: Sequence[str] | None = None,
        top: int | None = None,
        tiny: bool = False,
        texts: Sequence[str] | None = None,
    ) -> list[Card]:
        """Return a card of each cluster, the largest first: what it is, and since when.

        Parameters
        ----------
        X : array, CSR matrix or table (N, D), optional
            Rows from which examples are taken. None: the rows that the model keeps, which are a
            sample of a stream, all of a sampler, and none after other fits.
        names : sequence of str, optional
            Names of the columns, such as the words of a vocabulary. None: those of the table.
        top : int, optional
            How many; None: all.
        tiny : bool
            Whether clusters of less than half a row are among them, which nothing else shows.
        texts : sequence of str (N,), optional
            What the rows of X were made of, such as the texts of embeddings: cards show the words
            that set their clusters apart, and the texts of typical rows.

        Examples
        --------
        >>> import evermix as em
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2)) + [[0.0, 9.0]] * (rng.random((400, 1)) < 0.25)
        >>> mix = em.Mixture().fit(X)
        >>> card = mix.cards(X, names=["weight", "height"])[1]
        >>> card.traits[0].column, len(card.examples)
        ('height', 3)
        >>> print(card.traits[0])
        height: 9.1 ± 1.1 (elsewhere -0.01 ± 0.96)
        """
        writer = self._writer(X, names, texts)
        order = np.argsort(-writer.shares, kind="stable")
        order = order if tiny else order[writer.there[order]]
        return [writer.card(int(k)) for k in order[:top]]

    def _writer(
        self, X: Any, names: Sequence[str] | None, texts: Sequence[str] | None = None
    ) -> "CardWriter":
        check_is_fitted(self)
        learner = self.learner_.shown
        rows = None if X is None else self._prepared(X)
        rows = host(rows) if rows is not None and is_foreign(rows) else rows
        if texts is not None:
            texts = texts_of_rows(texts, rows)
        known = Names.of(self, learner.fitted.point.model.family, names)
        return CardWriter(learner, known, held(self), rows, texts)


class CardWriter:
    """Writes cards of the clusters that a learner shows.

    Parameters
    ----------
    learner : Learner
    names : Names
        Of the columns.
    there : bool array (K,)
        Which clusters people are shown.
    X : array or CSR matrix (N, D), optional
        Prepared rows from which examples are taken.
    texts : list of str (N,), optional
        What these rows were made of.
    """

    def __init__(
        self,
        learner: Learner,
        names: Names,
        there: Bools,
        X: Array | None = None,
        texts: list[str] | None = None,
    ) -> None:
        self.learner, self.names, self.there = learner, names, there
        self.X, self.texts = X, texts
        self.fitted: Fitted = learner.fitted
        self.model, self.state, _ = self.fitted.point
        self.tally = self.state.tally
        self.ids = self.tally.ids
        self.shares: Floats = self.tally.mass / max(float(self.tally.mass.sum()), 1e-300)
        self.drawn = self.fitted.engine.draws(self.fitted.state) is not None
        self._totals = np.sum(self.tally.stats, axis=0), float(self.tally.mass.sum())

    def card(self, k: int) -> Card:
        """Return the card of the cluster at a place."""
        id, clock, state = int(self.ids[k]), self.state.clock, self.state
        traits, columns = self._traits(k)
        fitted = self.drawn or self.learner.rows_digest is not None  # ids are given at the end
        streamed = in_order(self.learner) and not self.drawn
        born = state.lineage.born[id] or None if streamed else None
        seen = state.columns.get("last_seen") if streamed else None
        recent, hand = self.recent_shares, state.lineage.hand
        return Card(
            id=id,
            name=hand.names.get(id),
            pinned=id in hand.pinned,
            size=float(self.tally.mass[k]),
            share=float(self.shares[k]),
            recent_share=None if recent is None else float(recent[k]),
            fading=recent is not None and bool(self._fading[k]),
            born=born,
            since=self.learner.calendar.at(born),
            parent=None if fitted else state.lineage.parents.get(id),
            age=None if born is None else clock - born,
            last_seen=None if seen is None else int(seen[k]),
            traits=traits,
            examples=self._examples(k, columns),
            nearest=self._nearest(k),
            merged=tuple(self._heirs.get(id, ())),
            changes=tuple(change for change in hand.changes if id in change.ids),
            words=None if self._words is None else tuple(self._words[k]),
        )

    def _traits(self, k: int) -> tuple[tuple[Trait, ...], list[int]]:
        """Return what sets a cluster apart, and the columns of that."""
        return traits_of(self.model.family, self.tally, k, self.names, self._totals)

    def typical(self, k: int) -> dict[str, Trait]:
        """Return what is typical of a cluster, by column: of categories the most frequent one."""
        every = self.model.family.n_features or 0
        found = marks_of(self.model.family, self.tally, k, every, self._totals)
        found.sort(key=lambda mark: not mark.is_typical)  # amounts, unless most rows are zero
        traits = [Trait.of(mark.of_most(), self.names) for mark in found]
        return {trait.column: trait for trait in reversed(traits)}

    # ---- rows ------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> KeptRows | None:
        """The rows from which examples are taken, with the clusters that they are in now."""
        numbers: NDArray[np.int64]
        if self.X is not None:
            n = self.X.shape[0]
            return KeptRows(self.X, np.ones(n), self.fitted.predict(self.X), np.arange(n))
        batch, lookback = self.learner.batch, self.state.lookback
        if batch is not None:
            numbers = np.arange(len(batch.weights))
            return KeptRows(batch.X, batch.weights, self.learner.labels(), numbers)
        if lookback is None or lookback.rows is None:
            return None
        rows = lookback.rows
        return rows._replace(ids=self.state.lineage.current(rows.ids), clocks=rows.clocks - 1)

    def _examples(self, k: int, columns: list[int]) -> tuple[Example, ...]:
        """Return typical rows of a cluster.

        They are dense in it; of counts, whose densities depend on their lengths, those that are
        least likely to be of another cluster.
        """
        if self._kept is None:
            return ()
        some = np.flatnonzero(self._kept.ids == self.ids[k])
        X = self._kept.X[some]
        if self.model.family.sparse:
            joint = self.fitted.log_joint(X)[:, :-1]
            score = joint[:, k] - logsumexp(np.delete(joint, k, axis=1), axis=1)
            gone = np.zeros(len(some))
        else:
            score = self._densities(k, X)
            gone = np.isnan(X).sum(axis=1)
        best = np.lexsort((-score, gone))[:ROWS]
        numbers = self._kept.clocks[some[best]].tolist()
        rows = [self.names.row(X[i : i + 1], columns) for i in best]
        units = self.names.units
        own = [{name: units[name] for name in row if name in units} for row in rows]
        texts = [None if self.texts is None else self.texts[row] for row in numbers]
        return tuple(map(Example, numbers, rows, own, texts))

    @cached_property
    def _words(self) -> list[list[str]] | None:
        """The words that set the texts of clusters apart; None of counts, whose columns do."""
        if self.texts is None or self._kept is None or isinstance(self.model.family, Multinomial):
            return None
        counter = EmbeddedTexts(None)
        counter.learnt(self.texts, self._kept.ids.tolist())
        counts, words = counter.words_of(self.ids.tolist(), lambda ids: ids)
        return distinctive_words(counts, words)

    def _densities(self, k: int, X: Array) -> Floats:
        """Log densities (N,) of rows X (N, D) in a cluster."""
        known = self.fitted.engine.believed(self.state)
        family, tally, rows = with_new(self.model.family, known, X)
        eta = family.posterior(tally.stats[k : k + 1], tally.mass[k : k + 1])
        score = family.log_predictive(rows, eta)[:, 0] + family.log_base(rows)
        if rows is not X:
            score = score + gain_of_known(self.model.family, family, known, X)[:, k]
        return np.asarray(score)

    @cached_property
    def recent_shares(self) -> Floats | None:
        """The shares (K,) of the clusters among the latest rows, if something tells them."""
        clock, lookback, lineage = self.state.clock, self.state.lookback, self.state.lineage
        known = clock - self.learner.course.start  # those of a fit before them have no order
        if self.learner.rows_digest is not None or self.drawn or known < FEWEST:
            return None
        if lookback is None or lookback.rows is None:
            return self._course_shares
        rows = lookback.rows._replace(ids=lineage.current(lookback.rows.ids))
        sample = Lookback(lookback.complete, [rows])
        sample.thin(self.tally.K, 1)  # the last rows are all kept, for a while
        assert sample.rows is not None
        _, weights, ids, clocks = sample.rows
        all_of = self._masses(ids, weights)
        late = clocks > self._late
        mass = self.tally.mass * self._masses(ids[late], weights[late]) / np.maximum(all_of, 1e-300)
        return np.asarray(mass / mass.sum()) if mass.sum() > 0 else None

    @cached_property
    def _course_shares(self) -> Floats | None:
        """The shares (K,) of the clusters among the latest rows, as they were when learnt."""
        course = self.learner.course
        bins, ids, mass = course.entries(self.state.lineage.current)
        late = course.edges[bins] >= self._late
        return self._shares(ids[late], mass[late])

    @property
    def _late(self) -> float:
        """The clock after which rows are the latest ones."""
        clock = self.state.clock
        return clock - max(RECENT * clock, LATEST)

    @cached_property
    def _fading(self) -> Bools:
        """Whether fewer rows come to each of the clusters (K,) than chance allows: hardly any."""
        return self._silent | self._scarce

    @property
    def _silent(self) -> Bools:
        """Whether no row has come to each of the clusters (K,) for longer than chance allows."""
        lineage, course, lookback = self.state.lineage, self.learner.course, self.state.lookback
        last = np.full(len(self.ids), float(course.start))
        bins, ids, _ = course.entries(lineage.current)
        found = [(ids, course.edges[1:][bins])]
        if lookback is not None and lookback.rows is not None:  # reviews may have moved rows
            found.append((lineage.current(lookback.rows.ids), lookback.rows.clocks))
        for some, clocks in found:
            place, known = self._places(some)
            np.maximum.at(last, place[known], clocks[known])
        share = self.shares if self.recent_shares is None else self.recent_shares
        missed = np.maximum(share, self.shares) * (self.state.clock - last)
        return np.asarray(missed >= MISSED + np.log(len(self.ids)))

    @property
    def _scarce(self) -> Bools:
        """Whether the latest rows of each of the clusters (K,) are far fewer than those before.

        Some strays come to a subject that has ended. A cluster that was found among the latest rows
        may have had its own before that.
        """
        clock, lineage = self.state.clock, self.state.lineage
        late = clock - max(self._late, self.learner.course.start)
        shares = [some for some in (self.recent_shares, self._course_shares) if some is not None]
        n = late * np.max([np.zeros(len(self.ids)), *shares], axis=0)
        expected = np.maximum(self.shares * clock - n, 0.0) * late / max(clock - late, 1)
        found = np.array([lineage.found_at(id) for id in self.ids.tolist()])
        few = (n <= LEFT * expected) & (pdtr(n, expected) < CHANCE)
        return np.asarray(few & (found <= self._late))

    def _shares(self, ids: Ints, weights: Floats) -> Floats | None:
        mass = self._masses(ids, weights)
        return np.asarray(mass / mass.sum()) if mass.sum() > 0 else None

    def _masses(self, ids: Ints, weights: Floats) -> Floats:
        """Sums (K,) of the weights of rows by their clusters."""
        place, known = self._places(ids)
        found = np.bincount(place[known], weights[known], minlength=len(self.ids))
        return found.astype(np.float64)

    def _places(self, ids: Ints) -> tuple[Ints, Bools]:
        """Return the places (N,) of the clusters of some ids, and whether they are there."""
        order = np.argsort(self.ids)
        place = order[np.searchsorted(self.ids, ids, sorter=order).clip(max=len(order) - 1)]
        return place, self.ids[place] == ids

    # ---- other clusters --------------------------------------------------------------------

    def _nearest(self, k: int) -> tuple[tuple[int, float], ...]:
        """Return the clusters that are most like one, and how much worse they explain its rows.

        Each must explain the rows of the other. Clusters of counts that share none of its words
        differ by their sizes only: of those no cluster is named that explains the rows no better
        than a new one.
        """
        neighbours = self.fitted.neighbours
        worse = neighbours.loss_of(k)
        most = neighbours.loss_by_new(k) if self.model.family.sparse else np.inf
        others = self.there & (worse < most)
        others[k] = False
        order = np.argsort(np.where(others, worse + neighbours.loss_by(k), np.inf), kind="stable")
        return tuple((int(self.ids[j]), float(worse[j])) for j in order[:NEAREST] if others[j])

    @cached_property
    def _heirs(self) -> dict[int, list[int]]:
        """By id of a cluster: the ids that were merged into it, also by way of others."""
        found: dict[int, list[int]] = {}
        if self.drawn:
            return found
        ids = np.arange(self.state.lineage.next_id)
        for id, heir in zip(ids.tolist(), self.state.lineage.current(ids).tolist(), strict=True):
            if heir not in (id, -2):
                found.setdefault(heir, []).append(id)
        return found


def texts_of_rows(texts: Sequence[str], X: Array | None) -> list[str]:
    """Return texts as a list, or raise ValueError if they are not those of rows X (N, D)."""
    if isinstance(texts, str) or X is None:
        raise ValueError(
            "texts must be a sequence of the texts that the rows of X were made of. Give the rows "
            "and their texts, such as mix.cards(X, texts=texts)."
        )
    found = ["" if text is None else str(text) for text in texts]
    if len(found) != X.shape[0]:
        raise ValueError(
            f"texts must have one text for each of {counted(X.shape[0], 'row')}, "
            f"got {len(found):,}."
        )
    return found
