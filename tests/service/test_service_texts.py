"""Texts that are sent to a service: subjects are found, and shown by their words."""

import json

import numpy as np
import pytest

SUBJECTS = {
    "bills": ["invoice", "payment", "refund", "charged", "card", "amount"],
    "access": ["password", "login", "reset", "locked", "email", "code"],
    "parcels": ["parcel", "delivery", "tracking", "courier", "address", "shipping"],
}


def _texts(n, seed=0):
    rng = np.random.default_rng(seed)
    subjects = rng.choice(sorted(SUBJECTS), n)
    rows = [
        {"text": f"Hello, {' '.join(rng.choice(SUBJECTS[subject], 8))}", "id": f"text {i}"}
        for i, subject in enumerate(subjects)
    ]
    return rows, subjects


@pytest.mark.parametrize("batch", [1, 120])
def test_subjects_are_found_and_shown_by_their_words(service, batch):
    name, (rows, subjects) = f"by-{batch}", _texts(120)
    service.make(name, "texts")
    for at in range(0, len(rows), batch):
        status, answer = service.post(f"/models/{name}/observations", rows[at : at + batch])
        assert status == 200, answer
    _, found = service.post(f"/models/{name}/predict", rows)
    labels = np.array([answer["cluster"] for answer in found["answers"]])
    for subject in SUBJECTS:
        (label,) = set(labels[subjects == subject])
        card = service.get(f"/models/{name}/clusters/{label}")[1]["card"]
        assert {trait["column"] for trait in card["traits"][:3]} <= set(SUBJECTS[subject])
    for path in ("observations", "predict"):  # the row is known, so that nothing is learnt
        _, answer = service.post(f"/models/{name}/{path}?cards=true", rows[0])
        assert answer["cards"].keys() == {str(answer["cluster"])}
        traits = answer["cards"][str(answer["cluster"])]["traits"]
        assert {trait["column"] for trait in traits[:3]} <= set(SUBJECTS[subjects[0]])
    _, answer = service.post(f"/models/{name}/predict", {"text": "guitar piano drums violin song"})
    assert answer["novelty"] > 0.5  # of words that were never met


def test_a_vocabulary_that_is_full_survives_a_kill(start, tmp_path):
    """Words lose their columns to others, and a replay loses the same ones."""
    service = start()
    service.make("a", "texts", vocabulary=9)
    rows, _ = _texts(80)
    for at in range(0, len(rows), 8):
        assert service.post("/models/a/observations", rows[at : at + 8])[0] == 200
    queried = {"observations": _texts(30, seed=1)[0]}
    before = service.post("/models/a/predict", queried)
    clusters = service.get("/models/a/clusters")
    service.kill()
    service = start()
    assert service.post("/models/a/predict", queried) == before
    assert service.get("/models/a/clusters") == clusters
    assert service.stop() == 0
    assert json.loads((tmp_path / "models" / "a" / "model.json").read_text())["vocabulary"] == 9


@pytest.mark.parametrize("settings", [{}, {"min_count": 2}])
def test_the_first_text_may_have_no_words(service, settings):
    name = f"blank-{len(settings)}"
    service.make(name, "texts", **settings)
    for text in ("", "paper jam", "paper jam again"):
        status, answer = service.post(f"/models/{name}/observations", {"text": text})
        assert status == 200, answer
        assert service.get(f"/models/{name}/clusters/{answer['cluster']}")[0] == 200
        assert service.get(f"/models/{name}/clusters?words=true")[0] == 200
        assert service.post(f"/models/{name}/predict", {"text": "no paper"})[0] == 200
