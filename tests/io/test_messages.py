"""Messages of brokers as a source: where they begin, end and go on, and what is wrong with them."""

import json
import socket

import pytest

from evermix.io import brokers
from evermix.io.brokers import base, kafka, nats, parse_address, redis
from evermix.io.sources import SourceError, open_source
from evermix.io.sources.several import joined
from helpers import broker_servers
from helpers.broker_servers import BROKERS, TOPIC


@pytest.fixture(scope="module", params=BROKERS)
def server(request, tmp_path_factory):
    kind = BROKERS[request.param]
    if kind.missing():
        pytest.skip(kind.missing())
    server = kind(tmp_path_factory.mktemp("server"))
    server.make()
    server.send(broker_servers.rows(30))
    yield server
    server.stop()


@pytest.fixture
def opened():
    """Return a function that opens the messages of a server, which are closed in the end."""
    sources = []

    def opened(server, topic=TOPIC, **options):
        source = open_source(server.address(topic), max_wait=0.2, drain=True, **options)
        sources.append(source)
        return source

    yield opened
    for source in sources:
        source.lines.close()


def ids(chunks):
    return [name for chunk in chunks for name in chunk.ids]


def test_all_messages_come_and_then_the_source_ends(server, opened):
    source = opened(server)
    assert source.kind == "vectors" and source.n_features == 2 and source.live
    assert sorted(ids(source.chunks(0, 7))) == list(range(30))


def test_a_source_goes_on_after_the_messages_that_its_marks_name(server, opened):
    source = opened(server)
    chunks = source.chunks(0, 7)
    first = [next(chunks), next(chunks)]
    marks = source.marks(first[-1].offset, first[-1].read)
    chunks.close()
    rest = opened(server, marks=marks, kind="vectors").chunks(first[-1].offset, 7)
    assert sorted(ids(first) + ids(rest)) == list(range(30))
    offsets = [where for chunk in first for where in chunk.offsets]
    assert 0 < len(set(offsets)) == len(ids(first))


def test_a_message_that_was_read_and_is_another_one_now_is_noticed(server, opened):
    source = opened(server)
    *_, last = (chunk for chunk in source.chunks(0, 100) if chunk.ids)
    marks = [mark._replace(digest="0" * 32) for mark in last.read]
    with pytest.raises(SourceError, match="was read already, and is another one now"):
        list(opened(server, marks=marks, kind="vectors").chunks(30, 7))


def test_a_stream_that_was_made_anew_is_noticed(server, opened):
    *_, last = (chunk for chunk in opened(server).chunks(0, 100) if chunk.ids)
    far = {"redis": "9999999999999-0"}.get(server.scheme, "1000")
    marks = [mark._replace(offset=far) for mark in last.read]
    with pytest.raises(SourceError, match="the stream was made anew"):
        opened(server, marks=marks, kind="vectors")


def test_a_row_without_an_id_is_known_by_its_offset_and_blank_ones_are_left_out(server, opened):
    server.make("nameless")
    server.send([b"", b'{"text": "one"}', b"  ", b'{"text": "two"}'], "nameless")
    chunk = joined([c for c in opened(server, "nameless").chunks(0, 9) if c.ids])
    assert chunk.ids == chunk.offsets and len(chunk.ids) == 2 and chunk.offset == 4
    assert sorted(chunk.X) == ["one", "two"]


def test_a_bad_message_is_named_by_its_offset_and_can_be_kept(server, opened):
    server.make("poisoned")
    server.send([b'{"text": "one"}', b"\xff{", b'{"text": "two"}'], "poisoned")
    with pytest.raises(SourceError, match=r"poisoned\S*: (message \S+|line 1): expected a JSON"):
        list(opened(server, "poisoned").chunks(0, 9))
    source = opened(server, "poisoned", skip_bad=True, dead_letters=True)
    assert len(ids(source.chunks(0, 9))) == 2
    (bad,) = source.rejected
    assert bad.data == b"\xff{" and "message" in bad.place and "JSON" in bad.error


def test_there_must_be_such_a_stream(server, opened):
    if server.scheme == "kafka":
        server.refuse("nothing")
    with pytest.raises(SourceError, match="there is no (stream|topic) 'nothing'.*correct its name"):
        opened(server, "nothing")


@pytest.mark.parametrize("scheme", BROKERS)
def test_a_broker_that_is_not_there_is_named(scheme, monkeypatch):
    if BROKERS[scheme].missing():
        pytest.skip(BROKERS[scheme].missing())
    for module in (kafka, redis, nats):
        monkeypatch.setattr(module, "PATIENCE", 1.0)
    address = f"{scheme}://127.0.0.1:{broker_servers.free_port()}/tickets"
    with pytest.raises(SourceError, match="cannot be reached.*Is it running"):
        open_source(address, max_wait=1.0)


