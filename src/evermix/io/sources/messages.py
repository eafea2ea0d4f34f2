"""Messages of a broker as lines, and where each of them was."""

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from evermix.io.brokers import (
    BrokerError,
    Disconnected,
    Message,
    make_reader,
    parse_address,
    read_config,
)
from evermix.io.sources.chunk import Mark
from evermix.io.sources.errors import SourceError
from evermix.io.sources.lines import PAUSE, LiveLines
from evermix.io.sources.options import Options

LOG = logging.getLogger("evermix")
POLL = 0.2  # seconds to wait for messages at a time
SHORTEST, LONGEST = 0.1, 5.0  # seconds between two attempts to reach a broker again


class Messages(LiveLines):
    """The messages of a broker's stream, from where an earlier run was.

    If the broker goes away, it is waited for, and messages go on after the last one that came.

    Parameters
    ----------
    text : str
        The address.
    options : Options
        ``max_wait``, ``marks``, ``drain``, ``skip_bad`` and ``broker_config`` matter.
    """

    def __init__(self, text: str, options: Options) -> None:
        self.text, self._options = text, options
        if options.max_wait is None:
            raise SourceError(
                f"{text}: messages of a broker have no end, so they can only be streamed: evermix "
                "stream, or open_source with max_wait."
            )
        try:
            address = parse_address(text)
            self._reader = make_reader(address, read_config(options.broker_config, address.scheme))
            self._marks = {mark.path: mark for mark in options.marks}  # of what was passed on
            self._seen = {part: str(mark.offset) for part, mark in self._marks.items()}
            self._last: dict[str, Message] = {}
            self._waiting: deque[Message] = deque()
        except ValueError as error:
            raise SourceError(str(error)) from error
        try:
            self._reader.open(self._seen, options.skip_bad)
        except BrokerError as error:
            self.close()
            raise SourceError(str(error)) from error
        self.resumed = bool(self._marks)
        super().__init__(options.max_wait)

    def coming(self) -> Iterator[bytes]:
        """Yield messages as they come, and pauses."""
        try:
            while True:
                left = self.remaining()
                messages = self._fetched(POLL if left is None else min(POLL, left))
                for message in messages:
                    self._waiting.append(message)
                    yield message.data or b"\n"
                if messages:
                    continue
                ended = self._options.drain and self._reader.at_end
                if ended or self.remaining() == 0.0:
                    yield PAUSE  # also at the end, to account for bad messages there
                if ended:
                    return
        finally:
            self.close()

    def close(self) -> None:
        """End the connection to the broker."""
        self._reader.close()

    def _fetched(self, seconds: float) -> Sequence[Message]:
        """Return new messages; those that were read before are compared and left out."""
        try:
            found = self._reader.fetch(seconds)
        except Disconnected as error:
            self._return(error)
            return []
        except BrokerError as error:
            raise SourceError(str(error)) from error
        new = []
        for message in found:
            if self._seen.get(message.part) != message.offset:
                self._seen[message.part] = message.offset
                new.append(message)
            elif message.part in self._marks and message.part not in self._last:
                self._compare(message)
        return new

    def _return(self, lost: Disconnected) -> None:
        """Wait a little for a broker that has gone, and begin after the last message that came."""
        if not self._away:
            LOG.warning("%s Trying again until it is back.", lost)
        self._away = min(max(2 * self._away, SHORTEST), LONGEST)
        left = self.remaining()
        time.sleep(self._away if left is None else min(self._away, max(left, SHORTEST)))
        try:
            self._reader.open(self._seen, self._options.skip_bad)
        except Disconnected:
            return
        except BrokerError as error:
            raise SourceError(str(error)) from error
        LOG.warning("%s: the broker is back.", self.text)
        self._away = 0.0

    _away = 0.0  # seconds between the last two attempts to reach the broker

    def _compare(self, message: Message) -> None:
        """Raise SourceError if the last message of an earlier run is another one now."""
        expected = self._marks[message.part].digest
        if expected is not None and expected != _digest(message):
            raise SourceError(
                f"{self.text}: message {message.place} was read already, and is another one now: "
                "the stream was made anew. Start again (on the command line: --overwrite)."
            )

    def passed(self, line: bytes) -> None:
        """Note that a message is read now."""
        message = self._waiting.popleft()
        before = self._marks.get(message.part) or Mark(message.part, 0, None)
        self._marks[message.part] = before._replace(size=before.size + 1, offset=message.offset)
        self._last[message.part], self.offset = message, message.place

    def mark(self) -> list[Mark]:
        """Return the last message that was read of each partition, for a checkpoint."""
        for part, message in self._last.items():
            self._marks[part] = self._marks[part]._replace(digest=_digest(message))
        return list(self._marks.values())

    def place(self, line: int) -> str:
        """Return where the last message that was read is, for messages of errors."""
        return f"{self.text}: message {self.offset}"


def _digest(message: Message) -> str:
    return blake2b(message.data, digest_size=16).hexdigest()
