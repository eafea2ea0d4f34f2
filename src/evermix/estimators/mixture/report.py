"""The report on a mixture: its course, shares over time, tree, cards and lineage."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evermix._words import counted
from evermix.estimators.columns_in_words import (
    column_groups,
    groups_in_words,
    missing_in_words,
)
from evermix.estimators.mixture.attributes import FittedAttributes
from evermix.estimators.mixture.by_hand import ByHand
from evermix.estimators.mixture.card import Card, Example, Trait, naming_traits, times_better
from evermix.estimators.mixture.explanation import called
from evermix.estimators.mixture.fit_results import rows_learnt
from evermix.estimators.mixture.groups import GroupQuestions
from evermix.estimators.mixture.held import clusters_in_words, few_rows, n_held
from evermix.estimators.mixture.naming import are_bare, own_names, shown
from evermix.estimators.mixture.report_course import (
    BY_HAND,
    charts_of,
    events_of,
    flow_over_rows,
    is_streamed,
    saved_series,
    tree_of,
)
from evermix.estimators.plain_words import forgetting_in_words, rows_in_words
from evermix.estimators.shown import Shown
from evermix.families import Multinomial
from evermix.report.page import SHOWN, Item, Report, bars, curves
from evermix.report.plots import Series, read_events

COURSES = 500  # clusters up to which each card has its course
NAMING = 3  # traits that name a cluster
COMPARED, COLUMNS = 12, 16  # clusters that are side by side, and columns of that
MOST_BARS = 30  # clusters whose sizes are bars with names; those of more are dots


class ReportQuestions(FittedAttributes, ByHand, GroupQuestions, Shown):
    """Reports on what was found."""

    n_features_in_: int

    @property
    def _course(self) -> Series:
        """The steps of a stream, or the course that a file holds; empty after a fit."""
        steps = [info.to_event() for info in self.history_]
        return read_events(steps) if steps else saved_series(self)

    def report(
        self,
        path: str | Path,
        X: Any = None,
        names: Sequence[str] | None = None,
        title: str = "",
        texts: Sequence[str] | None = None,
    ) -> None:
        """Write a report: one HTML file that every browser shows, without network.

        It holds the growth of K, the prequential log-likelihood of ``history_``, shares of clusters
        over the rows with births, merges and deaths, the tree of clusters, their cards with search
        and sorting, and the lineage; what the model does not know is left out. Tell its readers
        what it holds: examples are rows of the data.

        Parameters
        ----------
        path : path-like
            Such as ``"report.html"``.
        X : array, CSR matrix or table (N, D), optional
            Rows in their order, for examples and shares. None: the rows that the model keeps, see
            :meth:`cards`.
        names : sequence of str, optional
            Names of the columns, such as the words of a vocabulary. None: those of the table.
        title : str, optional
            Headline.
        texts : sequence of str (N,), optional
            What the rows of X were made of, see :meth:`cards`.

        Examples
        --------
        >>> import evermix as em
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> em.Mixture().fit(X).report("report.html", X)  # doctest: +SKIP
        """
        mixture_report(self, X, names, title, texts=texts).write(path)

    def _glance(self) -> Report | None:
        if "learner_" not in vars(self) or not self.n_clusters_:
            return None
        bare = are_bare(self, self.model_.family)
        items = [_item(self, card, {}, bare=bare) for card in self.cards(top=SHOWN + 1)]
        about = _title(self), "cluster", "rows", _facts(self)
        return Report(*about, items, details=_details(self))


def mixture_report(
    mix: Any,
    X: Any = None,
    names: Sequence[str] | None = None,
    title: str = "",
    *,
    words: Mapping[int, list[str]] | None = None,
    events: Iterable[Mapping[str, Any]] | None = None,
    ids: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    missing: Mapping[str, int] | None = None,
) -> Report:
    """Return the report on a mixture.

    Parameters
    ----------
    mix : Mixture
    X, names, title, texts
        As in :meth:`Mixture.report`.
    words : mapping of int to list of str, optional
        Words that name clusters, by their ids; None: those of the texts.
    events : iterable of mappings, optional
        A trace of the run, in place of ``history_``.
    ids : sequence (N,), optional
        Names of the rows of X.
    missing : mapping of str to int, optional
        How many cells of columns of the rows that were learnt are missing.
    """
    if not mix.n_clusters_:
        raise ValueError("no row was learnt yet, so there is nothing to report. Go on with fit.")
    steps = [info.to_event() for info in mix.history_] if events is None else list(events)
    cards = mix.cards(X, names, texts=texts)
    lineage = events_of(mix.lineage_)
    if not is_streamed(mix):
        lineage = [event for event in lineage if event[1].endswith(BY_HAND)]
    flow = flow_over_rows(mix, X, [card.id for card in cards], lineage)
    bare = are_bare(mix, mix.model_.family, names)
    items = [_item(mix, card, words or {}, ids, bare) for card in cards]
    if len(items) > 1 and not (bare or _counts(mix)):
        _compare(mix, items, cards, names)
    if flow is not None and len(items) <= COURSES:
        for k, item in enumerate(items):
            item["course"] = flow.course(k)
    charts = charts_of(mix, steps)
    if (sizes := _sizes(cards)) is not None:
        charts.append(sizes)
    tree = tree_of(mix, [card.id for card in cards])
    facts = _facts(mix)
    known = missing_in_words(missing or {}, mix.model_.family, rows_learnt(mix.learner_.shown))
    facts |= {} if known is None else {"missing cells": known}
    about = title or _title(mix), "cluster", "rows", facts
    times = mix.learner_.shown.calendar.course
    parts = charts, flow, tree
    return Report(*about, items, *parts, events=lineage, times=times, details=_details(mix))


def _sizes(cards: list[Card]) -> dict[str, Any] | None:
    """Return a chart of the sizes of clusters: bars with their names, or dots if there are many."""
    some = sorted((card for card in cards if round(card.size)), key=lambda card: -card.size)
    if len(some) < 2:
        return None
    title, sizes = "Sizes, largest first", np.array([card.size for card in some])
    if len(some) <= MOST_BARS:
        named = [(card.name or called(card.id, None), round(card.size)) for card in some]
        return bars(title, named, "rows")
    lines = {"": (np.arange(1, len(some) + 1), sizes)}
    return curves(title, "rank", lines, dots=[""], log=True)


def _title(mix: Any) -> str:
    rows = counted(rows_learnt(mix.learner_.shown), "row")
    return f"{counted(n_held(mix), 'cluster')} in {rows}"


def _facts(mix: Any) -> dict[str, str]:
    model = mix.model_
    facts = {"clusters": clusters_in_words(mix)}
    few = few_rows(rows := rows_learnt(mix.learner_.shown))
    facts["rows"] = f"{rows:,}" if few is None else f"{rows:,} ({few})"
    facts["data"] = rows_in_words(model.family, mix.n_features_in_)
    if model.forgetting is not None:
        facts["forgets"] = forgetting_in_words(model.forgetting, bool(mix.learner_.timed))
    return facts


def _details(mix: Any) -> dict[str, str]:
    model = mix.model_
    kinds = {"family": model.family, "prior": model.prior, "engine": mix.learner_.engine}
    names = {name: type(part).__name__ for name, part in kinds.items()}
    own = None if _counts(mix) else own_names(mix)
    groups = groups_in_words(column_groups(model.family, own))
    return {"columns": f"{mix.n_features_in_:,}"} | groups | names


def _item(
    mix: Any,
    card: Card,
    words: Mapping[int, list[str]],
    ids: Sequence[Any] | None = None,
    bare: bool = False,
) -> Item:
    """Return a card as the page wants it; what is not known is left out.

    Columns that are ``bare`` say nothing to readers, see :func:`are_bare`.
    """
    traits = [] if bare else [trait.parts() for trait in card.traits]
    item: Item = {
        "id": card.id,
        "name": card.name or called(card.id, None),
        "pinned": card.pinned or None,
        "size": round(card.size) or round(card.size, 2),
        "share": card.share,
        "recent": card.recent_share,
        "trend": card.trend,
        "growing": card.growing or None,
        "born": card.born if is_streamed(mix) else None,
        "parent": card.parent,
        "age": card.age if is_streamed(mix) else None,
        "seen": card.last_seen,
        "traits": traits,
        "examples": [_example(mix, example, ids, bare) for example in card.examples],
        "nearest": [[id, times_better(nats)] for id, nats in card.nearest],
        "merged": [mix.lineage_.hand.called(id) for id in card.merged],
    }
    known = {name: value for name, value in item.items() if value is not None and value != []}
    named = not bare or card.words is not None or card.id in words
    return known | {"words": naming(mix, card, words) if named else []}


def _counts(mix: Any) -> bool:
    """Whether rows are counts of words."""
    return isinstance(mix.model_.family, Multinomial)


def _compare(mix: Any, items: list[Item], cards: list[Card], names: Sequence[str] | None) -> None:
    """Add what is typical of the largest clusters, in the columns that set them apart most.

    Each has the same columns: their name, what is typical there, and how far that is above other
    clusters.   Consumes: items.
    """
    some, weights = cards[:COMPARED], dict[str, float]()
    for card in some:
        for trait in card.traits:
            score = card.share * abs(trait.score())
            weights[trait.column] = weights.get(trait.column, 0.0) + score
    columns = sorted(weights, key=lambda column: -weights[column])[:COLUMNS]
    writer = mix._writer(None, names)
    place = {id: k for k, id in enumerate(writer.ids.tolist())}
    for item, card in zip(items, some, strict=False):
        typical = writer.typical(place[card.id])
        item["scores"] = [_score(column, typical.get(column)) for column in columns]


def _score(column: str, trait: Trait | None) -> list[Any]:
    """Return a column, what is typical there, and how far that is above other clusters."""
    if trait is None:
        return [column, "no values", 0.0]
    level = "" if trait.level is None else f"{shown(trait.level, trait.unit)}: "
    here = replace(trait, mean=None).parts()[1]
    return [column, f"{level}{here}", round(trait.score(), 3)]


def _example(mix: Any, example: Example, ids: Sequence[Any] | None, bare: bool) -> list[Any]:
    """Return how a typical row is called, and what it holds."""
    row = example.row if ids is None else ids[example.row]
    values = [] if bare and example.text is None else example.parts()
    if example.text is None and _counts(mix):
        words = example.values.items()
        values = [name if n == 1 else f"{name} × {shown(n)}" for name, n in words]
    return [f"row {row:,}" if isinstance(row, int) else str(row), values]


def naming(mix: Any, card: Card, words: Mapping[int, list[str]]) -> list[str]:
    """Return words that name a cluster: those given for its id, or what sets it apart."""
    if card.id in words:
        return words[card.id]
    if card.words is not None:
        return list(card.words)
    if _counts(mix):
        return [trait.column for trait in card.traits]
    return [trait.brief() for trait in naming_traits(card.traits, NAMING)]
