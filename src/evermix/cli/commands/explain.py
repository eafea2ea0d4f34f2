"""``evermix explain``: why rows are in their clusters."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import typer

from evermix.cli.input.model_rows import column_names, load_with_text, open_rows_of
from evermix.cli.input.rows import features
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.io.sources.values import Columns


def run(settings: Settings) -> None:
    """Explain the first rows of the source."""
    settings, mix, text = load_with_text(settings)
    names, left = column_names(mix, text), settings.limit
    for chunk in open_rows_of(settings, mix, text).chunks(0, left):
        X = features(mix.model_.family, text, chunk.X)
        for i, name in enumerate(chunk.ids[:left]):
            row = X.take(np.array([i])) if isinstance(X, Columns) else X[i : i + 1]
            _show(mix, name, row, names, settings)
        left -= len(chunk.ids)
        if left <= 0:
            return


def _show(
    mix: Mixture, name: Any, row: Any, names: Sequence[str] | None, settings: Settings
) -> None:
    """Write the explanation of one row."""
    why = mix.explain(row, settings.against, names)
    if settings.as_json:
        typer.echo(json.dumps({"id": name, **why.to_dict()}))
    else:
        typer.echo(f"{f'row {name}' if isinstance(name, int) else name}: {why!r}\n")
