"""Which file or column may be meant where there is none of the name that was given."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches

from evermix._words import listed

MOST = 10_000  # names that are compared
SIMILAR = 0.6  # how similar names must be
ALIKE = 0.7  # how similar names of files must be without their ends
LONGEST = 255  # characters of a name that are
SHORTEST = 2  # characters of a name that may be a word of another
NAMED = 8  # names that may be meant which a sentence has


def did_you_mean(
    path: str | os.PathLike[str], suffix: str = "", folders: bool = False, least: float = SIMILAR
) -> str:
    """Return a sentence, after a space, with the most similar name in the same folder.

    It is empty if no name there is similar. ``suffix`` is the end of names that are meant, and
    ``folders`` whether they may be those of folders. ``least`` is how similar names must be, 1 if
    they are the same; they must be alike without their ends too. Hidden files are meant only where
    the name given is a hidden one.
    """
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            shown = (e for e in entries if not e.name.startswith(".") or name.startswith("."))
            names = sorted(e.name for e in shown if folders or e.is_file())[:MOST]
    except FileNotFoundError:
        return f" There is no folder {folder!r}."
    except OSError:
        return ""
    names = [each for each in names if each.endswith(suffix) and _are_alike(name, each)]
    return one_of(name, names, least) or (one_of(name + suffix, names, 1.0) if suffix else "")


def _are_alike(name: str, other: str) -> bool:
    """Whether names of files are similar up to their first point."""
    one, two = (each.lower().lstrip(".").partition(".")[0][:LONGEST] for each in (name, other))
    return SequenceMatcher(None, one, two).ratio() >= ALIKE


def one_of(name: str, names: Iterable[str], least: float = SIMILAR) -> str:
    """Return a sentence, after a space, with the most similar of the names; "" if none is."""
    near = _nearest(name, names, least)
    return "" if near is None else f" Did you mean {near!r}?"


def each_of(missing: Sequence[str], names: Iterable[str]) -> str:
    """Return a sentence, after a space, with the names that may be meant by missing ones."""
    left, meant = list(names), list[str]()
    if len(missing) == 1:
        return one_of(missing[0], left)
    for name in missing:
        if (near := _nearest(name, left)) is not None:
            meant.append(f"{near!r} for {name!r}")
            left.remove(near)
    return f" Did you mean {listed(meant, NAMED)}?" if meant else ""


def _nearest(name: str, names: Iterable[str], least: float = SIMILAR) -> str | None:
    """Return the most similar of the names, or the one that holds this name; None if none does."""
    by_case = {each.lower(): each for each in names}
    similar = get_close_matches(name[:LONGEST].lower(), by_case, n=1, cutoff=least)
    if not similar and len(name) >= SHORTEST:
        holds = [each for each in by_case if name.lower() in re.split(r"[\W_]+", each)]
        similar = holds if len(holds) == 1 else []
    return by_case[similar[0]] if similar else None


def same_but_case(name: str, names: Iterable[str]) -> str:
    """Return the one of the names that is this name but for case; this name if that is there.

    Also this name if none of them is, or several are.
    """
    same = [each for each in names if each.lower() == name.lower()]
    return same[0] if len(same) == 1 else name


def no_such(
    what: str,
    name: str,
    names: Iterable[str],
    flag: str = "",
    likely: Sequence[str] | None = None,
) -> str:
    """Return that there is no column, or field, of a name, and which there are, the nearest first.

    ``flag`` is the option that has named it. ``likely`` are those that may be meant; None: all.
    """
    found = sorted(names, key=lambda each: -_likeness(name, each))
    near = _nearest(name, found if likely is None else likely)
    meant = "" if near is None else f" Did you mean {near!r}?"
    if meant and flag:
        meant = f" Did you mean {flag} {shlex.quote(str(near))}?"
    shown = ", ".join(map(repr, found))
    return f"there is no {what} {name!r}.{meant} The {what}s are {shown}."


def _likeness(name: str, other: str) -> float:
    """Return how similar names are; 0 if they are not."""
    one, two = (each[:LONGEST].lower() for each in (other, name))
    ratio = SequenceMatcher(None, one, two).ratio()
    return ratio if ratio >= SIMILAR else 0.0
