"""Pruning and joining: what is fused should be, and nothing is lost."""

import numpy as np
import pytest
from scipy import sparse

from evermix import ADF, DP, NGGP, PitmanYor
from evermix.engines.batch import Batch
from evermix.engines.merging.stream import join, log_odds
from evermix.engines.prune import prune
from evermix.families import FAMILIES
from helpers.engine_cases import documents, model_for, text_model


def hard_state(model, X, labels):
    """A state in which every row belongs to one cluster for certain."""
    state = ADF().initial(model, None)
    K = max(labels) + 1
    r = np.eye(K)[labels]
    state.reserve(K + 2)
    state.tally.append([state.lineage.birth(0) for _ in range(K)])
    state.tally.mass[:] = r.sum(axis=0)
    state.tally.stats[:] = model.family.accumulate(X, r)
    state.tally.extras["hard"][:] = r.sum(axis=0)
    state.columns |= model.family.columns(state.tally)
    return state


@pytest.mark.parametrize("prior", [DP(1.5), NGGP(2.0, 0.4, 3.0), PitmanYor(1.0, 0.5)], ids=repr)
@pytest.mark.parametrize("name", FAMILIES)
def test_hard_log_odds_are_the_exact_posterior_odds(name, prior):
    model, X = model_for(name, prior, n=12)
    labels = [0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 2]
    state = hard_state(model, X, labels)

    def log_joint(labels):
        _, labels = np.unique(labels, return_inverse=True)
        t = hard_state(model, X, labels).tally
        return prior.log_eppf(t.mass) + model.family.log_marginal(t.stats, t.mass).sum()

    pairs = np.array([[0, 1], [1, 3], [2, 3]])
    for (a, b), got in zip(pairs, log_odds(model, state, pairs), strict=True):
        fused = [a if k == b else k for k in labels]
        assert got == pytest.approx(log_joint(fused) - log_joint(labels), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_two_copies_of_one_cluster_are_joined_and_others_are_not(name):
    """Two halves of one cluster go together; far clusters stay apart."""
    model, X = model_for(name, DP(1.0), n=120)
    near = sparse.vstack([X[:1]] * 30, "csr") if sparse.issparse(X) else np.repeat(X[:1], 30, 0)
    labels = np.tile([0, 1], 15)
    state = hard_state(model, near, labels)
    assert join(model, state, 5.0) == [(1, 0)]
    assert state.tally.K == 1
    assert state.tally.mass[0] == 30
    assert state.lineage.current([0, 1]).tolist() == [0, 0]


def test_distinct_clusters_stay_apart():
    model = text_model(NGGP(), V=4)
    X = sparse.csr_matrix(np.repeat(np.eye(4) * 20, 10, axis=0))
    state = hard_state(model, X, np.repeat(np.arange(4), 10))
    assert join(model, state, 0.0) == []
    assert state.tally.K == 4


def test_partners_are_found_by_their_common_words():
    """In a large vocabulary: halves of three topics are joined, and topics stay apart."""
    rng, V, topic = np.random.default_rng(0), 2000, np.repeat([0, 1, 2], 40)
    words = rng.dirichlet(np.full(V, 0.05), size=3)
    X = sparse.csr_matrix(np.stack([rng.multinomial(200, words[k]) for k in topic]).astype(float))
    model = text_model(DP(1.0), V=V)
    state = hard_state(model, X, 2 * topic + np.tile([0, 1], 60))
    smaller, few = model.family.sketch(state.tally, np.array([1, 4]))
    chosen = np.argsort(-X.sum(axis=0).A1)[: smaller.n_features]
    assert smaller.n_features == 512 and few.ids.tolist() == [1, 4]
    counts = np.sort(state.tally.stats[[1, 4]][:, chosen].sum(axis=0))
    np.testing.assert_allclose(np.sort(few.stats[:, :-1].sum(axis=0)), counts)
    np.testing.assert_allclose(few.stats[:, -1], few.stats[:, :-1].sum(axis=1))
    assert sorted(join(model, state, 5.0)) == [(1, 0), (3, 2), (5, 4)]


def test_odds_that_are_not_a_number_fuse_nothing(monkeypatch):
    model = text_model(NGGP(), V=4)
    state = hard_state(model, sparse.csr_matrix(np.eye(2, 4)), [0, 1])
    monkeypatch.setattr("evermix.engines.merging.stream.log_odds", lambda *_: np.array([np.nan]))
    assert join(model, state, 0.0) == []


def test_a_cluster_is_judged_again_only_after_it_has_changed():
    model = text_model(NGGP(), V=4)
    X = sparse.csr_matrix(np.repeat(np.eye(4) * 20, 10, axis=0))
    state = hard_state(model, X, np.repeat(np.arange(4), 10))
    join(model, state, 0.0)
    np.testing.assert_array_equal(state.columns["judged"][:4], state.tally.mass)


def test_joining_conserves_mass_and_statistics_in_a_stream(monkeypatch):
    import evermix.engines.filters.filter as filter

    monkeypatch.setattr(filter, "CHECK_EVERY", 50)
    X = documents(600, V=12, words=6)
    model = text_model(NGGP(20.0, 0.5, 1.0))
    rng = np.random.default_rng(0)
    engine = ADF(birth=0.01, merge=0.0)
    state, info = engine.step(model, engine.initial(model, rng), Batch(X, np.ones(600)), rng)
    assert info.merges
    assert state.tally.mass.sum() + state.latents["dropped"][0] == pytest.approx(600, rel=1e-9)
    alive = set(state.tally.ids.tolist())
    heirs = set(state.lineage.current(np.arange(state.lineage.next_id)).tolist())
    assert heirs - {-2} == alive
    assert not alive & {gone for gone, _ in info.merges}


def test_dust_is_dropped_only_when_likely_empty_and_idle():
    model = text_model(NGGP(), V=4)
    state = hard_state(model, sparse.csr_matrix(np.eye(4)), [0, 1, 2, 3])
    state.clock = 100
    state.tally.mass[:] = [0.6, 0.4, 2.0, 0.4]
    state.tally.extras["hard"][:] = 0.0
    state.tally.extras["log_empty"][:] = np.log([0.4, 0.6, 0.1, 0.6])
    state.columns["last_seen"][:4] = [10, 61, 10, 60]
    assert prune(state, idle=20) == [3]  # two clusters are not dust: 40 observations
    assert prune(state) == [1]
    assert state.tally.ids.tolist() == [0, 2]
    assert state.latents["dropped"][0] == pytest.approx(0.8)
    assert state.lineage.current([0, 1, 2, 3]).tolist() == [0, -2, 2, -2]


def test_the_last_cluster_is_never_dropped():
    model = text_model(NGGP(), V=4)
    state = hard_state(model, sparse.csr_matrix(np.eye(4)[:1]), [0])
    state.tally.mass[:] = 0.1
    assert prune(state) == []
    assert state.tally.K == 1
