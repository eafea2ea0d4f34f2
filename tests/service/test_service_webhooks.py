"""New clusters are reported to another service, and clients are slowed down."""

import json
import os
import signal
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import numpy as np
import pytest
from typer.testing import CliRunner

import evermix as em
from evermix.cli import app
from evermix.io import checkpoint
from helpers import children
from helpers.variants import slow_but


@pytest.fixture
def listener():
    """A server on loopback, what it has received, and the statuses that it answers with first."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.got.append((self.path, json.loads(body)))
            self.send_response(server.statuses.pop(0) if server.statuses else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.statuses = [], []
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def _until(true):
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


SUBJECTS = "apples pears plums cherries", "rivers lakes brooks springs", "violin cello flute horn"


def _texts(n):
    """Texts of three subjects in turn, with ids."""
    rng = np.random.default_rng(0)
    words = [subject.split() for subject in SUBJECTS]
    return [
        {"text": " ".join(rng.choice(words[i % 3], size=6)), "id": f"text {i}"} for i in range(n)
    ]


def test_clusters_are_reported_once_they_are_confirmed(start, listener):
    service = start("--webhook", f"http://127.0.0.1:{listener.server_port}/clusters?x=1")
    service.make("a", "texts")
    texts = _texts(99)
    assert service.post("/models/a/observations", texts[:63])[0] == 200
    assert not listener.got  # the first review is still to come
    assert service.post("/models/a/observations", texts[63:])[0] == 200
    _until(lambda: len(listener.got) >= 3)
    path, first = listener.got[0]
    event = first["event"]
    assert path == "/clusters?x=1" and first["model"] == "a" and event["type"] == "confirmed"
    assert any(set(event["words"]) <= set(subject.split()) for subject in SUBJECTS)
    assert event["size"] >= 5 and len(event["traits"]) == len(event["words"])
    assert event["example"] in texts and set(event["example"]["text"].split()) & {*event["words"]}
    assert datetime.fromisoformat(event["iso_time"]).timestamp() == int(event["time"])
    reported = [message["event"]["cluster"] for _, message in listener.got]
    assert sorted(reported) == sorted(
        each["id"] for each in service.get("/models/a/clusters")[1]["clusters"]
    )
    _until(lambda: f"evermix_webhook_sent_total {len(reported)}" in service.get("/metrics")[1])
    service.kill()
    service = start("--webhook", f"http://127.0.0.1:{listener.server_port}/clusters")
    assert service.get("/models/a")[1]["rows"] == 99
    assert service.post("/models/a/observations", {"text": SUBJECTS[0]})[0] == 200
    assert len(listener.got) == len(reported)  # what is replayed is not reported again
    last = service.get("/models/a")[1]["last_event"]
    kinds = [event["type"] for event in service.events("a", last, after=0)]
    assert kinds.count("confirmed") == len(reported) < kinds.count("birth")


def test_what_fails_is_tried_again_and_redirects_are_not_followed(listener):
    from evermix.service.webhooks import Webhook

    hook = Webhook(f"http://127.0.0.1:{listener.server_port}", waits=(0.01, 0.01))
    hook.start()
    listener.statuses += [500, 302]
    hook.tell("a", {"type": "confirmed", "cluster": 1})
    hook.tell("a", {"type": "merge", "cluster": 1})
    hook.tell("a", {"type": "birth", "cluster": 3})
    _until(lambda: hook.sent)
    assert [path for path, _ in listener.got] == ["/"] * 3
    listener.statuses += [302] * 3
    hook.tell("a", {"type": "confirmed", "cluster": 2})
    _until(lambda: hook.failed)
    hook.stop()
    assert len(listener.got) == 6 and not any("elsewhere" in path for path, _ in listener.got)


def test_nobody_waits_for_a_webhook(monkeypatch):
    from evermix.service import webhooks

    monkeypatch.setattr(webhooks, "KEPT", 3)
    hook = webhooks.Webhook("http://127.0.0.1:9")  # not started: nobody takes what waits
    for cluster in range(5):
        hook.tell("a", {"type": "confirmed", "cluster": cluster})
    assert hook.dropped == 2


@pytest.mark.parametrize("address", ["ftp://a", "a", "http://", "http://me:secret@a", "file:///a"])
def test_wrong_addresses(address):
    from evermix.service.webhooks import Webhook

    with pytest.raises(ValueError, match="webhook must be an address"):
        Webhook(address)


def test_clients_are_slowed_down(start):
    service = start("--rate", "0.01")
    statuses = [service.get("/models")[0] for _ in range(12)]
    assert statuses[0] == 200 and statuses[-1] == 429 and service.headers["retry-after"] == "1"
    assert service.get("/health")[0] == 200


def test_each_address_has_its_own_rate(monkeypatch):
    from evermix.service import guard

    rates, now = guard.Rates(1.0), [0.0]
    monkeypatch.setattr(guard.time, "monotonic", lambda: now[0])
    assert [rates.takes("a") for _ in range(11)] == [True] * 10 + [False]
    assert rates.takes("b")
    now[0] = 2.5
    assert [rates.takes("a") for _ in range(3)] == [True, True, False]


def test_streams_tell_of_new_clusters_too(listener, tmp_path, monkeypatch):
    """Each is reported once, also where a run goes on."""
    monkeypatch.chdir(tmp_path)
    texts = _texts(150)
    address = f"http://127.0.0.1:{listener.server_port}/clusters"
    run = ["stream", "texts.jsonl", "--out", "out.jsonl", "--batch", "30", "--webhook", address]
    for rows, more in ((texts[:100], []), (texts, ["--resume"])):
        (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        said = CliRunner().invoke(app, [*run, *more])
        assert said.exit_code == 0, said.stderr
    _until(lambda: len(listener.got) >= 3)
    reported = [message["event"] for _, message in listener.got]
    assert {message["model"] for _, message in listener.got} == {"texts"}
    known = em.load("out.jsonl.evermix").cluster_ids_.tolist()
    assert sorted(event["cluster"] for event in reported) == sorted(known)
    assert all(event["example"] in texts and event["words"] for event in reported)
    said = CliRunner().invoke(app, ["stream", "texts.jsonl", "--webhook", "ftp://a"])
    assert said.exit_code == 1 and "webhook must be an address" in said.stderr


def test_a_stream_says_what_could_not_be_posted(listener, tmp_path, monkeypatch):
    """How much, where and why; a query may hold a secret and is not shown."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(json.dumps(row) + "\n" for row in _texts(150))
    (tmp_path / "texts.jsonl").write_text(rows)
    run = ["stream", "texts.jsonl", "--overwrite", "--out", "out.jsonl", "--webhook"]
    said = CliRunner().invoke(app, [*run, "http://127.0.0.1:9/clusters?key=secret"])
    assert said.exit_code == 0
    lost = "3 new clusters were not delivered to http://127.0.0.1:9/clusters ("
    assert lost in said.stderr and "refused" in said.stderr and "secret" not in said.stderr
    address = f"http://127.0.0.1:{listener.server_port}/"
    listener.statuses += [503] * 99
    said = CliRunner().invoke(app, [*run, address])
    assert f"not delivered to {address} (the answer was 503 Service Unavailable)." in said.stderr
    listener.statuses.clear()
    assert "not delivered" not in CliRunner().invoke(app, [*run, address]).stderr


