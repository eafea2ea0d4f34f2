"""A service that is killed: what was acknowledged is there, once, as if nothing had happened."""

import http.client
import json
import time
from threading import Thread

import numpy as np
import pytest

from evermix.io import checkpoint

BATCH, BATCHES, KILLS = 4, 60, 3
EDIT = 40  # batch after which clusters are merged by hand
SETTINGS = {"kind": "vectors", "seed": 3}


def _batches():
    from helpers.services import vectors

    rows = vectors(BATCH * BATCHES)
    return [rows[at : at + BATCH] for at in range(0, len(rows), BATCH)]


def _saved(folder):
    arrays, header = checkpoint.read(folder / "models" / "a" / "model.evermix")
    return arrays, header["extra"]["service"], header.get("hand")


def _sent(service, batch):
    status, answer = service.post("/models/a/observations", {"observations": batch})
    assert status == 200, answer
    return answer["answers"]


def _merged(service):
    _, found = service.get("/models/a/clusters")
    ids = sorted(cluster["id"] for cluster in found["clusters"])[:2]
    status, answer = service.post("/models/a/merge", {"clusters": ids, "id": "the merge"})
    assert status == 200, answer


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What is saved after a run that nothing disturbed."""
    from helpers.services import Running

    folder = tmp_path_factory.mktemp("undisturbed")
    service = Running(folder)
    service.make("a", **SETTINGS)
    for i, batch in enumerate(_batches()):
        _sent(service, batch)
        if i == EDIT:
            _merged(service)
    assert service.stop() == 0
    return _saved(folder)


def test_kills_change_nothing(start, tmp_path, undisturbed):
    rng = np.random.default_rng(0)
    doomed = set(rng.choice(BATCHES, KILLS, replace=False).tolist())
    service = start("--every", "0.05")
    service.make("a", **SETTINGS)
    for i, batch in enumerate(_batches()):
        if i in doomed:
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            body = json.dumps({"observations": batch})
            connection.request(
                "POST", "/models/a/observations", body, {"Content-Type": "application/json"}
            )
            service.kill()  # before, while or after the batch is learnt
            connection.close()
            service = start("--every", "0.05")
        _sent(service, batch)
        again = _sent(service, batch)
        assert all(answer["duplicate"] for answer in again)
        if i == EDIT:
            _merged(service)
    assert service.get("/models/a")[1]["rows"] == BATCH * BATCHES
    assert service.stop() == 0
    (arrays, notes, hand), (expected, expected_notes, expected_hand) = _saved(tmp_path), undisturbed
    assert arrays.keys() == expected.keys() and hand == expected_hand
    for name, values in expected.items():
        np.testing.assert_array_equal(arrays[name], values, err_msg=name)
    assert notes["remembered"] == expected_notes["remembered"]

    def plain(events):
        return [{k: v for k, v in event.items() if "time" not in k} for event in events["kept"]]

    assert plain(notes["events"]) == plain(expected_notes["events"])


def test_a_torn_log_is_cut_off_with_a_warning(start, tmp_path):
    from helpers.services import vectors

    service = start()
    service.make("a", "vectors")
    rows = vectors(8)
    _sent(service, rows)
    service.kill()
    (path,) = (tmp_path / "models" / "a").glob("log-*")
    with path.open("ab") as file:
        file.write(b"\x07\x00\x00")
    service = start()
    assert "not written whole" in service.said()
    assert service.get("/models/a")[1]["rows"] == len(rows)
    assert all(answer["duplicate"] for answer in _sent(service, rows))
    assert service.stop() == 0


def test_a_full_disk_loses_nothing(start, tmp_path):
    from helpers.services import vectors

    rows, sent = vectors(2000), 0
    service = start(file_limit=30_000)
    service.make("a", **SETTINGS)
    for at in range(0, len(rows), 50):
        some = {"observations": rows[at : at + 50]}
        status, answer = service.post("/models/a/observations", some)
        if status == 503:
            break
        assert status == 200, answer
        sent = at + 50
    assert status == 503 and "log cannot be written" in answer["error"]
    assert 0 < sent < len(rows) and service.get("/models/a")[1]["rows"] == sent
    assert service.get("/models/a/clusters")[0] == 200  # which can still be read
    service.kill()
    service = start()
    assert service.get("/models/a")[1]["rows"] == sent
    assert _sent(service, rows[sent : sent + 50])
    assert service.stop() == 0


def test_clients_at_the_same_time_and_a_peaceful_end(start, tmp_path):
    """What is being answered when the service has to stop is answered, and saved."""
    from helpers.services import vectors

    service, answered = start(), []
    service.make("a", **SETTINGS)

    def send(client):
        for i, row in enumerate(vectors(1000, seed=client)):
            try:
                row["id"] = f"{client} {i}"
                if service.post("/models/a/observations", row)[0] == 200:
                    answered.append(row["id"])
            except OSError:
                return

    threads = [Thread(target=send, args=(client,)) for client in range(4)]
    for thread in threads:
        thread.start()
    while len(answered) < 100:
        time.sleep(0.01)
    assert service.stop() == 0
    for thread in threads:
        thread.join()
    service = start()
    assert service.get("/models/a")[1]["rows"] == len(answered)
    assert "replayed_total" in service.get("/metrics")[1]
    assert 'replayed_total{model="a"} 0' in service.get("/metrics")[1]


def test_two_services_do_not_share_a_folder(start, tmp_path):
    start()
    with pytest.raises(AssertionError, match="is being written by"):
        start()
