"""Compiled functions on disk, and what they are compared with before they are used again.

numba takes a cached function for fresh while its own file is unchanged, even if a function that it
calls has changed in another file: old code would go on running. So what numba compares is replaced:

- a function of this folder has the digest of all files of this folder;
- a function outside, such as a verb of a user's family, also has that of its own file and of the
  compiled functions that it calls;
- a loop of this folder, compiled for a user's type, also has that of the verbs for this type.
"""

import hashlib
import inspect
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from numbers import Number
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core import config
from numba.core.caching import IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.types import BaseNamedTuple

FOLDER = Path(__file__).resolve().parent


def _fingerprint(folder: Path) -> str:
    """Digest of every source file in a folder and below."""
    paths = sorted(folder.rglob("*.py"))
    return _digest(f"{path.relative_to(folder)} {_file_digest(path)}" for path in paths)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


FINGERPRINT = _fingerprint(FOLDER)


def cached(compiled: Any) -> Any:
    """Keep what is compiled for a function on disk, with the stamp of all code in it; return it."""
    if _enable(compiled):
        stamp = _stamp(_code(compiled.py_func))
        name = compiled._cache._impl.filename_base
        compiled._cache._cache_file = _CacheFile(compiled._cache.cache_path, name, stamp)
        _FOLDERS.add(compiled._cache.cache_path)
    return compiled


_FOLDERS: set[str] = set()  # of compiled functions


def is_empty() -> bool:
    """Whether no function was compiled yet, so that the first ones take a while."""
    return not any(next(Path(folder).glob("*.nbi"), None) for folder in _FOLDERS)


# ---- where ----------------------------------------------------------------------------------


def _enable(compiled: Any) -> bool:
    """Choose a folder for a function: beside its file, of the user, or temporary; False for none.

    numba itself tries the first two, and fails where neither can be written.
    """
    with suppress(RuntimeError):
        compiled.enable_caching()
        return True
    settings: Any = config
    before, folder = settings.CACHE_DIR, _temporary_folder()
    if folder is None:
        return False
    settings.CACHE_DIR = folder
    try:
        compiled.enable_caching()
    except RuntimeError:  # not a function of a file
        return False
    finally:
        settings.CACHE_DIR = before
    return True


@cache
def _temporary_folder() -> str | None:
    """Return a folder for compiled functions that nobody else can write, and warn once."""
    own = getattr(os, "getuid", lambda: 0)()
    with suppress(OSError):
        folder = Path(tempfile.gettempdir(), f"evermix-numba-{own}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        private = os.name == "nt" or (found.st_uid == own and not found.st_mode & 0o077)
        if stat.S_ISDIR(found.st_mode) and private and os.access(folder, os.W_OK):
            _warn(f"are kept in {folder}")
            return str(folder)
    _warn("cannot be kept, and every program compiles them anew")
    return None


def _warn(what: str) -> None:
    warnings.warn(
        f"compiled functions {what}: neither the folder of evermix nor a cache folder of the user "
        "can be written. Set NUMBA_CACHE_DIR to a folder of your own.",
        RuntimeWarning,
        stacklevel=2,
    )


def remember_verbs(work: type, verbs: Iterable[Any]) -> None:
    """Note which code outside this folder loops will hold that are compiled for a work type."""
    _VERBS[work] = frozenset().union(*(_code(verb.py_func) for verb in verbs))


_VERBS: dict[type, frozenset[str]] = {}


class _CacheFile(IndexDataCacheFile):
    """The index of a compiled function, with another one beside it for each set of users' types.

    An index can be read only where all types that it names can be imported. In one index, a user's
    family would keep every program without it from using evermix.
    """

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        super().__init__(folder, name, stamp)
        self._folder, self._name = folder, name
        # numba reads types before it compares stamps, and fails if one of them is gone; versions of
        # its own are compared first.
        self._version = f"{self._version} {stamp}"

    def load(self, key: Any) -> Any:
        """Return what was saved for a key, or None."""
        file = self._index_for(key)
        with suppress(PermissionError):
            return None if file is None else IndexDataCacheFile.load(file, key)
        return None

    def save(self, key: Any, data: Any) -> None:
        """Save data for a key, if another process can know its types again."""
        file = self._index_for(key)
        if file is not None:
            with suppress(OSError):  # a full disk costs time, and nothing else
                IndexDataCacheFile.save(file, key, data)

    def _index_for(self, key: Any) -> "_CacheFile | None":
        users = sorted(
            {cls for cls in _classes(key[0]) if not _is_ours(cls) or _VERBS.get(cls)}, key=_address
        )
        if not users:
            return self
        if not all(_can_be_imported(cls) for cls in users):
            return None
        code = frozenset().union(*(_VERBS.get(cls, ()) for cls in users))
        code |= {str(cls._fields) for cls in users}  # type: ignore[attr-defined]
        name = f"{self._name}.{_digest(map(_address, users))[:16]}"
        return _CacheFile(self._folder, name, f"{self._source_stamp} {_stamp(code)}")


# ---- which code a function holds ------------------------------------------------------------


def _stamp(code: frozenset[str]) -> str:
    return _digest([FINGERPRINT, *sorted(code)])


def _code(function: Any) -> frozenset[str]:
    """Digests of the code outside this folder that a function holds once it is compiled.

    These are its file, and those of compiled functions that it names; and numbers, since another
    module may be where they come from.
    """
    code: set[str] = set()
    seen, waiting = set(), [function]
    while waiting:
        function = waiting.pop()
        path = Path(inspect.getfile(function)).resolve()
        if function in seen or path.is_relative_to(FOLDER):
            continue
        seen.add(function)
        # The cells of a notebook are no files.
        code.add(_file_digest(path) if path.is_file() else inspect.getsource(function))
        for name, value in _named(function):
            if isinstance(value, Dispatcher):
                waiting.append(value.py_func)
            elif isinstance(value, Number):
                code.add(f"{name}={value!r}")
    return frozenset(code)


def _named(function: Any) -> Iterator[tuple[str, Any]]:
    """Global values that a function names, also as attributes of modules."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        yield name, value
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{part}", vars(value).get(part)) for part in names)


# ---- types ----------------------------------------------------------------------------------


def _classes(types: Any) -> Iterator[type]:
    """Classes of the named tuples in a signature, at any depth."""
    for each in getattr(types, "args", types):
        if isinstance(each, BaseNamedTuple):
            yield each.instance_class  # type: ignore[attr-defined]
        yield from _classes(getattr(each, "types", ()))


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _address(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}:{_path(cls)}"


def _path(cls: type) -> Path:
    """File of the module of a class, or of nothing."""
    module = sys.modules.get(cls.__module__)
    return Path(getattr(module, "__file__", None) or "").resolve()


def _can_be_imported(cls: type) -> bool:
    """Whether another process finds this very class by its name."""
    if cls.__module__ == "__main__" or not _path(cls).is_file():
        return False
    found: Any = sys.modules[cls.__module__]
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls
