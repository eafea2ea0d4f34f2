"""What was undone by hand stays undone after kill -9, wherever the last checkpoint was."""

import time

import numpy as np
import pytest

from evermix.io import checkpoint
from helpers.variants import slow_but

SETTINGS = {"kind": "vectors", "seed": 3}
FAR = "1000"  # seconds between two checkpoints


def _sent(service, rows):
    status, answer = service.post("/models/a/observations", {"observations": rows})
    assert status == 200, answer
    return answer["answers"]


def _done(service, action, **body):
    status, answer = service.post(f"/models/a/{action}", body)
    assert status == 200, answer
    return answer


def _ids(service):
    found = service.get("/models/a/clusters")[1]["clusters"]
    return sorted(cluster["id"] for cluster in found)


def _saved(folder):
    arrays, header = checkpoint.read(folder / "models" / "a" / "model.evermix")
    return arrays, header["extra"]["service"], header.get("hand")


def _until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _edits(between):
    """Undo a merge, then a rename, with something done between all steps."""

    def run(service, rows):
        _sent(service, rows[:80])
        ids = _ids(service)
        _done(service, "merge", clusters=ids[:2], id="m1")
        service = between(service)
        done = _done(service, "undo", id="u1")
        assert done == {"action": "undo", "cluster": ids[0], "undone": "merge"}
        service = between(service)
        _until(lambda now=service: _ids(now) == ids)
        assert _done(service, "undo", id="u1") == {"duplicate": True}
        _done(service, "rename", cluster=ids[1], name="billing", id="r1")
        service = between(service)
        _done(service, "undo", id="u2")
        service = between(service)
        _sent(service, rows[80:])
        return service

    return run


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    from helpers.services import Running, vectors

    folder = tmp_path_factory.mktemp("undisturbed")
    service = Running(folder, "--every", FAR)
    service.make("a", **SETTINGS)
    assert _edits(lambda service: service)(service, vectors(120)).stop() == 0
    return _saved(folder)


@pytest.mark.parametrize("every", slow_but([FAR], [FAR, "0.05"]))
def test_undo_survives_kills(start, tmp_path, undisturbed, every):
    from helpers.services import vectors

    def killed(service):
        if every != FAR:
            wanted = service.get("/models/a")[1]["sequence"]
            _until(lambda: _saved(tmp_path)[1]["sequence"] >= wanted)  # all is in the checkpoint
        service.kill()
        return start("--every", every)

    service = start("--every", every)
    service.make("a", **SETTINGS)
    assert _edits(killed)(service, vectors(120)).stop() == 0
    (arrays, notes, hand), (expected, wanted, wanted_hand) = _saved(tmp_path), undisturbed
    assert hand == wanted_hand and arrays.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(arrays[name], values, err_msg=name)
    assert notes["remembered"] == wanted["remembered"] and notes["rows"] == wanted["rows"]
