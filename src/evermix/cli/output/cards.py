"""Cards of clusters, and topics, as a table."""

import re
from collections.abc import Callable
from typing import Any

from rich.table import Table
from rich.text import Text

from evermix._words import counted, listed
from evermix.cli.input.model_rows import column_names, words_of_texts
from evermix.estimators import Mixture
from evermix.estimators.mixture.calendar import shown_time
from evermix.estimators.mixture.naming import shown_when, written_size
from evermix.families import Multinomial
from evermix.io.text_counter import TextCounter
from evermix.report.shares import percent
from evermix.report.words import topic_name

FILES = 5  # that are named where a model has learnt several
SHOWN = 3  # lines on what sets a cluster apart

Described = dict[str, Any]


def describe_clusters(mix: Mixture, text: TextCounter | None, top: int | None) -> list[Described]:
    """Return the cards of the largest clusters; what is not known is left out.

    Names and parents are always there, and None where there is none.
    """
    plan, clusters, names = mix.model_.forgetting, [], mix.lineage_.hand.names
    words, former = words_of_texts(mix, text), mix.lineage_.hand.former.keys()
    for card in mix.cards(names=column_names(mix, text), top=top):
        cluster = {
            name: value
            for name, value in card.to_dict().items()
            if value is not None or name in ("name", "parent")
        }
        for near in cluster["nearest"]:
            near |= {"name": names[near["id"]]} if near["id"] in names else {}
        if parts := [*card.parts, *(id for id in card.merged if id in former - {*card.parts})]:
            cluster["parts"] = [mix.lineage_.hand.called(id) for id in parts]
        if plan is not None:
            cluster["seen"] = shown_time(mix.lineage_.last[card.id], plan.dated)
        if words:
            cluster["words"] = words.get(card.id, [])
        elif text is not None and isinstance(mix.model_.family, Multinomial):
            cluster["words"] = [trait.column for trait in card.traits]
        else:
            cluster["apart"] = [str(trait) for trait in card.traits]
        clusters.append(cluster)
    return clusters


def growing(clusters: list[Described]) -> list[Described]:
    """Return ids, names and words of clusters that have grown, the largest lately first."""
    some = [each for each in clusters if each["growing"]]
    return [_brief(each) for each in sorted(some, key=lambda each: -each["recent_share"])]


def fading(clusters: list[Described]) -> list[Described]:
    """Return ids, names and words of clusters of which no rows come any more."""
    return [_brief(each) for each in clusters if each["fading"]]


def _brief(cluster: Described) -> Described:
    return {name: cluster[name] for name in ("id", "name", "words") if name in cluster}


def _growing(found: list[Described]) -> str:
    names = [each.get("name") or ", ".join(each.get("words", [])[:SHOWN]) for each in found]
    texts = zip((str(each["id"]) for each in found), names, strict=True)
    return "; ".join(f"{id}: {name}" if name else id for id, name in texts)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rounded(text: str) -> str:
    """Return a text with its long decimal numbers cut to four digits."""
    return re.sub(r"\d+\.\d{5,}(e[+-]\d+)?", lambda number: f"{float(number[0]):.4g}", text)


def _number(n: int | str) -> str:
    """Return a number, which may be in words: where rows are few, or clusters hidden."""
    return n if isinstance(n, str) else f"{n:,}"


_FORMATS: dict[str, Callable[[Any], str]] = {
    "bytes": "{:,}".format,
    "vocabulary": "{:,} words".format,
    "source": lambda source: source if isinstance(source, str) else listed(source, FILES),
    **dict.fromkeys(("observations", "documents", "K"), _number),
    "hidden": "{:,}".format,
    **dict.fromkeys(("sweeps", "draws", "laps"), "{:,}".format),
    "unknown_words": "{:.1%}".format,
    "elbo": "{:,.2f}".format,
    "family": _rounded,
    "prior": _rounded,
    "engine": _rounded,
    "size": written_size,
    "weight": percent,
    "share": percent,
    "recent_share": percent,
    "born": "{:,}".format,
    **dict.fromkeys(("since", "seen", "now"), shown_when),
    "times": lambda times: " to ".join(map(shown_when, times.split(" to "))),
    "apart": "\n".join,
    **dict.fromkeys(("growing", "fading"), _growing),
    "nearest": lambda near: ", ".join(str(one.get("name", one["id"])) for one in near),
}
# Columns of tables by name, with their titles; JSON has more.
_COLUMNS = {
    **{name: name for name in ("id", "topic", "name", "size", "weight", "share")},
    "recent_share": "lately",
    "since": "born",  # in place of the number of rows, where rows have times
    "born": "born",
    "parent": "split from",  # where new ones are shown
    **{name: name for name in ("seen", "first", "last", "nearest")},
    "parts": "merged",
    "words": "words that set it apart",
    "apart": "what sets it apart",
}
_TOPIC_COLUMNS = {  # a line for each; JSON and reports have more
    **{name: name for name in ("topic", "name", "weight", "first", "last")},
    "words": "words that set it apart",
}


def shown_value(name: str, value: Any) -> str:
    """Return a value as tables show it."""
    return "" if value is None else _FORMATS.get(name, _text)(value)


def cards_table(
    clusters: list[Described],
    kind: str,
    total: int | None = None,
    whole: str | None = None,
    since: str | None = None,
) -> Table:
    """Return the table of the largest clusters or topics, whichever ``kind`` they are.

    ``total`` is the number of all, ``whole`` a title for a table of all, if there is one. With
    ``since`` they are those that began then or later, the newest first.
    Consumes: clusters.
    """
    line = kind == "topics"  # each has one: what does not fit into it is cut
    columns = _TOPIC_COLUMNS if line else _COLUMNS
    title = f"The largest {len(clusters)} {kind}"
    if total is not None and total > len(clusters):
        title += f" of {total:,}"
    if total == len(clusters):
        title = whole or counted(total, kind.removesuffix("s"))
    if since is not None:
        title = f"{counted(len(clusters), 'cluster')} since {since}, the newest first"
    table = Table(title=title, title_justify="left")
    for cluster in clusters if line else ():
        if cluster["name"] == topic_name(cluster["apart"]):
            del cluster["name"]  # nobody gave it
    some = [name for name in columns if any(each.get(name) is not None for each in clusters)]
    some = [name for name in some if name != "born" or "since" not in some]
    some = [name for name in some if name != "parent" or since is not None]
    for name in some:
        text = name in ("words", "apart")
        table.add_column(
            columns[name], justify="left" if text else "right", no_wrap=line and not text
        )
    for cluster in clusters:
        if line:
            cluster["words"] = cluster["apart"]
        else:
            cluster["apart"] = cluster.get("apart", [])[:SHOWN]
        cells = (shown_value(name, cluster.get(name)) for name in some)
        table.add_row(*(Text(cell, no_wrap=line, overflow="ellipsis") for cell in cells))
    return table
