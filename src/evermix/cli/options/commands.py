"""The options of every command.

Those of ``fit``, ``stream`` and ``topics`` follow from the classes of engines, families, priors and
samplers. Importing these takes seconds, so ``derived.json`` holds the options that follow from the
classes of evermix; ``tools/derived_options.py`` writes it. With classes of a ``--plugin`` they are
derived anew.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from evermix.cli.options.editing import EDIT
from evermix.cli.options.option import Option
from evermix.cli.options.serving import SERVE
from evermix.cli.options.table import (
    DEMO,
    EXPLAIN,
    FIT,
    INFO,
    PAGE,
    PREDICT,
    STREAM,
)
from evermix.cli.options.topics_table import TOPICS

DERIVED = Path(__file__).with_name("derived.json")
_PLAIN = {
    "demo": DEMO,
    "edit": EDIT,
    "explain": EXPLAIN,
    "info": INFO,
    "predict": PREDICT,
    "report": PAGE,
    "serve": SERVE,
}
LEARNING = {"fit": FIT, "stream": STREAM, "topics": TOPICS}
_TYPES = {kind.__name__: kind for kind in (bool, int, float, str)}
_PLAIN_FIELDS = [field for field in fields(Option) if field.name != "convert"]


def options_of(command: str, custom: tuple[type, ...] = ()) -> list[Option]:
    """Return the options of a command, with those of the user's own classes."""
    if command in _PLAIN:
        return list(_PLAIN[command])
    names, others = derived(command, custom) if custom else written(command)
    source, *own = LEARNING[command]
    return [source, *names, *own, *others]


def derived(
    command: str, custom: tuple[type, ...] = ()
) -> tuple[Sequence[Option], Sequence[Option]]:
    """Return the options that follow from classes: those that name one, and those of its fields."""
    if command == "topics":
        from evermix.cli.options.topics import topic_options

        return topic_options()
    from evermix.cli.options.mixture import mixture_options

    return mixture_options(custom, streaming=command == "stream")


def written(command: str) -> tuple[Sequence[Option], Sequence[Option]]:
    """Return the same without importing a class, from ``derived.json``."""
    names, others = json.loads(DERIVED.read_text("utf-8"))[command]
    return [_option(spec) for spec in names], [_option(spec) for spec in others]


def to_spec(option: Option) -> dict[str, Any]:
    """Return what ``derived.json`` holds of an option: all but how its value is converted."""
    spec = {field.name: getattr(option, field.name) for field in _PLAIN_FIELDS}
    spec["type"] = list(option.type) if isinstance(option.type, tuple) else option.type.__name__
    defaults = {field.name: field.default for field in _PLAIN_FIELDS} | {"type": "str"}
    return {name: value for name, value in spec.items() if value != defaults[name]}


def _option(spec: dict[str, Any]) -> Option:
    kind = spec.get("type", "str")
    return Option(**spec | {"type": tuple(kind) if isinstance(kind, list) else _TYPES[kind]})
