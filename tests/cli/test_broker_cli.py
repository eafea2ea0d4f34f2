"""`evermix stream --from` and `--to`, in this process, with a Redis server."""

import json
from pathlib import Path

import pytest

from helpers import broker_servers

BEGIN = ["--checkpoint", "model.evermix", "--max-wait", "0.1", "--drain"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if broker_servers.Redis.missing():
        pytest.skip(broker_servers.Redis.missing())
    server = broker_servers.Redis(tmp_path_factory.mktemp("server"))
    server.send(broker_servers.rows(80))
    yield server
    server.stop()


@pytest.fixture
def evermix(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder."""
    from typer.testing import CliRunner

    from evermix.cli import app

    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words))


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_answers_name_the_offsets_of_their_rows(server, evermix):
    result = evermix("stream", "--from", server.address(), *BEGIN)
    assert result.exit_code == 0, result.stderr
    answers = lines(result.stdout)
    assert [answer["id"] for answer in answers] == list(range(80))
    assert len({answer["offset"] for answer in answers}) == 80


def test_an_address_may_stand_for_source_and_may_change(server, evermix):
    assert evermix("stream", server.address(), *BEGIN, "--limit", "40").exit_code == 0
    other = server.address().replace("127.0.0.1", "localhost")
    result = evermix("stream", "--from", other, *BEGIN, "--resume", "-q")
    assert result.exit_code == 0, result.stderr
    again = evermix("stream", "--from", server.address("others"), *BEGIN, "--resume")
    assert again.exit_code == 1 and "SOURCE cannot change on the way" in again.stderr


def test_a_run_that_finds_nothing_new_keeps_its_place(server, evermix):
    server.send(broker_servers.rows(40), "slow")
    files = ["--out", "o.jsonl", "--dead-letter", "bad.jsonl"]
    command = ["stream", "--from", server.address("slow"), *files, *BEGIN, "--resume"]
    for _ in range(3):
        assert evermix(*command).exit_code == 0
    for news in ([b"bad"], broker_servers.rows(50)[40:]):
        server.send(news, "slow")
        for _ in range(2):
            assert evermix(*command).exit_code == 0
            assert len(lines(Path("bad.jsonl").read_text())) == 1
    assert [line["id"] for line in lines(Path("o.jsonl").read_text())] == list(range(50))
    assert [line["content"] for line in lines(Path("bad.jsonl").read_text())] == ["bad"]


def test_rows_of_a_file_can_be_answered_to_a_broker(server, evermix, tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join(broker_servers.rows(50)) + b"\n")
    command = ["stream", "rows.jsonl", "--to", server.address("file"), *BEGIN]
    assert evermix(*command).exit_code == 0
    assert [json.loads(data)["id"] for data in server.read("file")] == list(range(50))
    assert evermix(*command, "--resume").exit_code == 0
    assert len(server.read("file")) == 50
    silent = evermix("stream", "rows.jsonl", *BEGIN, "--resume")
    assert silent.exit_code == 1 and "name its address again with --to" in silent.stderr


def test_bad_rows_of_every_source_go_to_the_dead_letter_file(evermix, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"vector": [1, 2]}\n{"vector": [1]}\n\xff\n')
    (tmp_path / "b.jsonl").write_bytes(b'{"vector": [1, 3]}\n{"vector": "x"}\n')
    result = evermix("stream", "a.jsonl", "b.jsonl", "--dead-letter", "bad.jsonl")
    assert result.exit_code == 0, result.stderr
    bad = lines((tmp_path / "bad.jsonl").read_text())
    assert [line["row"] for line in bad] == [1, 2, 4]
    assert bad[0]["content"] == '{"vector": [1]}\n' and bad[1]["base64"] == "/wo="
    assert bad[2]["place"].endswith("b.jsonl: line 2")


@pytest.mark.parametrize(
    "words, status, expected",
    [
        ([], 2, "name a SOURCE"),
        (["rows.jsonl", "--from", "redis://h/s"], 2, "not both"),
        (["--from", "rows.jsonl"], 1, "expected an address such as"),
        (["--from", "redis://h"], 1, "expected redis://HOST:PORT/STREAM"),
        (["--from", "redis://h/s", "--to", "redis://h/s"], 1, "must be different streams"),
        (["--from", "redis://h/s", "--to", "redis://h/t", "--out", "o"], 1, "--out or --to"),
        (["--from", "redis://127.0.0.1:1/s"], 1, "cannot be reached"),
        (["--from", "redis://h/s", "--follow"], 1, "only JSON lines can be followed"),
        (["--from", "redis://h/s", "--broker-config", "none.json"], 1, "none.json"),
    ],
)
def test_what_cannot_be_is_reported(evermix, words, status, expected):
    pytest.importorskip("redis")
    result = evermix("stream", *words)
    assert result.exit_code == status and "Traceback" not in result.stderr
    assert expected in " ".join(result.stderr.replace("│", " ").split())


def test_only_streams_read_brokers(evermix):
    pytest.importorskip("redis")
    result = evermix("fit", "redis://h/s")
    assert result.exit_code == 1 and "can only be streamed" in result.stderr
