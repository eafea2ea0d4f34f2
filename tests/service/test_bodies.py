"""Batches that are checked at once: they are taken and refused as one observation after another."""

import json

import numpy as np
import pytest

import evermix as em
from evermix.estimators.answers import row_answers

pytest.importorskip("orjson")

from evermix.service import bodies  # noqa: E402
from evermix.service.bodies import BodyError, observations  # noqa: E402
from evermix.service.remembered import KEPT, Remembered  # noqa: E402

GOOD = [0.5, -3], [7, 10**18], [2**64 + 2.0, 1e300], [1e-320, 0]
BAD = (
    [True, 0.5],
    [0.5, False],
    ["1.5", "2"],
    [None, 1.0],
    [[1.0], [2.0]],
    [[1.0, 2.0], 3.0],
    [{}, 1.0],
    [1e301, 0.0],
    [10**301, 1],
    [],
    "12",
    12,
    {"0": 1.0},
)


def taken(rows, form="json"):
    body = json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows))
    return observations(body.encode(), form, 100)


@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("ids", [True, False])
def test_vectors_of_a_batch_are_those_that_were_sent(form, ids):
    rows = [{"vector": x, **({"id": f"row {i}"} if ids else {})} for i, x in enumerate(GOOD)]
    given = taken(rows, form)
    assert given.kind == "vectors" and given.rows.dtype == np.float64
    np.testing.assert_array_equal(given.rows, np.array(GOOD, dtype=float))
    assert given.ids == [row.get("id") for row in rows]
    one = [observations(json.dumps(row).encode(), "json", 1) for row in rows]
    np.testing.assert_array_equal(given.rows, np.concatenate([each.rows for each in one]))


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_batch_with_one_bad_vector_is_refused_and_says_which(bad):
    rows = [{"vector": x} for x in (*GOOD, bad)]
    with pytest.raises(BodyError, match=f"observation {len(GOOD)}: "):
        taken(rows)
    with pytest.raises(BodyError, match="observation"):
        taken([{"vector": bad}, {"vector": bad}])


def outcome(body):
    """Return what is taken of a body, to the bit, or why it is refused."""
    try:
        given = observations(body, "json", 4)
    except BodyError as error:
        return str(error)
    rows = given.rows.tobytes() if given.kind == "vectors" else given.rows
    return given.kind, rows, np.shape(given.rows), given.ids, given.single


def bodies_to_take():
    """Yield bodies as usual, and bodies with some bytes changed, many of them no longer valid."""
    rng = np.random.default_rng(0)
    rows = [{"vector": x} for x in GOOD]
    usual = [json.dumps(rows), json.dumps(rows[:1]), json.dumps(rows, separators=(",", ":"))]
    pieces = [
        *(b'[]{},:" 0123456789.-+eE\n'.decode()),
        *("null", "true", "NaN", "Infinity", "[]", "1,null,2", ']}, {"vector": [', ', "id": "a"'),
        *('"vector"', "vector", "1e400", "-0", "1e-400", "\u00e9", "0.1", "5" * 40, "9" * 400),
    ]
    for text in usual:
        yield text
        for _ in range(3000):
            cut, end = np.sort(rng.integers(0, len(text) + 1, 2))
            end = cut if rng.random() < 0.5 else min(end, cut + int(rng.integers(1, 20)))
            yield text[:cut] + str(rng.choice(pieces)) + text[end:]


def test_what_is_taken_does_not_depend_on_how_a_batch_is_spelt(monkeypatch):
    all_bodies = [text.encode() for text in bodies_to_take()]
    at_once = [outcome(body) for body in all_bodies]
    monkeypatch.setattr(bodies, "_usual_batch", lambda body, most: None)
    assert at_once == [outcome(body) for body in all_bodies]
    assert sum(isinstance(found, tuple) for found in at_once) > 100


@pytest.mark.parametrize("separators", [None, (",", ":")], ids=["Python", "JavaScript"])
def test_usual_batches_are_read_as_one_list(separators):
    x = np.random.default_rng(0).normal(size=(7, 3)) * 10.0 ** np.arange(-9, 12).reshape(7, 3)
    body = json.dumps([{"vector": row} for row in x.tolist()], separators=separators).encode()
    np.testing.assert_array_equal(bodies._usual_batch(body, 7), x)
    assert bodies._usual_batch(body, 6) is None
    assert observations(body, "json", 7).rows.flags.writeable


def test_lengths_that_differ_are_refused():
    with pytest.raises(BodyError, match=r"one length, got \[1, 2\]"):
        taken([{"vector": [1.0, 2.0]}, {"vector": [1.0]}])


