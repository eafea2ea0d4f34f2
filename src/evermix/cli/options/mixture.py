"""From the options of a command to a mixture: its engine, family, prior and forgetting."""

import inspect
import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from evermix.cli.options.components import Component, command_name, fields_of, number_or_law
from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.cli.options.table import ENGINE, FIT, MODEL, STREAM
from evermix.engines import ADF, ENGINES, Engine
from evermix.estimators import Mixture
from evermix.families import FAMILIES, Family
from evermix.forgetting import Exponential
from evermix.priors import PRIORS, Beta, Gamma, HyperPrior, Prior
from evermix.priors.base import UNIT

AUTO = "auto"
FAMILY = "family."  # begins the names of hyperparameters of families
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _folder(path: str) -> str:
    if not os.path.isdir(path):
        raise ValueError(
            f"--spill wants a folder, there is none at {path}. Make it, or choose another one."
        )
    return path


def _pairs(words: list[str]) -> list[tuple[int, int]]:
    """Return pairs of rows, or raise ValueError."""
    try:
        return [(int(one), int(two)) for one, two in (word.split(",") for word in words)]
    except ValueError:
        raise ValueError(f"links are pairs of rows such as 0,3, got {', '.join(words)}.") from None


_LINKS: dict[str, Any] = {"type": str, "repeated": True, "metavar": "I,J", "convert": _pairs}
_ENGINE_FIELDS: dict[str, dict[str, Any]] = {
    "merge": {  # some engines merge by default, others do not
        "help": "Fuse clusters that turn out to be one (default, but of sugs and onlinecrp).",
        "type": bool,
        "flags": "--merge/--no-merge",
        "convert": lambda on: ADF().merge if on else None,
    },
    "hyperpriors": {
        "name": "learn",
        "help": "A hyperparameter to learn, such as sigma or sigma=beta:2,2; repeat for more.",
        "type": str,
        "repeated": True,
        "metavar": "NAME[=LAW]",
    },
    "must_link": {
        "help": "Two rows, counted from 0, in one cluster; repeat for more.",
        **_LINKS,
    },
    "cannot_link": {"help": "Two rows, counted from 0, kept apart; repeat for more.", **_LINKS},
    "start": {"file": "read", "metavar": "WAY|FILE"},
    "spill": {"file": "folder", "metavar": "FOLDER", "convert": _folder},
}


def own_classes(names: Iterable[str]) -> tuple[type, ...]:
    """Import modules, and return the user's engines, families and priors in them."""
    found: list[type] = []
    for name in names:
        try:
            module = import_module(name)
        except Exception as error:
            raise ImportError(
                f"--plugin {name} could not be imported ({type(error).__name__}: {error}). Give "
                "the name of a module in this folder, or of one that is installed."
            ) from error
        found += [cls for cls in vars(module).values() if inspect.isclass(cls)]
    return tuple(
        cls
        for cls in dict.fromkeys(found)
        if issubclass(cls, Engine | Family | Prior)
        and not inspect.isabstract(cls)
        and not cls.__module__.startswith("evermix.")
    )


class Parts(NamedTuple):
    """The components of a mixture, for a command that knows some engines."""

    engine: Component
    prior: Component
    family: Component


@cache
def parts(custom: tuple[type, ...], streaming: bool) -> Parts:
    """Return the components of mixtures: ours, and the user's own classes.

    Parameters
    ----------
    custom : tuple of classes
    streaming : bool
        Whether only engines are wanted that learn rows as they come.
    """

    def all_of(base: type, ours: Iterable[type]) -> list[Any]:
        return [*ours, *(cls for cls in custom if issubclass(cls, base))]

    every = {cls.__name__.lower(): cls for cls in all_of(Engine, ENGINES.values())}
    engines = {name: cls for name, cls in every.items() if cls.streams or not streaming}
    # Names are those of all commands, so that an option has the same name in each.
    taken = {option.name for option in (*STREAM, *FIT)}
    engine = Component(
        "engine",
        engines,
        ENGINE,
        spelled=_ENGINE_FIELDS,
        hidden=lambda cls, name: streaming and name in cls.may_change,  # they end a fit
        taken=taken,
        panels=True,
    )
    taken |= {field.name for cls in every.values() for field in fields_of(cls)}
    priors = {command_name(cls): cls for cls in all_of(Prior, PRIORS.values())}
    prior = Component(
        "prior", priors, MODEL, spelled={"alpha": {"name": "concentration"}}, taken=taken
    )
    taken |= {option.name for option in prior.options.values()}
    families = {command_name(cls): cls for cls in all_of(Family, FAMILIES.values())}
    family = Component(
        "family",
        families,
        MODEL,
        hidden=lambda cls, name: name in ("n_features", "growing"),  # follow from the rows
        taken=taken,
    )
    return Parts(engine, prior, family)


