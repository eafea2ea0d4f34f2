"""From names and numbers on the command line to a topic model."""

from typing import Any

from evermix.cli.options.settings import option_name
from evermix.cli.options.topic_settings import TopicSettings
from evermix.estimators import TopicModel
from evermix.report.canvas import check_picture
from evermix.topics.hierarchies import TOPIC_PRIORS
from evermix.topics.words.samplers import WORD_SAMPLERS

_TIMELESS = ("hdp", "hngg")
_FLAT = ("mngg", "tngg")
_OPTIONS = {"hsngg": ("window",), "hdp": (), "hngg": ()}  # others take regions


def make_topic_model(settings: TopicSettings) -> TopicModel:
    """Return the topic model that was asked for."""
    sampler = settings.sampler
    alpha = {} if settings.alpha is None else {"alpha": settings.alpha}
    return TopicModel(
        prior=_prior(settings),
        sampler=None if sampler is None else WORD_SAMPLERS[sampler.upper()](),
        burn_in=settings.burn_in,
        draws=settings.draws,
        chains=settings.chains,
        random_state=settings.seed,
        **alpha,
    )


def knows_times(settings: TopicSettings) -> bool:
    """Whether the prior has something to do with times."""
    return settings.prior not in _TIMELESS


def check_asked(settings: TopicSettings) -> None:
    """Refuse what cannot be done, before anything is read."""
    if settings.time_field is None:
        if settings.prior not in (*_TIMELESS, *_FLAT):
            raise ValueError(
                f"--prior {settings.prior} is a model over time, and wants to know the times of "
                "documents: name the field or column that holds them, such as --time-field year. "
                "Topics without times are found with --prior hdp."
            )
        if settings.pictures or settings.period:
            wanted = "--period" if settings.period else "--figure and --curves"
            raise ValueError(f"{wanted} want times. Name their field with --time-field.")
    for path in settings.pictures:
        check_picture(path)


def _prior(settings: TopicSettings) -> Any:
    allowed = _OPTIONS.get(settings.prior, ("regions",))
    given = {name: getattr(settings, name) for name in ("regions", "window")}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given.keys() - set(allowed):
        known = ", ".join(map(option_name, allowed)) or "no options of its own"
        raise ValueError(
            f"{option_name(name)} does not belong to --prior {settings.prior}, which takes {known}."
        )
    return TOPIC_PRIORS[settings.prior.upper()](**given)