@pytest.mark.parametrize("id", ["", "x" * 201, True, 1.5, [], {}])
def test_a_bad_id_in_a_batch_is_refused(id):
    with pytest.raises(BodyError, match="observation 1: an id must be"):
        taken([{"vector": [1.0], "id": "a"}, {"vector": [1.0], "id": id}])


def test_ids_may_hold_the_words_true_and_false_and_be_numbers():
    given = taken([{"vector": [1.0], "id": "true"}, {"vector": [2.0], "id": 3}])
    assert given.ids == ["true", "3"] and given.rows.tolist() == [[1.0], [2.0]]


def test_other_fields_are_ignored():
    given = taken([{"id": 7, "created": "2026-03-01", "text": "a b"}, {"text": "c", "seen": True}])
    assert given.kind == "texts" and given.rows == ["a b", "c"] and given.ids == ["7", None]
    rows = [{"vector": [1.0, 2.0], "id": f"{i}", "more": [i]} for i in range(3)]
    given = taken(rows)
    assert given.kind == "vectors" and given.rows.shape == (3, 2) and given.ids == ["0", "1", "2"]
    plain = taken([{"vector": [1.0, 2.0], "created": i} for i in range(3)])
    assert plain.rows.shape == (3, 2) and plain.ids == [None] * 3
    for wrong in ({"text": "a", "vector": [1.0]}, {"created": 1}, {}):
        with pytest.raises(BodyError, match="must have one of vector, record and text, got"):
            taken([wrong])


def test_the_oldest_ids_are_forgotten(monkeypatch):
    monkeypatch.setattr("evermix.service.remembered.KEPT", 3)
    known = Remembered()
    known.add(["a", None, "b"])
    known.add([None, None])
    known.add(["c", "a", "d"])  # "a" stays where it was
    assert [id for id in "abcd" if id in known] == ["b", "c", "d"] and KEPT > 3
    assert list(known.new(["b", "x", None, "x", "a"])) == [1, 2, 4]
    assert list(known.new([None, None])) == [0, 1]


def test_novelty_is_the_last_probability_of_predict_proba():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + 8 * rng.integers(0, 3, size=(400, 1))
    mix = em.Mixture(random_state=0).fit(X)
    far = np.vstack([X, 1e3 * X, 1e6 + X])
    last = mix.predict_proba(far, new_cluster=True)[:, -1]
    np.testing.assert_allclose(mix.novelty(far), last, rtol=1e-9, atol=1e-300)


def test_answers_with_clusters_that_may_soon_be_gone_are_provisional():
    rng = np.random.default_rng(1)
    mix = em.Mixture(random_state=0)
    mix.partial_fit(np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(3, 2)) + 30.0]))
    answers = row_answers(mix, [None] * 303, 0, provisional=None)
    few = dict(zip(mix.cluster_ids_.tolist(), (mix.tally_.mass < 5).tolist(), strict=True))
    assert few[answers[-1]["cluster"]] and not few[answers[0]["cluster"]]
    assert all(("provisional" in answer) == few[answer["cluster"]] for answer in answers)
    assert not any("provisional" in each for each in row_answers(mix, [None] * 303, 0))
    mix.pin(answers[-1]["cluster"])
    assert "provisional" not in row_answers(mix, [None] * 303, 0, provisional=None)[-1]


def test_the_first_row_of_a_cluster_is_new_and_others_are_not():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(50, 2)) + 30.0])
    mix = em.Mixture(random_state=0)
    mix.partial_fit(X[:300])
    clock = mix.state_.clock
    mix.partial_fit(X[300:])
    mix.rename(int(mix.labels_[0]), "far")
    answers = row_answers(mix, [None, *range(1, 50)], clock, novelty=[0.5] * 50)
    first = {id: i for i, id in reversed(list(enumerate(mix.labels_.tolist())))}
    for i, answer in enumerate(answers):
        id = answer["cluster"]
        assert id == mix.labels_[i] and answer["probability"] == mix.probabilities_[i]
        fresh = first[id] == i and mix.lineage_.found_at(id) > clock
        assert answer["new"] == (fresh and id not in mix.lineage_.parents)
        assert ("from" in answer) == (fresh and id in mix.lineage_.parents)
        assert ("id" in answer) == (i > 0) and ("name" in answer) == (id == mix.labels_[0])
    assert list(answers[1])[:5] == ["id", "cluster", "probability", "novelty", "new"]
    assert "novelty" not in row_answers(mix, [None] * 50, clock, provisional=True)[0]
