"""Families, priors and engines by name: a class is registered by being defined."""

import inspect
from typing import Any


def registered(base: Any) -> dict[str, Any]:
    """Return every subclass of ``base`` that is not abstract, by name.

    A user's class is among them once its module is imported. Where names are equal, a class of
    evermix comes before a user's, and of a user's classes the one that was defined last counts.
    """
    found: dict[str, Any] = {}
    for cls in _subclasses(base):
        if not inspect.isabstract(cls) and not _is_ours(found.get(cls.__name__)):
            found[cls.__name__] = cls
    return found


def _subclasses(cls: Any) -> list[Any]:
    direct = cls.__subclasses__()
    return direct + [each for part in direct for each in _subclasses(part)]


def _is_ours(cls: Any) -> bool:
    return cls is not None and cls.__module__.partition(".")[0] == __name__.partition(".")[0]
