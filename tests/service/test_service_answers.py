"""Learning, asking and deciding through a service."""

import json
import re
import time

import pytest

from evermix.hand import NOTHING_TO_UNDO


@pytest.fixture(scope="module")
def model(service):
    """A service that has learnt three clusters."""
    from helpers.services import vectors

    service.make("a", "vectors")
    rows = vectors(400)
    answers = service.post("/models/a/observations", {"observations": rows})[1]["answers"]
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
    return service


def _clusters(service, name="a"):
    status, found = service.get(f"/models/{name}/clusters")
    assert status == 200
    return [cluster["id"] for cluster in found["clusters"]]


def _soon(holds):
    """Wait until readers see what was done: for a moment they may see an older copy."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_answer_says_cluster_probability_and_novelty(model):
    status, answer = model.post("/models/a/observations", {"vector": [9.0, 9.0], "id": 7})
    assert status == 200 and answer["id"] == "7" and answer["cluster"] in _clusters(model)
    assert answer["probability"] > 0.9 and answer["novelty"] < 0.1 and not answer["new"]
    status, answer = model.post("/models/a/predict", {"vector": [900.0, -900.0]})
    assert status == 200 and answer["novelty"] > 0.9


def test_the_first_batch_has_no_novelty(model):
    """Nothing was learnt before, so that all of its rows would be new."""
    model.make("first", "vectors")
    rows = {"observations": [{"vector": [float(i % 2), 1.0]} for i in range(30)]}
    for at in range(2):
        status, said = model.post("/models/first/observations", rows)
        assert status == 200 and len(said["answers"]) == 30
        assert all(("novelty" in answer) == (at == 1) for answer in said["answers"])
        assert all(0 <= answer.get("novelty", 0) <= 1 for answer in said["answers"])
    assert model.ask("DELETE", "/models/first")[0] == 200


def test_an_explanation_adds_up_and_learns_nothing(model):
    """Whatever form the rows have, also beside a cluster that is named, and a new one."""
    before, row = model.get("/models/a")[1], {"vector": [9.0, 9.0], "id": "7"}
    status, why = model.post("/models/a/explain", row)
    assert status == 200 and why["id"] == "7" and why["cluster"] != why["other"]
    assert why["cluster"] == model.post("/models/a/predict", row)[1]["cluster"]
    total = sum(each["log_odds"] for each in why["contributions"])
    assert total == pytest.approx(why["log_odds"]) and total > 0
    assert model.post("/models/a/explain", [row] * 2)[1] == {"answers": [why] * 2}
    for other in (why["other"], -1):
        found = model.post(f"/models/a/explain?against={other}", row)[1]
        assert (found["cluster"], found["other"]) == (why["cluster"], other)
    assert model.get("/models/a")[1] == before
    model.post("/models/a/rename", {"cluster": why["other"], "name": "me, myself"})
    found = model.post("/models/a/explain?against=me,%20myself", row)[1]
    assert (found["other"], found["other_name"]) == (why["other"], "me, myself")
    model.post("/models/a/rename", {"cluster": why["other"], "name": None})


@pytest.mark.parametrize(
    ("path", "rows", "reason"),
    [
        ("?against=no", 1, "against: no cluster has the name 'no'."),
        ("?against=999", 1, "there is no cluster 999; GET clusters lists those that there are."),
        ("", 21, "explain takes 20 observations at most, got 21"),
    ],
)
def test_what_cannot_be_explained(model, path, rows, reason):
    status, said = model.post(f"/models/a/explain{path}", [{"vector": [9.0, 9.0]}] * rows)
    assert status == 422 and reason in said["error"]


def test_predicting_learns_nothing(model):
    before = model.get("/models/a")[1]
    rows = [{"vector": [0.0, 0.0]}, {"vector": [18.0, 18.0], "id": "row 1"}]
    lines = "\n".join(map(json.dumps, rows))
    headers = {"Content-Type": "application/x-ndjson"}
    status, answer = model.ask("POST", "/models/a/predict", lines, headers)
    assert status == 200 and len(answer["answers"]) == 2
    assert model.get("/models/a")[1] == before


def test_what_is_sent_twice_is_learnt_once(model):
    rows = model.get("/models/a")[1]["rows"]
    one, two = {"vector": [0.1, 0.2], "id": "one"}, {"vector": [0.3, 0.2], "id": "two"}
    answers = model.post("/models/a/observations", [one, one])[1]["answers"]
    assert ["duplicate" in answer for answer in answers] == [False, True]
    answers = model.post("/models/a/observations", [one, two, one])[1]["answers"]
    assert ["duplicate" in answer for answer in answers] == [True, False, True]
    assert model.get("/models/a")[1]["rows"] == rows + 2


def test_what_can_be_read(model):
    ids = _clusters(model)
    assert len(ids) >= 3
    status, found = model.get(f"/models/a/clusters/{ids[0]}")
    assert status == 200 and found["card"]["id"] == ids[0] and found["card"]["examples"]
    status, found = model.get("/models/a/history")
    assert status == 200 and sum(step["rows"] for step in found["steps"]) == found["rows"]
    status, found = model.get("/models/a/lineage")
    assert status == 200
    assert {each["id"] for each in found["lineage"] if each["ended"] is None} == set(ids)
    assert [each["name"] for each in model.get("/models")[1]["models"]] == ["a"]


def test_the_hand_of_a_person_and_events(model):
    first, second, *_ = _clusters(model)
    before = model.get("/models/a")[1]["last_event"]
    assert model.post("/models/a/rename", {"cluster": first, "name": "large"})[0] == 200
    _soon(lambda: model.get(f"/models/a/clusters/{first}")[1]["card"]["name"] == "large")
    status, answer = model.post("/models/a/merge", {"clusters": [first, second], "id": "m"})
    assert status == 200 and answer["cluster"] == first and answer["merged"] == [second]
    _soon(lambda: second not in _clusters(model))
    again = model.post("/models/a/merge", {"clusters": [first, second], "id": "m"})
    assert again == (200, {"duplicate": True})
    status, answer = model.post("/models/a/split", {"cluster": first})
    assert status == 200
    _soon(lambda: answer["new"] in _clusters(model))
    assert model.post("/models/a/unpin", {"cluster": first})[0] == 200
    assert not model.get(f"/models/a/clusters/{first}")[1]["card"]["pinned"]
    assert model.post("/models/a/pin", {"cluster": first})[0] == 200
    events = model.events("a", 7, after=before)
    kinds = [event["type"] for event in events]
    assert kinds == ["rename", "merge", "merge", "split", "birth", "unpin", "pin"]
    assert [event["number"] for event in events] == list(range(before + 1, before + 8))
    assert model.events("a", 2, after=before + 5) == events[5:]
    assert model.events("a", 1, after=0)[0]["type"] == "birth"
    assert model.get("/models/a/events", headers={"Last-Event-ID": "x"})[0] == 400


def test_edits_call_clusters_by_their_names_too(model):
    first, second, *_ = _clusters(model)
    assert model.post("/models/a/rename", {"cluster": first, "name": "large"})[0] == 200
    status, answer = model.post("/models/a/rename", {"cluster": "lrge", "name": "other"})
    assert status == 422 and "Did you mean 'large'?" in answer["error"]
    assert model.post("/models/a/pin", {"cluster": "large"})[1]["cluster"] == first
    answer = model.post("/models/a/merge", {"clusters": [second, "large"]})[1]
    assert (answer["cluster"], answer["merged"]) == (second, [first])


def test_undo_gives_back_what_was_there(model):
    first, second, *_ = _clusters(model)
    before = model.get("/models/a/clusters")[1]["clusters"]
    assert model.post("/models/a/merge", {"clusters": [first, second]})[0] == 200
    _soon(lambda: second not in _clusters(model))
    done = model.post("/models/a/undo", {"id": "back"})
    assert done == (200, {"action": "undo", "cluster": first, "undone": "merge"})
    _soon(lambda: model.get("/models/a/clusters")[1]["clusters"] == before)
    assert model.post("/models/a/undo", {"id": "back"}) == (200, {"duplicate": True})
    status, answer = model.post("/models/a/undo", {})
    assert status == 422 and NOTHING_TO_UNDO in answer["error"]


def test_records_and_texts(service):
    service.make("records", "records")
    rows = [{"record": {"size": 1.5 + i, "colour": "red" if i % 2 else "blue"}} for i in range(80)]
    status, answer = service.post("/models/records/observations", rows)
    assert status == 200, answer
    status, answer = service.post("/models/records/observations", {"record": {"colour": "red"}})
    assert status == 200, answer  # what is missing is missing
    status, answer = service.post("/models/records/observations", {"record": {"weight": 1}})
    assert status == 422 and "weight" in answer["error"]
    assert service.get("/models/records")[1]["rows"] == 81
    status, answer = service.post("/models/records/observations", {"record": {"size": {}}})
    assert status == 422
    service.make("texts", "texts", hash=512)
    texts = [{"text": "apples pears cherries plums"}, {"text": "engine wheel brake clutch"}] * 20
    status, answer = service.post("/models/texts/observations", texts)
    assert status == 200, answer
    found = {answer["cluster"] for answer in answer["answers"]}
    cards = [service.get(f"/models/texts/clusters/{id}")[1]["card"] for id in found]
    words = " ".join(trait["column"] for card in cards for trait in card["traits"])
    assert "apples" in words


def test_cards_of_records_show_units(service):
    service.make("bills", "records")
    rows = [
        {"record": {"bill": f"€{100 + i + 700 * (i % 2)}.50", "no": i % 2 * 9.5}} for i in range(90)
    ]
    assert service.post("/models/bills/observations", rows)[0] == 200
    _soon(lambda: service.get("/models/bills")[1]["clusters"] == 2)
    found = service.get(f"/models/bills/clusters/{_clusters(service, 'bills')[0]}")[1]
    units = {trait["column"]: trait["unit"] for trait in found["card"]["traits"]}
    assert units == {"bill": "€#", "no": None}
    assert any(re.match("bill €", word) for word in found["words"])
    (bill,) = (trait for trait in found["traits"] if trait[0] == "bill")
    assert bill[1].startswith("€") and bill[2].startswith("€")
    for example, shown in zip(found["card"]["examples"], found["examples"], strict=True):
        assert example["units"] == {"bill": "€#"} and shown[0].startswith("bill = €")


def _total(text, name):
    return int(re.search(rf'evermix_{name}_total\{{model="a"\}} (\d+)\n', text)[1])


def test_metrics_and_description(model):
    before = model.get("/metrics")[1]
    one, two = {"vector": [0.1, 0.1], "id": "seen"}, {"vector": [0.1, 0.1], "id": "seen too"}
    assert model.post("/models/a/observations", [one, two, one])[0] == 200
    assert model.post("/models/a/observations", [one, two])[0] == 200
    status, text = model.get("/metrics")
    assert status == 200
    assert _total(text, "rows") == _total(before, "rows") + 2
    assert _total(text, "duplicates") == _total(before, "duplicates") + 3
    assert _total(text, "rows") == model.get("/models/a")[1]["rows"]
    for line in text.splitlines():
        assert re.fullmatch(r'#.*|evermix_\w+(\{model="[a-z]+"\})? [0-9.e-]+', line), line
    status, found = model.get("/openapi.json")
    assert status == 200 and "/models/{name}/observations" in found["paths"]


def test_a_token(start):
    token = "0123456789abcdef"
    service = start("--token", token)
    assert service.get("/health")[0] == 200
    for wrong in (None, "", "Bearer", "Bearer x", f"Basic {token}", f"Bearer {token}0"):
        headers = {} if wrong is None else {"Authorization": wrong}
        for path in ("/models", "/metrics", "/openapi.json", "/nothing", "//health"):
            assert service.get(path, headers=headers)[0] == 401
    assert service.get("/models", headers={"Authorization": f"Bearer {token}"})[0] == 200


def test_a_full_queue_says_when_to_try_again(tmp_path):
    from evermix.service.plans import Plan
    from evermix.service.replies import refused
    from evermix.service.worker import READY, BusyError, Limits, Worker

    worker = Worker(tmp_path, Plan("vectors"), Limits(queue=2))
    worker.status = READY  # nobody takes what waits
    worker.submit("learn", "json", b"{}")
    worker.submit("learn", "json", b"{}")
    with pytest.raises(BusyError) as busy:
        worker.submit("learn", "json", b"{}")
    answer = refused(busy.value)
    assert answer.status_code == 429 and answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_other_addresses_need_a_token(host):
    from evermix.service.server import check_access

    with pytest.raises(ValueError, match="needs a --token"):
        check_access(host, None)
    with pytest.raises(ValueError, match="16 or more"):
        check_access(host, "short")
    check_access(host, "a" * 16)
    check_access("127.0.0.1", None)


def test_answers_are_not_held_back():
    """asyncio turns off Nagle's algorithm only on sockets whose protocol is named."""
    import socket

    from evermix.service.server import bound

    with bound("127.0.0.1", 0) as place:
        assert place.proto == socket.IPPROTO_TCP
        with pytest.raises(OSError, match="cannot listen at"):
            bound("127.0.0.1", place.getsockname()[1])


