"""``evermix info``: what a model file holds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from evermix.cli.console import output_console
from evermix.cli.input.model_rows import saved_words, text_of, texts_wait
from evermix.cli.options.settings import Settings
from evermix.cli.options.topics_table import SHARE
from evermix.cli.output.cards import cards_table, describe_clusters, fading, growing, shown_value
from evermix.cli.output.coarse import coarse_table, describe_coarse, proposed
from evermix.cli.output.plain_facts import BETTER, plain_facts
from evermix.cli.output.since import began_since
from evermix.cli.output.topic_report import describe_topics
from evermix.cli.runs.going_on import saved_command
from evermix.cli.runs.learnt_documents import read_learnt
from evermix.estimators import DependentMixture, Mixture, TopicModel
from evermix.estimators.columns_in_words import (
    column_groups,
    groups_in_words,
    missing_in_words,
)
from evermix.estimators.data.times import shown_label
from evermix.estimators.files import load_any
from evermix.estimators.mixture.calendar import shown_time
from evermix.estimators.mixture.fit_results import met_once, rows_learnt
from evermix.estimators.mixture.held import n_held, n_single
from evermix.estimators.mixture.naming import own_names, shown_when
from evermix.estimators.plain_words import forgetting_in_words, rows_in_words, topics_in_words
from evermix.estimators.topics.card import TopicCards
from evermix.estimators.topics.report import course_of
from evermix.io.growing_vocabulary import GrowingVocabulary
from evermix.state import FADED

SHOWN = 20  # clusters or topics in a table
WORDS = 8  # per topic
AMONG = 100  # the largest clusters, among which those are looked for that grow

Extra = dict[str, Any]
Described = dict[str, Any]


def run(settings: Settings) -> None:
    """Show what a model file holds."""
    path = Path(settings.model)
    found, extra = load_any(path, settings.custom)
    described: Described = {"file": str(path), "bytes": path.stat().st_size}
    top = SHOWN if settings.top is None and not settings.as_json else settings.top
    top = None if settings.everything else top
    if settings.since is None:
        described |= _DESCRIBE[type(found)](found, extra, top, path)
    elif settings.coarse is not None:
        raise ValueError("--since and --coarse exclude each other: leave one out.")
    else:
        described |= _DESCRIBE[type(found)](found, extra, None, path)
        described["since"], new = began_since(found, described.get("clusters", []), settings.since)
        described["clusters"] = new[:top]
    if settings.coarse is not None:
        described["coarse"] = describe_coarse(found, extra, settings.coarse)
    if settings.as_json:
        typer.echo(json.dumps(described, indent=2))
    else:
        fewer = None if settings.coarse else proposed(found)
        if isinstance(found, TopicModel):
            described["in_words"] = topics_in_words(found.weights_)
        _show(described, settings.everything, fewer, saved_command("fit", extra, path))


# ---- mixtures --------------------------------------------------------------------------------


def _mixture(mix: Mixture, extra: Extra, top: int | None, path: Path) -> Described:
    del path
    engine, state = mix.learner_.engine, mix.state_
    plan = mix.model_.forgetting
    saved = (extra.get("stream") or extra.get("fit") or {}).get("settings", {})
    described: Described = {
        "kind": "mixture",
        "source": saved.get("source"),
        "data": rows_in_words(mix.model_.family, mix.n_features_in_),
        "family": repr(mix.model_.family),
        "chosen_since": vars(mix).get("family_reason_"),
        "prior": repr(mix.model_.prior),
        "engine": repr(engine),
    }
    if plan is not None and state.now is not None:
        described["forgetting"] = repr(plan)
        described["forgets"] = forgetting_in_words(plan, bool(mix.learner_.timed))
        described["faded"] = mix.lineage_.into.count(FADED)
        described["now"] = shown_time(state.now, plan.dated)
    times = mix.learner_.shown.calendar.ends
    if times is not None:
        described["times"] = " to ".join(t if isinstance(t, str) else shown_when(t) for t in times)
    if not met_once(engine, state):
        described |= engine.progress(state)
    family, notes = mix.model_.family, extra.get("fit") or {}
    rows, names = rows_learnt(mix.learner_.shown), own_names(mix) if not extra.get("text") else None
    clusters = describe_clusters(mix, text_of(extra), None if top is None else max(top, AMONG))
    return described | {
        "features": mix.n_features_in_,
        "embedding": (extra.get("text") or {}).get("name"),
        **_vocabulary(extra),
        "observations": rows,
        "provisional": texts_wait(extra) or None,
        "missing": missing_in_words(notes.get("missing", {}), family, rows),
        "columns": column_groups(family, names) or None,
        "K": n_held(mix),
        "single": n_single(mix) or None,
        "hidden": mix.n_clusters_ - n_held(mix) or None,
        "growing": growing(clusters) or None,
        "fading": fading(clusters) or None,
        "clusters": clusters[:top],
    }


def _vocabulary(extra: Extra) -> Described:
    """Return how many words a vocabulary that grows has, and the share of words in no column."""
    counter = text_of(extra)
    if not isinstance(counter, GrowingVocabulary):
        return {}
    known = sum(map(bool, counter.words))
    return {"vocabulary": known, "unknown_words": counter.totals.share}


def _dependent_mixture(
    mix: DependentMixture, extra: Extra, top: int | None, path: Path
) -> Described:
    del extra, path
    times = [shown_label(time) for time in mix.times_.tolist()]
    drawn = mix._fitted.run.n_draws > 0  # a chain in its burn-in has no clusters to show
    return {
        "kind": "dependent mixture",
        "source": None,
        "data": rows_in_words(mix.family_, mix.n_features_in_),
        "family": repr(mix.family_),
        "prior": "MNGG()" if mix.prior is None else repr(mix.prior),
        "sampler": repr(mix.sampler_),
        "sweeps": mix.n_sweeps_,
        "burn_in": mix.burn_in,
        "draws": mix.draws,
        "features": mix.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}",
        "observations": int(mix._fitted.point().counts.sum()) if drawn else None,
        "K": mix.n_clusters_ if drawn else None,
        "clusters": _clusters_over_time(mix, times)[:top] if drawn else [],
    }


def _clusters_over_time(mix: DependentMixture, times: list[Any]) -> list[Described]:
    """Return the clusters, largest first, with the first and the last time of their rows."""
    size, evolution = mix._fitted.point().counts.sum(axis=0), mix.evolution_
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


def _topic_model(model: TopicModel, extra: Extra, top: int | None, path: Path) -> Described:
    notes = extra.get("topics", {})
    saved = notes.get("settings", {})
    names = saved_words(model, extra)
    times = [shown_label(time) for time in model.times_.tolist()]
    default = "HMNGG()" if times else "HDP()"
    learnt = read_learnt(notes)
    sources = dict.fromkeys(source for run in learnt for source in run.sources)
    writer = TopicCards(model, names, n=WORDS, share=saved.get("share", SHARE))
    topics = sorted(describe_topics(writer), key=lambda topic: -topic["weight"])
    judged = bool(model._fitted.run.n_draws and not model.gone_on_)
    rises = model.climbing_ if judged else np.empty(0)
    command = saved_command("topics", extra, path)
    return {
        "kind": "topic model",
        "source": list(sources) if len(sources) > 1 else saved.get("source"),
        "prior": default if model.prior is None else repr(model.prior),
        "sampler": repr(model.sampler_),
        "sweeps": model.n_sweeps_,
        "burn_in": model.burn_in,
        "draws": model.n_draws_ if model.gone_on_ else model.draws,
        "chains": model.chains,
        "log_joint": course_of(model, command) if judged else None,
        "converged": None if not judged or np.isnan(rises).any() else not rises.any(),
        "features": model.n_features_in_,
        "documents": sum(run.documents for run in learnt) or None,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}" if times else None,
        "K": model.n_topics_,
        "topics": topics[:top],
    }


_DESCRIBE: dict[type, Callable[[Any, Extra, int | None, Path], Described]] = {
    Mixture: _mixture,
    DependentMixture: _dependent_mixture,
    TopicModel: _topic_model,
}


def _show(described: Described, everything: bool, fewer: int | None, command: str | None) -> None:
    """Print a table of the clusters or topics of a model, and the facts on it, plain or all.

    ``fewer`` is how many coarse ones to propose, ``command`` what goes on with a fit, if any.
    """
    console = output_console()
    kind = "topics" if "topics" in described else "clusters"
    clusters, coarse = described.pop(kind), described.pop("coarse", None)
    in_words, since = described.pop("in_words", None), described.pop("since", None)
    since = None if since is None else shown_when(since)
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")  # long paths are not cut
    columns = groups_in_words(described.pop("columns", None) or {})
    called = {name: (name, value) for name, value in described.items()}
    plain = plain_facts(described, kind, command)
    if in_words is not None:
        plain["K"] = kind, in_words
    for name, (title, value) in (called if everything else plain).items():
        if value is not None:
            better = BETTER if name == "elbo" and not everything else ""
            facts.add_row(f"[bold]{title}[/bold]", escape(shown_value(name, value) + better))
    for title, line in columns.items():
        facts.add_row(f"[bold]{title}[/bold]", escape(line))
    if coarse is not None:
        console.print(coarse_table(coarse, kind, described["K"]))
    elif clusters:
        console.print(cards_table(clusters, kind, described["K"], in_words, since))
    elif since is not None:
        console.print(f"No cluster began at {since} or later.")
    console.print(facts)
    if not everything:
        console.print(f"[dim]--all shows all {kind}, and the settings of the model.[/dim]")
    if fewer is not None:
        console.print(f"[dim]--coarse {fewer} shows the {kind} joined into {fewer}.[/dim]")
