"""Warnings that point to the line of the user's program."""

import sys
import warnings

_INSIDE = {"evermix", "sklearn"}  # packages whose lines say nothing to users


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the line of the nearest caller outside the library as the place."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