def test_other_methods_are_answered_with_those_that_are_allowed(model):
    for path, methods in (
        ("/health", {"GET", "HEAD"}),
        ("/models/a", {"GET", "HEAD", "PUT", "DELETE"}),
        ("/models/a/predict", {"POST"}),
    ):
        for method in {"DELETE", "PATCH", "OPTIONS"} - methods:
            assert model.ask(method, path)[0] == 405
            assert set(model.headers["allow"].split(", ")) == methods


@pytest.mark.parametrize("path", ["clusters?words=yes", "events?progress=1"])
def test_flags_are_true_or_false(model, path):
    status, answer = model.get(f"/models/a/{path}")
    assert status == 422 and "must be true or false" in answer["error"]


def test_rename_needs_a_name(model):
    id = model.get("/models/a/clusters")[1]["clusters"][0]["id"]
    status, answer = model.post("/models/a/rename", {"cluster": id})
    assert status == 422 and "name" in answer["error"]


def test_whole_numbers_may_be_written_with_a_point(model):
    settings = {"kind": "vectors", "max_clusters": 20.0, "seed": 1.0}
    status, answer = model.ask("PUT", "/models/whole", json.dumps(settings))
    assert status == 201 and answer["settings"]["max_clusters"] == 20
    id = model.get("/models/a/clusters")[1]["clusters"][0]["id"]
    status, answer = model.post("/models/a/pin", {"cluster": float(id)})
    assert status == 200 and answer["cluster"] == id
    assert model.post("/models/a/pin", {"cluster": id + 0.5})[0] == 422
