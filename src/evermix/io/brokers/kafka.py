"""Kafka: the partitions of a topic, read from the offsets that a checkpoint holds.

No group is joined and nothing is committed. Partitions that are added later are read after the next
start.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evermix.io.brokers.base import FETCH, PATIENCE, RUN, Broker, Message, Reader, Writer

ANSWERS = 0  # the partition of answers, so that they stay in order


class _Kafka(Broker):
    package = "confluent_kafka"

    def settings(self, **ours: Any) -> dict[str, Any]:
        servers = ",".join(f"{host}:{port}" for host, port in self.address.servers)
        return {"bootstrap.servers": servers, "log_level": 0, **ours, **self.config}

    def made(self, kind: str, settings: dict[str, Any]) -> Any:
        """Return a client, if its settings are right."""
        try:
            return getattr(self.library, kind)(settings)
        except (self.library.KafkaException, ValueError, TypeError) as error:
            raise self.refused(f"the client refuses its settings ({error}).") from error

    def partitions(self, client: Any) -> list[int]:
        """Return the partitions of the topic, if there is such a topic."""
        try:
            found = client.list_topics(self.topic, timeout=PATIENCE).topics[self.topic]
        except self.library.KafkaException as error:
            raise self.disconnected(error.args[0].str()) from error
        if found.error is not None or not found.partitions:
            said = "it has no partitions" if found.error is None else found.error.str()
            raise self.refused(
                f"there is no topic {self.topic!r} that can be used ({said}). Make it first, or "
                "correct its name."
            )
        return sorted(found.partitions)

    @property
    def topic(self) -> str:
        return self.address.names[0]


class KafkaReader(_Kafka, Reader):
    """Reads the messages of a topic; those of one partition come in their order."""

    _client: Any = None

    def open(self, after: Mapping[str, str], skip_lost: bool = False, alone: bool = False) -> None:
        """Connect, and begin with the last message that was read of each partition."""
        self.close()
        settings = {
            "group.id": "evermix",  # which the client wants, though it is never joined
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
        }
        self._client = self.made("Consumer", self.settings(**settings))
        partitions = [p for p in self.partitions(self._client) if not alone or str(p) in after]
        gone = sorted(set(after) - {str(p) for p in partitions})
        if gone:
            raise self.refused(
                f"partitions {', '.join(gone)} were read already and are not there any more. Start "
                "again (on the command line: --overwrite)."
            )
        starts = [(p, self._start(p, after.get(str(p)), skip_lost)) for p in partitions]
        place = self.library.TopicPartition
        self._client.assign([place(self.topic, p, offset) for p, offset in starts])
        self._behind = set(partitions)
        self.at_end = not partitions

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _start(self, partition: int, after: str | None, skip_lost: bool) -> int:
        """Return the offset to begin with."""
        place = self.library.TopicPartition(self.topic, partition)
        try:
            low, high = self._client.get_watermark_offsets(place, timeout=PATIENCE)
        except self.library.KafkaException as error:
            raise self.disconnected(error.args[0].str()) from error
        if after is None:
            return low
        last = int(after)
        if high <= last:
            raise self.changed(f"{partition}:{last}", f"{partition}:{high - 1}")
        if low > last + 1 and not skip_lost:
            raise self.lost(f"{partition}:{last}", f"{partition}:{low}")
        return max(low, last)

    def fetch(self, seconds: float) -> Sequence[Message]:
        """Return the next messages, none if none comes within so many seconds."""
        first = self._client.poll(seconds)
        if first is None:
            return []
        found = [first, *self._client.consume(FETCH - 1, 0)]
        messages = [self._message(each) for each in found if self._is_message(each)]
        self.at_end = not self._behind
        return messages

    def _is_message(self, found: Any) -> bool:
        """Whether what has come is a message; an error raises if it does not pass by itself."""
        error, codes = found.error(), self.library.KafkaError
        if error is None:
            self._behind.add(found.partition())
            return True
        if error.code() == codes._PARTITION_EOF:
            self._behind.discard(found.partition())
            return False
        if error.code() == codes._AUTO_OFFSET_RESET:
            raise self.lost(f"{found.partition()}:{found.offset()}", "a later one")
        passing = (codes._TRANSPORT, codes._ALL_BROKERS_DOWN, codes._TIMED_OUT, codes._RESOLVE)
        if error.fatal() or not (error.retriable() or error.code() in passing):
            raise self.refused(f"{error.str()}.")
        return False

    def _message(self, found: Any) -> Message:
        run = dict(found.headers() or []).get(RUN)
        shown = None if run is None else bytes(run).decode("utf-8", "replace")
        return Message(str(found.partition()), str(found.offset()), found.value() or b"", shown)


class KafkaWriter(_Kafka, Writer):
    """Writes to the first partition of a topic."""

    _client: Any = None

    def open(self) -> None:
        """Connect, and check that there is something to write to."""
        self.close()
        settings = {"enable.idempotence": True, "message.timeout.ms": int(1000 * PATIENCE)}
        self._client = self.made("Producer", self.settings(**settings, **{"linger.ms": 5}))
        self.partitions(self._client)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._client is not None:
            self._client.purge()
            self._client.flush(0)
            self._client = None

    def send(self, messages: Sequence[bytes], run: str) -> None:
        """Write messages, and return when the broker has acknowledged all of them."""
        failed: list[Any] = []

        def reported(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            else:
                before = int(self.last.get(str(ANSWERS), -1))
                self.last[str(ANSWERS)] = str(max(before, message.offset()))

        for data in messages:
            while True:
                try:
                    self._client.produce(
                        self.topic,
                        data,
                        partition=ANSWERS,
                        headers={RUN: run},
                        on_delivery=reported,
                    )
                    break
                except BufferError:  # too many are on their way
                    self._client.poll(0.1)
        left = self._client.flush(2 * PATIENCE)
        if left or failed:
            raise self.disconnected(failed[0].str() if failed else f"{left} messages wait")
