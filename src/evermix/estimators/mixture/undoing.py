"""What a file holds so that the last change by hand can be undone: all that the change changed."""

from collections.abc import Mapping
from typing import Any

from evermix._xp import Array
from evermix.estimators.files import Content
from evermix.estimators.packing import taken

PREFIX = "before."
MAY_CHANGE = {"engine", "model", "timed", "dated", "state", "rng", "rows_digest", "unmet"}


def changed_parts(
    before: Content, now: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays of a content that are not the same now, and its header with their names."""
    arrays, header = before
    changed = {
        PREFIX + name: values
        for name, values in arrays.items()
        if name not in now or not _same_bits(values, now[name])
    }
    return changed, {**header, "arrays": sorted(arrays)}


def before_a_change(content: Content) -> tuple[Content, Content]:
    """Return what a file holds without :func:`changed_parts`, and what was before the change.

    ValueError: these do not belong together.
    """
    now, header = dict(content[0]), dict(content[1])
    about, changed = dict(header.pop("before")), taken(now, PREFIX)
    names = about.pop("arrays")
    if not about.keys() <= MAY_CHANGE or not changed.keys() <= set(names) <= {*now, *changed}:
        raise ValueError("what there was before a change by hand must be whole.")
    before = {name: changed[name] if name in changed else now[name] for name in names}
    return (now, header), (before, header | about)


def _same_bits(values: Array, others: Array) -> bool:
    alike = values.shape == others.shape and values.dtype == others.dtype
    return alike and (values is others or values.tobytes() == others.tobytes())