def mixture_options(custom: tuple[type, ...], streaming: bool) -> tuple[list[Option], list[Option]]:
    """Return the options that name a part of a mixture, and those of the parts."""
    engine, prior, family = parts(custom, streaming)
    names = [
        Option(
            name="engine",
            help="How: auto learns all that is not given, and reviews its clusters now and then; "
            "adf shares a row among clusters; rcrp too, and infers the number of clusters; sugs "
            "gives it to the best one, onlinecrp draws one; dpmeans is k-means that opens clusters."
            if streaming
            else "How: auto learns all that is not given; ep revisits every row until nothing "
            "changes; gibbs and slice draw from the exact posterior; memoizedvb, fullvb and "
            "stochasticvb raise a lower bound on the evidence (ELBO); adf, rcrp, sugs and "
            "onlinecrp pass once; dpmeans is k-means that opens clusters.",
            panel=ENGINE,
            type=(AUTO, *engine.classes),
            default=AUTO,
        ),
        Option(
            name="family",
            help="What a cluster looks like.",
            panel=MODEL,
            type=(AUTO, *family.classes),
            default=AUTO,
        ),
        Option(
            name="prior",
            help="How many clusters, and how big (default: learnt with auto, dp for the vb "
            "engines, rcrp, dpmeans, sugs and onlinecrp, nggp for the others).",
            panel=MODEL,
            type=tuple(prior.classes),
        ),
    ]
    return names, [each for part in (family, prior, engine) for each in part.options.values()]


def with_default_prior(settings: Settings, streaming: bool) -> Settings:
    """Return the settings with the usual prior of the engine, if none was given.

    Without a given engine the prior is learnt, unless some of its hyperparameters were given.
    """
    known = parts(settings.custom, streaming)
    given = any(settings.values[option.name] is not None for option in known.prior.options.values())
    if settings.prior is not None or (settings.engine == AUTO and not given):
        return settings
    engine: Any = known.engine.classes.get(settings.engine, ADF)
    name = command_name(type(engine.default_prior()))
    return settings.changed(prior=name if name in known.prior.classes else None)


def make_mixture(
    settings: Settings, kind: str, streaming: bool, columns: Sequence[str] | None = None
) -> Mixture:
    """Return the mixture of these settings, for a source of this kind with these columns."""
    known = parts(settings.custom, streaming)
    name = settings.family
    if name == AUTO and kind not in ("vectors", "table") and settings.values.get("embed") is None:
        name = "multinomial"
    for part, chosen in ((known.family, name), (known.prior, settings.prior)):
        part.given(settings, chosen)  # raises if an option belongs to another one
    half_life = settings.half_life if streaming else None
    mix = Mixture(
        family=AUTO if name == AUTO else known.family.make(settings, name),
        prior=None if settings.prior is None else known.prior.make(settings, settings.prior),
        engine=make_engine(settings, streaming),
        forgetting=None if half_life is None else parse_half_life(half_life, settings.time_field),
        max_clusters=settings.max_clusters,
        random_state=settings.seed,
    )
    if columns is not None and kind != "table":  # tables have names of their own
        mix.column_names_ = list(columns)
    return mix


def make_engine(settings: Settings, streaming: bool) -> Engine | None:
    """Return the engine of these settings, None for the automatic one."""
    engine, prior, _ = parts(settings.custom, streaming)
    given = engine.given(settings, settings.engine)
    if settings.engine == AUTO:
        return None
    if "hyperpriors" in given:
        own = prior.own(settings.prior)
        tunable = prior.classes[settings.prior].tunable if own else {}  # type: ignore[attr-defined]
        names = {option.name: field for field, option in own.items() if field in tunable}
        names["alpha"] = f"{FAMILY}alpha"
        given["hyperpriors"] = parse_hyperpriors(given["hyperpriors"], tunable, names)
    return engine.classes[settings.engine](**given)


def parse_half_life(text: str, time_field: str | None) -> Exponential:
    """Return the forgetting of ``--half-life``: ``1000``, or ``7d`` for rows of dates.

    ``time_field`` is the field with the times of rows, if there is one.
    """
    unit = _SECONDS.get(text[-1:])
    try:
        number = float(text if unit is None else text[:-1])
    except ValueError as error:
        raise ValueError(
            "--half-life wants a number of rows, or a duration such as 45s, 30m, 12h, 7d or 2w, "
            f"got {text!r}."
        ) from error
    if unit is None:
        return Exponential(number)
    if time_field is None:
        raise ValueError(
            f"--half-life {text} is a duration, so every row needs a date: name the field or "
            "column that holds it with --time-field."
        )
    return Exponential(number * unit, dated=True)


def parse_hyperpriors(
    words: Iterable[str], domains: Any, names: dict[str, str]
) -> dict[str, HyperPrior]:
    """Return the hyperpriors of ``--learn``, by the name of the hyperparameter.

    Parameters
    ----------
    words : iterable of str
        Each ``NAME``, ``NAME=gamma:SHAPE,RATE`` or ``NAME=beta:A,B``; a name alone means
        ``gamma:1,1``, or ``beta:1,1`` for a hyperparameter between 0 and 1.
    domains : mapping of str to (float, float)
        The hyperparameters of the prior that can be learnt, and their bounds.
    names : dict of str to str
        Names of hyperparameters on the command line, and those in engines. Names that begin with
        "family." are the same in both.
    """
    laws: dict[str, HyperPrior] = {}
    for word in words:
        option, named, law = word.partition("=")
        if option not in names and not option.startswith(FAMILY):
            raise ValueError(
                f"--learn takes {', '.join(names)} or {FAMILY}NAME here, got {option!r}."
            )
        name = names.get(option, option)
        if name in laws:
            raise ValueError(f"--learn {option} was given twice; give it once.")
        laws[name] = Beta() if domains.get(name) == UNIT else Gamma()
        if named:
            laws[name] = _law(word, law)
    return laws


def _law(word: str, text: str) -> HyperPrior:
    try:
        law = number_or_law("--learn", text)
    except ValueError:
        law = 0.0
    if isinstance(law, float):
        raise ValueError(
            f"--learn wants a law of two positive numbers, such as {word.split('=')[0]}=gamma:1,1 "
            f"or beta:1,1, got {word!r}."
        )
    return law
