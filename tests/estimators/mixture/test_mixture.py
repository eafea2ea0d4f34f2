"""What users rely on: labels, ids, predictions, streams."""

import numpy as np
import pytest
from scipy import sparse
from scipy.integrate import trapezoid
from sklearn.metrics import adjusted_rand_score

import evermix as em
from helpers.mixture_cases import arrays_of, assert_same_model, blobs, texts


def test_fit_names_clusters_from_zero_and_each_owns_rows():
    X, _ = texts()
    mix = em.Mixture(prior=em.NGGP(20.0), engine=em.ADF(birth=0.01)).fit(X)
    assert sorted(mix.cluster_ids_) == list(range(mix.n_clusters_))
    assert np.unique(mix.labels_).tolist() == list(range(mix.n_clusters_))
    assert mix.labels_.shape == mix.probabilities_.shape == (400,)
    assert mix.lineage_.next_id == mix.n_clusters_


@pytest.mark.parametrize("data", [blobs, texts])
def test_partial_fit_in_any_cuts_gives_the_same_model(data):
    """Also while the scale of vectors is still open: 1,300 rows, the first 1,000 decide it."""
    X, _ = data(n=1300)
    whole = em.Mixture().partial_fit(X)
    pieces = em.Mixture()
    for start, stop in [(0, 1), (1, 300), (300, 300 + 64), (364, 999), (999, 1000), (1000, 1300)]:
        pieces.partial_fit(X[start:stop])
    assert_same_model(whole, pieces)
    np.testing.assert_array_equal(whole.labels_[1000:], pieces.labels_)


def test_ids_are_stable_in_a_stream_and_never_reused():
    X, _ = texts(n=2500, groups=12)
    mix = em.Mixture(prior=em.NGGP(10.0))
    seen = {}
    for start in range(0, 2500, 250):
        mix.partial_fit(X[start : start + 250])
        for k in mix.cluster_ids_.tolist():
            assert seen.setdefault(k, mix.lineage_.born[k]) == mix.lineage_.born[k]
        gone = [k for k, end in enumerate(mix.lineage_.ended) if end >= 0]
        assert not set(gone) & set(mix.cluster_ids_.tolist())
    assert set(mix.labels_) <= set(mix.cluster_ids_)


def test_one_row_at_a_time_works():
    X, y = blobs(200)
    mix = em.Mixture()
    for i, x in enumerate(X):
        mix.partial_fit(x[None, :])
        if i in (99, 150):
            assert mix.labels_.shape == (1,)
            assert mix.predict_proba(X[:5]).shape == (5, mix.n_clusters_)
    assert adjusted_rand_score(y, mix.predict(X)) > 0.9


def test_a_single_row_can_be_asked_about():
    mix = em.Mixture().partial_fit([[3.0, 4.0]])
    assert mix.labels_.tolist() == mix.predict([[3.0, 4.0]]).tolist() == [0]
    assert mix.partial_fit([[3.0, 4.1]]).n_clusters_ >= 1


def test_probabilities_sum_to_one_and_match_labels():
    X, _ = texts()
    mix = em.Mixture().fit(X)
    P = mix.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(mix.predict(X), mix.cluster_ids_[P.argmax(axis=1)])
    assert mix.weights_.sum() == pytest.approx(1.0)


def test_the_predictive_density_of_counts_sums_to_one():
    """All documents of three words out of three, multinomial coefficients included."""
    rng = np.random.default_rng(0)
    mix = em.Mixture(em.Multinomial()).fit(rng.multinomial(5, [0.2, 0.3, 0.5], size=30))
    every = np.array([(a, b, 3 - a - b) for a in range(4) for b in range(4 - a)])
    assert np.exp(mix.score_samples(every)).sum() == pytest.approx(1.0, rel=1e-9)


def test_the_predictive_density_of_a_number_integrates_to_one():
    x, _ = blobs(300, D=1)
    mix = em.Mixture().fit(x)
    grid = np.linspace(-4000, 4000, 800_001)[:, None]
    assert trapezoid(np.exp(mix.score_samples(grid)), dx=0.01) == pytest.approx(1.0, abs=2e-2)


def test_empty_documents_are_as_likely_in_every_cluster():
    X, _ = texts()
    mix = em.Mixture().fit(sparse.vstack([X, sparse.csr_matrix((5, 40))], "csr"))
    empty = sparse.csr_matrix((1, 40))
    np.testing.assert_allclose(mix.predict_proba(empty)[0], mix.weights_)
    assert mix.score_samples(empty)[0] == pytest.approx(0.0, abs=1e-9)


