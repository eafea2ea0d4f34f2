"""What the arrays of a file must be: names, dtypes, shapes and ranges of values.

Compiled loops follow ids and positions without looking, and sums take in whatever there is. So a
file is held to a description of every array in it before anything is made of it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FLOAT, WHOLE, SHORT, BOOL, PLACE = "f8", "i8", "i4", "b1", "i4 i8"
FINITE = -1e300, 1e300
"""The range of numbers that sums are made of."""
ORDERED = -np.inf, np.inf
"""The range of all floats but NaN."""
COUNT = 0, 2**62 - 1
"""The range of what is counted."""
SHOWN = 5  # names in a message


class Field(NamedTuple):
    """An array of a file.

    Attributes
    ----------
    dtype : str
        Its type; several, of which it has one, with blanks between.
    shape : tuple of int and str
        Its axes. Axes of one name have one length, in all arrays that are checked together.
    range : tuple of 2 numbers or arrays
        The least and the largest value; NaN is in none. Only floats have one unless it is given.
    missing : bool
        Whether values may be missing, that is NaN.
    """

    dtype: str
    shape: tuple[int | str, ...]
    range: tuple[Any, Any] | None = None
    missing: bool = False


def check_arrays(
    what: str,
    arrays: Mapping[str, NDArray[Any]],
    fields: Mapping[str, Field],
    sizes: dict[str, int] | None = None,
) -> None:
    """Raise ValueError unless there are these arrays, and no others, and each is as described.

    Parameters
    ----------
    what : str
        What the arrays are, for messages.
    arrays : mapping of str to array
    fields : mapping of str to Field
    sizes : dict of str to int, optional
        Lengths of named axes that are known; those of others are added.
    """
    if arrays.keys() != fields.keys():
        missing, foreign = fields.keys() - arrays.keys(), arrays.keys() - fields.keys()
        raise ValueError(f"{what} must not lack {_some(missing)}, nor hold {_some(foreign)}.")
    known = {} if sizes is None else sizes
    for name, (dtype, shape, *_) in fields.items():
        values = arrays[name]
        fits = len(shape) == values.ndim and values.dtype.str[1:] in dtype.split()
        for axis, n in zip(shape, values.shape, strict=False):
            fits &= n == (known.setdefault(axis, n) if isinstance(axis, str) else axis)
        if not fits:
            axes = tuple(known.get(axis, axis) if isinstance(axis, str) else axis for axis in shape)
            raise ValueError(
                f"{name} of {what} must be {dtype} of shape {axes}, "
                f"got {values.dtype.str[1:]} of shape {values.shape}."
            )
    for name, field in fields.items():
        values = arrays[name]
        values = values[~np.isnan(values)] if field.missing else values
        check_range(f"{name} of {what}", values, field.range)


def check_range(name: str, values: NDArray[Any], range: tuple[Any, Any] | None) -> None:
    """Raise ValueError unless all values lie in a range; floats in that of finite ones if None."""
    if range is None:
        if values.dtype.kind != "f":
            return
        range = FINITE
    low, high = range
    inside = (values >= low) & (values <= high)
    if not inside.all():
        place = tuple(int(i) for i in np.argwhere(~inside)[0])
        ends = [np.broadcast_to(end, values.shape)[place] for end in range]
        raise ValueError(
            f"{name} must lie in [{ends[0]:g}, {ends[1]:g}], got {values[place]:g} at {place}."
        )


def check_number(name: str, value: Any, range: tuple[int, int] = COUNT) -> int:
    """Return a whole number of a header, or raise ValueError unless it lies in a range."""
    if type(value) is not int or not range[0] <= value <= range[1]:
        raise ValueError(
            f"{name} must be a whole number from {range[0]} to {range[1]}, got {value!r:.80}."
        )
    return value


def _some(names: Any) -> str:
    shown = ", ".join(sorted(names)[:SHOWN]) or "anything else"
    return shown + (", ..." if len(names) > SHOWN else "")
