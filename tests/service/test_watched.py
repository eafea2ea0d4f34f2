"""A model that another loop lets learn, as readers see it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

import evermix as em
from evermix.service import watched as watching
from evermix.service.plans import Plan
from evermix.service.watched import Watched
from evermix.service.worker import UnavailableError

PATIENCE = 60  # seconds for what another thread does at once


def test_readers_see_the_last_rows_and_names_while_a_stream_waits_for_more():
    X = np.random.default_rng(0).normal(size=(300, 2))
    mix = em.Mixture(random_state=0)
    watched = Watched(mix, 0, Plan("vectors"), lambda: (None, {}))
    with ThreadPoolExecutor(1) as others:
        for rows in (100, 200, 300):
            with watched.learning(100):
                mix.partial_fit(X[rows - 100 : rows])
            assert others.submit(watched.snapshot).result().rows < rows  # it learns, or saves
            with watched.idle():
                assert others.submit(watched.snapshot).result().rows == rows
        id = int(mix.cluster_ids_[0])
        body = b'{"cluster": %d, "name": "all"}' % id
        answer = watched.submit("rename", "json", body)
        watched.turn(lambda: None)
        assert answer.result()["name"] == "all"
        with watched.idle():
            found = others.submit(watched.snapshot).result()
    assert found.mix.lineage_.hand.names == {id: "all"}


def test_a_person_hears_of_a_change_once_it_is_saved():
    """Then it outlives a kill; and not at all if it could not be saved."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    mix = em.Mixture(random_state=0).partial_fit(X)
    watched, saved = Watched(mix, 100, Plan("vectors"), lambda: (None, {})), []
    body = b'{"cluster": %d, "name": "all"}' % mix.cluster_ids_[0]
    answer = watched.submit("rename", "json", body)
    watched.turn(lambda: saved.append((answer.done(), set(mix.lineage_.hand.names.values()))))
    assert saved == [(False, {"all"})] and answer.result()["name"] == "all"
    watched.turn(lambda: saved.append("again"))
    assert len(saved) == 1  # nothing was done

    def fails():
        raise OSError("the disk is full")

    answer = watched.submit("rename", "json", body)
    with pytest.raises(OSError, match="full"):
        watched.turn(fails)
    with pytest.raises(UnavailableError, match="could not be saved"):
        answer.result()


def test_a_reader_who_asks_while_a_copy_is_made_finds_a_newer_one_next_time(monkeypatch):
    X = np.random.default_rng(0).normal(size=(200, 2))
    mix = em.Mixture(random_state=0)
    watched = Watched(mix, 0, Plan("vectors"), lambda: (None, {}))
    copied, copying, asked = watched.core.snapshot, Event(), Event()

    def slowly_copied():
        copying.set()
        assert asked.wait(PATIENCE)
        return copied()

    def early():
        assert copying.wait(PATIENCE)
        found = watched.snapshot()
        asked.set()
        return found

    def learn(rows):
        with watched.learning(100):
            mix.partial_fit(X[rows - 100 : rows])

    monkeypatch.setattr(watching, "PATIENCE", 0.0)  # the stream learns, so that waiting is in vain
    with ThreadPoolExecutor(1) as others:
        learn(100)
        assert others.submit(watched.snapshot).result().rows == 0
        monkeypatch.setattr(watched.core, "snapshot", slowly_copied)
        first = others.submit(early)
        watched.turn(lambda: None)
        assert first.result().rows == 0
        learn(200)
        watched.turn(lambda: None)
        assert others.submit(watched.snapshot).result().rows == 200
