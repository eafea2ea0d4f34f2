"""What every broker has: a reader of the messages of a stream, and a writer.

A reader starts at the offsets that it is given, and commits nothing to the broker: where a stream
was is known by the checkpoint of the model that has learnt it, and by nothing else.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from evermix._extras import install
from evermix.io.brokers.address import Address

PATIENCE = 10.0  # seconds for a broker to answer
FETCH = 1000  # most messages to take at a time
RUN = "evermix-run"  # names the header of an answer that says which run has written it


class BrokerError(OSError):
    """A broker refuses what is wanted of it; the message names the address."""


class Disconnected(BrokerError):
    """A broker cannot be reached now; it may come back."""


class Lost(BrokerError):
    """Messages that were not read yet are not there any more."""


class Changed(BrokerError):
    """A message that was read is not there any more, nor any after it."""


class Message(NamedTuple):
    """A message of a stream.

    Attributes
    ----------
    part : str
        The partition; "" where streams have no partitions.
    offset : str
        By which the broker knows it in its part.
    data : bytes
    run : str or None
        Which run has written it, if it is an answer.
    """

    part: str
    offset: str
    data: bytes
    run: str | None = None

    @property
    def place(self) -> str:
        """Partition and offset, such as ``0:17``, or the offset alone."""
        return f"{self.part}:{self.offset}" if self.part else self.offset


class Broker(ABC):
    """A connection to a broker, for the stream that an address names.

    Parameters
    ----------
    address : Address
    config : mapping
        More settings of the client, such as user and password.
    """

    package: ClassVar[str]
    """What must be installed; the extra of evermix that brings it has the name of the scheme."""

    def __init__(self, address: Address, config: Mapping[str, Any]) -> None:
        self.address, self.config = address, config
        try:
            self.library: Any = import_module(self.package)
        except ImportError as error:
            raise ImportError(
                f"{address.text} needs the package {self.package.replace('_', '-')}: "
                f"{install(address.scheme)}"
            ) from error

    @abstractmethod
    def close(self) -> None:
        """End the connection, if there is one."""

    def refused(self, reason: object) -> BrokerError:
        """Return the error of a broker that refuses a request."""
        return BrokerError(f"{self.address.text}: {reason}")

    def disconnected(self, reason: object) -> Disconnected:
        """Return the error of a broker that does not answer."""
        return Disconnected(
            f"{self.address.text}: the broker cannot be reached ({reason}). Is it running, and are "
            "host and port right?"
        )

    def lost(self, wanted: object, first: object) -> Lost:
        """Return the error of messages that are gone."""
        return Lost(
            f"{self.address.text}: expected to go on after message {wanted}, but the first that is "
            f"left is {first}: the broker has dropped messages that were not read yet. Go on "
            "without them (on the command line: --skip-bad), or start again (--overwrite)."
        )

    def changed(self, wanted: object, last: object) -> Changed:
        """Return the error of a stream that is not the one that was read."""
        return Changed(
            f"{self.address.text}: message {wanted} was read already, and the last that there is "
            f"now is {last}: the stream was made anew, or the broker has lost messages in a crash. "
            "Start again (on the command line: --overwrite)."
        )


class Reader(Broker):
    """Reads the messages of a stream in their order.

    Attributes
    ----------
    at_end : bool
        Whether there was nothing more to read when messages were last fetched.
    """

    at_end = False

    @abstractmethod
    def open(self, after: Mapping[str, str], skip_lost: bool = False, alone: bool = False) -> None:
        """Connect, and begin with the last message that was read of each part.

        That message comes again if it is still there, so that it can be compared. Parts of which
        none was read begin with their first message.

        Parameters
        ----------
        after : mapping of str to str
            The offsets of the last messages that were read, by part.
        skip_lost : bool
            Whether to go on with the first message that is left, if some are gone.
        alone : bool
            Whether to read only the parts that ``after`` names.
        """

    @abstractmethod
    def fetch(self, seconds: float) -> Sequence[Message]:
        """Return the next messages, none if none comes within so many seconds.

        Disconnected: :meth:`open` has to be called again.
        """


class Writer(Broker):
    """Writes messages to the end of a stream.

    Attributes
    ----------
    last : dict of str to str
        Offset of the last message that was written, by part.
    """

    def __init__(self, address: Address, config: Mapping[str, Any]) -> None:
        super().__init__(address, config)
        self.last: dict[str, str] = {}

    @abstractmethod
    def open(self) -> None:
        """Connect, and check that there is something to write to."""

    @abstractmethod
    def send(self, messages: Sequence[bytes], run: str) -> None:
        """Write messages, and return when the broker has acknowledged all of them.

        Disconnected: some of them may have been written, and :meth:`open` has to be called again.
        """
