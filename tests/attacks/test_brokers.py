"""A small part of ``python -m tests.attacks.brokers``."""

import pytest

from helpers import broker_servers
from helpers.variants import slow_but
from tests.attacks.brokers import Attack

ROWS = 600


@pytest.mark.parametrize(
    "to_broker",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["to a file", "to the broker"],
)
@pytest.mark.parametrize("name", slow_but(["redis"], broker_servers.BROKERS))
def test_kills_and_a_restart_of_the_broker_lose_and_double_nothing(
    children, tmp_path, name, to_broker
):
    kind = broker_servers.BROKERS[name]
    if kind.missing():
        pytest.skip(kind.missing())
    server = kind(tmp_path / "server")
    try:
        for topic in (broker_servers.TOPIC, broker_servers.ANSWERS):
            server.make(topic)
        messages = broker_servers.rows(ROWS)
        attack = Attack(server, tmp_path / "run", messages, to_broker, batch=20)
        attack.run()
        attack.check()
    finally:
        server.stop()
