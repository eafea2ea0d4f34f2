"""The texts of a stream: counted in columns that follow it."""

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from evermix._words import counted
from evermix.cli.console import note
from evermix.cli.input.rows import make_text_counter
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.estimators.data.tables import quoted
from evermix.families import Multinomial
from evermix.families.growing import room
from evermix.io.embedded_texts import EmbeddedTexts, imported_function
from evermix.io.growing_vocabulary import HALF_LIVES, GrowingVocabulary
from evermix.io.similar_names import same_but_case
from evermix.io.sources import Chunk, Source
from evermix.io.text import Vocabulary
from evermix.io.text_counter import TextCounter

LOOKED_AT = 1000  # texts whose words are counted for a warning
UNCOUNTED = 0.1  # share of words that a fit leaves out, from which on it is said


def stream_counter(
    settings: Settings, mix: Mixture, texts: Iterable[str], remedy: str
) -> TextCounter:
    """Return how a stream that begins with these texts is counted.   Consumes: mix.

    The vocabulary grows where the family can follow it.
    """
    counter = make_text_counter(settings, texts, remedy)
    if not isinstance(counter, Vocabulary) or not isinstance(mix.family, Multinomial):
        return counter
    columns = room(counter.n_features)
    mix.set_params(family=replace(mix.family, growing=True, n_features=columns))
    plan = mix.forgetting
    horizon = None if plan is None else HALF_LIVES * plan.half_life
    return GrowingVocabulary(
        counter.words, settings.vocabulary, horizon=horizon, stop_words=counter.stop_words
    )


def say_what_is_read(
    settings: Settings, source: Source, texts: Iterable[str], also: Collection[str] = ()
) -> None:
    """Say of texts, which are one column of a table, which other columns are ignored.

    Warns if the texts have hardly more than a word each. ``also`` are columns that are read too.
    """
    columns = source.header or ()
    name = same_but_case(settings.text_field, columns)
    named = [settings.id_field, settings.time_field or "", *also, *(settings.ignore or ())]
    read = {name, *(same_but_case(each, columns) for each in named)}
    others = [column for column in columns if column not in read]
    lengths = [len(text.split()) for text in islice(texts, LOOKED_AT)]
    words = lengths and settings.values.get("embed") is None
    if words and len(columns) > 1 and np.median(lengths) <= 1:
        way = "Without --text-field" if name != "text" else "With --kind table"
        note(
            f"warning: only column {name!r} is read, whose texts are mostly of one word. {way}, "
            "all columns are clustered."
        )
    elif words and np.median(lengths) <= 1 and "text_field" in settings.given:
        note(
            f"warning: the texts in {name!r} are mostly of one word. If another field holds the "
            "texts, name that with --text-field."
        )
    elif others and not settings.quiet:
        verb = "column {} is" if len(others) == 1 else "columns {} are"
        note(f"texts are read from column {name!r}: {verb.format(quoted(others))} ignored.")


def embedded_texts(settings: Settings, source: Source) -> EmbeddedTexts | None:
    """Return how texts become vectors by ``--embed``, or come with some; None if neither is so."""
    if settings.embed is not None:
        if source.kind != "text":
            raise ValueError(
                f"--embed turns texts into vectors, and the source holds {source.kind}. Leave it "
                "out, or name the field of the texts with --text-field."
            )
        return with_function(EmbeddedTexts(settings.embed), settings)
    return EmbeddedTexts(None) if source.beside else None


def with_function(text: TextCounter | None, settings: Settings) -> Any:
    """Return how texts are counted, with the embedding that the command line names.

    Consumes: text.
    """
    if isinstance(text, EmbeddedTexts) and text.name is not None:
        if settings.values.get("embed") != text.name:
            raise ValueError(
                f"the model was made with the embedding {text.name}. A file is no order to run "
                f"code: if it is yours, add --embed {text.name}"
            )
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        text.embed = imported_function(text.name)
    return text


def waiting_rows(mix: Mixture) -> list[Any]:
    """Return the rows that wait for a model to be resolved."""
    return [batch.X for batch in mix.learner_.waiting] if mix.__sklearn_is_fitted__() else []


