"""How a stream begins: with its first rows, or with a model that has learnt others."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from evermix.cli.console import note
from evermix.cli.input.model_rows import (
    check_texts_learnt,
    open_rows_of,
    read_as_learnt,
    text_of,
)
from evermix.cli.input.rows import open_rows
from evermix.cli.input.texts import embedded_texts, say_what_is_read, with_function
from evermix.cli.input.times import check_times
from evermix.cli.options.mixture import make_mixture, parts
from evermix.cli.options.settings import Settings
from evermix.cli.output.answers import Beside
from evermix.cli.runs.warm_up import first_chunks, first_counter
from evermix.estimators import Mixture
from evermix.estimators.files import load_with_extra
from evermix.estimators.mixture.going_on import as_stream
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.sources import Chunk, Source
from evermix.io.sources.several import joined
from evermix.io.text import Vocabulary
from evermix.io.text_counter import TextCounter

FIRST_ROWS = 1000  # in a first batch of numbers, from which a mixture takes their scale
DECIDED = "max_clusters", "seed", "half_life", "vocabulary", "warmup", "hash", "stop_words"
"""Options that a model has decided, beside those on its family, prior and engine."""


class Beginning(NamedTuple):
    """What a stream begins with; ``text`` is None until the first texts have come."""

    settings: Settings
    source: Source
    model: Mixture
    text: TextCounter | None
    chunks: Iterator[Chunk]


def source_of(settings: Settings) -> Source:
    """Open the rows of a stream that begins."""
    if settings.model is not None:
        return _of_model(settings).source
    return open_rows(settings, None, **reading(settings))


def begun(settings: Settings) -> Beginning:
    """Open the source, and return with what a stream of it begins."""
    if settings.model is not None:
        return _of_model(settings)
    source = source_of(settings)
    mix = make_mixture(settings, source.kind, streaming=True, columns=source.columns)
    check_times(source, mix.forgetting)
    chunks = source.chunks(0, settings.batch, settings.limit)
    text: TextCounter | None = embedded_texts(settings, source)
    words = source.kind == "text" and text is None
    if source.live:  # rows are answered before there are enough to begin with
        if words and settings.hash is not None:
            text = first_counter(settings, mix, [])
        return Beginning(settings, source, mix, text, chunks)
    few = 0 if settings.hash else settings.warmup
    head = first_chunks(chunks, few if words else FIRST_ROWS)
    if source.kind == "text":
        say_what_is_read(settings, source, (text for some in head for text in some.X))
    if words:
        text = first_counter(settings, mix, head)
    else:
        head = [joined(head)] if head else []
    return Beginning(settings, source, mix, text, chain(head, chunks))


def _of_model(settings: Settings) -> Beginning:
    """Return with what a stream begins that goes on with the model of ``--model``."""
    known = parts(settings.custom, streaming=True)
    own = (option.name for part in known for option in part.options.values())
    decided = {"family", "prior", "engine", *own, *DECIDED} & set(settings.given)
    if decided:
        flags = [option.flag for option in settings.options if option.name in decided]
        raise ValueError(
            f"{', '.join(flags)}: the model {settings.model} has decided that. Leave it out, or "
            "begin without --model."
        )
    mix, extra = load_with_extra(settings.model, settings.custom)
    check_texts_learnt(settings.model, extra, "what it has learnt from them")
    as_stream(mix)
    settings = read_as_learnt(settings, extra, timed=True)
    if hasattr(mix, "levels_"):
        settings = settings.changed(kind="table")
    text: TextCounter | None = with_function(text_of(extra), settings)
    if text is not None:
        text.totals.total = text.totals.unknown = 0  # of the rows of the stream
    beside = isinstance(text, EmbeddedTexts) and text.name is None  # vectors come with texts
    source = open_rows_of(settings, mix, None if beside else text, **reading(settings))
    if beside and not source.beside:
        text = None
    check_times(source, mix.forgetting)
    if isinstance(text, Vocabulary) and not settings.quiet:
        note(f"texts are counted by the words of {settings.model}: new words tell nothing.")
    chunks = source.chunks(0, settings.batch, settings.limit)
    if mix.learner_.waiting and not source.live:
        head = first_chunks(chunks, FIRST_ROWS)
        chunks = chain([joined(head)] if head else [], chunks)
    return Beginning(settings, source, mix, text, chunks)


def reading(settings: Settings) -> dict[str, Any]:
    """Return how a stream reads its source."""
    return {
        "marked": settings.checkpoint is not None,
        "complete": settings.complete,
        "max_wait": settings.max_wait,
        "follow": settings.follow,
        "drain": settings.drain,
        "broker_config": settings.broker_config,
        "dead_letters": settings.dead_letter is not None,
        **Beside.reading(settings),
    }
