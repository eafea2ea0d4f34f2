"""Rows are learnt while the disk works; nobody hears of them before they are safe on it."""

import json
import os
import time
from threading import Event

import pytest

pytest.importorskip("orjson")

from evermix.service.core import LEARN  # noqa: E402
from evermix.service.forms import taken  # noqa: E402
from evermix.service.plans import Plan  # noqa: E402
from evermix.service.worker import (  # noqa: E402
    FAILED,
    LOADING,
    READY,
    Limits,
    UnavailableError,
    Worker,
)
from helpers.services import vectors  # noqa: E402

PATIENCE = 60


def _until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def _started(folder):
    worker = Worker(folder, Plan("vectors"), Limits())
    worker.start()
    _until(lambda: worker.status != LOADING)
    assert worker.status == READY, worker.problem
    return worker


def _sent(worker, rows):
    body = json.dumps(rows).encode()
    return worker.submit(LEARN, "json", body, taken(body, "json", 1000))


@pytest.fixture
def learnt(tmp_path):
    """A model that has learnt 300 rows."""
    worker = _started(tmp_path)
    assert len(_sent(worker, vectors(300)).result(PATIENCE)) == 300
    yield worker
    worker.stop()


def test_answers_and_events_wait_for_the_disk(learnt, monkeypatch):
    began, go_on, heard, sync = Event(), Event(), [], os.fsync

    def slow(descriptor):
        began.set()
        assert go_on.wait(PATIENCE)
        sync(descriptor)

    learnt.core.events.listen(heard.append)
    far = [{"vector": [500.0 + 0.1 * i, -500.0], "id": f"far {i}"} for i in range(40)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", slow)
        future = _sent(learnt, far)
        assert began.wait(PATIENCE)
        _until(lambda: learnt.core.mix.state_.clock == 340)  # they are learnt meanwhile
        time.sleep(0.1)
        assert not future.done() and not heard and learnt.core.rows == 300
        go_on.set()
        answers = future.result(PATIENCE)
    assert [answer["id"] for answer in answers] == [row["id"] for row in far]
    assert learnt.core.rows == 340 and "birth" in [event["type"] for event in heard]


def test_a_disk_that_fails_stops_the_model_and_loses_nothing_that_was_answered(
    learnt, tmp_path, monkeypatch
):
    began, go_on, sync = Event(), Event(), os.fsync

    def once(descriptor):
        if began.is_set():
            raise OSError(5, "Input/output error")
        began.set()
        assert go_on.wait(PATIENCE)
        sync(descriptor)

    first, *others = [
        [row | {"id": f"{seed} {row['id']}"} for row in vectors(20, seed)] for seed in range(4)
    ]
    with monkeypatch.context() as patch, pytest.warns(RuntimeWarning, match="cannot be synced"):
        patch.setattr(os, "fsync", once)
        answered = _sent(learnt, first)
        assert began.wait(PATIENCE)
        refused = [_sent(learnt, rows) for rows in others]  # which are synced together
        go_on.set()
        assert len(answered.result(PATIENCE)) == 20
        for future in refused:
            with pytest.raises(UnavailableError):
                future.result(PATIENCE)
        learnt._thread.join(PATIENCE)
    assert learnt.status == FAILED and "Input/output error" in learnt.problem
    assert learnt.core.rows == 320
    with pytest.raises(UnavailableError):
        _sent(learnt, others[0])
    again = _started(tmp_path)
    assert again.core.rows == 320
    assert len(_sent(again, others[0]).result(PATIENCE)) == 20
    again.stop()
