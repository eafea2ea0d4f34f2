"""Probabilities of clusters as features, and answers in the precision of the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import evermix as em

RNG = np.random.default_rng(0)
KIND = RNG.integers(0, 3, size=300)
X = RNG.normal(size=(300, 2)) + 9 * KIND[:, None]
COUNTS = RNG.poisson(np.array([[9, 9, 0.1, 0.1], [0.1, 0.1, 9, 9]])[KIND % 2]).astype(float)


def test_it_is_the_probability_of_each_cluster():
    mix = em.Mixture().fit(X)
    assert np.array_equal(mix.transform(X), mix.predict_proba(X))
    assert np.array_equal(em.Mixture().fit_transform(X), mix.transform(X))


def test_names_are_those_of_the_clusters():
    mix = em.Mixture().fit(X)
    wanted = [f"mixture{id}" for id in mix.cluster_ids_]
    assert mix.get_feature_names_out().tolist() == wanted
    with pytest.raises(NotFittedError):
        em.Mixture().get_feature_names_out()


def test_names_stay_when_clusters_go():
    mix = em.Mixture().partial_fit(X)
    before = dict(zip(mix.get_feature_names_out(), mix.cluster_ids_, strict=True))
    mix.merge_clusters(mix.cluster_ids_[:2])
    after = dict(zip(mix.get_feature_names_out(), mix.cluster_ids_, strict=True))
    assert len(after) == len(before) - 1 and after.items() <= before.items()


def test_data_frames_come_out():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"], index=np.arange(300) + 7)
    mix = em.Mixture().set_output(transform="pandas").fit(frame)
    found = mix.transform(frame)
    assert list(found.columns) == list(mix.get_feature_names_out())
    assert found.index.equals(frame.index)
    assert np.array_equal(found.to_numpy(), mix.predict_proba(frame))
    assert isinstance(mix.predict_proba(frame), np.ndarray)


def test_features_for_a_classifier():
    model = make_pipeline(em.Mixture(), LogisticRegression()).fit(X, KIND)
    assert model.score(X, KIND) > 0.98
    names = model[:-1].get_feature_names_out()
    assert len(names) == model[-1].n_features_in_


@pytest.mark.parametrize(
    "rows", [X, COUNTS, sparse.csr_matrix(COUNTS)], ids=["vectors", "counts", "sparse"]
)
def test_single_precision_comes_out_where_it_went_in(rows):
    mix = em.Mixture(random_state=0).fit(rows)
    single = rows.astype(np.float32)
    same = single.astype(np.float64)
    for ask in (
        mix.predict_proba,
        mix.transform,
        mix.score_samples,
        mix.score_draws,
        mix.novelty,
    ):
        found, wanted = ask(single), ask(same)
        assert found.dtype == np.float32 and wanted.dtype == np.float64
        assert np.array_equal(found, wanted.astype(np.float32))
    assert mix.score(single) == mix.score(same)
    assert get_tags(mix).transformer_tags.preserves_dtype == ["float64", "float32"]


def test_single_precision_of_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    mix = em.Mixture().fit(frame)
    assert mix.transform(frame.astype(np.float32)).dtype == np.float32
    assert mix.transform(frame.astype({"a": np.float32})).dtype == np.float64