def count_words(counter: TextCounter | None, mix: Mixture, chunk: Chunk, rows: list[Any]) -> None:
    """Count the words of a chunk that was learnt, if it was learnt by vectors.

    ``rows`` are those that have waited, and those of the chunk. While rows wait, ids of clusters
    are provisional, and their texts wait too.   Consumes: counter.
    """
    if not isinstance(counter, EmbeddedTexts):
        return
    texts = chunk.X if chunk.texts is None else chunk.texts
    waited, counter.waiting = counter.waiting, [*counter.waiting, *texts]
    if not mix.learner_.waiting:
        labels = mix.predict(np.vstack(rows)) if waited else mix.labels_
        counter.learnt(counter.waiting, labels.tolist())
        counter.waiting = []


def counted_parts(
    counter: TextCounter | None, chunk: Chunk, timed: bool
) -> Iterator[tuple[list[int], Chunk]]:
    """Yield a chunk with texts counted, cut where columns are freed, and these columns.

    ``timed``: words are forgotten by the times of rows.
    """
    if counter is None or not isinstance(chunk.X, list):
        yield [], chunk
        return
    n, crowded = len(chunk.X), isinstance(counter, GrowingVocabulary) and counter.crowded
    times = in_seconds(chunk.times) if timed else None
    for some, X, freed in counter.stream(chunk.X, times):
        offset = chunk.offset if some.stop == n else int(chunk.rows[some.stop - 1]) + 1
        yield (
            freed,
            chunk._replace(
                ids=chunk.ids[some],
                X=X,
                offset=offset,
                rows=chunk.rows[some],
                times=None if chunk.times is None else chunk.times[some],
                texts=chunk.X[some],
                offsets=None if chunk.offsets is None else chunk.offsets[some],
                fields=None if chunk.fields is None else chunk.fields[some],
            ),
        )
    if isinstance(counter, GrowingVocabulary) and counter.crowded and not crowded:
        note(
            f"the vocabulary is full: {counter.max_words:,} words have a column, and new ones now "
            "take the columns of those that were not seen for longest. Allow for more with "
            "--vocabulary, or count all with --hash."
        )


def shown_words(counter: TextCounter) -> str:
    """Return how many columns texts are counted in, and what share of their words is in none."""
    if isinstance(counter, EmbeddedTexts):
        return f"vectors of {counter.n_features:,} numbers" if counter.name else "words of texts"
    columns = sum(map(bool, counter.words)) if counter.words else counter.n_features
    unknown = f"{100 * counter.totals.share:.1f} % of those met unknown"
    return f"{counted(columns, 'word')} known, {unknown}"


def uncounted_words(counter: TextCounter | None, X: Any, most: int | None) -> str | None:
    """Return what share of the words a fit leaves out, and how many rows have no others.

    ``X`` are the rows, which are not looked at if they are not in memory; ``most`` is the largest
    number of words that may be counted. None if there is little to say.
    """
    if counter is None or isinstance(counter, EmbeddedTexts):
        return None
    share, said = counter.totals.share, []
    held = isinstance(X, np.ndarray) or sparse.issparse(X)
    empty = n_without_words(counter, X) if held else 0
    if share > UNCOUNTED or (empty and share >= 0.005):
        full = most is not None and counter.n_features >= most
        rare = f" or are not among the {most:,} most frequent ones" if full else ""
        said.append(f"{100 * share:.0f} % of the words are not counted: they occur only once{rare}")
    if empty:
        said.append(without_words(empty))
    return "; ".join(said) or None


def n_without_words(counter: TextCounter | None, X: Any) -> int:
    """Return how many rows X, if they are texts whose words are counted, have none of these."""
    if counter is None or isinstance(counter, EmbeddedTexts):
        return 0
    return int(np.sum(np.asarray(X.sum(axis=1)) == 0))


def without_words(n: int) -> str:
    """Return what the clusters of so many texts without a word that is counted are worth."""
    they = "has no counted word: its cluster means"
    they = they if n == 1 else "have no counted word: their clusters mean"
    return f"{counted(n, 'row')} {they} nothing"


def in_seconds(times: Any) -> Any:
    """Return times (N,) as numbers; dates are seconds since 1970."""
    if times is not None and times.dtype.kind == "M":
        return (times - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return times
