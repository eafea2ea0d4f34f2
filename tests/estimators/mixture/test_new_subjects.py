"""New subjects in streams of short texts, of which not all rows are kept."""

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix import lookback
from evermix.engines.filters import keeping, newcomers
from evermix.estimators.answers import row_answers
from evermix.estimators.mixture import settings
from helpers.mixture_cases import assert_same_model
from helpers.variants import slow_but

OLD, LATE, NEW = 1500, 700, 8  # rows before the new subject, rows with it, its number
SIZES = [2200], [100] * 22, [700, 1, 1300, 47, 152]  # of batches


@pytest.fixture(autouse=True)
def few_rows_are_kept(monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 1024)


def texts(n=OLD + LATE, V=400, length=8):
    """Eight subjects, and from a row on a ninth, most of whose words are those of others."""
    rng = np.random.default_rng(1)
    words = rng.dirichlet(np.full(V, 0.2), NEW + 1)
    words[NEW] = 0.3 * words[NEW] + 0.7 * words[:4].mean(axis=0)
    y = rng.integers(0, NEW, n)
    y[OLD:][rng.random(n - OLD) < 0.3] = NEW
    X = np.array([rng.multinomial(length, words[k]) for k in y]).astype(float)
    return sparse.csr_matrix(X), y


def stream(X, size=100, **settings):
    mix = em.Mixture(**settings)
    for start in range(0, X.shape[0], size):
        mix.partial_fit(X[start : start + size])
    return mix


def found(mix, X, y):
    """Share of the new rows that are together, and of their cluster that is new."""
    label = mix.predict(X)
    ids, count = np.unique(label[y == NEW], return_counts=True)
    best = ids[count.argmax()]
    return float(np.mean(label[y == NEW] == best)), float(np.mean(y[label == best] == NEW))


def test_a_new_subject_is_found(monkeypatch):
    X, y = texts()
    mix = stream(X)
    recall, precision = found(mix, X, y)
    assert recall > 0.8 and precision > 0.9
    monkeypatch.setattr(keeping, "BURST", np.inf)
    assert min(found(stream(X), X, y)) < 0.7  # by the filter alone


def test_nothing_is_lost_and_old_clusters_keep_their_ids():
    X, y = texts()
    mix = stream(X[:2000])
    names = mix.predict(X[:OLD])
    mix.partial_fit(X[2000:])
    assert min(found(mix, X, y)) > 0.8
    total = mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]
    assert total == pytest.approx(X.shape[0])
    assert mix.state_.clock == X.shape[0]
    assert np.mean(mix.lineage_.current(names) == mix.predict(X[:OLD])) > 0.9
    mix.state_.lineage.check()


def test_rows_that_bring_nothing_new_are_not_reviewed(monkeypatch):
    def never(*args):
        raise AssertionError("nothing was new")

    monkeypatch.setattr(newcomers, "_found", never)
    X, y = texts()
    stream(X[:OLD][np.random.default_rng(0).permutation(OLD)])


@pytest.mark.parametrize("cut", slow_but([2040], [1500, 2040, 2048, 2100]))
def test_a_stream_that_was_saved_goes_on_as_if_it_was_not(cut, tmp_path):
    X, _ = texts()
    mix = em.Mixture().partial_fit(X[:cut])
    assert mix.state_.recent is not None and mix.state_.lookback is None
    mix.save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix").partial_fit(X[cut:])
    assert_same_model(mix.partial_fit(X[cut:]), again)


def test_cuts_change_nothing():
    X, _ = texts()
    assert_same_model(stream(X, 2200), stream(X, 37))


def test_words_that_come_and_go_meanwhile():
    X, y = texts()
    wide = X[:, np.argsort(-np.asarray(X[: OLD - 100].sum(axis=0)).ravel(), kind="stable")]
    seen = int((np.asarray(wide[: OLD - 100].sum(axis=0)).ravel() > 0).sum())
    mix = em.Mixture(em.Multinomial(growing=True))
    mix.partial_fit(sparse.csr_matrix(wide[:OLD, :seen]))
    mix.forget_columns([0, 3])
    for start in range(OLD, X.shape[0], 50):
        mix.partial_fit(wide[start : start + 50])
    assert min(found(mix, wide, y)) > 0.6


def test_pinned_clusters_and_caps_are_kept():
    X, y = texts()
    mix = stream(X[:2000])
    largest = int(mix.cluster_ids_[mix.tally_.mass.argmax()])
    mix.pin(largest)
    before = mix.tally_.mass[mix.cluster_ids_ == largest][0]
    mix.partial_fit(X[2000:])
    assert mix.tally_.mass[mix.cluster_ids_ == largest][0] > 0.9 * before
    with pytest.warns(em.CapacityWarning):
        capped = stream(X, max_clusters=NEW)
    assert capped.n_clusters_ <= NEW


def test_a_split_and_a_merge_by_hand_meanwhile():
    X, y = texts()
    mix = stream(X[:2000])
    big, second = mix.cluster_ids_[np.argsort(-mix.tally_.mass)[:2]].tolist()
    mix.split_cluster(big, X[:OLD][mix.predict(X[:OLD]) == big])
    mix.partial_fit(X[2000:2100])
    mix.merge_clusters([big, second])
    mix.partial_fit(X[2100:])
    total = mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]
    assert total == pytest.approx(X.shape[0])
    mix.state_.lineage.check()


def test_long_texts_are_not_kept():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.multinomial(200, np.full(100, 0.01), 1600).astype(float))
    mix = em.Mixture().partial_fit(X)
    assert mix.state_.recent is None and mix.state_.lookback is None


@pytest.mark.parametrize("sizes", slow_but([[700, 1, 1300, 47, 152]], SIZES), ids=str)
def test_a_new_subject_is_there_since_its_first_row(sizes, tmp_path, monkeypatch):
    """However the stream is cut, and saved in between."""
    monkeypatch.setattr(settings, "STREAM_ENGINE", em.ADF(birth=0.99))  # no row opens its cluster
    X, y = texts()
    dates = np.datetime64("2024-01-01T00:00:00") + np.arange(X.shape[0]) * np.timedelta64(1, "h")
    mix, at, said = em.Mixture(random_state=0), 0, {}
    for n in sizes:
        mix.partial_fit(X[at : at + n], times=dates[at : at + n])
        for date, answer in zip(dates[at:], row_answers(mix, [None] * n, at), strict=False):
            if "since" in answer:  # of a row that may be a stray before it began
                since = np.datetime64(mix.card(answer["cluster"]).since)
                assert np.datetime64(answer["since"]) == min(since, date)
                assert answer["cluster"] not in said
                said[answer["cluster"]] = answer
        at += n
        mix.save(tmp_path / "a.evermix")
        mix = em.load(tmp_path / "a.evermix")
    ids, count = np.unique(mix.predict(X)[y == NEW], return_counts=True)
    card = mix.card(int(ids[count.argmax()]))
    assert 1024 < card.born < 2048  # and not 2048, when it was looked for
    assert np.datetime64(card.since) == dates[card.born - 1]
    assert card.parent is not None
    if card.id in mix.labels_:  # else its first row may still come
        assert card.id in said
    first = mix.lineage_.born, [card.since for card in mix.cards()]
    again = em.Mixture(random_state=0).partial_fit(X, times=dates)
    assert first == (again.lineage_.born, [card.since for card in again.cards()])
    assert_same_model(mix, again)
