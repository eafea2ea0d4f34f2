"""``evermix info``: what a model file holds."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from evermix.cli.console import output_console, shown_time
from evermix.cli.input.model_rows import column_names, saved_words, text_of, words_of_texts
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.cli.options.table import INFO, SHARE
from evermix.cli.output.topic_report import describe_topics
from evermix.estimators import DependentMixture, Mixture, TopicModel
from evermix.estimators.data.times import shown_label
from evermix.estimators.files import load_any
from evermix.estimators.mixture.report import met_once, rows_learnt
from evermix.estimators.topics.card import TopicCards
from evermix.estimators.topics.report import course_of
from evermix.families import Multinomial
from evermix.io.growing_vocabulary import GrowingVocabulary
from evermix.io.text_counter import TextCounter
from evermix.state import FADED

WORDS = 8  # per topic
SHOWN = 3  # lines on what sets a cluster apart
BRIEF = 5  # words of a topic in a table

Extra = dict[str, Any]
Described = dict[str, Any]


def options(custom: tuple[type, ...]) -> list[Option]:
    """Return the options of the command."""
    return list(INFO)


def run(settings: Settings) -> None:
    """Show what a model file holds."""
    path = Path(settings.model)
    found, extra = load_any(path, settings.custom)
    described = {"file": str(path), "bytes": path.stat().st_size}
    described |= _DESCRIBE[type(found)](found, extra, settings.top)
    if settings.as_json:
        typer.echo(json.dumps(described, indent=2))
    else:
        _show(described)


# ---- mixtures --------------------------------------------------------------------------------


def _mixture(mix: Mixture, extra: Extra, top: int) -> Described:
    engine, state = mix.learner_.engine, mix.state_
    plan = mix.model_.forgetting
    saved = (extra.get("stream") or extra.get("fit") or {}).get("settings", {})
    described: Described = {
        "kind": "mixture",
        "source": saved.get("source"),
        "family": repr(mix.model_.family),
        "chosen_since": vars(mix).get("family_reason_"),
        "prior": repr(mix.model_.prior),
        "engine": repr(engine),
    }
    if plan is not None and state.now is not None:
        described["forgetting"] = repr(plan)
        described["faded"] = mix.lineage_.into.count(FADED)
        described["now"] = shown_time(state.now, plan.dated)
    if not met_once(mix):
        described |= engine.progress(state)
    return described | {
        "features": mix.n_features_in_,
        "embedding": (extra.get("text") or {}).get("name"),
        **_vocabulary(extra),
        "observations": rows_learnt(mix),
        "K": mix.n_clusters_,
        "clusters": _clusters(mix, text_of(extra), top),
    }


def _vocabulary(extra: Extra) -> Described:
    """Return how many words a vocabulary that grows has, and the share of words in no column."""
    counter = text_of(extra)
    if not isinstance(counter, GrowingVocabulary):
        return {}
    known = sum(map(bool, counter.words))
    return {"vocabulary": known, "unknown_words": counter.totals.share}


def _clusters(mix: Mixture, text: TextCounter | None, top: int) -> list[Described]:
    """Return the cards of the largest clusters; what is not known is left out."""
    plan, clusters = mix.model_.forgetting, []
    words = words_of_texts(mix, text)
    for card in mix.cards(names=column_names(mix, text), top=top):
        cluster = {name: value for name, value in card.to_dict().items() if value is not None}
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


def _dependent_mixture(mix: DependentMixture, extra: Extra, top: int) -> Described:
    times = [shown_label(time) for time in mix.times_.tolist()]
    drawn = hasattr(mix, "posterior_")  # a chain in its burn-in has no clusters to show
    return {
        "kind": "dependent mixture",
        "source": None,
        "family": repr(mix.family_),
        "prior": "MNGG()" if mix.prior is None else repr(mix.prior),
        "sampler": repr(mix.sampler_),
        "sweeps": mix.n_sweeps_,
        "burn_in": mix.burn_in,
        "draws": mix.draws,
        "features": mix.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}",
        "observations": len(mix.labels_) if drawn else None,
        "K": mix.n_clusters_ if drawn else None,
        "clusters": _clusters_over_time(mix, times)[:top] if drawn else [],
    }


def _clusters_over_time(mix: DependentMixture, times: list[Any]) -> list[Described]:
    """Return the clusters, largest first, with the first and the last time of their rows."""
    size, evolution = np.bincount(mix.labels_, minlength=mix.n_clusters_), mix.evolution_
    clusters = []
    for k in np.argsort(-size, kind="stable").tolist():
        there = np.flatnonzero(evolution[:, k])
        clusters.append(
            {
                "id": k,
                "size": int(size[k]),
                "share": float(size[k] / size.sum()),
                "first": times[there[0]],
                "last": times[there[-1]],
            }
        )
    return clusters


# ---- topics ----------------------------------------------------------------------------------


def _topic_model(model: TopicModel, extra: Extra, top: int) -> Described:
    notes = extra.get("topics", {})
    saved = notes.get("settings", {})
    names = saved_words(model, extra)
    times = [shown_label(time) for time in model.times_.tolist()]
    default = "HMNGG()" if times else "HDP()"
    writer = TopicCards(model, names, n=WORDS, share=saved.get("share", SHARE))
    topics = describe_topics(writer)
    return {
        "kind": "topic model",
        "source": saved.get("source"),
        "prior": default if model.prior is None else repr(model.prior),
        "sampler": repr(model.sampler_),
        "sweeps": model.n_sweeps_,
        "burn_in": model.burn_in,
        "draws": model.draws,
        "chains": model.chains,
        "log_joint": course_of(model) if model._fitted.run.n_draws else None,
        "features": model.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}" if times else None,
        "K": model.n_topics_,
        "topics": topics[:top],
    }


_DESCRIBE: dict[type, Callable[[Any, Extra, int], Described]] = {
    Mixture: _mixture,
    DependentMixture: _dependent_mixture,
    TopicModel: _topic_model,
}


# ---- tables ----------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _rounded(text: str) -> str:
    """Return a text with its long decimal numbers cut to four digits."""
    return re.sub(r"\d+\.\d{5,}(e[+-]\d+)?", lambda number: f"{float(number[0]):.4g}", text)


_FORMATS: dict[str, Callable[[Any], str]] = {
    "bytes": "{:,}".format,
    "observations": "{:,}".format,
    "vocabulary": "{:,} words".format,
    "unknown_words": "{:.1%}".format,
    "elbo": "{:,.2f}".format,
    "family": _rounded,
    "prior": _rounded,
    "engine": _rounded,
    "size": "{:,.1f}".format,
    "weight": "{:.4f}".format,
    "share": "{:.4f}".format,
    "recent_share": "{:.4f}".format,
    "born": "{:,}".format,
    "apart": "\n".join,
    "nearest": lambda near: ", ".join(str(one["id"]) for one in near),
}
# Columns of tables by name, with their titles; JSON has more.
_COLUMNS = {
    **{name: name for name in ("id", "topic", "name", "size", "weight", "share")},
    "recent_share": "lately",
    **{name: name for name in ("born", "seen", "first", "last", "nearest")},
    "words": "words that set it apart",
    "apart": "what sets it apart",
}
_TOPIC_FORMATS: dict[str, Callable[[Any], str]] = {
    "born": str,
    "size": "{:,}".format,
    "change": lambda change: f"{100 * change:+.1f} %",
    "words": lambda words: ", ".join(map(str, words[:BRIEF])),
    "apart": lambda words: ", ".join(map(str, words[:BRIEF])),
}
_TOPIC_COLUMNS = {
    **{name: name for name in ("topic", "weight", "first", "last", "born", "died", "change")},
    "words": "top words",
    "apart": "what sets it apart",
}


def _shown(name: str, value: Any, formats: Mapping[str, Callable[[Any], str]] = _FORMATS) -> str:
    return "" if value is None else formats.get(name, _text)(value)


def _show(described: Described) -> None:
    """Print the facts on a model, and a table of its clusters or topics."""
    console = output_console()
    kind = "topics" if "topics" in described else "clusters"
    clusters = described.pop(kind)
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in described.items():
        if value is not None:
            facts.add_row(f"[bold]{name}[/bold]", escape(_shown(name, value)))
    console.print(facts)
    if not clusters:
        return
    columns, formats = _COLUMNS, _FORMATS
    if kind == "topics":
        columns, formats = _TOPIC_COLUMNS, _FORMATS | _TOPIC_FORMATS
    table = Table(title=f"The largest {len(clusters)} {kind}", title_justify="left")
    some = [name for name in columns if any(each.get(name) is not None for each in clusters)]
    for name in some:
        text = name in ("words", "apart")
        table.add_column(columns[name], justify="left" if text else "right")
    for cluster in clusters:
        if kind == "clusters":
            cluster["apart"] = cluster.get("apart", [])[:SHOWN]
        table.add_row(*(escape(_shown(name, cluster.get(name), formats)) for name in some))
    console.print(table)
