"""Reports on mixtures over time, and what those on topic models share with them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evermix._words import counted
from evermix._xp import Floats, Ints
from evermix.estimators.data.times import shown_label
from evermix.estimators.mixture.card import Trait, naming_traits
from evermix.estimators.mixture.naming import Names, are_bare
from evermix.estimators.plain_words import rows_in_words
from evermix.families.base import Family
from evermix.families.marks import marks
from evermix.report import Lifetimes, lifetimes
from evermix.report.flow import Flow, Mark
from evermix.report.lifetimes import caution
from evermix.report.page import WHOLE, Item, Report, traces
from evermix.report.shown_topics import breaks, left_out, positions, together
from evermix.tally import Tally

SHARE = 0.01  # a cluster with less is absent
TRAITS = 8  # on a card
NAMING = 3  # traits that name a cluster


def dependent_report(mix: Any, names: Sequence[str] | None, title: str, top: int | None) -> Report:
    """Return the report on a mixture over time: the largest ``top`` clusters; None: all."""
    point, regions = mix._fitted.point(), mix.regions_
    state, sizes = point.state(mix.family_), point.counts.sum(axis=0)
    columns, bare = Names.of(mix, mix.family_, names), are_bare(mix, mix.family_, names)
    order = np.argsort(-sizes, kind="stable")
    items: list[Item] = []
    for k in order[:top].tolist():
        found = [] if bare else _traits(mix.family_, state.tally, k, columns)
        naming = [trait.brief() for trait in naming_traits(found, NAMING)]
        item = item_of("cluster", k, float(sizes[k]), float(sizes[k] / sizes.sum()), naming)
        item |= {"traits": [trait.parts() for trait in found]} if found else {}
        items.append(item | {"region": int(regions[k])})
    facts = {"clusters": f"{mix.n_clusters_:,}", "rows": f"{sizes.sum():,}"}
    facts["data"] = rows_in_words(mix.family_, mix.n_features_in_)
    facts |= course_facts(mix)
    details = {"columns": f"{mix.n_features_in_:,}", "family": type(mix.family_).__name__}
    details |= settings_of(mix)
    title = title or f"{counted(mix.n_clusters_, 'cluster')} in {counted(int(sizes.sum()), 'row')}"
    report = Report(title, "cluster", "rows", facts, items, details=details)
    if top is None:
        titles = {"K": "Clusters in each draw", "log_joint": WHOLE}
        if not mix.gone_on_:
            report.charts = traces(mix.posterior_.traces(), mix.posterior_.chain, titles)
        rows = point.counts.sum(axis=1).tolist()
        add_times(report, mix.times_.tolist(), mix.evolution_[:, order], None, order, rows)
    return report


def item_of(noun: str, k: int, size: float, share: float, words: list[str]) -> Item:
    """Return what a page says first of a cluster or topic."""
    return {"id": k, "name": f"{noun} {k}", "size": size, "share": share, "words": words}


def course_facts(model: Any) -> dict[str, str]:
    """Return how long a model was fitted, and how many times there are."""
    sweeps, wanted = model.n_sweeps_, model._fitted.run.burnt_in(model.burn_in) + model.draws
    facts = {"sweeps": f"{sweeps:,}" + (f" of {wanted:,}, stopped" if sweeps < wanted else "")}
    return facts | ({"times": f"{len(model.times_):,}"} if len(model.times_) else {})


def settings_of(model: Any) -> dict[str, str]:
    """Return the names of the parts of a model."""
    prior = model._fitted.prior if model.prior is None else model.prior
    return {"prior": type(prior).__name__, "sampler": type(model.sampler_).__name__}


def _traits(family: Family, tally: Tally, k: int, names: Names) -> list[Trait]:
    """Return what sets a cluster apart from all others."""
    if tally.K == 1:
        return []
    stats, mass = tally.stats, tally.mass
    both = np.stack([stats[k], stats.sum(axis=0) - stats[k]])
    found = marks(family, both, np.array([mass[k], mass.sum() - mass[k]]), TRAITS)
    return [Trait.of(mark, names) for mark in found]


def add_times(
    report: Report,
    times: list[Any],
    evolution: Floats,
    alive: Lifetimes | None = None,
    ids: Ints | None = None,
    documents: Sequence[int] | None = None,
) -> None:
    """Add shares (T, K) of documents or rows over time, births and deaths.   Consumes: report.

    ``documents`` are how many each time has (T,), if that is known.
    """
    if len(times) < 2:
        return
    noun = "document" if report.noun == "topic" else "row"
    alive = lifetimes(evolution, SHARE) if alive is None else alive
    at, regular = positions(times)
    labels, part = [shown_label(time) for time in times], together(at, documents)
    left = left_out(labels, documents, part, noun)
    labels, at, evolution, alive = labels[part], at[part], evolution[part], alive.within(part)
    names = list(range(evolution.shape[1])) if ids is None else ids.tolist()
    marks = [
        Mark(t, what, [names[k] for k in some])
        for what, moves in (("born", alive.births), ("died", alive.deaths))
        for t, some in enumerate(moves)
        if some
    ]
    weights = np.array([item["share"] for item in report.items])
    starts = (np.flatnonzero(breaks(at, regular)) + 1).tolist()
    known = caution(None if documents is None else sum(documents), f"{noun}s")
    about = {"at": at.tolist(), "starts": starts, "caution": known, "left_out": left}
    report.flow = Flow("times", labels, names, evolution, marks, weights, **about)
    for k, (item, spans) in enumerate(zip(report.items, alive.spans, strict=True)):
        item["course"] = report.flow.course(k)
        if spans:
            item |= {
                "span": [spans[0][0], spans[-1][1]],
                "first": spans[0][0],
                "last": spans[-1][1],
            }