def test_a_server_that_speaks_another_language_is_reported(monkeypatch):
    if BROKERS["redis"].missing():
        pytest.skip(BROKERS["redis"].missing())
    monkeypatch.setattr(redis, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/tickets"
        with pytest.raises(SourceError, match="cannot be reached"):
            open_source(address, max_wait=1.0)


@pytest.mark.parametrize("scheme, name", [("redis", "redis"), ("nats", "nats")])
def test_messages_that_the_broker_has_dropped_are_missed(scheme, name, tmp_path, opened):
    kind = BROKERS[scheme]
    if kind.missing():
        pytest.skip(kind.missing())
    server = kind(tmp_path / "server")
    try:
        server.make()
        server.send(broker_servers.rows(10))
        chunks = opened(server).chunks(0, 3)
        marks = next(chunks).read
        chunks.close()
        if scheme == "redis":
            with server._client() as client:
                client.xtrim(TOPIC, maxlen=4, approximate=False)
        else:
            server._do(lambda stream: stream.purge_stream(TOPIC, seq=7))
        with pytest.raises(SourceError, match="dropped messages that were not read yet"):
            opened(server, marks=marks, kind="vectors")
        rest = opened(server, marks=marks, kind="vectors", skip_bad=True)
        assert ids(rest.chunks(3, 9)) == [6, 7, 8, 9]
    finally:
        server.stop()


def test_fields_of_redis_are_a_record():
    fields = {b"text": b"printer", b"id": b"7", b"vector": b"[1, 2.5]", b"note": b"[urgent]"}
    message = redis._message("5-0", fields)
    assert json.loads(message.data) == {
        "text": "printer",
        "id": "7",
        "vector": [1, 2.5],
        "note": "[urgent]",
    }
    assert redis._before("5-0") == f"4-{2**64 - 1}" and redis._before("5-3") == "5-2"
    assert redis._before("0-0") == "0-0"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("kafkaa://host/topic", "got the scheme 'kafkaa'"),
        ("s3://bucket/key", "got the scheme 's3'"),
        ("kafka://host", "expected kafka://HOST:PORT/TOPIC, got ''"),
        ("kafka://host/", "got ''"),
        ("kafka://host/a/b", "got 'a/b'"),
        ("kafka:///topic", "got '' for host and port"),
        ("redis://host:99999/x", "got 'host:99999'"),
        ("redis://host:port/x", "got 'host:port'"),
        ("redis://one,two/x", "expected one host"),
        ("redis://user:secret@host/x", "--broker-config"),
        ("nats://host/a/b/c", "got 'a/b/c'"),
        ("nats://host/a?b=1", r"got an address with \?"),
    ],
)
def test_wrong_addresses_are_refused(text, expected):
    with pytest.raises(SourceError, match=expected) as caught:
        open_source(text, max_wait=1.0)
    assert "secret" not in str(caught.value)


def test_addresses_have_parts():
    address = parse_address("kafka://one:1,two,[::1]:3/a%2Fb")
    assert address.servers == (("one", 1), ("two", 9092), ("::1", 3))
    assert address.names == ("a/b",)
    assert parse_address("nats://h/s/a.*").names == ("s", "a.*")
    one, two, all_of = (parse_address(f"nats://h/s{subject}") for subject in ("/a", "/b", ""))
    assert not one.same_stream(two) and one.same_stream(all_of) and all_of.same_stream(one)


@pytest.mark.parametrize("scheme", BROKERS)
def test_a_missing_package_is_named_with_its_extra(scheme, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(base, "import_module", missing)
    with pytest.raises(ImportError, match=rf"pip install 'evermix\[{scheme}\]'"):
        open_source(f"{scheme}://host/name", max_wait=1.0)


def test_messages_can_only_be_streamed():
    with pytest.raises(SourceError, match="can only be streamed"):
        open_source("redis://host/name")
    with pytest.raises(SourceError, match="cannot be one of several"):
        open_source(["redis://host/name", "rows.jsonl"], max_wait=1.0)


@pytest.mark.parametrize("text", ["[]", "{", '{"amqp": {}}', '{"redis": 1}'])
def test_settings_of_clients_are_a_json_object(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="expected a JSON object"):
        brokers.read_config(str(path), "redis")
    path.write_text('{"redis": {"db": 1}}')
    assert brokers.read_config(str(path), "redis") == {"db": 1}
    assert brokers.read_config(str(path), "nats") == {} == brokers.read_config(None, "nats")
