"""A model that another loop lets learn, as readers see it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import evermix as em
from evermix.service.plans import Plan
from evermix.service.watched import Watched


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
        assert watched.turn() and answer.result()["name"] == "all"
        with watched.idle():
            found = others.submit(watched.snapshot).result()
    assert found.mix.lineage_.hand.names == {id: "all"}
