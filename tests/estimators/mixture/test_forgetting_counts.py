"""Streams of texts that forget: they are reviewed as others are, and new subjects get new ids."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix import lookback
from evermix.engines.filters.succession import named
from evermix.state import FADED
from helpers.mixture_cases import assert_same_model

OLD, LATE, NEW = 1500, 1100, 8  # rows before the new subject, rows with it, its number


@pytest.fixture(autouse=True)
def few_rows_are_kept(monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 1024)


def texts(V=400, length=10):
    """Eight subjects that share words, and from a row on a ninth."""
    rng = np.random.default_rng(1)
    words = 0.6 * rng.dirichlet(np.full(V, 0.05), NEW + 1) + 0.4 * rng.dirichlet(np.full(V, 0.05))
    n = OLD + LATE
    y = rng.integers(0, NEW, n)
    y[OLD:][rng.random(LATE) < 0.2] = NEW
    X = np.array([rng.multinomial(length, words[k]) for k in y]).astype(float)
    return sparse.csr_matrix(X), y


def stream(X, half_life=None, size=100, mix=None):
    forgetting = None if half_life is None else em.Exponential(half_life)
    mix = em.Mixture(forgetting=forgetting) if mix is None else mix
    labels = []
    for start in range(0, X.shape[0], size):
        labels.append(mix.partial_fit(X[start : start + size]).labels_)
    return mix, np.concatenate(labels)


def total(mix):
    return mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]


def test_a_half_life_without_end_changes_next_to_nothing():
    X, _ = texts()
    never, hardly = (stream(X, half_life)[0] for half_life in (None, 1e12))
    assert np.mean(never.predict(X) == hardly.predict(X)) > 0.99
    np.testing.assert_allclose(never.tally_.mass, hardly.tally_.mass, rtol=0.01)


@pytest.mark.parametrize("half_life", [3000.0, 500.0])
def test_a_stream_that_forgets_finds_subjects_as_well(half_life):
    X, y = texts()
    plain, forgetful = (stream(X, h)[1] for h in (None, half_life))
    scores = [adjusted_mutual_info_score(y, labels) for labels in (plain, forgetful)]
    assert scores[1] > scores[0] - 0.05


@pytest.mark.parametrize("half_life", [1000.0, 300.0])
def test_a_new_subject_gets_an_id_and_no_name_of_others(half_life):
    X, y = texts()
    mix, _ = stream(X[:OLD], half_life)
    before = mix.cluster_ids_
    for id in before.tolist():
        mix.rename(id, f"old {id}")
    mix, _ = stream(X[OLD:], mix=mix)
    ids, count = np.unique(mix.predict(X[OLD:][y[OLD:] == NEW]), return_counts=True)
    new = ids[count.argmax()]
    assert count.max() > 0.8 * count.sum()
    assert new not in before and int(new) not in mix.lineage_.hand.names


@pytest.mark.parametrize("half_life", [3000.0, 400.0])
def test_a_subject_that_begins_after_a_review_is_found_before_the_next(half_life, monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 4096)  # so that all rows are kept
    X, y = texts()
    old, new = np.flatnonzero(y[:OLD] < 4), np.flatnonzero(y == NEW)[:160]
    late = np.flatnonzero(y[OLD:] < 4)[:340] + OLD
    mixed = np.random.default_rng(0).permutation(np.concatenate([new, late]))
    rows = np.concatenate([np.resize(old, 1448), mixed])  # the next review is after 2048 rows
    mix, labels = stream(X[rows[:1448]], half_life)
    before = mix.lineage_.next_id
    mix, labels = stream(X[mixed], mix=mix)
    some = labels[-150:][y[mixed[-150:]] == NEW]
    ids, count = np.unique(some, return_counts=True)
    assert count.max() > 0.8 * count.sum() and ids[count.argmax()] >= before
    born = mix.lineage_.born[int(ids[count.argmax()])]
    assert 1448 < born < 1500


@pytest.mark.parametrize("half_life", [1000.0, 100.0])
def test_no_mass_is_lost_and_a_row_counts_for_half_after_a_half_life(half_life):
    X, _ = texts()
    mix, _ = stream(X, half_life)
    age = X.shape[0] - 1 - np.arange(X.shape[0])
    assert total(mix) == pytest.approx((0.5 ** (age / half_life)).sum(), rel=0.05)
    mix.lineage_.check()
    assert len(mix.lineage_.last) == mix.lineage_.next_id
    assert max(mix.lineage_.last) <= X.shape[0]


@pytest.mark.parametrize("cut", [700, 1500, 2080])
def test_cuts_and_files_change_nothing(cut, tmp_path):
    X, _ = texts()
    whole, _ = stream(X, 400.0, size=X.shape[0])
    mix, _ = stream(X[:cut], 400.0, size=173)
    mix.save(tmp_path / "m.evermix")
    again, _ = stream(X[cut:], size=61, mix=em.load(tmp_path / "m.evermix"))
    assert_same_model(whole, again)


def test_what_has_faded_is_not_found_again():
    """Rows of a cluster that has faded are kept, but open no cluster in a review."""
    X, y = texts()
    early = y[:OLD] < 4
    times = np.append(np.arange(early.sum()), 1e5 + np.arange((~early).sum()))
    rows = sparse.vstack([X[:OLD][early], X[:OLD][~early]]).tocsr()
    mix = em.Mixture(forgetting=em.Exponential(1e3)).partial_fit(rows, times=times)
    last = np.array(mix.lineage_.last)[mix.cluster_ids_]
    assert last.min() > 1e5 - 1


def test_a_fit_of_texts_that_forgets_learns_what_a_stream_does():
    X, y = texts()
    fitted = em.Mixture(forgetting=em.Exponential(3000.0)).fit(X)
    assert adjusted_mutual_info_score(y, fitted.labels_) > 0.8
    assert fitted.model_.learns


@pytest.mark.parametrize("half_life", [0.1, 3.0])
def test_half_lives_of_a_few_rows_leave_numbers(half_life):
    X, _ = texts()
    mix, _ = stream(X[:1600], half_life)
    assert np.isfinite(mix.tally_.mass).all() and np.isfinite(mix.score(X[:50]))


def test_an_old_cluster_leaves_its_name_to_no_subject_that_may_not_have_its_id():
    X, _ = texts()
    mix, _ = stream(X[:300], 200.0)
    state, old = mix.state_, mix.cluster_ids_.tolist()
    mix.rename(old[0], "training")
    flow = np.eye(len(old))
    may = flow > 0
    may[0, 0] = False  # all its rows are of a new subject
    ids, births, merges, dropped = named(state, flow, np.zeros(len(old), dtype=bool), may)
    assert births == [ids[0]] and not merges and dropped == old[:1]
    assert ids[1:].tolist() == old[1:] and state.lineage.into[old[0]] == FADED
    assert int(ids[0]) not in state.lineage.hand.names


@pytest.mark.filterwarnings("ignore:K reached max_clusters=2 at observation [1-9]")
def test_what_is_found_soon_is_no_more_than_the_model_may_have(monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 4096)
    X, y = texts()
    old, new = np.flatnonzero(y[:OLD] < 2), np.flatnonzero(y == NEW)[:256]
    mix, _ = stream(
        X[np.resize(old, 1536)], mix=em.Mixture(forgetting=em.Exponential(400.0), max_clusters=2)
    )
    mix, _ = stream(X[np.resize(new, 256)], mix=mix)
    assert mix.state_.clock % 256 == 0 and mix.n_clusters_ <= 2


def test_no_cluster_gets_the_id_of_one_that_has_gone_elsewhere():
    """Old 0 was parted in two; nearly all of old 1 has joined the first part, a row the second."""
    X, _ = texts()
    mix, _ = stream(X[:300], 200.0)
    state, old = mix.state_, mix.cluster_ids_.tolist()
    flow = np.diag(np.full(len(old), 100.0))
    flow[:2, :2] = [[60.0, 40.0], [50.0, 1.0]]
    ids, births, merges, _ = named(state, flow, np.zeros(len(old), dtype=bool))
    assert ids[0] == old[0] and births == [ids[1]] and merges == [(old[1], old[0])]
    assert state.lineage.parents[int(ids[1])] == old[0]
