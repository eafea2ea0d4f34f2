"""Rows that are of none of the clusters."""

import array_api_strict as strict
import numpy as np
import pytest

import evermix as em
from helpers.mixture_cases import blobs, texts

ENGINES = [None, em.FullVB(truncation=8), em.Gibbs(sweeps=6, burn_in=2)]


@pytest.fixture(params=ENGINES, ids=["default", "variational", "sampler"], scope="module")
def mix(request):
    return em.Mixture(engine=request.param, random_state=0).fit(blobs(300)[0])


def test_novelty_and_the_clusters_sum_to_one(mix):
    X = np.vstack([blobs(50)[0], [[1e3, -1e3]]])
    shares, known = mix.predict_proba(X, new_cluster=True), mix.predict_proba(X)
    assert shares.shape == (51, mix.n_clusters_ + 1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares[:, -1], mix.novelty(X))
    np.testing.assert_allclose(shares[:, :-1], (1 - mix.novelty(X))[:, None] * known, atol=1e-12)


def test_rows_far_from_all_clusters_are_new(mix):
    X = blobs(300)[0]
    assert mix.novelty([[1e3, -1e3]]) > 0.99
    assert np.median(mix.novelty(X)) < 0.1


def test_predict_says_minus_one_where_a_new_cluster_is_more_probable(mix):
    X = np.vstack([blobs(50)[0], [[1e3, -1e3]]])
    novelty, labels = mix.novelty(X), mix.predict(X)
    for p in (0.0, float(np.median(novelty)), 0.5, 1.0):
        np.testing.assert_array_equal(mix.predict(X, novelty=p), np.where(novelty > p, -1, labels))
    assert mix.predict(X, novelty=0.5)[-1] == -1


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_novelty_must_be_a_probability(mix, p):
    with pytest.raises(ValueError, match="novelty is a probability"):
        mix.predict([[0.0, 0.0]], novelty=p)


def test_texts_have_novelty():
    X, _ = texts(n=100)
    mix = em.Mixture().fit(X)
    np.testing.assert_allclose(mix.predict_proba(X, new_cluster=True)[:, -1], mix.novelty(X))


def test_rows_of_other_libraries_are_answered_in_kind(mix):
    X = blobs(20)[0]
    rows = strict.asarray(X)
    for ask in (mix.novelty, mix.groups, lambda X: mix.predict_proba(X, new_cluster=True)):
        assert type(ask(rows)) is type(rows)
        np.testing.assert_allclose(np.asarray(ask(rows)), ask(X), atol=1e-6)
    labels = mix.predict(rows, novelty=0.01)
    assert labels.dtype == strict.int64
    np.testing.assert_array_equal(np.asarray(labels), mix.predict(X, novelty=0.01))
