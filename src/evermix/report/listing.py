"""Lists that name the first few things, and say how many more there are."""

from collections.abc import Iterable


def n_listed(n: int, most: int) -> int:
    """Return how many of n things are named, at most so many: or one more, if it would be left."""
    return n if n <= most + 1 else most


def listed(names: Iterable[str], most: int, more: str = " and {n:,} more") -> str:
    """Return the first names, and what stands for n more.

    Examples
    --------
    >>> listed("abcde", 3), listed("abcd", 3)
    ('a, b, c and 2 more', 'a, b, c, d')
    """
    every = list(names)
    k = n_listed(len(every), most)
    return ", ".join(every[:k]) + (more.format(n=len(every) - k) if k < len(every) else "")
