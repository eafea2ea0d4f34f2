"""Reports on topic models."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evermix._xp import Floats
from evermix.estimators.chain_reports import add_times, course_facts, item_of, settings_of
from evermix.estimators.plain_words import topics_in_words
from evermix.estimators.topics.card import TopicCards, document_name
from evermix.report.flow import DIGITS
from evermix.report.lifetimes import UNCERTAIN, span_of
from evermix.report.page import WHOLE, Item, Report, traces
from evermix.report.shares import percent

COARSE = 8  # coarse topics of a report
SOME, MANY = 2 * COARSE, 400  # topics from which on there are coarse ones, and up to which


def topic_report(
    model: Any,
    vocabulary: Any = None,
    title: str = "",
    top: int | None = None,
    documents: Mapping[int, str] | None = None,
    command: str | None = None,
) -> Report:
    """Return the report on a topic model: the largest ``top`` topics; None: all.

    ``documents`` are names of documents by their rows, as far as they are known; ``command`` is
    what the command line goes on with, None in Python.
    """
    writer = TopicCards(model, vocabulary)
    order = np.array(writer.order("size")[:top])
    items = [_item(writer, k, documents or {}) for k in order.tolist()]
    size = int(writer.point.words.sum())
    facts = {
        "topics": f"{len(writer.weights):,}",
        "words": f"{size:,}",
        "vocabulary": f"{model.n_features_in_:,}",
    }
    facts |= course_facts(model)
    if added := model.added_times_:
        facts["added after the fit"] = f"{span_of(added)} ({UNCERTAIN})"
    if not model.gone_on_:  # else the few draws that go on are no course
        facts["fit to the data"] = course_of(model, command)
    title = title or topics_in_words(writer.weights)
    report = Report(title, "topic", "words", facts, items, details=settings_of(model))
    if top is None:
        if not model.gone_on_:
            values, chain = model._fitted.run.traces()
            titles = {"n_topics": "Topics in each draw", "log_joint": WHOLE}
            note = f"each draw has its own topics; the one that is shown has {model.n_topics_:,}"
            report.charts = traces(values, chain, titles, {"n_topics": note})
        if len(items) > 2:
            apart, weights = writer.distances[np.ix_(order, order)], writer.weights[order]
            report.map = plane(apart, weights).round(4).tolist()
        if SOME < len(items) <= MANY:
            report.groups = _coarse(model, vocabulary)
        times, evolution = model.times_.tolist(), model.evolution_[:, order]
        add_times(report, times, evolution, writer.lifetimes(order), order, model.n_documents_)
    return report


def _coarse(model: Any, vocabulary: Any) -> list[dict[str, Any]]:
    """Return few coarse topics, the largest first, with their shares over time."""
    found, evolution = model.coarse_topics(COARSE, vocabulary), model.evolution_
    courses = [evolution[:, list(each.topics)].sum(axis=1) for each in found]
    return [
        each.to_dict() | {"course": course.round(DIGITS).tolist()}
        for each, course in zip(found, courses, strict=True)
    ]


def course_of(model: Any, command: str | None = None, begun: bool = True) -> str:
    """Return whether chains have come to rest, in words, and what goes on if they have not.

    ``command`` is what the command line goes on with, or begins anew with unless the fit is
    ``begun``; None in Python.
    """
    rises, draws = model.climbing_, 2 * model.draws
    more = f"set_params(draws={draws}), then resume, goes on"
    if command is not None:
        more = f"{command} --draws {draws} {'goes on' if begun else 'makes them'}"
    if np.isnan(rises).any():
        return f"cannot be judged yet: there are too few draws ({more})"
    if not rises.any():
        return "shows no rise over the draws beyond chance (log joint density)"
    rise = f"log joint density: {rises.max():.2g} nats a word over the draws"
    return f"still improves, so that more sweeps will help: {more} ({rise})"


def _item(writer: TopicCards, k: int, names: Mapping[int, str]) -> Item:
    """Return the card of a topic as a page shows it: the words that set it apart name it."""
    card = writer.card(k)
    item = item_of("topic", k, float(card.size), card.share, list(map(str, card.apart)))
    item["name"] = writer.names.get(k, item["name"])
    here, everywhere = writer.components[k], writer.corpus
    frequent = np.argsort(-here, kind="stable")[: len(card.words)]
    columns = zip(card.words, here[frequent], everywhere[frequent], strict=True)
    item["traits"] = [[str(word), *(percent(p) for p in both)] for word, *both in columns]
    item["nearest"] = [list(each) for each in card.nearest]
    item["region"] = card.region
    if card.documents:
        item["examples"] = [
            [names.get(row, document_name(row)), [percent(share)]] for row, share in card.documents
        ]
    if len(card.times) > 1:
        item |= {"change": card.change, "rank": float(writer.ranks[k])}
    return item


def plane(apart: Floats, weights: Floats) -> Floats:
    """Return places (K, 2) whose distances are near to those of a matrix (K, K).

    Classical scaling with weights (K,), by their roots, so that many tiny topics do not take the
    room of large ones.
    """
    w, squares = np.sqrt(weights / weights.sum()), apart**2
    w /= w.sum()
    mean = squares @ w
    inner = -(squares - mean - mean[:, None] + w @ mean) / 2
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * inner * root)
    values, vectors = values[:-3:-1], vectors[:, :-3:-1]
    scale = np.where(values > 0, np.sqrt(np.maximum(values, np.finfo(float).tiny)), np.inf)
    return np.asarray((inner * root) @ vectors / scale)
