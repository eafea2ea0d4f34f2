"""Reports on topic models and on mixtures over time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evermix._xp import Floats, Ints
from evermix.estimators.data.times import shown_label
from evermix.estimators.mixture.card import Trait
from evermix.estimators.mixture.naming import Names
from evermix.families.base import Family
from evermix.families.marks import marks
from evermix.report import lifetimes
from evermix.report.flow import Flow, Mark
from evermix.report.page import Item, Report, traces
from evermix.tally import Tally

SHARE = 0.01  # a topic with less is absent
TINY = 0.001  # a topic with less is no neighbour of others
WORDS, TRAITS, NEAREST = 12, 8, 3  # on a card
NAMING = 3  # traits that name a cluster


def topic_report(
    model: Any, vocabulary: Any = None, title: str = "", top: int | None = None
) -> Report:
    """Return the report on a topic model: the largest ``top`` topics; None: all."""
    components, weights = model.components_, model.weights_
    words, corpus = model.top_words(WORDS, vocabulary), weights @ components
    size, apart = model._fitted.point().words.sum(axis=0), _distances(components)
    items: list[Item] = []
    for k in range(len(weights))[:top]:
        order = np.argsort(-components[k], kind="stable")[:WORDS]
        item = _item("topic", k, float(size[k]), float(weights[k]), list(map(str, words[k])))
        here = zip(item["words"], components[k, order], corpus[order], strict=False)
        item["traits"] = [[word, *map(_percent, both)] for word, *both in here]
        item["nearest"] = _nearest(apart[k], k, weights)
        item["region"] = int(model.regions_[k])
        items.append(item)
    facts = {
        "topics": f"{model.n_topics_:,}",
        "words": f"{size.sum():,.0f}",
        "vocabulary": f"{model.n_features_in_:,}",
    }
    facts |= _settings(model)
    title = title or f"{model.n_topics_:,} topics in {size.sum():,.0f} words"
    report = Report(title, "topic", "words", facts, items)
    if top is None:
        values, chain = model._fitted.run.traces()
        titles = {"n_topics": "Topics in each draw", "log_joint": "Log joint density"}
        report.charts = traces(values, chain, titles)
        report.map = plane(apart).round(4).tolist() if len(items) > 2 else []
        _add_times(report, model.times_.tolist(), model.evolution_)
    return report


def dependent_report(mix: Any, names: Sequence[str] | None, title: str, top: int | None) -> Report:
    """Return the report on a mixture over time: the largest ``top`` clusters; None: all."""
    labels, regions = mix.labels_, mix.regions_
    state = mix._fitted.data.state(labels, mix.n_clusters_)
    sizes = np.bincount(labels, minlength=mix.n_clusters_)
    columns = Names.of(mix, mix.family_, names)
    order = np.argsort(-sizes, kind="stable")
    items: list[Item] = []
    for k in order[:top].tolist():
        found = _traits(mix.family_, state.tally, k, columns)
        naming = [trait.brief() for trait in found[:NAMING]]
        item = _item("cluster", k, float(sizes[k]), float(sizes[k] / sizes.sum()), naming)
        item |= {"traits": [trait.parts() for trait in found]} if found else {}
        items.append(item | {"region": int(regions[k])})
    facts = {"clusters": f"{mix.n_clusters_:,}", "rows": f"{len(labels):,}"}
    facts |= {"columns": f"{mix.n_features_in_:,}", "family": type(mix.family_).__name__}
    facts |= _settings(mix)
    title = title or f"{mix.n_clusters_:,} clusters in {len(labels):,} rows"
    report = Report(title, "cluster", "rows", facts, items)
    if top is None:
        posterior = mix.posterior_
        titles = {"K": "Clusters in each draw", "log_joint": "Log joint density"}
        report.charts = traces(posterior.traces(), posterior.chain, titles)
        _add_times(report, mix.times_.tolist(), mix.evolution_[:, order], order)
    return report


def plane(apart: Floats) -> Floats:
    """Return places (K, 2) whose distances are near to those of a matrix (K, K)."""
    squares = apart**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    return np.asarray(vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0.0)))


def _distances(components: Floats) -> Floats:
    """Return the Hellinger distances (K, K) of laws (K, V), from 0 to 1."""
    roots = np.sqrt(components)
    apart: Floats = np.sqrt(np.maximum(1 - roots @ roots.T, 0.0))
    np.fill_diagonal(apart, 0.0)
    return apart


def _item(noun: str, k: int, size: float, share: float, words: list[str]) -> Item:
    return {"id": k, "name": f"{noun} {k}", "size": size, "share": share, "words": words}


def _settings(model: Any) -> dict[str, str]:
    fitted = model._fitted
    prior = fitted.prior if model.prior is None else model.prior
    kinds = {"prior": type(prior).__name__, "sampler": type(model.sampler_).__name__}
    sweeps, wanted = model.n_sweeps_, model.burn_in + model.draws
    kinds |= {"sweeps": f"{sweeps:,}" + (f" of {wanted:,}, stopped" if sweeps < wanted else "")}
    return kinds | ({"times": f"{len(model.times_):,}"} if len(model.times_) else {})


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _nearest(apart: Floats, k: int, weights: Floats) -> list[list[float]]:
    """Return the topics nearest to topic k, and how far they are; tiny ones are near to all."""
    order = np.argsort(apart, kind="stable").tolist()
    order = [j for j in order if j != k and weights[j] >= TINY]
    return [[j, round(float(apart[j]), 2)] for j in order[:NEAREST]]


def _traits(family: Family, tally: Tally, k: int, names: Names) -> list[Trait]:
    """Return what sets a cluster apart from all others."""
    if tally.K == 1:
        return []
    stats, mass = tally.stats, tally.mass
    both = np.stack([stats[k], stats.sum(axis=0) - stats[k]])
    found = marks(family, both, np.array([mass[k], mass.sum() - mass[k]]), TRAITS)
    return [Trait.of(mark, names) for mark in found]


def _add_times(
    report: Report, times: list[Any], evolution: Floats, ids: Ints | None = None
) -> None:
    """Add shares (T, K) over time, births and deaths.   Consumes: report."""
    if len(times) < 2:
        return
    alive = lifetimes(evolution, SHARE)
    names = list(range(evolution.shape[1])) if ids is None else ids.tolist()
    marks = [
        Mark(t, what, [names[k] for k in some])
        for what, moves in (("born", alive.births), ("died", alive.deaths))
        for t, some in enumerate(moves)
        if some
    ]
    labels = [shown_label(time) for time in times]
    weights = np.array([item["share"] for item in report.items])
    report.flow = Flow("times", labels, names, evolution, marks, weights)
    for k, (item, spans) in enumerate(zip(report.items, alive.spans, strict=True)):
        item["course"] = report.flow.course(k)
        if spans:
            item |= {
                "span": [spans[0][0], spans[-1][1]],
                "first": spans[0][0],
                "last": spans[-1][1],
            }
