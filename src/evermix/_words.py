"""Numbers of things, and lists of them, in words."""

from collections.abc import Iterable


def counted(n: int | str, noun: str) -> str:
    """Return a number of things in words: 1 cluster, 1,200 clusters."""
    number = n if isinstance(n, str) else f"{n:,}"
    return f"{number} {noun}{'' if number == '1' else 's'}"


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
