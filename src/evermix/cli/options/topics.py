"""The priors and samplers of topic models, and their options."""

from functools import cache

from evermix.cli.options.components import Component
from evermix.cli.options.option import Option
from evermix.cli.options.table import MODEL
from evermix.cli.options.topics_table import SAMPLING, TOPICS
from evermix.topics.hierarchies import TOPIC_PRIORS
from evermix.topics.words.samplers import WORD_SAMPLERS

DEFAULT_PRIOR, DEFAULT_SAMPLER = "hmngg", "h1"


@cache
def parts() -> tuple[Component, Component]:
    """Return the priors and the samplers of topic models."""
    taken = {option.name for option in TOPICS}
    priors = {name.lower(): cls for name, cls in TOPIC_PRIORS.items()}
    samplers = {name.lower(): cls for name, cls in WORD_SAMPLERS.items()}
    prior = Component("prior", priors, MODEL, taken=taken)
    taken |= {option.name for option in prior.options.values()}
    return prior, Component("sampler", samplers, SAMPLING, taken=taken)


def topic_options() -> tuple[list[Option], list[Option]]:
    """Return the options that name a part of a topic model, and those of the parts."""
    prior, sampler = parts()
    names = [
        Option(
            name="prior",
            help="How times share topics: hmngg, hmngp mix regions, smoothly; in htngg, htngp "
            "topics can die and come back; in hsngg a time is like its neighbours; hngg and hdp "
            "know no times; mngg and tngg have no level of documents.",
            panel=MODEL,
            type=tuple(prior.classes),
            default=DEFAULT_PRIOR,
        ),
        Option(
            name="sampler",
            help="h1 (default) seats words at tables; h2 draws a topic and whether a table opens.",
            panel=SAMPLING,
            type=tuple(sampler.classes),
        ),
    ]
    return names, [*prior.options.values(), *sampler.options.values()]
