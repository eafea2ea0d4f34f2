"""Checks of an engine's settings, made when it is built."""

from numbers import Integral, Real

import numpy as np


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise TypeError or ValueError unless a setting is a whole number, and not below ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")


def check_number(name: str, value: object) -> None:
    """Raise TypeError unless a setting is a real number; it may be infinite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")


def check_tolerance(name: str, value: object) -> None:
    """Raise TypeError or ValueError unless a setting is a number of nats, >= 0."""
    check_number(name, value)
    if not value >= 0:  # type: ignore[operator]
        raise ValueError(f"{name} must be >= 0 nats, got {value}.")


def check_switch(name: str, value: object) -> None:
    """Raise TypeError unless a setting is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")


def check_begun(name: str, before: object, now: object) -> None:
    """Raise ValueError unless a setting is what it was when the fit was begun."""
    if before != now:
        raise ValueError(
            f"the fit was begun with {name}={before!r}, and cannot go on with {name}={now!r}. Set "
            "it back, or call fit."
        )
