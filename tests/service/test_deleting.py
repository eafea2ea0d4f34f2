"""DELETE: a model is gone as a whole, or not at all."""

import http.client
import json
import time

import pytest

from evermix.service import models as module
from evermix.service.forms import taken
from evermix.service.models import DELETED, AbsentError, Models
from evermix.service.plans import Plan
from evermix.service.worker import READY, Limits
from helpers.services import vectors


def test_a_deleted_model_is_gone_and_its_name_is_free(start, tmp_path):
    service = start()
    for name in ("tickets", "points"):
        service.make(name, "vectors")
        assert service.post(f"/models/{name}/observations", vectors(100))[0] == 200
    reader = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    reader.request("GET", "/models/tickets/events")
    stream = reader.getresponse()
    assert service.ask("DELETE", "/models/tickets") == (200, {"name": "tickets", "deleted": True})
    assert stream.read().startswith(b"retry:")  # and it has ended
    stream.close()
    reader.close()
    for path in ("", "/clusters", "/events", "/history"):
        assert service.get(f"/models/tickets{path}")[0] == 404
    assert service.ask("DELETE", "/models/tickets")[0] == 404
    assert [path.name for path in (tmp_path / "models").iterdir() if path.is_dir()] == ["points"]
    service.make("tickets", "texts")
    assert service.get("/models/tickets")[1]["rows"] == 0
    assert service.ask("DELETE", "/models/tickets")[0] == 200
    assert service.stop() == 0
    again = start()
    assert [model["name"] for model in again.get("/models")[1]["models"]] == ["points"]
    assert again.get("/models/points")[1]["rows"] == 100


def test_a_misspelt_name_is_answered_with_the_nearest(start):
    service = start()
    service.make("tickets", "vectors")
    status, answer = service.get("/models/tickts/clusters")
    assert status == 404 and "Did you mean 'tickets'?" in answer["error"]
    assert "mean" not in service.get("/models/qqq")[1]["error"]


@pytest.fixture
def folder(tmp_path):
    """A folder with a model that has learnt ten rows, of which no checkpoint knows."""
    models = Models(tmp_path, Limits())
    models.make("a", Plan("vectors"))
    until_ready(models)
    body = json.dumps(vectors(10)).encode()
    worker = models["a"]
    worker.submit("learn", "json", body, taken(body, "json", 100)).result(30)
    return tmp_path, models


def until_ready(models):
    for _ in range(1500):
        if models.ready:
            return
        time.sleep(0.02)
    raise AssertionError("no model is ready")


class KilledError(BaseException):
    """In place of a kill."""


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_leaves_the_whole_model_or_nothing(folder, monkeypatch, after):
    path, models = folder
    calls = []

    def killed(*_, **__):
        calls.append(0)
        if len(calls) == 1 + after:  # before the folder is renamed, or after
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "rmtree", killed)
        with pytest.raises(KilledError):
            models.remove("a")
    assert (path / f"{DELETED}a").exists() == after
    again = Models(path, Limits())
    again.start()
    until_ready(again)
    assert [(name, worker.core.rows) for name, worker in again.items()] == (
        [] if after else [("a", 10)]
    )
    assert not (path / f"{DELETED}a").exists()
    again.stop()


def test_a_folder_that_cannot_be_renamed_stays_a_model(folder, monkeypatch):
    path, models = folder

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(path), "rename", refuse)
        with pytest.raises(PermissionError):
            models.remove("a")
    until_ready(models)
    assert models["a"].status == READY and models["a"].core.rows == 10
    models.remove("a")
    with pytest.raises(AbsentError):
        models.remove("a")
    models.stop()
