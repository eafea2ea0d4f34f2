"""Engines, families, priors and samplers by name; the fields of their classes are options.

A field of a component becomes an option by itself: its name, type and default are those of the
dataclass field, its help is the first sentence on it in the docstring of the class.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.priors import HYPERPRIORS, HyperPrior

_LAWS: dict[str, Any] = {name.lower(): law for name, law in HYPERPRIORS.items()}
PLAIN = (bool, int, float, str)  # types that a value on the command line can have


class Component:
    """A part of a model that is chosen by name, with the settings of its class.

    Parameters
    ----------
    role : str
        The option that names it, such as "engine".
    classes : mapping of str to type
        Dataclasses, by their names on the command line.
    panel : str
        The panel of ``--help`` for its options.
    spelled : mapping of str to dict
        By field: what of its option does not follow from the field.
    hidden : callable
        Whether a field (of a class, by name) is not for the command line.
    taken : collection of str
        Names that other options have. A field with such a name has the role before its own.
    panels : bool
        Whether options of classes in one package have a panel of their own.
    """

    def __init__(
        self,
        role: str,
        classes: Mapping[str, type],
        panel: str,
        *,
        spelled: Mapping[str, Mapping[str, Any]] | None = None,
        hidden: Callable[[Any, str], bool] = lambda cls, name: False,
        taken: Collection[str] = (),
        panels: bool = False,
    ) -> None:
        self.role, self.classes = role, classes
        self._panel, self._panels, self._spelled = panel, panels, spelled or {}
        owners: dict[str, dict[str, Field[Any]]] = {}
        for owner, cls in classes.items():
            for field in fields_of(cls):
                if not hidden(cls, field.name):
                    owners.setdefault(field.name, {})[owner] = field
        derived = {name: self._option(name, some, taken) for name, some in owners.items()}
        self.options = {name: option for name, option in derived.items() if option is not None}
        """By field."""

    def own(self, name: str | None) -> dict[str, Option]:
        """Return the options of the class of this name, by field."""
        cls: Any = self.classes.get(name or "")
        known = [] if cls is None else [field.name for field in fields_of(cls)]
        return {field: self.options[field] for field in known if field in self.options}

    def given(self, settings: Settings, name: str | None) -> dict[str, Any]:
        """Return the values of fields that were given for the class of this name."""
        own = self.own(name)
        values = {}
        for field, option in self.options.items():
            value = settings.values[option.name]
            if value is None:
                continue
            if field not in own:
                takes = ", ".join(option.flag for option in own.values())
                others = ", ".join(other for other in self.classes if field in self.own(other))
                raise ValueError(
                    f"{option.flag} does not belong to --{self.role} {name}, which takes "
                    f"{takes or 'no options of its own'}. It belongs to {others}."
                )
            values[field] = value if option.convert is None else option.convert(value)
        return values

    def make(self, settings: Settings, name: str) -> Any:
        """Return the component of this name, with the settings that were given."""
        return self.classes[name](**self.given(settings, name))

    def _option(
        self, name: str, owners: Mapping[str, "Field[Any]"], taken: Collection[str]
    ) -> Option | None:
        """Return the option for a field that these classes have; None for what has no plain type.

        Where classes give a field different types, those of the first one are taken.
        """
        first = self.classes[next(iter(owners))]
        spelled = dict(self._spelled.get(name, {}))
        kind = spelled.pop("type", None) or _plain_type(get_type_hints(first)[name])
        if kind is None:
            return None
        option = Option(
            name=f"{self.role}_{name}" if name in taken else name,
            help=self._help(name, owners),
            panel=self._panel_of(owners),
            type=kind,
        )
        if kind is HyperPrior:
            convert = partial(number_or_law, option.flag)
            option = replace(option, type=str, metavar="NUMBER|LAW", convert=convert)
        option = replace(option, **spelled)
        if option.type is bool and not option.flags:
            switched = all(field.default is False for field in owners.values())
            no = "" if switched else "/" + option.flag.replace("--", "--no-")
            option = replace(option, flags=option.flag + no)
        return option

    def _help(self, name: str, owners: Mapping[str, "Field[Any]"]) -> str:
        """Return what the classes write about a field, whose it is, and the defaults.

        A class that only refers to another one has the text of the first that writes something.
        """
        about = {owner: _documented(self.classes[owner]).get(name, "") for owner in owners}
        written = [text for text in about.values() if text and not text.startswith("See ")]
        texts: dict[str, list[str]] = {}
        for owner, field in owners.items():
            text = about[owner] if about[owner] in written else "".join(written[:1])
            default = _shown(field.default)
            texts.setdefault(text, []).append(owner + (f" ({default})" if default else ""))
        return " ".join(f"{', '.join(some)}: {text or name}" for text, some in texts.items())

    def _panel_of(self, owners: Collection[str]) -> str:
        """Return the panel of all classes in the package of the owners, if that is only one."""
        package = {name: cls.__module__.rpartition(".")[0] for name, cls in self.classes.items()}
        found = {package[owner] for owner in owners}
        names = [name for name in self.classes if package[name] in found]
        if not self._panels or len(found) > 1 or len(names) == len(self.classes):
            return self._panel
        several = ", ".join(names[:-1])
        return f"Engines {several} and {names[-1]}" if several else f"Engine {names[0]}"


def fields_of(cls: type) -> tuple["Field[Any]", ...]:
    """Return the fields of a class; none if it is no dataclass."""
    return fields(cls) if is_dataclass(cls) else ()


def command_name(cls: type) -> str:
    """Return the name of a class on the command line: PitmanYor is pitman-yor."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower().removesuffix("-gaussian")


def number_or_law(flag: str, text: str) -> float | HyperPrior:
    """Return a number, or the law of a number that is learnt: ``gamma:1,1`` or ``beta:1,1``."""
    kind, colon, numbers = text.partition(":")
    try:
        if not colon:
            return float(text)
        first, second = (float(number) for number in numbers.split(","))
        return _LAWS[kind](first, second)
    except (KeyError, ValueError) as error:
        raise ValueError(
            f"{flag} wants a number, or a law of two positive numbers such as gamma:1,1 "
            f"or beta:1,1, got {text!r}."
        ) from error


def _plain_type(hint: Any) -> Any:
    """Return the type of an option for a field: of its types the first that a word can have."""
    members = list(_members(hint))
    if any(isinstance(member, type) and issubclass(member, HyperPrior) for member in members):
        return HyperPrior if float in members else None
    for member in members:
        if get_origin(member) is Literal:
            return get_args(member)
    return next((plain for plain in PLAIN if plain in members), None)


def _members(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (Union, UnionType):
        yield from get_args(hint)
    else:
        yield hint


def _shown(default: Any) -> str:
    """Return a default as ``--help`` shows it; nothing for None, False and other objects."""
    if isinstance(default, bool):
        return "yes" if default else ""
    return str(default) if isinstance(default, PLAIN) else ""


def _documented(cls: type) -> dict[str, str]:
    """Return the first sentence on each parameter in the docstring of a class."""
    text = inspect.getdoc(cls) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.M | re.S)
    entries = re.findall(
        r"^(\w[\w, ]*?)(?: :[^\n]*)?\n((?:[ ]+[^\n]*\n?|\n)*)", section[1] if section else "", re.M
    )
    return {name: _first_sentence(about) for names, about in entries for name in names.split(", ")}


def _first_sentence(text: str) -> str:
    """Return the first sentence without the marks of reStructuredText."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?([^`]*)`", r"\1", " ".join(text.split()))
    text = re.sub(r" \(see [^)]*\)", "", text).replace("``", "")
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
