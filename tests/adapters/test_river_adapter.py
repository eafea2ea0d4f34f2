"""Mixtures in River: its own checks, pipelines, features that come and go, names that stay."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import evermix as em

river = pytest.importorskip("river")

from river import checks, evaluate, feature_extraction, metrics, preprocessing  # noqa: E402

from evermix.adapters.river import KEPT, RiverMixture  # noqa: E402

CENTRES = 10.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
PETS, BANKS = "cat dog pet fur", "stock bank money loan"


def blobs(n, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    X = CENTRES[truth] + rng.normal(size=(n, 2))
    return [{"a": a, "b": b} for a, b in X.tolist()], truth


def learnt(rows, **settings):
    model = RiverMixture(seed=0, **settings)
    for x in rows:
        model.learn_one(x)
    return model


@pytest.mark.parametrize("check", [*checks.yield_checks(RiverMixture())], ids=lambda c: c.__name__)
def test_checks_of_river(check):
    check(RiverMixture(em.DiagonalGaussian(), em.DP(1.0), seed=1))


def test_predictions_from_the_first_row_on_find_the_blobs():
    rows, truth = blobs(1000)
    model, found = RiverMixture(seed=0), []
    for x in rows:
        found.append(model.predict_one(x))
        model.learn_one(x)
    assert adjusted_rand_score(truth, found) >= 0.95
    assert adjusted_rand_score(truth[:64], found[:64]) >= 0.5
    assert model.n_clusters == len(model.centers) == 4
    assert all(isinstance(label, int) for label in found)


def test_rows_learnt_one_by_one_and_asked_for_are_those_of_a_mixture():
    rows, _ = blobs(150)
    model = RiverMixture(seed=0)
    for x in rows:
        model.predict_proba_one(x)
        model.learn_one(x)
    whole = em.Mixture(random_state=0).partial_fit(np.array([list(x.values()) for x in rows]))
    for one, other in zip(model.mixture.to_file(), whole.to_file(), strict=True):
        assert one.keys() == other.keys()
    for name, values in whole.to_file()[0].items():
        if not name.startswith("results."):  # those of the last call
            np.testing.assert_array_equal(model.mixture.to_file()[0][name], values, err_msg=name)


def test_pipelines_and_metrics_of_river():
    rows, truth = blobs(200)
    for metric in (metrics.AdjustedRand(), metrics.VBeta(), metrics.Silhouette()):
        model = preprocessing.StandardScaler() | RiverMixture(seed=0)
        data = zip(rows, truth.tolist(), strict=True)
        value = evaluate.progressive_val_score(data, model, metric).get()
        assert value > 0.8 if metric.bigger_is_better else value < 0.2


def test_words_may_be_new():
    model = feature_extraction.BagOfWords() | RiverMixture(seed=0)
    for text in [PETS, BANKS] * 50 + ["zebra lion savanna"] * 20:
        model.learn_one(text)
    labels = [model.predict_one(text) for text in ("dog fur cat", "loan bank", "lion zebra")]
    assert len(set(labels)) == 3
    assert model.predict_one("a word of none of them") in labels


def test_models_go_on_with_new_words():
    model = feature_extraction.BagOfWords() | RiverMixture(seed=0)
    for text in [PETS, BANKS] * 50:
        model.learn_one(text)
    mixture = model["RiverMixture"].mixture
    before = model.predict_one(PETS), model.predict_one(BANKS)
    width = mixture.n_features_in_
    for word in range(100):
        model.learn_one(f"zebra{word}")
    assert model["RiverMixture"].mixture is mixture and mixture.n_features_in_ > width
    assert mixture.state_.clock == 200
    assert (model.predict_one(PETS), model.predict_one(BANKS)) == before


def test_a_new_feature_is_a_new_column_and_clusters_keep_their_names():
    rows, truth = blobs(200)
    model = learnt(rows)
    before = [model.predict_one(x) for x in rows]
    model.predict_one({"a": 0.0, "b": 0.0, "unknown": 7.0})  # predictions change nothing
    assert model.mixture.n_features_in_ == 2
    model.learn_one({"a": 0.1, "b": 0.2, "c": 50.0})
    assert model.mixture.n_features_in_ == 3
    assert adjusted_rand_score(before, truth) == 1.0
    assert [model.predict_one(x) for x in rows] == before
    for x in rows[:30]:
        model.learn_one(x | {"c": 50.0})
    new = {model.predict_one(x | {"c": 50.0}) for x in rows[:30]}
    assert new.isdisjoint(before)  # names are never used again


def test_a_feature_that_is_missing_is_zero():
    rows, _ = blobs(100)
    model = learnt(rows)
    assert model.predict_one({"a": 10.0}) == model.predict_one({"a": 10.0, "b": 0.0})
    model.learn_one({"b": 10.0})
    other = learnt([*rows, {"a": 0.0, "b": 10.0}])
    np.testing.assert_array_equal(model.mixture.tally_.stats, other.mixture.tally_.stats)


def test_frames_of_any_library():
    rows, truth = blobs(120)
    frame = pd.DataFrame(rows, index=range(7, 127))
    model = RiverMixture(seed=0)
    model.learn_many(frame)
    found = model.predict_many(frame)
    assert found.index.equals(frame.index)
    assert found.tolist() == [model.predict_one(x) for x in rows]
    assert adjusted_rand_score(truth, found) == 1.0


def test_before_the_first_row():
    model = RiverMixture()
    assert model.predict_one({"a": 1.0}) == 0
    assert model.predict_proba_one({"a": 1.0}) == {0: 1.0}
    assert model.n_clusters == 0 and model.centers == {} and model.mixture is None


@pytest.mark.parametrize(
    "bad", [{"a": "red", "b": 1.0}, {"a": None, "b": 1.0}, {"a": float("nan"), "b": 1.0}]
)
@pytest.mark.parametrize("n", [0, 30, 70])
def test_a_bad_row_changes_nothing(bad, n):
    rows, _ = blobs(75)
    model = learnt(rows[:n], family=em.Gaussian())
    with pytest.raises(ValueError, match="numbers, got|NaN"):
        model.learn_one(bad)
    for x in rows[n:]:
        model.learn_one(x)
    expected = learnt(rows).mixture.tally_
    np.testing.assert_array_equal(model.mixture.tally_.stats, expected.stats)


def test_memory_stays_bounded():
    rows, _ = blobs(KEPT + 200)
    model = RiverMixture(em.DiagonalGaussian(), em.DP(1.0), em.ADF(lookback=0), seed=0)
    model.learn_many(pd.DataFrame(rows[:KEPT]))
    size = len(pickle.dumps(model))
    for x in rows[KEPT:]:
        model.learn_one(x)
    assert len(pickle.dumps(model)) < 1.2 * size


@pytest.mark.parametrize("first", [0, 20])
def test_what_is_missing_is_integrated_out(first):
    """NaN is not zero: it says nothing about its feature."""
    rows, truth = blobs(200)
    holes = [dict(x) for x in rows]
    for i in range(first, 200, 10):
        holes[i]["a" if i % 20 else "b"] = float("nan")
    model = learnt(holes)
    assert isinstance(model.mixture.model_.family, em.Mixed)
    assert adjusted_rand_score(truth, [model.predict_one(x) for x in rows]) > 0.95
    centres = np.array([[c["a"], c["b"]] for c in model.centers.values()])
    assert all(np.abs(centres - centre).sum(axis=1).min() < 1.0 for centre in CENTRES)
    late = learnt(rows)
    with pytest.raises(ValueError, match="Use family=em.Mixed"):
        late.learn_one(holes[first])


def test_whole_numbers_are_counts_only_where_they_look_like_words():
    rng = np.random.default_rng(0)
    people = [{"age": int(a), "hours": int(h)} for a, h in rng.integers(20, 60, size=(80, 2))]
    assert isinstance(learnt(people).mixture.model_.family, em.Gaussian)
    words = [{w: 1 for w in (PETS, BANKS)[i % 2].split()} for i in range(80)]
    assert isinstance(learnt(words).mixture.model_.family, em.Multinomial)
