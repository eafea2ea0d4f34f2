"""scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import evermix as em
from evermix.estimators.topics.settings import checked_counts

VARIATIONAL = em.FullVB | em.StochasticVB | em.MemoizedVB
SPARSE_TAG = (
    "scikit-learn reads estimator_tags.classifier_tags.multi_class for every estimator that has "
    "predict_proba, and a clusterer has no classifier tags"
)
ONE_PASS = "a one-pass fit learns a row of weight two once, not twice: the state in between differs"
WHOLE = "a sampler moves whole rows, so every weight must be 1"
DRAWN = "a start draws rows, and a row of weight two is drawn once: other clusters may come of it"
COUNTS = "the check's data are shifted Gaussian blobs, which word proportions cannot tell apart"


def expected_failures(mix):
    failures = {
        "check_estimator_sparse_array": SPARSE_TAG,
        "check_estimator_sparse_matrix": SPARSE_TAG,
    }
    if isinstance(mix.engine, em.Gibbs):
        weighted = ("list", "not_overwritten")
        failures |= {f"check_sample_weights_{name}": WHOLE for name in weighted}
        failures["check_sample_weight_equivalence_on_sparse_data"] = WHOLE
        return failures | {"check_sample_weight_equivalence_on_dense_data": WHOLE}
    if isinstance(mix.family, em.Multinomial):
        return failures | {"check_clustering": COUNTS}
    reason = DRAWN if isinstance(mix.engine, VARIATIONAL) else ONE_PASS
    weighted = ("dense", "sparse")  # sparse rows of fractions are made dense
    return failures | {
        f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in weighted
    }


FAST = [
    em.Mixture(),
    em.Mixture(family=em.Multinomial()),
    em.Mixture(engine=em.Gibbs(sweeps=6), random_state=0),
    em.Mixture(engine=em.MemoizedVB(laps=4, batch_size=20), random_state=0),
]
OTHERS = [
    em.Mixture(engine=em.EP(laps=4)),
    em.Mixture(engine=em.RCRP()),
    em.Mixture(engine=em.FullVB(laps=4, truncation=5), random_state=0),
    em.Mixture(engine=em.StochasticVB(laps=4, truncation=5, batch_size=20), random_state=0),
    em.Mixture(em.Multinomial(), engine=em.MemoizedVB(laps=4, batch_size=20), random_state=0),
]


def passes_or_fails_as_expected(estimator, check):
    """Expected failures are caught here: pytest would take a second to write each of them down."""
    if check.func.__name__ not in expected_failures(estimator):
        check(estimator)
        return
    with pytest.raises((AssertionError, AttributeError, ValueError)):
        check(estimator)


@parametrize_with_checks(FAST)
def test_scikit_learn_checks(estimator, check):
    passes_or_fails_as_expected(estimator, check)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_checks_of_other_engines(estimator, check):
    passes_or_fails_as_expected(estimator, check)


@parametrize_with_checks([em.TopicModel(em.HDP(), burn_in=2, draws=2, random_state=0)])
def test_scikit_learn_checks_of_topic_models(estimator, check, monkeypatch):
    """Topic models refuse fractions, which most checks are made of: so these are rounded up."""

    def rounded(X):
        if X.data.size and X.data.min() >= 0:
            X = X.copy()
            X.data = np.ceil(X.data.astype(np.float64))
        return checked_counts(X)

    monkeypatch.setattr("evermix.estimators.topics.estimator.checked_counts", rounded)
    check(estimator)


def test_it_is_a_clusterer():
    from sklearn.base import is_clusterer
    from sklearn.utils import get_tags

    assert is_clusterer(em.Mixture())
    assert get_tags(em.Mixture()).input_tags.sparse
    assert not get_tags(em.Mixture()).input_tags.positive_only
    assert get_tags(em.Mixture(family=em.Multinomial())).input_tags.positive_only
    assert not get_tags(em.Mixture(family=em.Gaussian())).input_tags.sparse


@pytest.mark.parametrize("name", em.engines.ENGINES)
@pytest.mark.parametrize("family", ["auto", em.Gaussian(), em.Mixed()], ids=repr)
def test_the_tag_of_missing_values_is_true_where_they_are_taken(name, family):
    from sklearn.utils import get_tags

    mix = em.Mixture(family, engine=em.engines.ENGINES[name](), random_state=0)
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[::9, 1] = np.nan
    try:
        mix.fit(X)
        taken = True
    except (ValueError, TypeError) as error:
        assert "NaN" in str(error) or "FixedGaussian" in str(error)
        taken = False
    if not (name == "DPMeans" and isinstance(family, em.Mixed)):  # which is refused before rows
        assert get_tags(mix).input_tags.allow_nan == taken
    assert not get_tags(em.DependentMixture()).input_tags.allow_nan


def test_it_works_in_a_pipeline_and_a_grid_search():
    import numpy as np
    from sklearn.metrics import adjusted_rand_score
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = np.repeat([0, 1], 100)
    X = np.random.default_rng(0).normal(size=(200, 2)) + 9 * y[:, None]
    pipeline = make_pipeline(StandardScaler(), em.Mixture())
    assert adjusted_rand_score(y, pipeline.fit_predict(X)) > 0.9
    search = GridSearchCV(em.Mixture(), {"prior": [em.DP(0.1), em.DP(1.0)]}, cv=2).fit(X)
    assert isinstance(search.best_params_["prior"], em.DP)


def test_only_engines_that_stream_have_partial_fit():

    assert hasattr(em.Mixture(), "partial_fit")
    for engine in (em.EP(), em.Gibbs(), em.Slice(), em.FullVB(), em.MemoizedVB()):
        mix = em.Mixture(engine=engine)
        assert not hasattr(mix, "partial_fit")
        with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as caught:
            mix.partial_fit([[0.0]])
        assert "Use fit, or an engine that streams" in str(caught.value.__cause__)
