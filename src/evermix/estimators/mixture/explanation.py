"""Why a row is in its cluster and not in another one: log odds by column or word."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evermix._words import n_listed
from evermix._xp import Array, Floats, Ints, host, is_foreign
from evermix.estimators.data.tables import Table, is_table
from evermix.estimators.data.texts import texts_in
from evermix.estimators.mixture.fitted import Fitted, log_joint
from evermix.estimators.mixture.held import cluster_id, held
from evermix.estimators.mixture.learner import Learner
from evermix.estimators.mixture.naming import Names, Value, shown
from evermix.estimators.mixture.new_words import (
    known_words,
    proba_with_new_words,
    wider_model,
    with_new_words,
)
from evermix.estimators.plain_words import ids_in_words
from evermix.families.growing import resized, with_new
from evermix.families.terms import Terms, terms
from evermix.model import Model

NEW = -1  # stands for a cluster that is not there yet
SIZE, UNKNOWN = "(size)", "(unknown words)"
MAYBE = math.log(0.01)  # least log odds of a cluster that the row may be of
LINES = 12  # contributions that are printed


@dataclass(frozen=True)
class Contribution:
    """What one column, or word, adds to log odds.

    Attributes
    ----------
    name : str
        The column or word. In parentheses: "(size)" for the sizes of the clusters, "(volume)" for
        how widely clusters with full covariances spread, "(unknown words)" for those of a text that
        the model has never learnt, "(row)" for a family without terms.
    value : str, int, float, bool or None
        The row's value; of a word, how often it occurs.
    log_odds : float
        Above zero if it speaks for the cluster.
    unit : str or None
        Of the value, see :class:`.card.Trait`.
    """

    name: str
    value: Value
    log_odds: float
    unit: str | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a row is in one cluster and not in another.

    Attributes
    ----------
    cluster, other : int
        The ids of the two; -1 stands for a new cluster.
    cluster_name, other_name : str or None
        Their names, if they have any.
    probability : float
        Of the cluster, among all that there are.
    novelty : float
        The probability that the row is of none of them, but of a new one; see
        ``Mixture.novelty``.
    log_odds : float
        Log probability of the cluster minus that of the other.
    contributions : tuple of Contribution
        They add up to the log odds; those that say most come first.
    """

    cluster: int
    other: int
    cluster_name: str | None
    other_name: str | None
    probability: float
    novelty: float
    log_odds: float
    contributions: tuple[Contribution, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready values."""
        return asdict(self) | {"contributions": [asdict(each) for each in self.contributions]}

    def __repr__(self) -> str:
        lines = [self._headline()]
        most = n_listed(len(self.contributions), LINES)
        for each in self.contributions[:most]:
            value = "" if each.value is None else f" = {shown(each.value, each.unit)}"
            lines.append(f"  {each.log_odds:+10.3f}  {each.name}{value}")
        left = self.contributions[most:]
        if left:
            total = sum(each.log_odds for each in left)
            lines.append(f"  {total:+10.3f}  from {len(left)} more")
        return "\n".join(lines)

    def _headline(self) -> str:
        """Return where the row belongs."""
        one, two = called(self.cluster, self.cluster_name), called(self.other, self.other_name)
        new = f"novelty {self.novelty:.3g}"
        if self.other == NEW and self.log_odds < 0:
            return (
                f"looks new ({new}): {two} rather than {one}, log odds of {one} {self.log_odds:.3f}"
            )
        line = f"{one}, not {two}: log odds {self.log_odds:.3f}, p = {self.probability:.3g}"
        if self.novelty <= self.probability * (1 - self.novelty):
            return line
        return f"looks new ({new}); among the clusters that there are: {line}"


def called(id: int, name: str | None = None) -> str:
    """Return how texts call a cluster."""
    if id == NEW:
        return "a new cluster"
    return f"cluster {id}" if name is None else f"cluster {id} ({name})"


class ExplanationQuestions:
    """Why rows are in their clusters."""

    learner_: Learner
    _prepared: Callable[[Any], Array]  # validates rows

    def explain(
        self, row: Any, against: int | str | None = None, names: Sequence[str] | None = None
    ) -> Explanation:
        """Return why a row is in its most probable cluster, and not in the next one or a new one.

        The log odds of two clusters are a sum: of their sizes, and of what each column or word
        says. Nothing is approximated. In clusters with full covariances a squared distance is
        divided among columns, and what the volumes of the clusters say is one more term.

        Parameters
        ----------
        row : array (D,), or one row of whatever :meth:`predict` takes; or a dict by column, or a
            row of a pandas data frame such as ``df.iloc[0]``
        against : int or str, optional
            The id or name of the cluster to compare with; -1 for a new one. None: a new one if that
            is more probable than any that there is, else the second most probable. If the odds
            against that are over 100 to 1, the most plausible one that is like the cluster: a broad
            cluster of odd rows, as improbable, would not tell why.
        names : sequence of str, optional
            Names of the columns, such as the words of a vocabulary. None: those of the table.

        Examples
        --------
        >>> import evermix as em
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 2)) + [[0.0, 8.0]] * rng.integers(0, 2, size=(400, 1))
        >>> mix = em.Mixture(em.DiagonalGaussian()).fit(X)
        >>> why = mix.explain(X[0], names=["weight", "height"])
        >>> why.contributions[0].name
        'height'
        >>> abs(sum(each.log_odds for each in why.contributions) - why.log_odds) < 1e-9
        True
        """
        check_is_fitted(self)
        rows = one_row(row)
        if (words := with_new_words(self, rows)) is not None:
            return explained_words(self, words, against, names)
        X = self._prepared(rows)
        X = host(X) if is_foreign(X) else X
        fitted = self.learner_.shown.fitted
        why = _explained(self, fitted.point.model, X, against, names, fitted.novelty(X))
        return _with_new_levels(why, rows, vars(self)) if is_table(rows) else why


def explained_words(
    mix: Any, words: Any, against: int | str | None, names: Sequence[str] | None
) -> Explanation:
    """Return why a text is in its cluster, by counts (1, V + 1), the last of unknown words.

    See :func:`.new_words.proba_with_new_words`.
    """
    novelty = proba_with_new_words(mix, words)[:, -1]
    model = mix.learner_.shown.fitted.point.model
    wider = wider_model(model) if words[0, -1] else None
    if wider is None:
        X = mix._prepared(known_words(model.family, words))
        return _explained(mix, model, X, against, names, novelty)
    n = words.shape[1] - 1
    X = resized(words, max(wider.family.n_features or 0, n + 1))
    return _explained(mix, wider, X, against, names, novelty, unknown=n)


def _with_new_levels(why: Explanation, rows: Any, kept: Mapping[str, Any]) -> Explanation:
    """Return an explanation with the words of the row that are levels which were never met."""
    table, levels = Table(rows), kept.get("levels_", {})
    new = {each.name for each in why.contributions if each.value is None} & levels.keys()
    words = {name: table.column(name).values[0] for name in new & set(table.names)}
    each = (replace(one, value=words.get(one.name, one.value)) for one in why.contributions)
    return replace(why, contributions=tuple(each))


def one_row(row: Any) -> Any:
    """Return one row, given in any way, as something with one row."""
    if isinstance(row, Mapping):
        plain = all(isinstance(value, str) or np.ndim(value) == 0 for value in row.values())
        return {name: [value] for name, value in row.items()} if plain else row
    if hasattr(row, "to_frame") and hasattr(row, "index") and np.ndim(row) == 1:  # of a data frame
        return row.to_frame().T.infer_objects()
    if isinstance(row, str):
        return [row]
    flat = isinstance(row, list | tuple | np.ndarray) and np.ndim(row) == 1
    return np.asarray(row)[None, :] if flat and texts_in(row) is None else row


def _explained(
    mix: Any,
    model: Model,
    X: Array,
    against: int | str | None,
    names: Sequence[str] | None,
    novelty: Array,
    unknown: int | None = None,
) -> Explanation:
    """Return why one prepared row X (1, D) is in its cluster, given its novelty (1,).

    It is compared with one of the clusters that people know, if ``against`` names none. ``unknown``
    is the column of all words that have none.
    """
    if X.shape[0] != 1:
        raise ValueError(f"explain takes one row at a time, got {X.shape[0]}.")
    fitted, called_so = mix.learner_.shown.fitted, Names.of(mix, model.family, names)
    state = fitted.point.state
    ids, joint = state.tally.ids, log_joint(fitted.engine, model, state, X)[0]
    best = int(joint[:-1].argmax())
    rivals = np.flatnonzero(held(mix) & (np.arange(len(ids)) != best))
    looks_new = joint[-1] > joint[best]
    other = len(ids) if looks_new or not len(rivals) else _rival(fitted, joint, best, rivals)
    if against is not None:
        other = _place(ids, cluster_id(mix, against))
        if other == best:
            one = repr(against) if isinstance(against, str) else against
            raise ValueError(
                f"the row is in cluster {one} itself: give the id of another cluster, or none."
            )
    log_weights = fitted.engine.log_weights(model, state)
    found = _terms(fitted, model, X, [best, other])
    each = [Contribution(SIZE, None, float(log_weights[best] - log_weights[other]))]
    for d, (one, two) in zip(found.columns.tolist(), found.values.T, strict=True):
        value = float(X[0, d] if isinstance(X, np.ndarray) else X.data[X.indices == d][0])
        log_odds = float(one - two)
        if d == unknown:
            each.append(Contribution(UNKNOWN, int(value), log_odds))
            continue
        named, column = called_so.value(d, value), called_so.column(d)
        each.append(Contribution(column, named, log_odds, called_so.units.get(column)))
    for name, (one, two) in found.rest.items():
        if one != two:
            each.append(Contribution(f"({name})", None, float(one - two)))
    shares = np.exp(joint[:-1] - joint[:-1].max())
    return Explanation(
        int(ids[best]),
        int(ids[other]) if other < len(ids) else NEW,
        state.lineage.hand.names.get(int(ids[best])),
        state.lineage.hand.names.get(int(ids[other])) if other < len(ids) else None,
        float(shares[best] / shares.sum()),
        float(novelty[0]),
        float(joint[best] - joint[other]),
        tuple(sorted(each, key=lambda one: -abs(one.log_odds))),
    )


def _rival(fitted: Fitted, joint: Floats, best: int, rivals: Ints) -> int:
    """Return the place of the rival with which a row's most probable cluster is compared.

    It is the most probable one, if the row may be of it. If not, that would often be a broad
    cluster of odd rows, which differs from the best one by how widely it spreads, and explains
    nothing: then it is a cluster that is like the best one, by the row and by its own rows.
    """
    second = rivals[joint[rivals].argmax()]
    if joint[second] - joint[best] >= MAYBE:
        return int(second)
    return int(rivals[np.argmax(joint[rivals] - fitted.neighbours.loss_by(best)[rivals])])


def _place(ids: Array, id: int) -> int:
    """Return the place of an id among the clusters and, last, a new one."""
    at = np.flatnonzero(ids == id)
    if id != NEW and not len(at):
        raise ValueError(f"there is no cluster {id}; {ids_in_words(ids.tolist())}.")
    return int(at[0]) if len(at) else len(ids)


def _terms(fitted: Fitted, model: Model, X: Array, places: list[int]) -> Terms:
    """Return the terms of a row in two clusters, by their places."""
    family, tally, X = with_new(model.family, fitted.engine.believed(fitted.point.state), X)
    stats, mass = np.zeros((2, tally.size)), np.zeros(2)
    for row, k in enumerate(places):
        if k < tally.K:
            stats[row], mass[row] = tally.stats[k], tally.mass[k]
    return terms(family, X, family.posterior(stats, mass))
