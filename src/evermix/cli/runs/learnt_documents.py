"""Which documents a topic model has learnt, so that none are learnt twice."""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from evermix._schema import check_number
from evermix.cli.console import note
from evermix.cli.input.documents import Documents
from evermix.estimators import TopicModel
from evermix.estimators.data.fingerprint import RowHash
from evermix.estimators.data.times import Times, shown_label
from evermix.estimators.topics.card import OverTime

PIPE = ["-"]  # standard input, which may hold other documents each time


class Learnt(NamedTuple):
    """The documents of one run: their files, how many, and a digest by which they are known."""

    sources: list[str]
    documents: int
    digest: str

    @classmethod
    def of(cls, sources: Sequence[str], documents: Documents) -> Self:
        """Return what is to be noted of documents."""
        digest, times = RowHash(), documents.times
        digest.update(documents.X)
        beside = json.dumps(None if times is None else times.tolist()).encode()
        return cls(list(sources), len(documents), digest.result(np.frombuffer(beside, np.uint8)))

    @property
    def named(self) -> str:
        """The files, as messages name them."""
        return ", ".join(os.path.basename(source) for source in self.sources)


def read_learnt(notes: Any) -> list[Learnt]:
    """Return what the notes of a checkpoint say; nothing if it is an older one."""
    return [Learnt(*entry) for entry in notes.get("learnt", [])]


def check_learnt(notes: Any) -> None:
    """Raise TypeError or ValueError unless notes on documents are such as :class:`Learnt`."""
    for sources, documents, digest in read_learnt(notes):
        check_number("documents", documents)
        if not all(isinstance(text, str) for text in (digest, *sources)):
            raise TypeError(f"files and digests must be strings, got {sources!r:.80}")


def with_these(before: Sequence[Learnt], now: Learnt, gone_on: bool) -> list[Learnt]:
    """Return the documents of all runs, those of this one last.

    They may be those of the last run, wherever their files are now.

    ValueError: they were learnt before others; or, of a model that has ``gone_on`` and keeps no
    documents, their file has changed since they were learnt.
    """
    if before and now.digest == before[-1].digest:
        return [*before[:-1], now]
    if before and now.sources == before[-1].sources != PIPE:
        if gone_on:
            raise _changed(now, before[-1])
        return list(before)  # the model compares them itself
    for earlier in before:
        if now.digest == earlier.digest or {*now.sources} & {*earlier.sources} - {*PIPE}:
            raise ValueError(
                f"{now.named}: the documents of {earlier.named} were learnt before "
                f"({earlier.documents:,} of them), and would count twice. Name a file of new "
                "documents, or start again with --overwrite and all files."
            )
    return [*before, now]


def _changed(now: Learnt, last: Learnt) -> ValueError:
    return ValueError(
        f"{now.named} has changed since its documents were learnt: there were {last.documents:,}, "
        f"now there are {now.documents:,}. Put the old file back, and give new documents in a file "
        "of their own; or start again with --overwrite and all files."
    )


def note_known_times(model: TopicModel, times: Any) -> None:
    """Say which times have documents already, beside which more are learnt now."""
    before = OverTime.of(model)
    known = dict(zip(before.times, before.documents or [], strict=False))
    new = [shown_label(time) for time in Times.read(times, len(times))[0].values]
    both = [f"{time} ({known[time]:,} documents so far)" for time in new if known.get(time)]
    if both:
        note(f"learnt beside documents that are known of the same time: {', '.join(both)}.")
