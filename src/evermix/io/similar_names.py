"""Which file or column may be meant where there is none of the name that was given."""

import os
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

MOST = 10_000  # names that are compared
ALIKE = 0.7  # how similar names of files must be without their ends
LONGEST = 255  # characters of a name that are


def did_you_mean(
    path: str | os.PathLike[str], suffix: str = "", folders: bool = False, least: float = 0.6
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


def one_of(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Return a sentence, after a space, with the most similar of the names; "" if none is."""
    by_case = {each.lower(): each for each in names}
    similar = get_close_matches(name[:LONGEST].lower(), by_case, n=1, cutoff=least)
    return f" Did you mean {by_case[similar[0]]!r}?" if similar else ""
