"""NATS JetStream: the messages of a stream, or of one of its subjects, by their sequence.

The client lives in a loop of its own thread, so that signals can end the program at any time.
"""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from importlib import import_module
from typing import Any

from evermix.io.brokers.base import FETCH, PATIENCE, RUN, Broker, Message, Reader, Writer

IDLE = 600.0  # seconds after which the server forgets a consumer that asks for nothing
SHORTEST = 0.02  # seconds for the server to answer a request for messages
AT_ONCE = 500  # messages to publish before their acknowledgements are awaited


class _Nats(Broker):
    package = "nats"
    _client: Any = None
    _loop: asyncio.AbstractEventLoop | None = None

    def connect(self) -> None:
        """Connect anew."""
        self.close()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True)
        self._thread.start()
        self.done(self._connect())
        self.jetstream = self._client.jetstream(timeout=PATIENCE)

    async def _connect(self) -> None:
        async def quiet(_: Exception) -> None:  # the next call raises
            return None

        servers = [f"nats://{_host(host)}:{port}" for host, port in self.address.servers]
        ours = {
            "connect_timeout": PATIENCE,
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.1,
            "error_cb": quiet,
        }
        self._client = await self.library.connect(servers=servers, **{**ours, **self.config})

    def close(self) -> None:
        """End the connection, if there is one."""
        loop, self._loop = self._loop, None
        client, self._client = self._client, None
        if loop is None:
            return
        if client is not None:
            ended = asyncio.run_coroutine_threadsafe(client.close(), loop)
            try:
                ended.result(PATIENCE)
            except Exception:  # it is gone anyway
                ended.cancel()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(PATIENCE)

    def done(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of what the client does; its errors become ours."""
        assert self._loop is not None
        errors, refusals = self.library.errors, import_module("nats.js.errors")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(6 * PATIENCE)
        except refusals.NotFoundError as error:
            raise self.refused(
                f"there is no stream {self.address.names[0]!r}. Make it first, or correct its name."
            ) from error
        except refusals.NoStreamResponseError as error:
            raise self.refused(
                f"no stream takes the subject {self.address.names[-1]!r}."
            ) from error
        except (refusals.ServiceUnavailableError, errors.NoRespondersError) as error:
            raise self.disconnected("it has no JetStream, or not yet") from error
        except refusals.APIError as error:
            raise self.refused(f"{error.description}.") from error
        except (errors.AuthorizationError, errors.SecureConnRequiredError) as error:
            raise self.refused(f"{error}. Give user and password with --broker-config.") from error
        except (errors.Error, OSError, TimeoutError, asyncio.CancelledError) as error:
            raise self.disconnected(str(error) or type(error).__name__) from error
        except TypeError as error:
            raise self.refused(f"the client takes no such setting ({error}).") from error


class NatsReader(_Nats, Reader):
    """Reads the messages of a stream, of one subject if the address names one."""

    def open(self, after: Mapping[str, str], skip_lost: bool = False, alone: bool = False) -> None:
        """Connect, and begin with the last message that was read."""
        del alone
        self.connect()
        state = self.done(self.jetstream.stream_info(self.address.names[0])).state
        last = int(after.get("", 0))
        if last > state.last_seq:
            raise self.changed(last, state.last_seq)
        if last and state.first_seq > last + 1 and not skip_lost:
            raise self.lost(last, state.first_seq)
        self._received = 0
        self.done(self._subscribe(max(last, 1)))

    async def _subscribe(self, first: int) -> None:
        api = import_module("nats.js.api")
        stream, *subject = self.address.names
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=first,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=IDLE,
            mem_storage=True,
        )
        subscribe = self.jetstream.pull_subscribe
        self._subscription = await subscribe(*(subject or [">"]), stream=stream, config=config)

    def fetch(self, seconds: float) -> Sequence[Message]:
        """Return the next messages, none if none comes within so many seconds."""
        messages = [self._message(found) for found in self.done(self._fetch(seconds))]
        self.at_end = not messages and self._has_all()
        return messages

    async def _fetch(self, seconds: float) -> Any:
        try:
            return await self._subscription.fetch(FETCH, timeout=max(seconds, SHORTEST))
        except TimeoutError:
            if not self._client.is_connected:
                raise
            return []

    def _has_all(self) -> bool:
        """Whether the server has sent everything, and all of it has come."""
        info = self.done(self._subscription.consumer_info())
        if info.delivered.consumer_seq != self._received:
            raise self.disconnected("messages were lost on their way")
        return not info.num_pending

    def _message(self, found: Any) -> Message:
        numbers = found.metadata.sequence
        self._received += 1
        if numbers.consumer != self._received:
            raise self.disconnected("messages were lost on their way")
        return Message("", str(numbers.stream), found.data, (found.headers or {}).get(RUN))


class NatsWriter(_Nats, Writer):
    """Publishes to a subject of a stream."""

    def open(self) -> None:
        """Connect, and check that there is something to write to."""
        if len(self.address.names) < 2:
            raise self.refused("expected nats://HOST:PORT/STREAM/SUBJECT to write to.")
        self.connect()
        self.done(self.jetstream.stream_info(self.address.names[0]))

    def send(self, messages: Sequence[bytes], run: str) -> None:
        """Write messages, and return when the broker has acknowledged all of them."""
        for first in range(0, len(messages), AT_ONCE):
            self.done(self._send(messages[first : first + AT_ONCE], run))

    async def _send(self, messages: Sequence[bytes], run: str) -> None:
        stream, subject = self.address.names
        given: dict[str, Any] = {"stream": stream, "headers": {RUN: run}}
        # One connection keeps the order in which they are published.
        publish = self.jetstream.publish_async
        futures = [await publish(subject, data, **given) for data in messages]
        for future in futures:
            reply = await asyncio.wait_for(future, PATIENCE)
            self.last[""] = str(max(int(self.last.get("", 0)), reply.seq))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped, and let what is left in it end."""
    try:
        loop.run_forever()
        loop.run_until_complete(_end_tasks())
    finally:
        loop.close()


async def _end_tasks() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
