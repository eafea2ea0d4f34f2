"""``evermix report``: a model as one HTML file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from evermix._words import counted
from evermix.cli.console import note
from evermix.cli.input.model_rows import (
    PROVISIONAL,
    AllRows,
    all_rows,
    column_names,
    read_as_learnt,
    saved_words,
    text_of,
    texts_wait,
    words_of_texts,
)
from evermix.cli.options.settings import Settings
from evermix.cli.output.output_files import check_files, check_new, check_suffix
from evermix.cli.runs.going_on import saved_command
from evermix.estimators import DependentMixture, Mixture, TopicModel
from evermix.estimators.chain_reports import dependent_report
from evermix.estimators.files import load_any
from evermix.estimators.mixture.report import mixture_report
from evermix.estimators.plain_words import topics_in_words
from evermix.estimators.topics.card import document_name
from evermix.estimators.topics.report import topic_report
from evermix.io.trace import read_trace
from evermix.report.page import Report

_TRACED = {"clock", "K", "rows", "log_predictive", "lap", "births", "merges", "scalars"}


def run(settings: Settings) -> None:
    """Write the report on a model."""
    named = settings.out is not None
    check_suffix("--out", settings.out, [".html", ".htm"])
    settings = settings.changed(out=settings.out or str(Path(settings.model).with_suffix(".html")))
    check_files(settings.sources, {"MODEL": settings.model, **settings.inputs}, settings.outputs)
    if not settings.overwrite:
        what, other = ("--out", "place") if named else ("the report", "name with --out NAME")
        remedy = f"Choose another {other}, or replace it with --overwrite."
        check_new({what: settings.out}, remedy)
    model, extra = load_any(settings.model, settings.custom)
    if not isinstance(model, Mixture) and (settings.sources or settings.trace):
        raise ValueError(
            "--rows and --trace are for mixtures; models over time keep all that a report shows. "
            "Leave them out."
        )
    report = _REPORTS[type(model)](model, extra, settings)
    if settings.out == "-":
        typer.echo(report.to_page(), nl=False)
        return
    settings.locks.add(settings.out, replaced=True)
    report.write(settings.out)
    more = ""
    if isinstance(model, Mixture) and not any("examples" in item for item in report.items):
        more = " With --rows FILE it shows typical rows too."
    shown = counted(len(report.items), report.noun)
    if isinstance(model, TopicModel):
        shown = topics_in_words(model.weights_)
    note(f"{settings.out} shows {shown}.{more}")


def _mixture(mix: Mixture, extra: dict[str, Any], settings: Settings) -> Report:
    text = text_of(extra)
    names, words = column_names(mix, text), words_of_texts(mix, text)
    rows = AllRows(None, None, None)
    if settings.sources:
        rows = all_rows(read_as_learnt(settings, extra), mix, text)
    events = None if settings.trace is None else list(read_trace(settings.trace))
    if events and not all(isinstance(event, dict) and event.keys() >= _TRACED for event in events):
        raise ValueError(
            f"{settings.trace} is not a trace of a mixture. Give the file that evermix stream or "
            "fit wrote with --trace."
        )
    title = settings.title or ""
    beside: dict[str, Any] = {"ids": rows.ids, "texts": rows.texts}
    beside["missing"] = (extra.get("fit") or {}).get("missing")
    report = mixture_report(mix, rows.X, names, title, words=words, events=events, **beside)
    if texts_wait(extra):
        report.facts["provisional"] = PROVISIONAL
    return report


def _topics(model: TopicModel, extra: dict[str, Any], settings: Settings) -> Report:
    typical = extra.get("topics", {}).get("typical", [])
    names = {row: document_name(id, title) for row, id, title in typical}
    command = saved_command("topics", extra, settings.model)
    words, title = saved_words(model, extra), settings.title or ""
    return topic_report(model, words, title, documents=names, command=command)


def _dependent(mix: DependentMixture, extra: dict[str, Any], settings: Settings) -> Report:
    return dependent_report(mix, None, settings.title or "", None)


_REPORTS: dict[type, Callable[[Any, dict[str, Any], Settings], Report]] = {
    Mixture: _mixture,
    TopicModel: _topics,
    DependentMixture: _dependent,
}