def test_the_last_batch_of_a_stream_is_reported_at_its_end(listener, tmp_path, monkeypatch):
    """Also where it is the only one; and --resume says nothing twice."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(300, 2)) + 20.0 * (np.arange(300) % 3)[:, None]
    X[-9:] += 200.0  # after the last review
    rows = [json.dumps({"vector": x.tolist()}) + "\n" for x in X]
    (tmp_path / "rows.jsonl").write_text("".join(rows))
    address = f"http://127.0.0.1:{listener.server_port}/clusters"
    run = ["stream", "rows.jsonl", "--out", "out.jsonl", "--webhook", address]
    for more in ([], ["--resume"], ["--resume"]):
        said = CliRunner().invoke(app, [*run, *more])
        assert said.exit_code == 0, said.stderr
        _until(lambda: len(listener.got) >= 4)
    reported = [message["event"]["cluster"] for _, message in listener.got]
    assert sorted(reported) == sorted(em.load("out.jsonl.evermix").cluster_ids_.tolist())


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("number", slow_but([signal.SIGKILL], [signal.SIGTERM, signal.SIGKILL]))
def test_clusters_that_wait_are_reported_when_a_followed_stream_is_stopped(
    listener, tmp_path, number
):
    """Or, if it is killed, when it goes on, also without new rows; and each of them once."""
    X = np.random.default_rng(0).normal(size=(300, 2)) + 20.0 * (np.arange(300) % 3)[:, None]
    X[-9:] += 200.0  # after the last review
    rows = [json.dumps({"vector": x.tolist()}) + "\n" for x in X]
    (tmp_path / "rows.jsonl").write_text("".join(rows[:250]))
    address = f"http://127.0.0.1:{listener.server_port}/clusters"
    run = ["stream", "rows.jsonl", "--out", "out.jsonl", "--webhook", address, "--max-wait", "0.1"]
    model = tmp_path / "out.jsonl.evermix"

    def learnt():
        known = model.exists() and checkpoint.read(model)[1]["extra"]["stream"]["totals"]["rows"]
        return known == 300

    process = children.start(tmp_path, *run, "--follow")
    _until(lambda: (tmp_path / "out.jsonl").exists() and listener.got)
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write("".join(rows[250:]))
    _until(learnt)
    before = [message["event"]["cluster"] for _, message in listener.got]
    os.kill(process.pid, number)
    assert children.finish(process) == (143 if number == signal.SIGTERM else -number)
    clusters = em.load(model).cluster_ids_.tolist()
    assert len(before) < len(clusters)
    said = tmp_path / "stderr"
    for _ in range(2):
        said.unlink()
        process = children.start(tmp_path, *run, "--resume")
        _until(lambda: said.exists() and "following" in said.read_text())
        _until(lambda: len(listener.got) >= len(clusters))
        os.kill(process.pid, signal.SIGTERM)
        assert children.finish(process) == 143
    reported = [message["event"]["cluster"] for _, message in listener.got]
    assert sorted(reported) == sorted(clusters)
