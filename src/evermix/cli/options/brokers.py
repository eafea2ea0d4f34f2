"""The options of streams that brokers hold."""

from collections.abc import Sequence

import typer

from evermix.cli.options.option import Option
from evermix.cli.options.settings import Settings
from evermix.io.brokers import is_address, parse_address

PANEL = "Brokers"
OPTIONS = (
    Option(
        "broker",
        "Read JSON objects of a broker, in place of SOURCE: kafka://HOST:PORT/TOPIC, "
        "redis://HOST:PORT/STREAM or nats://HOST:PORT/STREAM/SUBJECT (without SUBJECT all). The "
        "checkpoint says where the stream was; nothing is committed to the broker.",
        PANEL,
        flags="--from",
        metavar="ADDRESS",
        saved=False,
    ),
    Option(
        "to",
        "Write the answers to a broker, in place of --out; --resume must name it again.",
        PANEL,
        metavar="ADDRESS",
        saved=False,
    ),
    Option(
        "drain",
        "Stop when all messages that the broker holds were read, instead of waiting for more.",
        PANEL,
        bool,
        False,
        saved=False,
    ),
    Option(
        "broker_config",
        'JSON with settings of the client, by broker: {"redis": {"password": "..."}}.',
        PANEL,
        metavar="FILE",
        saved=False,
        file="read",
    ),
    Option(
        "dead_letter",
        "JSON lines of bad rows: where each was, what is wrong, and its content. The run goes on, "
        "as with --skip-bad.",
        PANEL,
        file="written",
    ),
)


def with_broker(settings: Settings) -> Settings:
    """Return the settings of a stream with its source, a broker's address among them."""
    sources = settings.source or []
    if sources and settings.broker is not None:
        raise typer.BadParameter("give a SOURCE or an address with --from, not both.")
    if not sources and settings.broker is None:
        raise typer.BadParameter("name a SOURCE, or the address of a broker with --from.")
    sources = sources or [settings.broker]
    read = [parse_address(name) for name in sources if is_address(name) or settings.broker]
    if settings.to is not None:
        target = parse_address(settings.to)
        if any(target.same_stream(address) for address in read):
            raise ValueError(
                f"--from and --to must be different streams, got {settings.to} for both: answers "
                "would be read as new rows."
            )
        if settings.out != "-":
            raise ValueError("answers go to one place: give --out or --to, not both.")
    skips = settings.skip_bad or settings.dead_letter is not None
    settings = settings.changed(source=sources, skip_bad=skips)
    settings.given = {*settings.given, "source"}
    return settings


def has_moved(now: Sequence[str], before: Sequence[str]) -> bool:
    """Whether a source is the stream of a broker as before, at another host or port."""
    if not all(is_address(name) for name in (*now, *before)):
        return False
    streams = [[parse_address(name)[1::2] for name in names] for names in (now, before)]
    return streams[0] == streams[1]
