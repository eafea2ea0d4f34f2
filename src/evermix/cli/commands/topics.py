"""``evermix topics``: topics of a source over time, then JSON and pictures of them."""

from evermix.cli.options.settings import Settings, with_run_files
from evermix.cli.runs.topics import Topics
from evermix.cli.runs.topics_follow import FollowedTopics


def run(settings: Settings) -> None:
    """Find the topics of a source."""
    command = FollowedTopics if settings.follow else Topics
    command.main(with_run_files(settings, command.command))
