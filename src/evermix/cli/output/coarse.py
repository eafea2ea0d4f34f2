"""Fewer, coarser clusters or topics on the command line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from evermix._words import counted, listed
from evermix.cli.console import note
from evermix.cli.input.model_rows import WORDS, column_names, saved_words, text_of
from evermix.cli.output.captions import SHOWN
from evermix.estimators import Mixture, TopicModel
from evermix.estimators.mixture.card import naming_traits
from evermix.estimators.mixture.coarse import CoarseCluster
from evermix.estimators.mixture.held import n_held
from evermix.estimators.mixture.naming import Names, written_size
from evermix.families import Multinomial
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.report import distinctive_words
from evermix.report.shares import LARGE, percent

PARTS = 5  # ids of parts in a table
MANY = 20  # clusters or large topics above which coarse ones may be wanted
FEW = 8  # coarse ones that are proposed

Described = dict[str, Any]


def describe_coarse(model: Any, extra: dict[str, Any], n: int) -> list[Described]:
    """Return the n coarse clusters or topics of a model as JSON-ready dicts."""
    if type(model) not in _DESCRIBE:
        raise ValueError("--coarse is for mixtures and topic models, not for dependent mixtures.")
    return _DESCRIBE[type(model)](model, extra, at_most(model, n))


def at_most(model: Any, n: int) -> int:
    """Return how many coarse ones there can be: n, or with a note as many as there are."""
    topics = isinstance(model, TopicModel)
    total = model.n_topics_ if topics else model.n_clusters_
    if n > total:
        note(f"--coarse {n:,}: there are only {counted(total, 'topic' if topics else 'cluster')}.")
    return min(n, total)


def _clusters(mix: Mixture, extra: dict[str, Any], n: int) -> list[Described]:
    text = text_of(extra)
    found = mix.coarse_clusters(n, names=column_names(mix, text))
    words = _words_of_texts(mix, text, found)
    named = bool(Names.of(mix, mix.model_.family, column_names(mix, text)).columns)
    described = []
    for each in found:
        one = each.to_dict()
        if words:
            one["words"] = words.get(each.id, [])
        elif text is not None and isinstance(mix.model_.family, Multinomial):
            one["words"] = [trait.column for trait in each.traits]
        else:
            one["apart"] = [str(trait) for trait in each.traits]
        naming = one.get(
            "words", [trait.brief() for trait in naming_traits(each.traits, SHOWN)] if named else []
        )
        if naming and not each.name:
            one["name"] = ", ".join(naming[:SHOWN])
        described.append(one | _given(each.name, each.clusters, mix.lineage_.hand.names))
    return described


def _given(name: str, parts: Sequence[int], names: Mapping[int, str]) -> Described:
    """Return the names that people gave to parts, by id, and whether the whole is called so."""
    return {"names": {id: names[id] for id in parts if id in names}, "renamed": bool(name)}


def _words_of_texts(mix: Mixture, text: Any, found: list[CoarseCluster]) -> dict[int, list[str]]:
    """Return the words that set coarse clusters apart, by id, if vectors came with texts."""
    if not isinstance(text, EmbeddedTexts):
        return {}
    part_of = {id: each.id for each in found for id in each.clusters}

    def current(ids: Any) -> Any:
        now = mix.lineage_.current(ids)
        return np.array([part_of.get(int(id), int(id)) for id in now], dtype=np.int64)

    ids = [each.id for each in found]
    counts, names = text.words_of(ids, current)
    marks = distinctive_words(counts, names, WORDS) if names else []
    return dict(zip(ids, marks, strict=False))


def _topics(model: TopicModel, extra: dict[str, Any], n: int) -> list[Described]:
    found = model.coarse_topics(n, saved_words(model, extra))
    return [each.to_dict() | _given(each.name, each.topics, model.names_) for each in found]


_DESCRIBE: dict[type, Callable[..., list[Described]]] = {Mixture: _clusters, TopicModel: _topics}


def coarse_table(found: list[Described], kind: str, total: int) -> Table:
    """Return a table of coarse clusters or topics, whichever ``kind`` they are."""
    all_of = counted(total, kind.removesuffix("s"))
    caution = (
        "What is joined has like words or values, and may still hold subjects that differ: look at "
        f"its {kind} before you rely on it."
    )
    title = f"{all_of} joined into {len(found):,}"
    table = Table(title=title, title_justify="left", caption=caution, caption_justify="left")
    words = any("words" in one for one in found)
    table.add_column("id", justify="right")
    if kind == "clusters":
        table.add_column("size", justify="right")
    table.add_column("share", justify="right")
    table.add_column(kind)
    table.add_column("words that set it apart" if words else "what sets it apart")
    for one in found:
        given = one["names"]
        parts = (f"{id} ({given[id]})" if id in given else str(id) for id in one[kind])
        about = ", ".join(map(str, one["words"])) if words else "\n".join(one["apart"][:SHOWN])
        if one["renamed"]:
            about = f"{one['name']}: {about}"
        cells = [str(one["id"]), percent(one["share"]), listed(parts, PARTS), about]
        cells[1:1] = [written_size(one["size"])] if kind == "clusters" else []
        table.add_row(*(Text(cell) for cell in cells))
    return table


def proposed(model: Any) -> int | None:
    """Return how many coarse ones to propose where a model has many; None where they are few."""
    if isinstance(model, TopicModel):
        many = int(np.sum(model.weights_ >= LARGE))
    else:
        many = n_held(model) if isinstance(model, Mixture) else 0
    return FEW if many > MANY else None
