"""What a service answers, and what it refuses without harm."""

import http.client
import json
import socket

import pytest

NAN, DEEP = '{"vector": [NaN, 1.0]}', '{"vector": ' + "[" * 30_000 + "]" * 30_000 + "}"
ROW = {"vector": [1.0, 2.0]}
BODIES = {  # by what is wrong
    "nothing": "",
    "no JSON": "{",
    "NaN": NAN,
    "Infinity": '{"vector": [Infinity, 1.0]}',
    "too large": '{"vector": [1e999, 1.0]}',
    "huge integer": '{"vector": [1' + "0" * 400 + ", 1.0]}",
    "endless integer": '{"vector": [1' + "0" * 6000 + ", 1.0]}",
    "deep nesting": DEEP,
    "deep objects": '{"a":' * 15_000 + "1" + "}" * 15_000,
    "a number": "5",
    "a string": '"vector"',
    "null": "null",
    "numbers": "[1.0, 2.0]",
    "no observations": "[]",
    "observations that are none": '{"observations": 5}',
    "more beside observations": '{"observations": [{"vector": [1, 2]}], "x": 1}',
    "no such field": '{"vectors": [1.0, 2.0], "x": 1}',
    "two kinds": '{"vector": [1.0, 2.0], "text": "a"}',
    "mixed kinds": '[{"vector": [1.0, 2.0]}, {"text": "a"}]',
    "another kind": '{"text": "words"}',
    "an empty vector": '{"vector": []}',
    "a vector of words": '{"vector": ["1.0", "2.0"]}',
    "a vector of booleans": '{"vector": [true, false]}',
    "null in a vector": '{"vector": [null, 1.0]}',
    "another length": '{"vector": [1.0, 2.0, 3.0]}',
    "several lengths": '[{"vector": [1.0, 2.0]}, {"vector": [1.0]}]',
    "an object for an id": '{"vector": [1.0, 2.0], "id": {}}',
    "an empty id": '{"vector": [1.0, 2.0], "id": ""}',
    "a long id": json.dumps(ROW | {"id": "a" * 201}),
    "half a letter": '{"vector": [1.0, 2.0], "id": "\\ud800"}',
    "no UTF-8": b'{"vector": [1.0, 2.0], "id": "\xff"}',
    "a large batch": json.dumps([ROW] * 501),
    "a null byte": b"\x00",
}
EDITS = {
    "no cluster": ("pin", "{}"),
    "unknown cluster": ("pin", '{"cluster": 10000}'),
    "negative cluster": ("pin", '{"cluster": -1}'),
    "huge cluster": ("pin", '{"cluster": 1' + "0" * 300 + "}"),
    "boolean cluster": ("pin", '{"cluster": true}'),
    "list for a cluster": ("split", '{"cluster": [0]}'),
    "one to merge": ("merge", '{"clusters": [0]}'),
    "none to merge": ("merge", '{"clusters": []}'),
    "twice the same": ("merge", '{"clusters": [0, 0]}'),
    "a number for a name": ("rename", '{"cluster": 0, "name": 5}'),
    "an empty name": ("rename", '{"cluster": 0, "name": ""}'),
    "a whole number as a name": ("rename", '{"cluster": 0, "name": "1"}'),
    "a control letter": ("rename", '{"cluster": 0, "name": "a\\u0000"}'),
    "a long name": ("rename", json.dumps({"cluster": 0, "name": "a" * 201})),
    "another entry": ("pin", '{"cluster": 0, "force": true}'),
    "a word for pin": ("merge", '{"clusters": [0, 1], "pin": "yes"}'),
    "no object": ("rename", "[]"),
    "nothing to undo": ("undo", "{}"),
    "a cluster to undo": ("undo", '{"cluster": 0}'),
}
PATHS = [
    "/models/none",
    "/models/..%2f..%2fetc/clusters",
    "/models/%2e%2e",
    "/models/a/clusters/-1",
    "/models/a/clusters/99999999",
    "/models/a/clusters/" + "9" * 6000,
    "/models/a/clusters/1e3",
    "/models/a/clusters/%00",
    "/models/a%00/clusters",
    "/nothing",
    "//",
]
NAMES = ["..", "A", "a.b", "-a", "a" * 65, "%2e%2e", "a%2fb", "%00", "a%20b", "%c3%a9", "."]


@pytest.fixture(scope="module")
def model(service):
    """A service with a model of vectors."""
    from helpers.services import vectors

    service.make("a", "vectors")
    status, answer = service.post("/models/a/observations", vectors(300))
    assert status == 200, answer
    return service


def _state(service):
    facts = service.get("/models/a")[1]
    return facts["rows"], facts["clusters"], facts["last_event"]


@pytest.mark.parametrize("path", ["observations", "predict"])
@pytest.mark.parametrize("what", BODIES)
def test_bad_observations_change_nothing(model, what, path):
    before = _state(model)
    status, answer = model.ask("POST", f"/models/a/{path}", BODIES[what])
    assert status == 422 and answer["error"], answer
    assert _state(model) == before


@pytest.mark.parametrize("what", EDITS)
def test_bad_edits_change_nothing(model, what):
    before, (action, body) = _state(model), EDITS[what]
    status, answer = model.ask("POST", f"/models/a/{action}", body)
    assert status == 422 and answer["error"], answer
    assert _state(model) == before


