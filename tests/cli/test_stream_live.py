"""``evermix stream --live``: what a stream learns can be watched, and named, while it runs."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import evermix as em
from evermix.cli.runs import live
from evermix.cli.runs.interrupts import Stopped
from evermix.io import checkpoint

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
if os.name != "posix":
    pytest.skip("needs POSIX signals", allow_module_level=True)

import pty  # noqa: E402

from helpers import children  # noqa: E402
from helpers.browser import Browser, chromium  # noqa: E402

PATIENCE = 180.0  # seconds: a first run compiles, and machines may be busy


def until(condition):
    """Wait until a function returns something, and return it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def ask(port, method, path, value=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Content-Type": "application/json"}
        connection.request(method, path, None if value is None else json.dumps(value), headers)
        response = connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if text.startswith("{") else text
    finally:
        connection.close()


def write(path, n, centre, seed):
    rows = np.random.default_rng(seed).normal(size=(n, 2)) + centre
    with path.open("a") as file:
        file.writelines(json.dumps({"vector": row.tolist()}) + "\n" for row in rows)


@pytest.fixture
def stream(tmp_path):
    write(tmp_path / "My rows.jsonl", 300, 0.0, 0)
    options = "--follow", "--live", "0", "--max-wait", "0.1", "--checkpoint", "model.evermix"
    options += "--out", "out.jsonl"
    process = children.start(tmp_path, "stream", "My rows.jsonl", *options)
    yield tmp_path, process, until(lambda: said_port(tmp_path))
    if process.is_alive():
        process.kill()
    process.join()


def test_a_stream_is_watched_while_it_runs_and_clusters_are_named(stream):
    folder, process, port = stream
    name = "/models/my-rows"

    def clusters():
        return ask(port, "GET", f"{name}/clusters?words=true")[1]["clusters"]

    until(lambda: ask(port, "GET", name)[1]["rows"] == 300)
    assert "<title>evermix live</title>" in ask(port, "GET", "/")[1]
    assert until(clusters)[0]["share"] == pytest.approx(1.0)
    write(folder / "My rows.jsonl", 200, 20.0, 1)
    until(lambda: len(clusters()) == 2 and ask(port, "GET", name)[1]["rows"] == 500)
    assert all(cluster["words"] for cluster in clusters())
    id = clusters()[1]["id"]
    status, done = ask(port, "POST", f"{name}/rename", {"cluster": id, "name": "far away"})
    assert status == 200 and done["name"] == "far away"
    until(lambda: clusters()[1]["name"] == "far away")
    card = ask(port, "GET", f"{name}/clusters/{id}")[1]["card"]
    assert card["name"] == "far away" and card["size"] == pytest.approx(200, abs=2)
    assert ask(port, "POST", f"{name}/rename", {"cluster": 99, "name": "none"})[0] == 422
    os.kill(process.pid, signal.SIGINT)
    assert children.finish(process) == 130
    assert em.load(folder / "model.evermix").card(id).name == "far away"
    said = (folder / "stderr").read_text()
    assert "My rows.jsonl until a signal (Ctrl-C) ends it." in said
    assert said.rstrip().endswith("--resume --follow")


def test_a_change_that_was_answered_outlives_a_kill(stream):
    """The checkpoint that holds it is in step with the lines, so that a resume answers once."""
    folder, process, port = stream
    name = "/models/my-rows"
    until(lambda: ask(port, "GET", f"{name}/clusters")[1].get("rows") == 300)
    (only,) = ask(port, "GET", f"{name}/clusters")[1]["clusters"]
    for i in range(5):  # a checkpoint of each change is newer than those that come by the clock
        write(folder / "My rows.jsonl", 20, 0.0, i)
        given = {"cluster": only["id"], "name": f"name {i}"}
        assert ask(port, "POST", f"{name}/rename", given)[0] == 200
    os.kill(process.pid, signal.SIGKILL)
    assert children.finish(process) == -signal.SIGKILL
    assert em.load(folder / "model.evermix").card(only["id"]).name == "name 4"
    write(folder / "My rows.jsonl", 20, 0.0, 5)
    process, _ = resumed(folder)
    until(lambda: saved_rows(folder) == 420)
    stopped(process)
    rows = [line["id"] for line in children.lines(folder / "out.jsonl")]
    assert rows == list(range(420))


def test_a_stream_takes_rows_from_its_source_alone(stream):
    _, _, port = stream
    body = {"vector": [1.0, 2.0]}
    for path in ("observations", "predict", "explain"):
        assert ask(port, "POST", f"/models/my-rows/{path}", body)[0] == 404
    assert ask(port, "PUT", "/models/others", {"kind": "texts"})[0] == 409
    assert ask(port, "GET", "/models/others")[0] == 404


def test_what_a_stream_learns_does_not_depend_on_the_page(tmp_path):
    children.write_texts(tmp_path / "texts.jsonl", 800)
    for name, options in (("plain", ()), ("live", ("--live", "0"))):
        (tmp_path / name).mkdir()
        out = ("--out", f"{name}/out.jsonl", "--checkpoint", f"{name}/model.evermix")
        status = children.run(
            tmp_path, "stream", "texts.jsonl", *out, "--trace", f"{name}/trace.jsonl", *options
        )
        assert status == 0, (tmp_path / "stderr").read_text()
    children.assert_same_run(tmp_path / "plain", tmp_path / "live")


def test_the_page_of_a_file_that_was_read_stays_until_the_person_ends_it(tmp_path):
    """At a terminal; elsewhere the program ends, and says what shows the clusters."""
    write(tmp_path / "My rows.jsonl", 300, 0.0, 0)
    run = "stream", "My rows.jsonl", "--live", "0", "--out", "out.jsonl"
    assert children.run(tmp_path, *run) == 0
    said = (tmp_path / "stderr").read_text()
    assert "a page that stays: evermix report out.jsonl.evermix" in said
    reader, writer = pty.openpty()
    with (tmp_path / "stderr").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "evermix", *run, "--overwrite"],
            **{"stdout": writer, "stderr": errors, "cwd": tmp_path},
        )
    try:
        until(lambda: "stays until Ctrl-C" in (tmp_path / "stderr").read_text())
        port = said_port(tmp_path)
        assert ask(port, "GET", "/models/my-rows")[1]["rows"] == 300
        (only,) = ask(port, "GET", "/models/my-rows/clusters")[1]["clusters"]
        done = ask(port, "POST", "/models/my-rows/rename", {"cluster": only["id"], "name": "all"})
        assert done[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        os.close(reader)
        os.close(writer)
    assert em.load(tmp_path / "out.jsonl.evermix").card(only["id"]).name == "all"


def test_a_stream_that_waits_for_rows_answers_with_all_that_it_has_learnt(tmp_path):
    """Whoever asks then, although no rows come for long."""
    write(tmp_path / "My rows.jsonl", 300, 0.0, 0)
    options = "--follow", "--live", "0", "--batch", "300", "--max-wait", "600"
    process = children.start(tmp_path, "stream", "My rows.jsonl", *options)
    try:
        port = until(lambda: said_port(tmp_path))

        def known():
            return ask(port, "GET", "/models/my-rows/clusters")[1]["rows"]

        until(lambda: known() == 300)
        write(tmp_path / "My rows.jsonl", 300, 20.0, 1)
        until(lambda: known() == 600)
    finally:
        stopped(process)


def test_the_page_that_stays_after_the_last_row_knows_of_it(monkeypatch, capsys):
    """Whoever asks while nothing else happens."""
    X, mix = np.random.default_rng(0).normal(size=(300, 2)), em.Mixture(random_state=0)
    settings = SimpleNamespace(live=0, webhook=None, source="rows.jsonl")
    shown, found = live.Live(settings, mix, "vectors", 0, None, lambda: None), []
    port = int(re.search(r"127.0.0.1:(\d+)", capsys.readouterr().err)[1])

    class Signal:
        """Comes while the page waits for one, after somebody has asked."""

        @contextmanager
        def allowed(self):
            found.append(others.submit(ask, port, "GET", "/models/rows/clusters").result()[1])
            raise Stopped(signal.SIGINT)
            yield

    monkeypatch.setattr(live, "at_terminal", lambda: True)
    with ThreadPoolExecutor(1) as others:
        with shown.learning(SimpleNamespace(ids=range(300))):
            mix.partial_fit(X)
        shown.stay(Signal(), lambda: found.append("saved"))
    shown.close()
    assert [answer["rows"] for answer in found] == [300]


def test_a_port_that_is_taken(tmp_path, stream):
    folder, _, port = stream
    write(folder / "more.jsonl", 10, 0.0, 0)
    (folder / "sub").mkdir()
    status = children.run(folder / "sub", "stream", "../more.jsonl", "--live", str(port))
    assert status == 1
    assert "cannot listen" in (folder / "sub" / "stderr").read_text()


def points_of(port):
    """The timeline and the events so far, as a page gets them when it is opened."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"Last-Event-ID": "0"}
        connection.request("GET", "/models/my-rows/events?progress=true", headers=headers)
        response, kinds = connection.getresponse(), []
        while line := response.readline().decode().strip("\n"):
            pass
        while True:
            line = response.readline().decode().strip()
            kinds += [line.removeprefix("event: ")] if line.startswith("event: ") else []
            if kinds and kinds[-1] == "progress" and line.startswith("data: "):
                return json.loads(line.removeprefix("data: ")), kinds[:-1]
    finally:
        connection.close()


def resumed(folder, *options):
    """Go on with a stream, and return the process and its port."""
    files = "My rows.jsonl", "--checkpoint", "model.evermix", "--max-wait", "0.1"
    files += "--out", "out.jsonl"
    process = children.start(folder, "stream", *files, "--resume", "--follow", *options)
    return process, until(lambda: said_port(folder)) if "--live" in options else None


def said_port(folder):
    said = folder / "stderr"
    found = said.exists() and re.search(r"watch it at http://127.0.0.1:(\d+)", said.read_text())
    return int(found[1]) if found else None


def stopped(process):
    os.kill(process.pid, signal.SIGINT)
    assert children.finish(process) == 130


def saved_rows(folder):
    notes = checkpoint.read(folder / "model.evermix")[1]["extra"]["stream"]
    return notes["totals"]["rows"]


def test_a_page_after_a_resume_shows_what_was_before(stream):
    """Also the rows of a run that nobody could watch."""
    folder, process, port = stream
    until(lambda: ask(port, "GET", "/models/my-rows")[1]["rows"] == 300)
    stopped(process)
    write(folder / "My rows.jsonl", 300, 20.0, 1)
    process, _ = resumed(folder)
    until(lambda: saved_rows(folder) == 600)
    stopped(process)
    process, port = resumed(folder, "--live", "0")
    try:
        progress, kinds = points_of(port)
        points = progress["points"]
        assert progress["rows"] == 600 and progress["clusters"] == 2
        assert points[0]["first"] == 0 and points[-1]["rows"] == 600 and len(points) > 10
        assert kinds.count("birth") >= 2
        write(folder / "My rows.jsonl", 300, -20.0, 2)
        until(lambda: ask(port, "GET", "/models/my-rows")[1]["rows"] == 900)
        points = points_of(port)[0]["points"]
        assert points[0]["first"] == 0 and points[-1]["rows"] == 900
        assert all(a["rows"] == b["first"] for a, b in zip(points, points[1:], strict=False))
        if chromium() is not None:
            with Browser() as browser:
                browser.open(f"http://127.0.0.1:{port}/")
                browser.wait_for("document.querySelectorAll('#flow svg [data-id]').length === 3")
                rows = "document.querySelector('#facts dd').textContent"
                browser.wait_for(f"{rows} === '900'")
                browser.wait_for("document.querySelectorAll('#feed li[data-kind=born]').length > 2")
                assert browser.errors == []
    finally:
        stopped(process)


def test_what_is_learnt_after_a_resume_does_not_depend_on_the_page(tmp_path):
    children.write_texts(tmp_path / "texts.jsonl", 800)
    for name, options in (("plain", ()), ("live", ("--live", "0"))):
        (tmp_path / name).mkdir()
        files = ("--out", f"{name}/out.jsonl", "--checkpoint", f"{name}/model.evermix")
        files += ("--trace", f"{name}/trace.jsonl")
        for more in (["--limit", "500"], ["--resume", *options]):
            status = children.run(tmp_path, "stream", "texts.jsonl", *files, *more)
            assert status == 0, (tmp_path / "stderr").read_text()
    children.assert_same_run(tmp_path / "plain", tmp_path / "live")


@pytest.mark.skipif(chromium() is None, reason="no Chromium here")
def test_a_page_shows_the_last_rows_although_no_others_come(tmp_path):
    """Also if the copy that it gets first is older, since the stream waits for rows."""
    write(tmp_path / "My rows.jsonl", 300, 0.0, 0)
    files = "My rows.jsonl", "--follow", "--live", "0", "--max-wait", "2"
    process = children.start(tmp_path, "stream", *files)
    try:
        port = until(lambda: said_port(tmp_path))
        with Browser() as browser:
            browser.open(f"http://127.0.0.1:{port}/")
            count = "document.getElementById('count').textContent"
            browser.wait_for(f"{count} === '1 cluster'")
            write(tmp_path / "My rows.jsonl", 300, 20.0, 1)
            browser.wait_for(f"{count} === '2 clusters'")
            assert browser.errors == []
    finally:
        stopped(process)
