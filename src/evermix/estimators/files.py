"""Saving and loading estimators: every estimator turns itself into arrays and a header, and back.

An estimator registers with :func:`registered` under the kind that its header names, so that
:func:`load` finds the class that reads a file.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from evermix._xp import Array
from evermix.estimators.packing import Registry, plain_json, registry
from evermix.io import checkpoint
from evermix.io.checkpoint import CheckpointError
from evermix.io.text import from_spec

Content: TypeAlias = tuple[Mapping[str, Array], Mapping[str, Any]]
"""The content of a file: named arrays, and a header of plain values with the entry ``kind``."""


class Saveable(Protocol):
    """An estimator that can be saved."""

    def to_file(self) -> Content:
        """Return the content of a file; raise ValueError if nothing was learnt yet."""

    @classmethod
    def from_file(cls, content: Content, known: Registry) -> Self:
        """Return the estimator that :meth:`to_file` described.

        ``known`` holds the classes of families, priors and engines by name. Whatever is raised for
        arrays and entries that do not fit together becomes a CheckpointError.
        """


Estimator = TypeVar("Estimator", bound=type[Saveable])


class Kind(NamedTuple):
    """A kind of file: how messages call it, and the class that reads it."""

    title: str
    estimator: type[Saveable]


_KINDS: dict[str, Kind] = {}
_ADVICE = {  # on a file of a kind that is not wanted
    "topics": " `evermix info`, `predict` and `report` read topic models, and `evermix edit MODEL "
    "rename` names topics; clusters to explain or edit are those of `evermix fit` and `stream`.",
}
_NAMES = {"column_names_", "feature_names_in_"}
_UNFIT = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def registered(kind: str, title: str) -> Callable[[Estimator], Estimator]:
    """Let a class read all files whose header has this ``kind``; messages call it ``title``."""

    def register(estimator: Estimator) -> Estimator:
        _KINDS[kind] = Kind(title, estimator)
        return estimator

    return register


def save(estimator: Saveable, path: str | Path, extra: Mapping[str, Any] | None = None) -> None:
    """Write an estimator, and JSON-ready ``extra`` entries beside it, to one file."""
    arrays, header = estimator.to_file()
    if extra is None and "text_counter_" in vars(estimator):
        extra = {"text": vars(estimator)["text_counter_"].to_spec()}
    checkpoint.write(path, arrays, plain_json({**header, "extra": dict(extra or {})}))


def load(path: str | Path, custom: Iterable[type] = ()) -> Any:
    """Restore an estimator from a file that its ``save``, or the command line, wrote.

    If the command line has learnt texts, ``column_names_`` holds the words of the columns, and the
    model takes new texts in place of counts: ``predict(texts)``. ``text_counter_`` counts them.

    Parameters
    ----------
    path : path-like
    custom : iterable of classes
        Your own families, priors and engines, if the saved model uses some.

    Returns
    -------
    Mixture, DependentMixture or TopicModel
    """
    found, extra = load_any(path, custom)
    try:
        _take_words(found, extra)
    except _UNFIT as error:
        raise CheckpointError(
            f"{path} does not say how its words are counted ({type(error).__name__}: {error}). It "
            "was edited or written by another program; use an earlier copy."
        ) from error
    return found


def _take_words(found: Any, extra: Mapping[str, Any]) -> None:
    """Let a model of texts have the words that are saved beside it.   Consumes: found."""
    own = vars(found)
    if not extra.get("text"):
        return
    found.text_counter_ = from_spec(extra["text"])
    if "learner_" not in own or own.keys() & _NAMES:
        return
    words, n = found.text_counter_.words, found.n_features_in_
    if words and len(words) <= n:
        found.column_names_ = words + [""] * (n - len(words))  # words to come have columns already


def load_any(path: str | Path, custom: Iterable[type] = ()) -> tuple[Any, dict[str, Any]]:
    """Restore an estimator of any kind, and the ``extra`` entries that were saved beside it."""
    return _load(path, custom, None)


def load_with_extra(path: str | Path, custom: Iterable[type] = ()) -> tuple[Any, dict[str, Any]]:
    """Restore a mixture, and the ``extra`` entries that were saved beside it."""
    return _load(path, custom, "mixture")


def load_topics(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Restore a topic model, and the ``extra`` entries that were saved beside it."""
    return _load(path, (), "topics")


def _load(
    path: str | Path, custom: Iterable[type], wanted: str | None
) -> tuple[Any, dict[str, Any]]:
    known = registry(custom)
    arrays, header = checkpoint.read(path)
    kind = str(header.get("kind"))
    if kind not in _KINDS or wanted not in (None, kind):
        held = _KINDS[kind].title if kind in _KINDS else kind
        advice = _ADVICE.get(kind, "")
        raise CheckpointError(
            f"{path} holds a {held}, not a {_KINDS[wanted or 'mixture'].title}.{advice}"
        )
    title, estimator = _KINDS[kind]
    try:
        return estimator.from_file((arrays, header), known), dict(header["extra"])
    except CheckpointError:
        raise
    except _UNFIT as error:
        raise CheckpointError(
            f"{path} does not hold a whole {title} ({type(error).__name__}: {error}). It was "
            "edited or written by another program; use an earlier copy."
        ) from error
