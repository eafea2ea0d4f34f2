"""Redis Streams: an entry is a message.

The field "json" of an entry holds its record. In entries without it the fields are the record, as
texts; lists of numbers may be written as JSON.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from evermix.io.brokers.base import FETCH, PATIENCE, RUN, Broker, Message, Reader, Writer

FIRST = "0-0"


class _Redis(Broker):
    package = "redis"
    _client: Any = None

    def connect(self) -> None:
        self.close()
        ((host, port),) = self.address.servers
        limits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
        with self.errors():
            # A command that has timed out may have been done, so none is sent again by itself.
            never = import_module("redis.backoff").NoBackoff()
            retry = import_module("redis.retry").Retry(never, 0)
            settings = {**limits, "retry": retry, **self.config, "decode_responses": False}
            self._client = self.library.Redis(host=host, port=port, **settings)
            self._client.ping()

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the errors of the client into ours."""
        wrong = self.library.exceptions
        try:
            yield
        except wrong.AuthenticationError as error:
            raise self.refused(f"{error}. Give user and password with --broker-config.") from error
        except (wrong.ConnectionError, wrong.TimeoutError, OSError) as error:
            raise self.disconnected(error) from error
        except wrong.RedisError as error:
            raise self.refused(f"{error}.") from error
        except TypeError as error:
            raise self.refused(f"the client takes no such setting ({error}).") from error

    @property
    def name(self) -> str:
        return self.address.names[0]


class RedisReader(_Redis, Reader):
    """Reads the entries of a stream."""

    _after = FIRST

    def open(self, after: Mapping[str, str], skip_lost: bool = False, alone: bool = False) -> None:
        """Connect, and begin with the last message that was read."""
        del alone
        self.connect()
        last = after.get("", FIRST)
        with self.errors():
            info = self._client.xinfo_stream(self.name) if self._client.exists(self.name) else None
        if info is None:
            raise self.refused(
                f"there is no stream {self.name!r}. Write something to it first (XADD), or correct "
                "its name."
            )
        newest = info["last-generated-id"].decode()
        if _numbers(last) > _numbers(newest) and not skip_lost:  # new entries have later names
            raise self.changed(last, newest)
        first = info["first-entry"]
        if first is not None and last != FIRST and _numbers(first[0].decode()) > _numbers(last):
            if not skip_lost:
                raise self.lost(last, first[0].decode())
        self._after = _before(last)

    def fetch(self, seconds: float) -> Sequence[Message]:
        """Return the next messages, none if none comes within so many seconds."""
        wait = max(int(1000 * seconds), 1)
        with self.errors():
            found = self._client.xread({self.name: self._after}, count=FETCH, block=wait)
        entries = [] if not found else _entries(found)
        self.at_end = not entries
        messages = [_message(name.decode(), fields) for name, fields in entries]
        if messages:
            self._after = messages[-1].offset
        return messages


class RedisWriter(_Redis, Writer):
    """Adds entries to a stream."""

    def open(self) -> None:
        """Connect, and check that there is something to write to."""
        self.connect()
        with self.errors():
            kind = self._client.type(self.name)
        if kind not in (b"none", b"stream"):
            raise self.refused(f"expected a stream, {self.name!r} is a {kind.decode()}.")

    def send(self, messages: Sequence[bytes], run: str) -> None:
        """Write messages, and return when the broker has acknowledged all of them."""
        with self.errors():
            pipe = self._client.pipeline(transaction=False)
            for data in messages:
                pipe.xadd(self.name, {"json": data, RUN: run})
            names = pipe.execute()
        if names:
            self.last[""] = names[-1].decode()


def _entries(found: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the entries of a reply, which newer protocols give by name."""
    if isinstance(found, dict):
        return [entry for parts in found.values() for part in parts for entry in part]
    return found[0][1]


def _message(name: str, fields: dict[bytes, bytes]) -> Message:
    run = fields.get(RUN.encode())
    data = fields.get(b"json")
    if data is None:
        texts = {_text(key): _value(value) for key, value in fields.items()}
        data = json.dumps(texts).encode()
    return Message("", name, data, None if run is None else _text(run))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _value(value: bytes) -> Any:
    """Return a list of numbers that is written as JSON, and everything else as text."""
    if value[:1] == b"[":
        try:
            numbers = json.loads(value)
            if all(isinstance(number, int | float) for number in numbers):
                return numbers
        except (ValueError, RecursionError):
            pass
    return _text(value)


def _numbers(name: str) -> tuple[int, int]:
    milliseconds, _, sequence = name.partition("-")
    return int(milliseconds), int(sequence or 0)


def _before(name: str) -> str:
    """Return the name just before one, so that reading after it begins with this one."""
    milliseconds, sequence = _numbers(name)
    if sequence:
        return f"{milliseconds}-{sequence - 1}"
    return f"{milliseconds - 1}-{2**64 - 1}" if milliseconds else FIRST