def test_samples_look_like_the_data():
    X, _ = blobs(2000, groups=2)
    mix = em.Mixture(em.FixedGaussian(1.0, 100.0), em.DP(0.1), random_state=0).fit(X)
    S, labels = mix.sample(2000)
    assert S.shape == (2000, 2)
    known = labels >= 0
    assert known.mean() > 0.9
    assert adjusted_rand_score(labels[known], mix.predict(S[known])) > 0.9
    counts, _ = em.Mixture(random_state=0).fit(texts()[0]).sample(10)
    assert counts.shape == (10, 40)
    assert counts.sum(axis=1).max() <= 110


def test_dense_and_sparse_counts_agree():
    X, _ = texts()
    dense = em.Mixture(em.Multinomial()).fit(X.toarray().astype(np.int64))
    np.testing.assert_array_equal(em.Mixture().fit(X).labels_, dense.labels_)


@pytest.mark.parametrize(
    ("X", "family"),
    [
        (sparse.eye(4, format="csr"), em.Multinomial),
        (np.eye(4, dtype=np.int64), em.Bernoulli),
        (np.eye(4) > 0, em.Bernoulli),
        (np.eye(4, dtype=np.int64) - 1, em.Gaussian),
        (np.eye(4) / 2, em.Gaussian),
        (-np.eye(40), em.VonMisesFisher),
        (3 * np.eye(40), em.LowRankGaussian),
    ],
)
def test_auto_takes_the_family_that_fits_the_type(X, family):
    assert type(em.Mixture().fit(X).model_.family) is family


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, _ = texts()
    mix = em.Mixture(family=em.Multinomial()).fit(X)
    before = arrays_of(mix)
    for bad in (-np.ones((3, 7)), np.full((3, 40), np.nan), np.ones((0, 40))):
        with pytest.raises(ValueError):
            mix.fit(bad)
        with pytest.raises(ValueError):
            mix.partial_fit(bad)
    assert mix.n_features_in_ == 40
    for name, values in arrays_of(mix).items():
        np.testing.assert_array_equal(values, before[name])
    mix.partial_fit(X)


def test_an_interrupt_waits_for_the_step_and_leaves_a_whole_model():
    import signal

    X, _ = texts(3000)
    mix = em.Mixture().partial_fit(X[:100])
    from evermix.engines.batch import Info

    original = Info.summary

    def interrupting(info):
        signal.raise_signal(signal.SIGINT)
        return original(info)

    try:
        Info.summary = interrupting
        with pytest.raises(KeyboardInterrupt):
            mix.partial_fit(X[100:])
    finally:
        Info.summary = original
    assert mix.state_.tally.mass.sum() + mix.state_.latents["dropped"][0] == pytest.approx(3000)
    assert mix.labels_.shape == (2900,)
    mix.partial_fit(X[:10])


def test_history_tells_births_and_merges():
    X, _ = texts(2000, groups=10)
    mix = em.Mixture(prior=em.NGGP(10.0)).partial_fit(X)
    births = [k for info in mix.history_ for k in info.births]
    assert births == list(range(mix.lineage_.next_id))
    assert mix.history_[-1].K == mix.n_clusters_
    assert sum(info.rows for info in mix.history_) == 2000


def test_bertopic_style_use():
    """BERTopic calls partial_fit, reads labels_ of the batch, and later predict."""
    X, _ = blobs(900, D=5)
    model = em.Mixture()
    for start in range(0, 900, 300):
        batch = X[start : start + 300]
        assert model.partial_fit(batch) is model
        assert model.labels_.shape == (300,)
        assert model.probabilities_.shape == (300,)
    assert set(model.predict(X)) <= set(model.cluster_ids_)


def test_repr_shows_the_parts():
    text = repr(em.Mixture(family=em.Multinomial(0.5), prior=em.DP(2.0)))
    assert "Multinomial(alpha=0.5)" in text and "DP(alpha=2.0)" in text


def test_none_among_numbers_is_missing():
    mix = em.Mixture().fit([[1.0, 2.0], [3.0, None]] * 20)
    assert "values are missing" in mix.family_reason_
    assert mix.predict([[None, 2.0]]) == mix.predict([[np.nan, 2.0]])
