"""``evermix topics``: topics of a source over time, then JSON and pictures of them."""

from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings, with_run_files
from evermix.cli.options.table import MODEL, SAMPLING, TOPICS
from evermix.cli.runs.topics import DEFAULT_PRIOR, Topics, parts
from evermix.cli.runs.topics_follow import FollowedTopics


def options(custom: tuple[type, ...]) -> list[Option]:
    """Return the options of the command."""
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
    source, *others = TOPICS
    return [source, *names, *others, *prior.options.values(), *sampler.options.values()]


def run(settings: Settings) -> None:
    """Find the topics of a source."""
    command = FollowedTopics if settings.follow else Topics
    command.main(with_run_files(settings))
