"""The one check of the files of a command, and how a run replaces those of an earlier one.

Outputs are different files from inputs and from each other, links followed, and nothing that exists
is replaced without ``--overwrite``.
"""

import glob
import json
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Self, TextIO

from evermix.io.brokers import is_address

Files = Mapping[str, str | None]  # by option or argument; None for no file, "-" for standard output


def check_files(sources: Sequence[str], inputs: Files, outputs: Files) -> None:
    """Raise ValueError unless all files are different ones, and the outputs can be written.

    Parameters
    ----------
    sources : sequence of str
        What was given as SOURCE: files, folders or patterns, ``"-"`` for standard input, or the
        address of a broker.
    inputs : mapping of str to str or None
        Other files that the command reads.
    outputs : mapping of str to str or None
        Files that the command writes.
    """
    files = {option: name for option, name in {**inputs, **outputs}.items() if name is not None}
    options: dict[object, str] = {}
    for option, name in files.items():
        identity = _identity(name, sys.stdout)
        other = option if identity is None else options.setdefault(identity, option)
        if other != option:
            raise ValueError(
                f"{other} and {option} must be different files, got {_shown(files[other])} and "
                f"{_shown(name)}, which are the same file. Choose another place for one of them."
            )
    for source in (some for some in sources if not is_address(some)):
        parts = {_identity(part, sys.stdin) for part in _parts(source)} - {None}
        for option, name in files.items():
            new = option in outputs and _would_be_part(name, source)
            if new or _identity(name, sys.stdout) in parts:
                raise ValueError(
                    f"SOURCE and {option} must be different files, and {_shown(name)} is, or would "
                    f"be, one of {_shown(source, 'input')}. Choose another place for {option}."
                )
    for option, name in files.items():
        if option in outputs:
            _check_place(option, name)


def check_suffix(option: str, path: str | None, written: Sequence[str]) -> None:
    """Raise ValueError if a file would be named as one of a format that is not written.

    ``written`` are the suffixes of those that are.
    """
    suffix = "" if path is None else PurePath(path).suffix.lower()
    if suffix in _OTHERS.difference(written):
        raise ValueError(
            f"{option} {PurePath(str(path)).name}: files that end in {suffix} are not written. "
            f"Choose a name that ends in {' or '.join(written)}."
        )


_OTHERS = frozenset(  # suffixes of formats that programs know by their names
    ".csv .tsv .parquet .feather .arrow .xlsx .xls .xlsm .ods .html .htm .pdf .docx .txt .md "
    ".png .svg .gz .zip .pkl".split()
)


def check_new(
    outputs: Files, remedy: str, check_source: Callable[[], object] = lambda: None
) -> None:
    """Raise ValueError, which ends with the remedy, if one of the outputs holds something.

    ``check_source`` is called before that, and may raise an error of its own: what is wrong with a
    source matters more, and the name of an output may follow from that of the source.
    """
    for option, name in outputs.items():
        if name not in (None, "-") and os.path.isfile(str(name)) and os.path.getsize(str(name)):
            check_source()
            raise ValueError(f"{option} must be a new file, and {name} exists already. {remedy}")


def _identity(name: str, standard: TextIO) -> object:
    """Return what is equal for two names of one file; None for a pipe or terminal as "-"."""
    try:
        found = os.fstat(standard.fileno()) if name == "-" else os.stat(name)
    except (OSError, ValueError, AttributeError):  # no such file, or a stream that is closed
        found = None
    if found is not None and stat.S_ISREG(found.st_mode):
        return found.st_dev, found.st_ino
    return None if name == "-" else os.path.realpath(name)


def _parts(source: str) -> list[str]:
    """Return the files that a source stands for."""
    if source != "-" and os.path.isdir(source):
        return [entry.path for entry in os.scandir(source)]
    if source == "-" or os.path.exists(source):
        return [source]
    return [source, *glob.glob(source, recursive=True)]


def _would_be_part(name: str, source: str) -> bool:
    """Whether a folder or a pattern would stand for a file once it is there."""
    if "-" in (name, source) or os.path.isfile(source):
        return False
    spellings = [(place(name), place(source)) for place in (os.path.abspath, os.path.realpath)]
    if os.path.isdir(source):
        return any(os.path.dirname(path) == folder for path, folder in spellings)
    return any(PurePath(path).match(pattern) for path, pattern in spellings)


def _check_place(option: str, name: str) -> None:
    """Raise ValueError if an output cannot be written where it should be."""
    if name == "-":
        if option != "--out":
            raise ValueError(f"{option} wants a file: standard output is for --out.")
    elif not os.path.isdir(os.path.dirname(os.path.abspath(name))):
        raise ValueError(f"there is no folder for {name}. Make it, or choose another place.")
    elif os.path.isdir(name):
        raise ValueError(f"{name} is a folder, where a file was wanted. Choose another name.")
    elif (
        option in ("--trace", "--checkpoint") and os.path.exists(name) and not os.path.isfile(name)
    ):
        raise ValueError(
            f"{name} is a device or a pipe, where a file was wanted: checkpoints and traces are "
            "cut and replaced on the way. Choose another place."
        )


def _shown(name: str, direction: str = "output") -> str:
    return f"standard {direction}" if name == "-" else name


class CheckpointReplacement:
    """Puts an old checkpoint aside for a ``with`` block, and back if the block fails.

    It goes for good when the block ends or the object is called, as an observer of a fit: then
    something was learnt. A run that is killed before leaves no checkpoint under the name, so that
    one that is resumed does not take the old one for its own. Until the first checkpoint, a file
    beside it names the outputs, so that a run that was killed before can begin again: see
    :func:`unfinished_outputs`.

    Parameters
    ----------
    checkpoint : Path
        The file, which need not be there. A symbolic link is followed.
    outputs : iterable of str or None
        The other files that the run writes.
    """

    def __init__(self, checkpoint: Path, outputs: Iterable[str | None] = ()) -> None:
        self._checkpoint = checkpoint.resolve()
        self._aside = self._checkpoint.with_name(f".{self._checkpoint.name}.old")
        self._names = _names_file(checkpoint)
        self._outputs = [name for name in outputs if name not in (None, "-")]
        self._held = False
        self._named = False
        self._gone = False

    def __enter__(self) -> Self:
        self._held, self._named = self._checkpoint.exists(), self._names.exists()
        if self._outputs:
            self._names.write_text(json.dumps(self._outputs), encoding="utf-8")
        if self._held:
            os.replace(self._checkpoint, self._aside)
        return self

    def __exit__(self, kind: object, *exception: object) -> None:
        if kind is None:
            self()
        elif not self._gone:
            if self._held:
                os.replace(self._aside, self._checkpoint)
            if not self._named:
                self._names.unlink(missing_ok=True)

    def __call__(self, *_: object) -> None:
        """Remove the old checkpoint, and what a run that was killed has left of one."""
        if not self._gone:
            self._aside.unlink(missing_ok=True)
            self._gone = True


def unfinished_outputs(checkpoint: Path) -> set[str]:
    """Return the outputs of a run that was killed before it wrote this checkpoint."""
    try:
        return set(json.loads(_names_file(checkpoint).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):  # none, or killed while it was written
        return set()


def checkpoint_written(checkpoint: Path) -> None:
    """Note that there is a checkpoint now, from which the run can be resumed."""
    _names_file(checkpoint).unlink(missing_ok=True)


def _names_file(checkpoint: Path) -> Path:
    target = checkpoint.resolve()
    return target.with_name(f".{target.name}.outputs")
