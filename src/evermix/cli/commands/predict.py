"""``evermix predict``: find the clusters or topics of new rows without learning them."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from typing import Any

import numpy as np

from evermix._words import counted
from evermix.cli.console import note, progress_bar
from evermix.cli.input.documents import model_times
from evermix.cli.input.model_rows import (
    about_model,
    check_rows,
    note_if_provisional,
    novelty_of,
    open_rows_of,
    read_as_learnt,
    text_of,
    usable,
)
from evermix.cli.input.rows import features, open_rows
from evermix.cli.input.texts import n_without_words, without_words
from evermix.cli.options.settings import Settings
from evermix.cli.output.answers import Beside
from evermix.cli.output.captions import captions
from evermix.cli.output.coarse import at_most, describe_coarse
from evermix.cli.output.lines import Lines, check_answers, open_answers, rounded, shown_densities
from evermix.cli.output.new_levels import NewLevels
from evermix.cli.output.output_files import check_files, check_new
from evermix.cli.output.topic_lines import document_lines, named_shares
from evermix.cli.output.topic_names import topic_names
from evermix.cli.runs.learnt_documents import read_learnt
from evermix.cli.runs.lost_words import lost_words
from evermix.engines import DPMeans
from evermix.estimators import Mixture, TopicModel
from evermix.estimators.files import load_any
from evermix.io.brokers import is_address
from evermix.io.checkpoint import CheckpointError
from evermix.io.similar_names import did_you_mean
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.sources.bad_rows import of_bad_row
from evermix.io.text import Vocabulary
from evermix.io.text_counter import TextCounter
from evermix.io.unknown_words import UnknownWords

COLUMNS = "id", "cluster", "probability", "log_density", "novelty", "name"  # of an answer
NEW = 0.5  # novelty above which a row looks new
OF_TOPICS = "id", "topics"
OF_COARSE = "coarse", "coarse_name"
_OF_ROW = re.compile(r": (?:line|row) [\d,]+: ")  # in errors on a bad row


@dataclass(frozen=True)
class _Answers:
    """How a model answers rows of a source: a line for each."""

    rows: Source
    lines: Callable[[Chunk], Iterator[dict[str, Any]]]
    n_found: int  # clusters or topics
    text: TextCounter | None
    columns: Sequence[str]  # of a line
    new: list[int] | None = None  # how many rows of each chunk look new, if that is known
    remarks: Callable[[], Iterable[str]] = tuple  # on all rows, once they are answered


def run(settings: Settings) -> None:
    """Write a line for every row of the source."""
    check_answers(settings.out)
    check_files(settings.sources, {"MODEL": settings.model}, settings.outputs)
    if not settings.overwrite:
        remedy = "Choose another place, or replace it with --overwrite."
        check_new(settings.outputs, remedy, partial(_check_there, settings.sources))
    settings.lock_outputs()
    model, extra = load_any(settings.model, settings.custom)
    if type(model) not in _ANSWERS:
        raise CheckpointError(
            f"{settings.model} holds a dependent mixture, not a mixture or topic model."
        )
    note_if_provisional(settings.model, extra)
    settings, text = read_as_learnt(settings, extra), usable(text_of(extra), settings)
    if text is not None:
        text.totals.total = text.totals.unknown = 0  # of these rows
    answers = _ANSWERS[type(model)](settings, model, extra, text)
    beside = Beside(settings, answers.columns)
    beside.check(answers.rows)
    opened = partial(open_answers, columns=beside.columns, fields=beside.kept)
    done = 0
    with (
        closing(Lines(settings.out, None, opened)) as lines,
        progress_bar("predicting", answers.rows.n_rows, settings.quiet) as progress,
    ):
        for chunk in _chunks(answers.rows, settings.batch):
            for line in beside.lines(answers.lines(chunk), chunk.fields):
                lines.write(line)
            lines.flush()
            done += len(chunk.ids)
            progress.update(chunk.offset, answers.n_found)
        lines.flush()  # empties an old file even if there were no rows
    if not settings.quiet:
        note(_summary(answers, done, settings.out))
        for remark in answers.remarks():
            note(remark)


def _check_there(sources: Sequence[str]) -> None:
    """Raise SourceError if one of the files is not there."""
    for name in sources:
        named = name == "-" or is_address(name) or has_magic(name)
        if not named and not os.path.exists(name):
            raise SourceError(f"{name}: there is no such file or folder.{did_you_mean(name)}")


def _chunks(rows: Source, size: int) -> Iterator[Chunk]:
    """Yield the rows of a source; an error on a bad one names the option that leaves it out."""
    try:
        yield from rows.chunks(0, size)
    except SourceError as error:
        if not _OF_ROW.search(str(error)):
            raise
        raise of_bad_row(error) from error


def _summary(answers: _Answers, done: int, out: str) -> str:
    """Return how many rows were predicted, where the answers are, and how many look new."""
    into = "" if out == "-" else f", written to {min(out, os.path.relpath(out), key=len)}"
    facts = f"{counted(done, 'row')} predicted{into}."
    if answers.new is not None:
        look = "looks" if sum(answers.new) == 1 else "look"
        facts += f" {sum(answers.new):,} {look} new: of no cluster, with novelty above {NEW}."
    text = answers.text
    if text is not None and text.words is not None:
        facts += f" {text.totals.share:.1%} of their words are unknown."
    return facts


def _mixture(settings: Settings, mix: Mixture, extra: Any, text: TextCounter | None) -> _Answers:
    family, ids, names = mix.model_.family, mix.cluster_ids_, captions(mix, text_of(extra))
    says_new = not isinstance(mix.learner_.engine, DPMeans)  # which gives new clusters no chance
    new: list[int] | None = [] if says_new else None
    coarse = _coarse(settings, mix, extra)
    levels, wordless = NewLevels(vars(mix).get("levels_", {})), list[int]()

    def lines(chunk: Chunk) -> Iterator[dict[str, Any]]:
        X = features(family, text, chunk.X)
        levels.take(X)
        wordless.append(n_without_words(text, X))
        proba = mix.predict_proba(X)
        log_densities = shown_densities(family, X, mix.score_samples(X))
        best, novelty = (
            proba.argmax(axis=1),
            None if new is None else novelty_of(mix, text, chunk, X),
        )
        if new is not None and novelty is not None:
            new.append(int(np.sum(novelty > NEW)))
        for i, name in enumerate(chunk.ids):
            line = {
                "id": name,
                "cluster": int(ids[best[i]]),
                "probability": rounded(proba[i, best[i]]),
                "log_density": log_densities[i],
            }
            if novelty is not None:
                line["novelty"] = rounded(novelty[i])
            if line["cluster"] in names:
                line["name"] = names[line["cluster"]]
            yield line | coarse.get(line["cluster"], {})

    rows = open_rows_of(settings, mix, text, **Beside.reading(settings))
    known = [name for name in COLUMNS if says_new or name != "novelty"]
    columns = [name for name in known if names or name != "name"]
    columns += [name for name in OF_COARSE if any(name in one for one in coarse.values())]

    def remarks() -> Iterator[str]:
        yield from levels.described()
        if n := sum(wordless):
            yield without_words(n)

    return _Answers(rows, lines, len(ids), text, columns, new, remarks)


def _topics(
    settings: Settings, model: TopicModel, extra: dict[str, Any], text: TextCounter | None
) -> _Answers:
    """Answer with the shares of topics; times are read as those of the fit were."""
    saved = extra.get("topics", {}).get("settings", {})
    timed = model._fitted.prior.timed
    field = settings.time_field or saved.get("time_field")
    if timed and field is None:
        raise ValueError(
            "the model is one over time, and wants to know the times of documents: name the field "
            "or column that holds them, such as --time-field year."
        )
    columns = None if text else model.n_features_in_
    reading = Beside.reading(settings)
    settings = settings.changed(time_field=field if timed else None)
    with about_model(settings, model, text):
        rows = open_rows(settings, columns, timed, **reading)
        check_rows(rows, model, text)
    n = None if settings.coarse is None else at_most(model, settings.coarse)
    parts = None if n is None else model.coarse(n)
    names, coarse_names = topic_names(model, extra, n, settings.out)

    unknown, counts = UnknownWords(), isinstance(text, Vocabulary)

    def lines(chunk: Chunk) -> Iterator[dict[str, Any]]:
        times = model_times(chunk.times, saved.get("period"), str(field)) if timed else None
        X = features("multinomial", text, chunk.X)
        shares, new = model.transform(X, times), None
        if isinstance(text, Vocabulary):
            new = unknown.add(text.unknown(chunk.X), np.asarray(X.sum(axis=1)).ravel())
        for d, line in enumerate(document_lines(chunk.ids, shares, names, new)):
            if parts is not None:
                sums = np.bincount(parts, shares[d], minlength=shares.shape[1])
                line["coarse"] = named_shares(sums, coarse_names)
            yield line

    def remarks() -> Iterator[str]:
        learnt = [run.sources for run in read_learnt(extra.get("topics", {}))]
        if learnt and not {*map(os.path.abspath, settings.sources)} <= {*learnt[0]}:
            every = [source for some in learnt for source in some]
            yield from lost_words(unknown, saved, [*every, *settings.sources], settings.model)

    said = [*OF_TOPICS, *["unknown_words"] * counts, *["coarse"] * (parts is not None)]
    return _Answers(rows, lines, model.n_topics_, text, said, remarks=remarks)


def _coarse(settings: Settings, mix: Mixture, extra: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return what lines say of the coarse cluster, by the id of the cluster; nothing by default."""
    if settings.coarse is None:
        return {}
    found = describe_coarse(mix, extra, settings.coarse)
    said = [
        {"coarse": one["id"]} | ({"coarse_name": one["name"]} if "name" in one else {})
        for one in found
    ]
    return {id: line for one, line in zip(found, said, strict=True) for id in one["clusters"]}


_ANSWERS: dict[type, Callable[..., _Answers]] = {Mixture: _mixture, TopicModel: _topics}
