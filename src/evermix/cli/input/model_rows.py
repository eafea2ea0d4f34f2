"""A saved mixture, and rows to ask it about."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from evermix._words import counted, listed
from evermix.cli.console import note
from evermix.cli.input.rows import COLUMNS, features, open_rows
from evermix.cli.input.texts import with_function
from evermix.cli.options.settings import Settings
from evermix.estimators import Mixture, TopicModel
from evermix.estimators.data.levels import hold_digits
from evermix.estimators.data.tables import NAMED, quoted
from evermix.estimators.files import load_with_extra
from evermix.estimators.mixture.new_words import proba_with_new_words
from evermix.io.checkpoint import CheckpointError
from evermix.io.embedded_texts import EmbeddedTexts
from evermix.io.similar_names import same_but_case
from evermix.io.sources import Chunk, Source, SourceError
from evermix.io.sources.base import FileSource
from evermix.io.sources.errors import WrongKind
from evermix.io.sources.several import joined
from evermix.io.text import from_spec
from evermix.io.text_counter import TextCounter
from evermix.report import distinctive_words

WORDS = 8  # of a cluster
PROVISIONAL = "the first texts of the stream wait for a vocabulary: clusters will change"
FIELDS = "text_field", "vector_field", "id_field", "date_order", *COLUMNS


def load_with_text(
    settings: Settings,
) -> tuple[Settings, Mixture, TextCounter | None, dict[int, list[str]]]:
    """Load a mixture, how its texts become rows, and words that name clusters of vectors.

    The settings read rows as the model has read its own.
    """
    mix, extra = load_with_extra(settings.model, settings.custom)
    note_if_provisional(settings.model, extra)
    words = words_of_texts(mix, text_of(extra))
    return read_as_learnt(settings, extra), mix, usable(text_of(extra), settings), words


def read_as_learnt(settings: Settings, extra: dict[str, Any], timed: bool = False) -> Settings:
    """Return settings that read rows as the model has read them, where nothing else is given.

    Unless rows are ``timed``, a mixture needs no times of them, so that a column of times is one
    that is ignored.
    """
    command = next((name for name in ("stream", "fit", "topics") if name in extra), "")
    saved = extra.get(command, {}).get("settings", {})
    fields = (*FIELDS, "time_field") if timed else FIELDS
    open_here = {name: saved[name] for name in fields if name in saved.keys() - settings.given}
    time = saved.get("time_field")
    unused = not timed and settings.time_field is None
    if time is not None and unused and command != "topics":
        open_here["ignore"] = [*(settings.ignore or open_here.get("ignore") or ()), time]
    return settings.changed(**open_here, units=extra.get(command, {}).get("units", {}))


def usable(text: TextCounter | None, settings: Settings) -> TextCounter | None:
    """Return how texts become rows, with the embedding that the command line names.

    None if vectors come with the texts.   Consumes: text.
    """
    text = with_function(text, settings)
    return None if isinstance(text, EmbeddedTexts) and text.name is None else text


def text_of(extra: dict[str, Any]) -> TextCounter | None:
    """Return how words are counted, of what was saved beside a model."""
    return from_spec(extra["text"]) if extra.get("text") else None


def texts_wait(extra: dict[str, Any]) -> bool:
    """Whether a model is of a stream whose first texts wait for a vocabulary."""
    return bool(extra.get("stream", {}).get("waiting"))


def note_if_provisional(path: Any, extra: dict[str, Any]) -> None:
    """Warn that answers of a model are provisional, if texts wait for a vocabulary."""
    if texts_wait(extra):
        note(f"warning: answers of {path} are provisional: {PROVISIONAL}.")


def check_texts_learnt(path: Any, extra: dict[str, Any], lost: str) -> None:
    """Raise CheckpointError if texts wait for a vocabulary; ``lost`` is what would be then."""
    if texts_wait(extra):
        raise CheckpointError(
            f"{path} is of a stream whose first texts wait for a vocabulary: its clusters are "
            f"provisional, and {lost} would be lost. Let it go on with --resume first."
        )


def open_rows_of(
    settings: Settings, mix: Mixture, text: TextCounter | None, **reading: Any
) -> Source:
    """Open the source of these settings for a mixture; ``reading`` is that of ``open_rows``.

    A model of vectors, so without ``text``, takes the vector of a row that has a text too.
    """
    kind = "table" if hasattr(mix, "levels_") else settings.kind
    written = {name: writing.unit for name, writing in vars(mix).get("written_", {}).items()}
    units = {name: unit for name, unit in written.items() if unit} | settings.values.get(
        "units", {}
    )
    with about_model(settings, mix, text):
        source = open_rows(
            settings,
            None if text else n_columns(mix),
            kind=kind,
            units=units,
            beside=text is None,
            **known_kinds(mix),
            **reading,
        )
        check_rows(source, mix, text)
    return source


@contextmanager
def about_model(settings: Settings, model: Any, text: TextCounter | None) -> Iterator[None]:
    """Add to the error of a source with other rows what the model was learnt from."""
    try:
        yield
    except WrongKind as error:
        learnt = _learnt_from(settings, model, text)
        raise SourceError(f"{error} The model {settings.model} was learnt from {learnt}") from error


def check_rows(source: Source, model: Any, text: TextCounter | None) -> None:
    """Raise WrongKind if a source that was opened holds rows of another kind than the model's."""
    fits = source.kind != "text" if text is None else source.kind != "table"
    if text is None and source.kind == "table" and not hasattr(model, "levels_"):
        fits = isinstance(model, Mixture) and model.model_.family.missing
    if source.kind in ("vectors", "counts"):
        fits = source.n_features == model.n_features_in_
    of_table = hasattr(model, "levels_")
    if of_table and source.kind == "table":
        fits = not set(source.columns or ()).isdisjoint(map(str, model.feature_names_in_))
    if not fits:
        numbers = f"rows of {counted(source.n_features or 0, 'number')}"
        table = "a table with other columns" if of_table else "a table"
        holds = {"text": "texts", "table": table}.get(source.kind, numbers)
        path = source.path if isinstance(source, FileSource) else "the source"
        wanted = list(map(str, model.feature_names_in_)) if of_table else []
        alike = [same_but_case(name, source.columns or ()) for name in wanted]
        cases = [f"{a!r} for {b!r}" for a, b in zip(alike, wanted, strict=True) if a != b]
        remedy = " Write their names as the model does, in case too: it has {}." if cases else ""
        raise WrongKind(f"{path} holds {holds}.{remedy.format(listed(cases, NAMED))}")


