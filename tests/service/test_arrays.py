"""Vectors that are sent as arrays in NumPy's format."""

import io
import json

import numpy as np
import pytest

pytest.importorskip("orjson")

from evermix.service.bodies import BodyError  # noqa: E402
from evermix.service.npy import tagged, tagged_array  # noqa: E402

NPY = {"Content-Type": "application/x-npy"}
X = np.random.default_rng(0).normal(size=(60, 2)) + 9.0 * (np.arange(60) % 3)[:, None]


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    "array", [X, X.astype(np.float32), np.asfortranarray(X), X[:1], X.T.copy()]
)
def test_an_array_is_what_was_saved(array):
    given = tagged_array(tagged(None, saved(array)), 100)
    np.testing.assert_array_equal(given.rows, array.astype(float))
    assert given.rows.flags.c_contiguous and given.rows.flags.writeable
    assert given.kind == "vectors" and given.ids == [None] * len(array)
    with_id = tagged_array(tagged("a\nb", saved(array)), 100)
    assert with_id.ids == [f"a\nb {i}" for i in range(len(array))]


def _with_hole(value):
    array = X.copy()
    array[3, 1] = value
    return saved(array)


BAD = {
    "empty": b"",
    "words": b"these are words",
    "magic alone": saved(X)[:8],
    "header alone": saved(X)[:128],
    "cut": saved(X)[:-1],
    "longer": saved(X) + b"\0",
    "no rows": saved(X[:0]),
    "no columns": saved(X[:, :0]),
    "too many rows": saved(np.zeros((101, 1))),
    "too many columns": saved(np.zeros((1, 10_001))),
    "one axis": saved(X[0]),
    "three axes": saved(X[None]),
    "whole numbers": saved(X.astype(int)),
    "words in it": saved(np.array([["a", "b"]])),
    "objects": saved(np.array([[1, 2]])).replace(b"<i8", b"|O8"),
    "big endian": saved(X.astype(">f8")),
    "complex": saved(X.astype(complex)),
    "a call": saved(X).replace(b"(60, 2), }", b"exit(), } "),
    "a large shape": saved(X).replace(b"(60, 2), }   ", b"(10, 99999)} "),
    "a negative one": saved(X).replace(b"(60, 2)", b"(-6, 2)"),
    "another version": saved(X).replace(b"NUMPY\x01", b"NUMPY\x02"),
    "a zip file": b"PK\x03\x04" + saved(X),
    "nan": _with_hole(np.nan),
    "infinite": _with_hole(-np.inf),
    "too large": _with_hole(1e301),
}


@pytest.mark.parametrize("what", BAD)
def test_other_arrays_are_refused(what):
    with pytest.raises(BodyError):
        tagged_array(tagged(None, BAD[what]), 100)


def test_any_damage_of_a_header_is_refused_or_harmless():
    rng, whole = np.random.default_rng(1), saved(X)
    for _ in range(2000):
        body = bytearray(whole)
        for at in rng.integers(0, 140, size=rng.integers(1, 4)):
            body[at] = rng.integers(256)
        try:
            found = tagged_array(tagged(None, bytes(body)), 100).rows
        except BodyError:
            continue
        assert found.size * 8 <= len(whole) and np.isfinite(found).all()


def test_a_service_learns_arrays_as_it_learns_json(service):
    for name in ("as-array", "as-json"):
        service.make(name, "vectors")
    path = "/models/as-array/observations"
    for at in range(0, 60, 20):
        some = X[at : at + 20]
        status, one = service.ask("POST", f"{path}?id=batch-{at}", saved(some), NPY)
        rows = [{"vector": x.tolist(), "id": f"batch-{at} {i}"} for i, x in enumerate(some)]
        two = service.post("/models/as-json/observations", rows)[1]
        assert status == 200 and one == two
    status, again = service.ask("POST", f"{path}?id=batch-0", saved(X[:20]), NPY)
    assert status == 200 and all(answer["duplicate"] for answer in again["answers"])
    assert service.get("/models/as-array")[1]["rows"] == 60
    queried = [
        service.ask("POST", f"/models/{n}/predict", saved(X), NPY)[1]
        for n in ("as-array", "as-json")
    ]
    assert queried[0] == queried[1] and len(queried[0]["answers"]) == 60


@pytest.mark.parametrize("what", ["empty", "cut", "nan", "a call", "too many columns"])
def test_a_bad_array_changes_nothing(service, what):
    if service.get("/models/still")[0] == 404:
        service.make("still", "vectors")
        assert service.ask("POST", "/models/still/observations", saved(X), NPY)[0] == 200
    before = service.get("/models/still")[1]
    status, answer = service.ask("POST", "/models/still/observations", BAD[what], NPY)
    assert status == 422 and "array" in answer["error"]
    for id in ("", "x" * 201):
        path = f"/models/still/observations?id={id}"
        assert service.ask("POST", path, saved(X), NPY)[0] == 422
    body = json.dumps({"vector": [1.0, 2.0]})
    assert service.ask("POST", "/models/still/observations?id=a", body)[0] == 422
    assert service.get("/models/still")[1] == before


def test_arrays_survive_a_kill(start):
    service = start("--every", "1000")
    service.make("a", "vectors")
    assert service.ask("POST", "/models/a/observations?id=one", saved(X), NPY)[0] == 200
    before = service.get("/models/a/clusters")[1]
    service.kill()
    service = start("--every", "1000")
    assert service.get("/models/a/clusters")[1] == before and before["rows"] == 60
    again = service.ask("POST", "/models/a/observations?id=one", saved(X), NPY)[1]
    assert all(answer["duplicate"] for answer in again["answers"])
    assert service.get("/models/a")[1]["rows"] == 60
