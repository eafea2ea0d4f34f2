"""Which new clusters are announced, and what is said of them."""

import json
from copy import deepcopy

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("orjson")

from evermix.cli.output.cards import describe_clusters
from evermix.cli.runs.stream_notes import from_named
from evermix.service.adopting import read
from evermix.service.bodies import observations
from evermix.service.confirming import FEWEST, announced
from evermix.service.core import LEARN, Core
from evermix.service.log import Record
from evermix.service.plans import Plan

PLACES = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])


def _rows(n, seed=0, places=PLACES):
    rng = np.random.default_rng(seed)
    X = places[rng.integers(0, len(places), size=n)] + rng.normal(size=(n, 2))
    return [{"vector": x.tolist(), "id": f"{seed} {i}"} for i, x in enumerate(X)]


def _send(core, rows):
    body = json.dumps(rows).encode()
    record = Record(core.sequence + 1, 1e9 + core.sequence, LEARN, "json", body)
    core.learn(record, observations(body, "json", 10**6))


def _confirmed(core):
    return [event for event in core.events.kept if event["type"] == "confirmed"]


@pytest.mark.parametrize("step", [1, 7, 300])
def test_every_cluster_that_lasts_is_confirmed_once(step):
    core, rows = Core.new(Plan("vectors")), _rows(300)
    for i in range(0, 300, step):
        _send(core, rows[i : i + step])
    _send(core, _rows(6, seed=1))
    found = [event["cluster"] for event in _confirmed(core)]
    sizes = dict(zip(core.ids, core.mix.tally_.mass.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert {id for id, size in sizes.items() if size >= FEWEST} <= set(found)
    assert all(event["size"] >= FEWEST for event in _confirmed(core))
    json.dumps(_confirmed(core), allow_nan=False)


def test_a_new_subject_is_confirmed_with_the_next_rows():
    core = Core.new(Plan("vectors"))
    _send(core, _rows(200))
    _send(core, _rows(5, seed=1))
    before = len(_confirmed(core))
    assert before == 3
    far = _rows(8, seed=2, places=np.array([[90.0, 90.0]]))
    for i, row in enumerate(far):
        _send(core, [row])
        assert len(_confirmed(core)) == before + (i + 1 >= FEWEST)
    event = _confirmed(core)[-1]
    assert event["example"] == {"id": "2 4"} and event["size"] == FEWEST
    assert event["iso_time"].startswith("2001-09-09T") and event["iso_time"].endswith("+00:00")
    assert len(event["words"]) == 2 and "9" in event["words"][0]


def test_a_new_cluster_says_the_name_of_the_one_that_it_was_split_from():
    """In what is posted, and at the end of a stream."""
    core = Core.new(Plan("vectors"))
    _send(core, _rows(200))
    mix = core.mix
    old = mix.merge_clusters(mix.cluster_ids_[:2])
    plain = mix.card(new := mix.split_cluster(old))
    assert plain.parent == old and "from_name" not in announced(mix, plain, {}, {}, 0.0)
    assert not list(from_named(mix, 0, 0))
    mix.rename(old, "billing")
    event = announced(mix, mix.card(new), {}, {}, 0.0)
    assert event["from"] == old and event["from_name"] == "billing"
    (said,) = from_named(mix, new, 200)
    assert f"{new} from {old} (billing)" in said
    assert not list(from_named(mix, new + 1, 200))  # an earlier run has said so


def test_a_review_that_merges_clusters_with_names_is_told():
    core = Core.new(Plan("vectors"))
    _send(core, _rows(200))
    mix = core.mix
    one, other, third = mix.cluster_ids_[:3].tolist()
    for id, name in ((one, "wifi"), (other, "vpn"), (third, "pager")):
        mix.rename(id, name)
    mix.merge_clusters([one, third])  # who does that knows it
    mix.lineage_.merge(other, one, 201)
    (said,) = from_named(mix, mix.lineage_.next_id, 200)
    assert f"{other} (vpn) into {one} (wifi)" in said and "pager" not in said
    assert not list(from_named(mix, mix.lineage_.next_id, 201))  # an earlier run has said so
    (found,) = (each for each in describe_clusters(mix, None, None) if each["id"] == one)
    assert found["parts"] == [f"{third} (pager)", f"{other} (vpn)"]


def test_clusters_that_wait_are_saved():
    core = Core.new(Plan("vectors"))
    _send(core, _rows(200))
    _send(core, _rows(5, seed=1))
    far = _rows(6, seed=2, places=np.array([[90.0, 90.0]]))
    _send(core, far[:3])
    extra = json.loads(json.dumps(core.to_extra()))
    again = Core.from_file(core.plan, core.mix, extra)
    assert again.confirming == core.confirming and core.confirming.waiting
    extra["service"].pop("confirming")  # a file of an earlier version
    older = Core.from_file(core.plan, core.mix, extra)
    assert older.confirming.next_id == core.mix.lineage_.next_id
    _send(again, far[3:])
    assert [event["example"] for event in _confirmed(again)[3:]] == [{"id": "2 5"}]


def test_clusters_of_a_file_are_not_announced(tmp_path):
    core = Core.new(Plan("vectors"))
    _send(core, _rows(200))
    core.mix.save(tmp_path / "a.evermix")
    adopted = read(tmp_path / "a.evermix")
    _send(adopted, _rows(20, seed=1))
    assert not _confirmed(adopted)


def _texts(words, n, seed):
    rng = np.random.default_rng(seed)
    return [{"text": " ".join(rng.choice(words, size=12)), "id": f"{seed} {i}"} for i in range(n)]


def test_a_cluster_that_was_found_after_its_rows_has_a_text():
    """Split by a person, it is confirmed although no row of it comes any more."""
    words = "apples pears plums cherries".split(), "rivers lakes brooks springs".split()
    core = Core.new(Plan("texts"))
    rows = [*_texts(words[0], 60, 1), *_texts(words[1], 60, 2)]
    _send(core, rows[::2])
    _send(core, rows[1::2])
    new = core.mix.split_cluster(core.mix.merge_clusters(core.ids))
    of_new = core.mix.predict(core.text.again([" ".join(some) for some in words])) == new
    assert sorted(of_new.tolist()) == [False, True]
    other, before = words[of_new.tolist().index(False)], len(_confirmed(core))
    saved = Core.from_file(core.plan, deepcopy(core.mix), json.loads(json.dumps(core.to_extra())))
    for again in (core, saved):
        for i in range(2):
            _send(again, _texts(other, 1, 10 + i))
        (event,) = _confirmed(again)[before:]
        assert event["cluster"] == new
        assert event["example"] in rows
        assert not set(event["example"]["text"].split()) & set(other)


def test_blank_texts_are_no_examples():
    core = Core.new(Plan("texts"))
    fruit = "apples pears plums cherries".split()
    for step in range(3):
        _send(core, [*_texts(fruit, 30, step), {"text": " "}])
    _send(core, [{"text": ""}])
    assert _confirmed(core)
    assert all(event["example"]["text"].split()[0] in fruit for event in _confirmed(core))