def _learnt_from(settings: Settings, model: Any, text: TextCounter | None) -> str:
    """Return what rows a model has learnt, and so what to give it."""
    if text is not None:
        field = repr(settings.text_field)
        return (
            f"texts: give JSON lines with a field {field} or a CSV file with a column {field}, or "
            "name the field or column with --text-field."
        )
    if hasattr(model, "levels_"):
        columns = quoted(model.feature_names_in_.tolist())
        return f"a table: give a file of CSV, JSON lines or Parquet with the columns {columns}."
    return f"rows of {counted(model.n_features_in_, 'number')}: give such rows."


def known_kinds(model: Any) -> dict[str, Any]:
    """Return which columns are features, hold numbers, or codes, as a model knows: for a source."""
    levels = vars(model).get("levels_")
    written = vars(model).get("written_", {}).items()
    decimals = {
        "decimals": {name: writing.decimal for name, writing in written},
        "unsure": tuple(name for name, writing in written if writing.unsure),
    }
    if levels is None:
        names = vars(model).get("feature_names_in_", vars(model).get("column_names_", ()))
        return {"features": tuple(map(str, names)), "codes": (), **decimals}
    family = model.learner_.model.family
    ignored = map(str, family.ignored)  # of which any cells are taken
    yes_no = {str(b.names[0]) for b in family.blocks if b.is_yes_no}
    return {
        "known": family.names,
        "numbers": tuple(n for n in map(str, family.names) if n not in levels.keys() | yes_no),
        "codes": (*ignored, *(name for name, some in levels.items() if hold_digits(some))),
        **decimals,
    }


def n_columns(mix: Any) -> int | None:
    """Return how many columns rows must have; None for tables, whose columns have names."""
    return None if hasattr(mix, "levels_") else mix.n_features_in_


class AllRows(NamedTuple):
    """All rows of a source, as a mixture takes them, with their ids, and their texts if known."""

    X: Any
    ids: list[Any] | None
    texts: list[str] | None


def all_rows(settings: Settings, mix: Mixture, text: TextCounter | None) -> AllRows:
    """Return all rows of the source.   Consumes: text."""
    text = usable(text, settings)
    chunks = list(open_rows_of(settings, mix, text).chunks(0, settings.batch))
    if not chunks:
        raise ValueError(f"{', '.join(settings.sources)} has no rows.")
    whole = joined(chunks)
    texts = whole.X if isinstance(whole.X, list) else whole.texts
    return AllRows(features(mix.model_.family, text, whole.X), whole.ids, texts)


def column_names(mix: Mixture, text: TextCounter | None) -> Sequence[str] | None:
    """Return the words of the columns, if there are texts; else None."""
    known = text is not None and text.n_features <= mix.n_features_in_
    return text.words if known and text is not None else None


def words_of_texts(mix: Mixture, text: TextCounter | None) -> dict[int, list[str]]:
    """Return the words that set clusters apart, by their ids, if vectors came with texts."""
    if not isinstance(text, EmbeddedTexts):
        return {}
    ids = mix.cluster_ids_.tolist()
    counts, names = text.words_of(ids, mix.lineage_.current)
    marks = distinctive_words(counts, names, WORDS) if names else []
    return dict(zip(ids, marks, strict=False))


def saved_words(model: TopicModel, extra: dict[str, Any]) -> list[str] | None:
    """Return the words of a topic model that older files hold beside it; None if it has its own."""
    if model._fitted.words is not None:
        return None
    return (extra.get("text") or {}).get("words") or extra.get("topics", {}).get("words")


def all_words(
    mix: Mixture, text: TextCounter | None
) -> tuple[list[str] | None, dict[int, list[str]]]:
    """Return copies of the names of the columns, and of the words that name clusters."""
    names = column_names(mix, text)
    return None if names is None else list(names), words_of_texts(mix, text)


def text_labels(mix: Mixture, text: TextCounter | None, texts: list[str]) -> list[int]:
    """Return the clusters of texts that were learnt, as they are now; none if vectors tell."""
    if text is None or (isinstance(text, EmbeddedTexts) and text.name is None):
        return []
    labels: list[int] = mix.predict(features(mix.model_.family, None, text.again(texts))).tolist()
    return labels


def novelty_of(mix: Mixture, text: TextCounter | None, chunk: Chunk, X: Any) -> Any:
    """Return the probability (n,) that rows are of a new cluster; all words of texts count."""
    if text is None or isinstance(text, EmbeddedTexts) or not isinstance(chunk.X, list):
        return mix.novelty(X)
    return proba_with_new_words(mix, text.with_unknown(chunk.X))[:, -1]