@pytest.mark.parametrize("path", PATHS)
def test_there_is_nothing_elsewhere(model, path):
    status, answer = model.get(path)
    assert status in (404, 405) and answer["error"]


@pytest.mark.parametrize("name", NAMES)
def test_names_stay_in_the_folder(model, name):
    before = sorted(model.folder.rglob("model.json"))
    status, _ = model.ask("PUT", f"/models/{name}", '{"kind": "vectors"}')
    assert status in (404, 405, 422)
    assert sorted(model.folder.rglob("model.json")) == before


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kind": "images"},
        {"kind": ["vectors"]},
        {"kind": "vectors", "max_clusters": 0},
        {"kind": "vectors", "max_clusters": True},
        {"kind": "vectors", "seed": "1"},
        {"kind": "vectors", "half_life": 0},
        {"kind": "texts", "hash": 2**40},
        {"kind": "vectors", "engine": "os.system"},
    ],
)
def test_bad_settings(model, settings):
    status, answer = model.ask("PUT", "/models/other", json.dumps(settings))
    assert status == 422 and answer["error"]
    assert model.get("/models/other")[0] == 404


def test_kinds_that_are_not_known_are_quoted(model):
    _, answer = model.ask("PUT", "/models/other", '{"kind": "words"}')
    assert "vectors, records, texts, got 'words'" in answer["error"]


def test_settings_of_a_model_stay(model):
    assert model.ask("PUT", "/models/a", '{"kind": "vectors"}')[0] == 200
    assert model.ask("PUT", "/models/a", '{"kind": "vector"}')[0] == 200  # the same
    status, answer = model.ask("PUT", "/models/a", '{"kind": "texts", "seed": 3}')
    assert status == 409
    assert 'kind is "vectors", not "texts", seed is 0, not 3. Choose' in answer["error"]


def test_unknown_paths_and_methods_say_what_there_is(model):
    said = model.get("/models/a/explane")[1]["error"]
    assert "there is no /models/a/explane. There are /models/{name}, " in said
    assert "/models/{name}/predict" in said and "/health" not in said
    assert "/health" in model.get("/nothing")[1]["error"]
    assert model.get("/models/a/predict")[1]["error"] == "/models/a/predict takes POST, got GET."


def test_other_forms_and_methods(model):
    path = "/models/a/observations"
    assert model.ask("POST", path, json.dumps(ROW), {})[0] == 415
    assert model.ask("POST", path, json.dumps(ROW), {"Content-Type": "text/plain"})[0] == 415
    assert model.get(path)[0] == 405
    assert model.ask("DELETE", path)[0] == 405


def test_large_bodies(model):
    before = _state(model)
    status, _ = model.ask("POST", "/models/a/observations", b" " * 150_001)
    assert status == 413
    assert _state(model) == before


def test_bodies_that_another_thread_reads_are_answered_alike(model):
    from evermix.service.app import SMALL

    before, room = _state(model), " " * SMALL
    for body in (json.dumps(ROW), json.dumps([ROW, ROW]), '[{"vector": [1.0, true]}]', "["):
        small = model.ask("POST", "/models/a/predict", body)
        large = model.ask("POST", "/models/a/predict", room + body)
        assert small[0] == large[0] and small[1].keys() == large[1].keys()
        assert small[0] == 422 or small == large
    assert _state(model) == before


def test_pages_of_other_sites(model):
    for headers in ({"Origin": "https://example.org"}, {"Host": "example.org"}):
        assert model.get("/models", headers=headers)[0] == 403
    assert model.get("/models", headers={"Origin": "http://localhost:3000"})[0] == 200


def test_half_a_request(model):
    """Clients that go away, or speak no HTTP, disturb nobody."""
    for said in (
        b"POST /models/a/observations HTTP/1.1\r\nHost: localhost\r\n",
        b"\x16\x03\x01\x00",
    ):
        with socket.create_connection(("127.0.0.1", model.port)) as connection:
            connection.sendall(said)
    connection = http.client.HTTPConnection("127.0.0.1", model.port)
    connection.putrequest("POST", "/models/a/observations")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b'{"vector":')
    connection.close()
    assert model.get("/health") == (200, {"status": "ok"})


def test_a_slow_body_is_not_waited_for(model):
    connection = http.client.HTTPConnection("127.0.0.1", model.port, timeout=60)
    connection.putrequest("POST", "/models/a/observations")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b'{"vector":')
    assert connection.getresponse().status == 408
    connection.close()


@pytest.mark.parametrize("value", [1e300, 1e160, -1e308, 5e-324, 1e25])
def test_numbers_at_the_edge_do_no_harm(model, value):
    """They are refused, or learnt without harm to the other clusters."""
    status, answer = model.post("/models/a/observations", {"vector": [value, 1.0]})
    assert status in (200, 422), answer
    status, answer = model.post("/models/a/predict", {"vector": [9.0, 9.0]})
    assert status == 200 and 0 <= answer["probability"] <= 1 and answer["novelty"] < 0.5
    assert model.get("/models/a/clusters")[0] == 200


def test_nothing_was_unexpected(model):
    """The last test of the file: no request has failed in a way that nobody has thought of."""
    assert "Traceback" not in model.said()
