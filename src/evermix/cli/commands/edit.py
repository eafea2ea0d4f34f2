"""``evermix edit``: name, merge, split and pin the clusters of a model; name topics."""

import shlex
from collections.abc import Callable
from typing import Any

from evermix.cli.console import note
from evermix.cli.input.model_rows import all_rows, check_texts_learnt, read_as_learnt, text_of
from evermix.cli.options.settings import Settings
from evermix.cli.output.captions import parts_shown
from evermix.cli.output.output_files import check_files
from evermix.estimators import Mixture, TopicModel, files
from evermix.estimators.ids import id_called
from evermix.estimators.mixture.held import cluster_id
from evermix.hand import MERGE, SPLIT
from evermix.io.checkpoint import CheckpointError
from evermix.io.text_counter import TextCounter


def run(settings: Settings) -> None:
    """Change the model in its file."""
    path = settings.model
    settings.locks.add(path, replaced=True)
    load = files.load_any if settings.action == "rename" else files.load_with_extra
    mix, extra = load(path, settings.custom)
    check_files(settings.sources, {}, {"MODEL": str(path)})
    check_texts_learnt(path, extra, "what is changed")
    settings = read_as_learnt(settings, extra)
    if bool(settings.arguments) == (settings.action == "undo"):
        wanted = "no ids" if settings.arguments else "the id of a cluster"
        raise ValueError(f"{settings.action} takes {wanted}: evermix edit --help shows all.")
    done = _ACTIONS[settings.action](mix, settings, text_of(extra))
    files.save(mix, path, extra)
    note(done)
    if settings.action in (MERGE, SPLIT):
        model = shlex.quote(str(path))
        note(f"`evermix edit {model} undo` takes it back, until the next change or row.")
        note(
            "files of answers are as they were; "
            f"`evermix predict {model} ROWS --out FILE` writes them anew."
        )


def _rename(model: Any, settings: Settings, text: TextCounter | None) -> str:
    if not isinstance(model, Mixture | TopicModel):
        raise CheckpointError(
            f"{settings.model} holds a dependent mixture, not a mixture or topic model."
        )
    if isinstance(model, TopicModel) and not model.n_draws_:
        raise CheckpointError(
            f"the fit of {settings.model} ended in its burn-in, before there were topics: go on "
            "with --resume."
        )
    which, *name = settings.arguments
    id, noun = _id(model, which), "topic" if isinstance(model, TopicModel) else "cluster"
    if name and not "".join(name).strip():
        without = shlex.join(["evermix", "edit", str(settings.model), "rename", str(id)])
        raise ValueError(f"the name of a {noun} must not be empty. `{without}` takes it away.")
    model.rename(id, " ".join(name) if name else None)
    return f"{noun} {id} is called {' '.join(name)}." if name else f"{noun} {id} has no name."


def _merge(mix: Mixture, settings: Settings, text: TextCounter | None) -> str:
    ids = [_id(mix, word) for word in settings.arguments]
    if len(set(ids)) < 2:
        raise ValueError(
            f"merge takes the ids of two or more different clusters, such as merge 4 7, got "
            f"{' '.join(settings.arguments)}."
        )
    left = mix.merge_clusters(ids, pin=not settings.loose)
    merged = f"clusters {', '.join(map(str, ids))} are cluster {left} now{_pinned(settings)}:"
    return "\n".join([merged, *_shown(mix, text, [left])])


def _split(mix: Mixture, settings: Settings, text: TextCounter | None) -> str:
    id = _only_id(mix, settings)
    X = all_rows(settings, mix, text).X if settings.sources else None
    new = mix.split_cluster(id, X, pin=not settings.loose)
    split = f"cluster {id} has become {id} and {new}{_pinned(settings)}:"
    return "\n".join([split, *_shown(mix, text, [id, new])])


def _pin(mix: Mixture, settings: Settings, text: TextCounter | None) -> str:
    for word in settings.arguments:
        mix.pin(_id(mix, word))
    return f"pinned: {', '.join(settings.arguments)}."


def _unpin(mix: Mixture, settings: Settings, text: TextCounter | None) -> str:
    for word in settings.arguments:
        mix.unpin(_id(mix, word))
    return f"no longer pinned: {', '.join(settings.arguments)}."


def _undo(mix: Mixture, settings: Settings, text: TextCounter | None) -> str:
    undone = mix.undo()
    names = mix.lineage_.hand.names
    ids = (f"{id} ({names[id]})" if id in names else str(id) for id in undone.ids)
    return f"undone: {undone.what} of {', '.join(ids)}."


_ACTIONS: dict[str, Callable[[Mixture, Settings, TextCounter | None], str]] = {
    "rename": _rename,
    "merge": _merge,
    "split": _split,
    "pin": _pin,
    "unpin": _unpin,
    "undo": _undo,
}


def _shown(mix: Mixture, text: TextCounter | None, ids: list[int]) -> list[str]:
    """Return lines on the clusters that a change has left."""
    return [f"  {line}" for line in parts_shown(mix, text, ids)]


def _pinned(settings: Settings) -> str:
    return "" if settings.loose else ", pinned"


def _only_id(mix: Mixture, settings: Settings) -> int:
    if len(settings.arguments) > 1:
        raise ValueError(f"split takes one cluster, got {len(settings.arguments)}.")
    return _id(mix, settings.arguments[0])


def _id(model: Mixture | TopicModel, word: Any) -> int:
    """Return the id of a cluster or topic called by its id or name, or raise ValueError."""
    if isinstance(model, TopicModel):
        return id_called(word, model.names_, "topic")
    return cluster_id(model, word)
