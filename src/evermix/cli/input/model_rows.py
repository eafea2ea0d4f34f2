"""A saved mixture, and rows to ask it about."""

from collections.abc import Sequence
from typing import Any

from evermix.cli.input.rows import open_rows
from evermix.cli.input.texts import with_function
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture
from evermix.estimators.files import load_with_extra
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.sources import Source
from evermix.io.text import from_spec
from evermix.io.text_counter import TextCounter


def load_with_text(settings: Settings) -> tuple[Mixture, TextCounter | None]:
    """Return the mixture of the file MODEL, and how it counts the words of texts."""
    mix, extra = load_with_extra(settings.model, settings.custom)
    return mix, usable(text_of(extra), settings)


def usable(text: TextCounter | None, settings: Settings) -> TextCounter | None:
    """Return how texts become rows, with the embedding that the command line names.

    None if vectors come with the texts.   Consumes: text.
    """
    text = with_function(text, settings)
    return None if isinstance(text, EmbeddedTexts) and text.name is None else text


def text_of(extra: dict[str, Any]) -> TextCounter | None:
    """Return how words are counted, of what was saved beside a model."""
    return from_spec(extra["text"]) if extra.get("text") else None


def open_rows_of(settings: Settings, mix: Mixture, text: TextCounter | None) -> Source:
    """Open the source of these settings for a mixture."""
    kind = "table" if hasattr(mix, "levels_") else settings.kind
    return open_rows(settings, None if text else mix.n_features_in_, kind=kind)


def column_names(mix: Mixture, text: TextCounter | None) -> Sequence[str] | None:
    """Return the words of the columns, if there are texts; else None."""
    known = text is not None and text.n_features <= mix.n_features_in_
    return text.words if known and text is not None else None
