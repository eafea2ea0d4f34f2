"""Clusters and topics that are called by their ids or by their names."""

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from evermix._words import listed
from evermix.io.similar_names import one_of

NAMED = 20  # names that an error lists


def id_called(which: Any, names: Mapping[int, str], noun: str = "cluster") -> int:
    """Return the id of a cluster or topic that is called by its id or name, or raise an error.

    Parameters
    ----------
    which : int or str
        Strings may hold an id, too, since no name is a whole number.
    names : mapping of int to str
        The names of those that there are, by their ids.

    Examples
    --------
    >>> id_called("tall", {3: "tall"}), id_called("4", {}), id_called(4, {})
    (3, 4, 4)
    """
    if not isinstance(which, str):
        return _whole(which, noun)
    try:
        return int(which)
    except ValueError:
        pass
    named = [id for id, name in names.items() if name == which]
    if len(named) > 1:
        raise ValueError(f"{noun}s {', '.join(map(str, named))} are called {which}: say which id.")
    if named:
        return named[0]
    known = f"No {noun} has a name yet"
    if names:
        known = f"The names are {listed(map(repr, sorted(set(names.values()))), NAMED)}"
    raise ValueError(
        f"no {noun} has the name {which!r:.80}.{one_of(which, names.values())} {known}. Ids are "
        "whole numbers, which cards() and `evermix info` show."
    )


def _whole(id: Any, noun: str) -> int:
    try:
        if isinstance(id, bool | np.bool_):
            raise TypeError
        whole = isinstance(id, float | np.floating) and float(id).is_integer()
        return int(id) if whole else operator.index(id)
    except TypeError:
        raise TypeError(
            f"a {noun} is called by its id or its name, such as 3 or 'tall', got {id!r:.80}."
        ) from None
