"""Brokers: streams of messages that other programs write and read."""

import json
from collections.abc import Mapping
from typing import Any

from evermix.io.brokers.address import Address, is_address, parse_address
from evermix.io.brokers.base import (
    BrokerError,
    Changed,
    Disconnected,
    Lost,
    Message,
    Reader,
    Writer,
)
from evermix.io.brokers.kafka import KafkaReader, KafkaWriter
from evermix.io.brokers.nats import NatsReader, NatsWriter
from evermix.io.brokers.redis import RedisReader, RedisWriter

__all__ = [
    "Address",
    "BrokerError",
    "Changed",
    "Disconnected",
    "Lost",
    "Message",
    "Reader",
    "Writer",
    "is_address",
    "make_reader",
    "make_writer",
    "parse_address",
    "read_config",
]

READERS: dict[str, type[Reader]] = {
    "kafka": KafkaReader,
    "redis": RedisReader,
    "nats": NatsReader,
}
WRITERS: dict[str, type[Writer]] = {
    "kafka": KafkaWriter,
    "redis": RedisWriter,
    "nats": NatsWriter,
}


def make_reader(address: Address, config: Mapping[str, Any]) -> Reader:
    """Return a reader of the messages at an address, which is not connected yet."""
    return READERS[address.scheme](address, config)


def make_writer(address: Address, config: Mapping[str, Any]) -> Writer:
    """Return a writer of messages to an address, which is not connected yet."""
    return WRITERS[address.scheme](address, config)


def read_config(path: str | None, scheme: str) -> dict[str, Any]:
    """Return the settings of a client in a file, such as ``{"redis": {"password": "..."}}``.

    None without a file.
    """
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        try:
            config = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path}: expected a JSON object of settings ({error}).") from error
    named = isinstance(config, dict) and set(config) <= set(READERS)
    if not named or not all(isinstance(settings, dict) for settings in config.values()):
        raise ValueError(
            f"{path}: expected a JSON object with settings for {', '.join(READERS)}, such as "
            '{"redis": {"password": "..."}}.'
        )
    return config.get(scheme, {})
