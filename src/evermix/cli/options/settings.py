"""The values of the options of a command: what a checkpoint saves and ``--resume`` compares."""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Self

from evermix.cli.options.earlier import own_checkpoint
from evermix.cli.options.option import Option
from evermix.io.brokers import is_address
from evermix.io.locks import FileLocks

Values = Mapping[str, Any]


class Settings:
    """Values of options, as attributes that have the names of the options.

    Parameters
    ----------
    options : sequence of Option
    values : mapping of str to object
    given : collection of str
        Names of the options that the user has given; the others have their defaults.
    plugins : sequence of str
        Modules that ``--plugin`` has imported.
    custom : sequence of classes
        Engines, families and priors in them.
    locks : FileLocks, optional
        Files that the command has locked to write them.
    """

    def __init__(
        self,
        options: Sequence[Option],
        values: Values,
        given: Collection[str] = (),
        plugins: Sequence[str] = (),
        custom: tuple[type, ...] = (),
        locks: FileLocks | None = None,
    ) -> None:
        self.options, self.values, self.given = options, dict(values), given
        self.plugins, self.custom = plugins, custom
        self.locks = FileLocks() if locks is None else locks

    @classmethod
    def parsed(cls, options: Sequence[Option], values: Values, *about: Any) -> Self:
        """Return the settings that a command line has given; paths become absolute ones."""
        plain = {
            name: value.value if isinstance(value, Enum) else value
            for name, value in values.items()
        }
        for option in options:
            if option.file in ("written", "folder"):
                plain[option.name] = _absolute(plain[option.name])
        return cls(options, plain, *about)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(f"there is no option {name!r}.") from None

    def changed(self, **values: Any) -> Self:
        """Return the settings with other values."""
        about = self.given, self.plugins, self.custom, self.locks
        return type(self)(self.options, self.values | values, *about)

    def with_given(self, names: Collection[str]) -> Self:
        """Return the settings as if the user had given these options too, with their values."""
        about = {*self.given, *names}, self.plugins, self.custom, self.locks
        return type(self)(self.options, self.values, *about)

    @property
    def sources(self) -> list[str]:
        """The paths that were given as SOURCE; none if there need not be any."""
        source = self.values["source"]
        return [source] if isinstance(source, str) else source or []

    @property
    def inputs(self) -> dict[str, str | None]:
        """The files that the command reads beside its sources, by option."""
        return {o.flag: self.values[o.name] for o in self.options if o.file == "read"}

    @property
    def outputs(self) -> dict[str, str | None]:
        """The files that the command writes beside its checkpoint, by option."""
        return {o.flag: self.values[o.name] for o in self.options if o.file == "written"}

    @property
    def places(self) -> dict[str, str]:
        """The files and folders that the command writes to, by option."""
        written = [o for o in self.options if o.file in ("written", "folder")]
        named = {o.flag: self.values[o.name] for o in written}
        return {flag: place for flag, place in named.items() if place not in (None, "-")}

    def lock_outputs(self) -> None:
        """Lock the files that the command writes in place."""
        for path in self.outputs.values():
            if path not in (None, "-"):
                self.locks.add(str(path))

    def check_saved(self, saved: Any) -> None:
        """Raise TypeError unless these can be the settings that a checkpoint has saved."""
        for option in self.options:
            value = saved.get(option.name)
            several = value if isinstance(value, list) and option.repeated else [value]
            if value is not None and not all(_fits(each, option.type) for each in several):
                raise TypeError(f"{option.flag} cannot be {value!r:.80}")

    def differing(self, saved: Values) -> list[str]:
        """Return the names of the options whose values are not those that a checkpoint saves."""
        now = json.loads(json.dumps(self.to_spec()))
        both = {
            o.name: (saved.get(o.name, o.default), now[o.name]) for o in self.options if o.saved
        }
        return [name for name, (old, new) in both.items() if old != new]

    def to_spec(self) -> dict[str, Any]:
        """Return the settings that a checkpoint saves, as a JSON-ready dict."""
        return {o.name: self.values[o.name] for o in self.options if o.saved}

    def resumed(self, saved: Values, free: Iterable[str] = ()) -> Self:
        """Return the saved settings, if no option that the user has given now differs from them.

        Parameters
        ----------
        saved : mapping of str to object
            The result of :meth:`to_spec` when the run began.
        free : iterable of str
            Names of options that may differ.
        """
        values, free = dict(self.values), set(free)
        for option in self.options:
            if not option.saved or option.name in free and option.name in self.given:
                continue
            old, new = saved.get(option.name, option.default), self.values[option.name]
            if option.name in self.given and old != new:
                made = "without it" if old is None else f"with {old!r}"
                advice = "Leave it as it was, or start again with --overwrite or --checkpoint NAME."
                if option.flag == "SOURCE":
                    advice = "Append new rows to the old file, or stream a folder of files."
                raise ValueError(
                    f"{option.flag} cannot change on the way: the checkpoint was made {made}, got "
                    f"{new!r}. {advice}"
                )
            values[option.name] = old
        return self.changed(**values)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value of a checkpoint has the type of an option."""
    if isinstance(kind, tuple):
        return value in kind
    wanted = {int: int, float: int | float, bool: bool, str: str}.get(kind, object)
    return isinstance(value, wanted) and (kind is bool or not isinstance(value, bool))


def with_run_files(settings: Settings, command: str) -> Settings:
    """Return the settings of a command that learns: absolute sources, and a checkpoint.

    Without ``--checkpoint`` that of a fit is named after its source. That of a stream, or of rows
    from standard input, is named after ``--out``, since no two runs may share that, and there is
    none if rows go to standard output: they could not be taken back anyway.
    """
    sources, checkpoint, out = settings.source, settings.checkpoint, settings.out
    if checkpoint is None and (command == "stream" or sources == ["-"]):
        if out != "-" and (os.path.isfile(out) or not os.path.exists(out)):
            checkpoint = os.path.relpath(f"{out}.evermix")
    elif checkpoint is None:
        checkpoint = own_checkpoint(_named_after(sources), command, settings.resume)
    absolute = _absolute(sources)
    return settings.changed(
        source=absolute[0] if len(sources) == 1 else absolute,
        checkpoint=None if checkpoint is None else Path(checkpoint),
    )


def _named_after(sources: Sequence[str]) -> Path:
    """Return the checkpoint, here, of files or of the folder that holds them."""
    path = os.path.abspath(sources[0])
    if len(sources) > 1 or (not os.path.exists(path) and set("*?[") & set(path)):
        path = os.path.dirname(path)
    name = os.path.basename(path).removesuffix(".gz")
    return Path(name or "rows").with_suffix(".evermix")


def _absolute(path: Any) -> Any:
    """Return a path, or each of a list, as an absolute one; "-", None and addresses stay."""
    if isinstance(path, list):
        return [_absolute(some) for some in path]
    return path if path in (None, "-") or is_address(path) else os.path.abspath(path)
