"""From names and numbers on the command line to a mixture and a text counter."""

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from evermix.cli.options.forgetting import parse_half_life
from evermix.cli.options.hyperpriors import parse_hyperpriors
from evermix.cli.options.settings import (
    FamilyName,
    MixtureSettings,
    PriorName,
    Settings,
    StreamSettings,
    option_name,
)
from evermix.engines import ADF, ENGINES, Engine
from evermix.estimators import Mixture
from evermix.families import (
    Bernoulli,
    DiagonalGaussian,
    Family,
    FixedGaussian,
    Gaussian,
    Multinomial,
    Poisson,
    ZeroMeanGaussian,
)
from evermix.forgetting import Exponential
from evermix.io.text import Hashing, TextCounter, Vocabulary
from evermix.priors import DP, NGGP, PitmanYor
from evermix.priors.base import Prior

_FAMILIES: dict[str, Callable[[], Family]] = {
    FamilyName.GAUSSIAN: Gaussian,
    FamilyName.DIAGONAL: DiagonalGaussian,
    FamilyName.ZERO_MEAN: ZeroMeanGaussian,
    FamilyName.FIXED: FixedGaussian,
    FamilyName.BERNOULLI: Bernoulli,
    FamilyName.POISSON: Poisson,
}
# Per prior: its class, and the options that it takes with the names of its hyperparameters.
_PRIORS: dict[str, tuple[Callable[..., Prior], dict[str, str]]] = {
    PriorName.NGGP: (NGGP, {"a": "a", "sigma": "sigma", "tau": "tau"}),
    PriorName.DP: (DP, {"concentration": "alpha"}),
    PriorName.PITMAN_YOR: (PitmanYor, {"concentration": "alpha", "discount": "discount"}),
}
_PRIOR_OPTIONS = ("a", "sigma", "tau", "concentration", "discount")
# The options of engines, and the settings that they stand for.
_ENGINE_OPTIONS = {
    name: name
    for name in (
        "laps tol shuffle validation birth merge "
        "sweeps burn_in chains thin augmented hybrid "
        "truncation start top batch_size births merges deletes stride delay kappa spill penalty"
    ).split()
} | {"learn": "hyperpriors"}


def make_mixture(settings: MixtureSettings, kind: str, engine: Engine) -> Mixture:
    """Return the mixture that was asked for, for a source of this kind."""
    return Mixture(
        family=_family(settings, kind),
        prior=_prior(settings),
        engine=engine,
        forgetting=_forgetting(settings),
        max_clusters=settings.max_clusters,
        random_state=settings.seed,
    )


def make_engine(settings: MixtureSettings) -> Engine:
    """Return the engine that was asked for."""
    make = {name.lower(): engine for name, engine in ENGINES.items()}[settings.engine]
    known = {field.name for field in fields(make)}
    there = [name for name in _ENGINE_OPTIONS if name in settings.to_spec()]
    options = [name for name in there if _ENGINE_OPTIONS[name] in known]
    given = _given(settings, there, options, f"--engine {settings.engine}")
    if "learn" in given:
        names = _PRIORS[settings.prior][1] | {"alpha": "family.alpha"}
        given["learn"] = parse_hyperpriors(given["learn"], _prior(settings).tunable, names)
    if not os.path.isdir(given.get("spill", ".")):
        raise ValueError(
            f"--spill wants a folder, there is none at {given['spill']}. Make it, or choose "
            "another one."
        )
    if "merge" in given:  # some engines merge unless they are told not to, others only if told
        given["merge"] = ADF().merge if given["merge"] else None
    return make(**{_ENGINE_OPTIONS[option]: value for option, value in given.items()})


def make_text_counter(settings: Settings, texts: Iterable[str], remedy: str) -> TextCounter:
    """Return the hashing that was asked for, or a vocabulary learnt on these texts.

    ``remedy`` names the options that may help where there are no words to learn.
    """
    if settings.hash is not None:
        return Hashing(settings.hash)
    try:
        return Vocabulary.learn(texts, max_words=settings.vocabulary)
    except ValueError as error:
        raise ValueError(
            f"no vocabulary could be learnt: {error} On the command line: {remedy}."
        ) from error


def _family(settings: MixtureSettings, kind: str) -> str | Family:
    name = settings.family
    if name == FamilyName.AUTO and kind != "vectors":
        name = FamilyName.MULTINOMIAL
    if name == FamilyName.MULTINOMIAL:
        return Multinomial() if settings.alpha is None else Multinomial(alpha=settings.alpha)
    if settings.alpha is not None:
        raise ValueError(f"--alpha belongs to the family multinomial, got --family {name}.")
    return "auto" if name == FamilyName.AUTO else _FAMILIES[name]()


def _forgetting(settings: MixtureSettings) -> Exponential | None:
    if not isinstance(settings, StreamSettings) or settings.half_life is None:
        return None
    return parse_half_life(settings.half_life, settings.time_field)


def _prior(settings: MixtureSettings) -> Prior:
    make, options = _PRIORS[settings.prior]
    given = _given(settings, _PRIOR_OPTIONS, options, f"--prior {settings.prior}")
    return make(**{options[name]: value for name, value in given.items()})


def _given(
    settings: MixtureSettings, names: Iterable[str], allowed: Iterable[str], owner: str
) -> dict[str, Any]:
    """Return the settings among ``names`` that were given, if the owner has such options."""
    given = {name: getattr(settings, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given.keys() - set(allowed):
        known = ", ".join(map(option_name, allowed)) or "no options of its own"
        raise ValueError(f"{option_name(name)} does not belong to {owner}, which takes {known}.")
    return given
