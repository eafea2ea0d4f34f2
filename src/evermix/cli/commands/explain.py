"""``evermix explain``: why rows are in their clusters."""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from evermix.cli.input.model_rows import column_names, load_with_text, open_rows_of
from evermix.cli.input.rows import features
from evermix.cli.options.earlier import Earlier
from evermix.cli.options.settings import Settings
from evermix.cli.runs.going_on import shown_source
from evermix.estimators import Mixture
from evermix.estimators.mixture.explanation import Explanation, explained_words
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.sources.values import Columns
from evermix.io.text_counter import TextCounter

BATCH = 1000  # rows that are read at a time
SHOWN = 8  # words of a cluster


def run(settings: Settings) -> None:
    """Explain the first rows of the source, or those of some ids."""
    if settings.ids and "limit" in settings.given:
        raise ValueError("--id and --limit exclude each other: leave one of them out.")
    settings, mix, text, words = load_with_text(settings)
    names, wanted = column_names(mix, text), set(settings.ids or ())
    sought, left = set(wanted), settings.limit
    for chunk in _source(settings, mix, text).chunks(0, BATCH if wanted else left):
        ids = list(map(str, chunk.ids))
        some = [i for i, id in enumerate(ids) if id in wanted] if wanted else range(len(ids))[:left]
        if not some:
            continue
        for i in some:
            why = _explained(mix, text, chunk, i, settings.against, names)
            _show(chunk.ids[i], why, words, settings.as_json)
        sought -= {ids[i] for i in some}
        left -= len(some)
        if left <= 0 and not wanted:
            return
    if sought:
        raise SourceError(
            f"{', '.join(settings.sources)}: there is no row with the id "
            f"{' or '.join(sorted(sought))}. Ids are what `evermix predict` writes: those of "
            "--id-field, or the numbers of rows from 0 on."
        )


def _explained(
    mix: Mixture,
    text: TextCounter | None,
    chunk: Chunk,
    i: int,
    against: str | None,
    names: Sequence[str] | None,
) -> Explanation:
    """Return why a row of a chunk is in its cluster."""
    if isinstance(chunk.X, list):
        some = chunk.X[i : i + 1]
        if text is not None and not isinstance(text, EmbeddedTexts):
            return explained_words(mix, text.with_unknown(some), against, names)
        return mix.explain(features(mix.model_.family, text, some), against, names)
    X = chunk.X
    row = X.take(np.array([i])) if isinstance(X, Columns) else X[i : i + 1]
    return mix.explain(row, against, names)


def _source(settings: Settings, mix: Mixture, text: TextCounter | None) -> Source:
    """Open the rows; if there are none of the name, say which ones the model has learnt."""
    try:
        return open_rows_of(settings, mix, text)
    except SourceError as error:
        earlier = Earlier.of(Path(settings.model))
        learnt = None if earlier is None else earlier.settings.get("source")
        if isinstance(learnt, str) and not all(map(os.path.exists, settings.sources)):
            words = ["evermix", "explain", settings.model, shown_source(learnt)]
            raise SourceError(
                f"{error} Rows to explain come from a file: {shlex.join(words)}"
            ) from error
        raise


def _show(name: Any, why: Explanation, words: dict[int, list[str]], as_json: bool) -> None:
    """Write the explanation of one row, with words of texts of its clusters, if they are known."""
    known = {id: words[id][:SHOWN] for id in (why.cluster, why.other) if words.get(id)}
    if as_json:
        typer.echo(json.dumps({"id": name, **why.to_dict()} | ({"words": known} if known else {})))
        return
    typer.echo(f"{f'row {name}' if isinstance(name, int) else name}: {why!r}")
    for id, some in known.items():
        typer.echo(f"  words of cluster {id}: {', '.join(some)}")
    typer.echo()
