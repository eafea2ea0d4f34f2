"""The documents of a source, and their times."""

import math
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from textwrap import shorten
from typing import Any

import numpy as np
from scipy import sparse

from evermix._xp import Array
from evermix.cli.console import note
from evermix.cli.input.rows import features, make_text_counter, read_rows
from evermix.cli.input.texts import LOOKED_AT, say_what_is_read
from evermix.cli.options.settings import Settings
from evermix.estimators.data.periods import fitting_period, in_periods
from evermix.io.sources import Chunk, Mark, Source, SourceError
from evermix.io.text import Vocabulary
from evermix.io.text_counter import TextCounter, WordTotals
from evermix.io.unknown_words import UnknownWords, unknown_shares

_HELD_OUT = 0x746F7069  # seeds the choice of held-out documents apart from the sampler
TITLE, LONGEST = "title", 80  # the field with titles, and letters of them that are kept
MANY_TIMES = 50  # from which on there is a warning if most documents have a time of their own


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of words with times.

    Attributes
    ----------
    X : CSR matrix (D, V)
        Documents without words are left out.
    kind : str
        "text", "counts" or "vectors", as the source has them.
    times : array (D,) or None
        Numbers, labels, or periods such as "2007" or "2007-05"; None if the source gives none.
    dated : bool
        Whether times are periods, made of dates.
    words : list of str or None
        Names of the columns, where they have some.
    text : TextCounter or None
        How the words of texts were counted.
    ids : list
        What the source calls them.
    empty, skipped : int
        Documents without known words, and blank or bad rows.
    complaints : list of str
        What was wrong with the first few bad rows.
    offset : int
        Rows that were read, bad ones included.
    marks : list of Mark
        What was read of each file, where that is wanted.
    titles : sequence of str (D,)
        What their fields "title" hold, or their first words; "" where there are neither.
    period : str or None
        What dates were turned into, where it was given or chosen.
    unknown : float
        Share of the words of texts that are not counted, since the vocabulary lacks them.
    unknown_shares : array (D,) or None
        The same of each document; None without a vocabulary.
    unknown_words : UnknownWords
        Those words, also of documents that have no others; none of the first documents.
    """

    X: Array
    kind: str
    times: Array | None
    dated: bool
    words: list[str] | None
    text: TextCounter | None
    ids: list[Any]
    empty: int
    skipped: int
    complaints: list[str]
    offset: int = 0
    marks: Sequence[Mark] = ()
    titles: Sequence[str] = ()
    period: str | None = None
    unknown: float = 0.0
    unknown_shares: Array | None = None
    unknown_words: UnknownWords = field(default_factory=UnknownWords)

    def __len__(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows of documents to learn, and of those that are held out."""

    learnt: Array
    held: Array


def read_documents(
    source: Source,
    settings: Settings,
    text: TextCounter | None,
    quiet: bool,
    until: int | None = None,
    first: bool = False,
) -> Documents:
    """Read a source; ``text`` counts words, or None to learn a vocabulary.

    With ``until``, only that many rows, bad ones included. The ``first`` documents of a model
    decide what dates are turned into, unless that is given.
    """
    if source.kind == "table":
        raise _no_texts(source, settings)
    rows = read_rows(source, quiet, map_arrays=False, most=math.inf)
    (chunk,) = rows.chunks()
    chunk = chunk if until is None else _first(chunk, until)
    if source.kind == "text" and first:
        say_what_is_read(settings, source, rows.texts(), also=[TITLE])
    if source.kind == "text" and text is None:
        text = make_text_counter(settings, rows.texts(), "a lower --min-df, or --hash")
    if first and settings.period is None and chunk.times is not None and source.dated:
        settings = settings.changed(period=fitting_period(chunk.times))
        if settings.period != "year" and not quiet:
            note(f"dates are turned into {settings.period}s (--period), since there are few years.")
    found = documents_of(chunk, source, settings, text, first)
    if not len(found):
        raise ValueError("no document has any words that are counted, so there are no topics.")
    if found.times is not None and not quiet:
        _warn_of_many(found.times)
    marks = source.marks(chunk.offset, chunk.read) if until is None and settings.follow else ()
    return replace(found, skipped=rows.skipped, complaints=rows.complaints, marks=marks)


def _no_texts(source: Source, settings: Settings) -> ValueError:
    """Return what is wrong with a table, which holds neither texts nor counts of words."""
    lengths = dict[str, float]()
    with suppress(SourceError):  # of a row that a table could not have
        for name, cells in next(source.chunks(0, LOOKED_AT)).X.items():
            words = [len(cell.split()) for cell in cells if isinstance(cell, str)]
            lengths[name] = float(np.mean(words)) if words else 0.0
    texts = sorted((name for name in lengths if lengths[name] > 1), key=lambda n: -lengths[n])
    likely = f" Texts are in {', '.join(map(repr, texts))}." if len(texts) > 1 else ""
    likely += f" Did you mean --text-field {shlex.quote(texts[0])}?" if texts else ""
    return ValueError(
        f"topics are found in texts or in counts of words, and {', '.join(settings.sources)} is a "
        f"table with the columns {', '.join(map(repr, source.header or source.columns or []))}. "
        f"Name the column that holds texts with --text-field.{likely}"
    )


