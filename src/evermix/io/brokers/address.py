"""Addresses of streams that brokers hold, such as ``kafka://localhost:9092/tickets``."""

import re
from typing import NamedTuple
from urllib.parse import unquote

FORMS = {
    "kafka": "kafka://HOST:PORT/TOPIC",
    "redis": "redis://HOST:PORT/STREAM",
    "nats": "nats://HOST:PORT/STREAM/SUBJECT",
}
PORTS = {"kafka": 9092, "redis": 6379, "nats": 4222}
MOST_NAMES = {"kafka": 1, "redis": 1, "nats": 2}

_SERVER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]\s]+)(?::(\d{1,5}))?")


class Address(NamedTuple):
    """Where messages are.

    Attributes
    ----------
    text : str
        As the user wrote it.
    scheme : str
        "kafka", "redis" or "nats".
    servers : tuple of (str, int)
        Hosts and ports.
    names : tuple of str
        The topic, or the stream and perhaps the subject.
    """

    text: str
    scheme: str
    servers: tuple[tuple[str, int], ...]
    names: tuple[str, ...]

    def same_stream(self, other: "Address") -> bool:
        """Whether another address may name the same messages."""
        if (self.scheme, self.servers, self.names[0]) != (
            other.scheme,
            other.servers,
            other.names[0],
        ):
            return False
        return self.names == other.names or len(self.names) < 2 or len(other.names) < 2


def is_address(name: str) -> bool:
    """Whether a name is an address, rather than a file."""
    return "://" in name


def parse_address(text: str) -> Address:
    """Return the parts of an address, or raise ValueError."""
    scheme, _, rest = text.partition("://")
    if scheme not in FORMS:
        raise ValueError(
            f"{text}: expected an address such as {', '.join(FORMS.values())}, got the scheme "
            f"{scheme!r}."
        )
    form = FORMS[scheme]
    place, _, path = rest.partition("/")
    if "@" in place:
        raise ValueError(
            f"{form}: expected no user or password in an address, which checkpoints and messages "
            "repeat. Put them into a file (on the command line: --broker-config FILE)."
        )
    if set("?#") & set(rest):
        raise ValueError(f"{text}: expected {form}, got an address with ? or #.")
    names = tuple(unquote(name) for name in path.split("/"))
    if not 1 <= len(names) <= MOST_NAMES[scheme] or not all(names):
        raise ValueError(
            f"{text}: expected {form}, got {path!r} after the port. (Write / in a name as %2F.)"
        )
    servers = tuple(_server(text, form, PORTS[scheme], server) for server in place.split(","))
    if scheme == "redis" and len(servers) > 1:
        raise ValueError(f"{text}: expected one host and port, got {len(servers)}.")
    return Address(text, scheme, servers, names)


def _server(text: str, form: str, port: int, server: str) -> tuple[str, int]:
    found = _SERVER.fullmatch(server)
    number = int(found[2] or port) if found else 0
    if found is None or not 0 < number < 2**16:
        raise ValueError(f"{text}: expected {form}, got {server!r} for host and port.")
    return found[1].strip("[]"), number
