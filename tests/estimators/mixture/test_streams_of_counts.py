"""Streams of counts: reviews while all rows are kept, then hyperparameters from the clusters."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

import evermix as em
from evermix import lookback
from helpers.mixture_cases import assert_same_model


def short_texts(n=1200, K=12, V=300, length=7, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(V, 0.03), K)
    y = rng.integers(0, K, n)
    X = np.array([rng.multinomial(length, topics[k]) for k in y])
    return sparse.csr_matrix(X.astype(float)), y


def stream(X, size=100, ask=False):
    mix = em.Mixture()
    for start in range(0, X.shape[0], size):
        mix.partial_fit(X[start : start + size])
        if ask:
            _ = mix.labels_, mix.n_clusters_
    return mix


def test_short_texts_are_separated_in_one_pass():
    X, y = short_texts()
    mix = stream(X)
    assert adjusted_mutual_info_score(y, mix.predict(X)) > 0.8
    alpha = float(np.mean(mix.model_.family.alpha))
    assert 0.01 < alpha < 0.1  # the topics were drawn with 0.03; the guess is 0.1
    assert isinstance(mix.model_.prior, em.PitmanYor)


@pytest.mark.parametrize("rows", [4096, 256])
def test_cuts_and_questions_change_nothing(rows, monkeypatch):
    """Whether all rows are kept to the end or not."""
    monkeypatch.setattr(lookback, "COUNT_ROWS", rows)
    X, _ = short_texts(700)
    whole = em.Mixture().partial_fit(X)
    assert (whole.state_.lookback is None) == (rows < 700)
    assert_same_model(whole, stream(X, 37, ask=True))


@pytest.mark.parametrize("cut", [50, 200, 600])
def test_a_stream_that_was_saved_goes_on_as_if_it_was_not(cut, tmp_path, monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 300)
    X, _ = short_texts(700)
    em.Mixture().partial_fit(X[:cut]).save(tmp_path / "m.evermix")
    again = em.load(tmp_path / "m.evermix").partial_fit(X[cut:])
    assert_same_model(em.Mixture().partial_fit(X[:cut]).partial_fit(X[cut:]), again)


def test_once_rows_are_many_none_are_kept_and_what_is_open_is_still_learnt(monkeypatch):
    monkeypatch.setattr(lookback, "COUNT_ROWS", 256)
    X, y = short_texts(1200)
    mix = stream(X)
    assert mix.state_.lookback is None
    learnt = [
        info.scalars["family.alpha"] for info in mix.history_ if "family.alpha" in info.scalars
    ]
    clocks = [info.clock for info in mix.history_ if "family.alpha" in info.scalars]
    assert clocks[-1] == 1024 and learnt[-1] != learnt[-2]
    assert adjusted_mutual_info_score(y, mix.predict(X)) > 0.7
    total = mix.tally_.mass.sum() + mix.state_.latents["dropped"][0]
    assert total == pytest.approx(1200)


def test_the_rows_that_are_kept_are_bounded():
    wide = sparse.csr_matrix(np.ones((400, 400)))
    mix = em.Mixture().partial_fit(wide)
    assert mix.state_.lookback is None  # 2^15 entries, but at least 256 rows


def test_what_is_given_is_neither_learnt_nor_reviewed():
    X, _ = short_texts(300)
    mix = em.Mixture(em.Multinomial(0.1), em.DP(1.0), em.ADF()).partial_fit(X)
    assert mix.state_.lookback is None
    assert mix.model_.family.alpha == 0.1 and mix.model_.prior == em.DP(1.0)