def documents_of(
    chunk: Chunk,
    source: Source,
    settings: Settings,
    text: TextCounter | None,
    first: bool = False,
) -> Documents:
    """Return the documents of a chunk; perhaps none has a known word.

    Unknown words of the ``first`` documents of a model, which are just rare, are not kept.
    """
    before = WordTotals() if text is None else replace(text.totals)
    X = sparse.csr_matrix(features("multinomial", text, chunk.X))
    after = before if text is None else text.totals
    these = WordTotals(after.total - before.total, after.unknown - before.unknown)
    known, unknown, shares = np.asarray(X.sum(axis=1)).ravel(), UnknownWords(), None
    if isinstance(text, Vocabulary):
        take = unknown_shares if first else unknown.add
        shares = take(text.unknown(chunk.X), known)
    full = np.flatnonzero(known != 0)
    times = (
        None
        if chunk.times is None
        else model_times(chunk.times[full], settings.period, settings.time_field)
    )
    return Documents(
        X[full],
        source.kind,
        times,
        bool(source.dated),
        source.columns if text is None else text.words,
        text,
        [chunk.ids[d] for d in full.tolist()],
        empty=len(chunk.ids) - len(full),
        skipped=0,
        complaints=[],
        offset=chunk.offset,
        titles=[_title(chunk, d) for d in full.tolist()],
        period=settings.period,
        unknown=these.share,
        unknown_shares=None if shares is None else shares[full],
        unknown_words=unknown,
    )


def _title(chunk: Chunk, d: int) -> str:
    """Return the title of a document, or else its first words."""
    given = None if chunk.fields is None else chunk.fields[d].get(TITLE)
    texts = chunk.X if isinstance(chunk.X, list) else chunk.texts
    text = given if given is not None else "" if texts is None else texts[d]
    return shorten(str(text)[: 4 * LONGEST], LONGEST, placeholder=" …")


def no_documents(text: TextCounter | None, kind: str, n_words: int) -> Documents:
    """Return no documents, where those that were learnt are not at hand."""
    X = sparse.csr_matrix(np.empty((0, n_words)))
    return Documents(X, kind, None, False, None, text, [], empty=0, skipped=0, complaints=[])


def _first(chunk: Chunk, until: int) -> Chunk:
    """Return the rows of a chunk before one."""
    n = int(np.searchsorted(chunk.rows, until))
    times = None if chunk.times is None else chunk.times[:n]
    fields = None if chunk.fields is None else chunk.fields[:n]
    rows = chunk.ids[:n], chunk.X[:n], chunk.first, until, chunk.rows[:n], times
    return Chunk(*rows, fields=fields)


def split(documents: Documents, share: float, seed: int, some: bool = True) -> Parts:
    """Choose a share of the documents of each time at random; every time keeps some to learn.

    ValueError: there are too few to hold out ``some``.
    """
    D = len(documents)
    times = np.zeros(D) if documents.times is None else documents.times
    codes = np.unique(times, return_inverse=True)[1]
    order = np.random.default_rng((_HELD_OUT, seed)).permutation(D)
    held = np.zeros(D, dtype=bool)
    for code in range(int(codes.max(initial=-1)) + 1):
        of_time = order[codes[order] == code]
        held[of_time[: int(share * len(of_time))]] = True
    if share and D and some and not held.any():
        raise ValueError(
            f"--held-out {share:g} leaves no document to hold out: no time has {1 / share:.3g} or "
            "more. Hold out more, or join times with --period."
        )
    return Parts(np.flatnonzero(~held), np.flatnonzero(held))


def model_times(times: Array, period: str | None, field: str) -> Array:
    """Return the times of a model: periods for dates; numbers and labels as they are."""
    if times.dtype.kind == "M":
        return in_periods(times, period or "year")
    if period is not None:
        found = "labels" if times.dtype.kind == "U" else "numbers"
        raise ValueError(
            f"--period {period} turns dates into times, but {field!r} holds "
            f"{found}, which are times as they are. Leave it out."
        )
    return times


def _warn_of_many(times: Array) -> None:
    """Warn if few documents share a time."""
    T, D = len(np.unique(times)), len(times)
    if T > MANY_TIMES and 2 * T > D:
        note(
            f"warning: {D:,} documents have {T:,} different times, so that few share one. Give "
            "dates with --period, or coarser numbers or labels."
        )
