"""Topic models as an estimator: input, and what is reported."""

from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import evermix as em
from helpers.topic_cases import SHORT, YEARS, X, documents

PRIORS = [em.HDP(), em.HNGG(), em.HSNGG(), em.HMNGG(), em.HMNGP(), em.HTNGG(), em.HTNGP()]
FLAT = [em.MNGG(), em.TNGG(), em.MNGG(3, sigma=0.0, q=1.0)]


@pytest.fixture(scope="module")
def fitted():
    return em.TopicModel(em.HMNGG(), burn_in=80, draws=60, random_state=1).fit(X, times=YEARS)


# ---- what is reported ----------------------------------------------------------------------------


def test_two_topics_that_take_over_from_each_other_are_found(fitted):
    tops = fitted.top_words(3)
    assert {0, 1, 2} in [set(some) for some in tops[:4]]
    assert {3, 4, 5} in [set(some) for some in tops[:4]]
    early = [set(words) <= {0, 1, 2} for words in tops]
    share = fitted.evolution_[:, early].sum(axis=1)
    assert share[0] > 0.7 > 0.4 > share[2]


def test_topics_and_shares_are_probabilities(fitted):
    K, V = fitted.n_topics_, 6
    assert fitted.components_.shape == (K, V)
    shares = [fitted.components_, fitted.evolution_, fitted.predicted_evolution_]
    shares += [fitted.transform(X, YEARS), fitted.weights_[None]]
    for array in shares:
        assert np.all(array >= 0)
        np.testing.assert_allclose(array.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.evolution_.shape == fitted.predicted_evolution_.shape == (3, K)
    assert fitted.transform(X[:5], YEARS[:5]).shape == (5, K)
    assert np.all(np.diff(fitted.weights_) <= 0)
    assert fitted.times_.tolist() == [2001, 2002, 2003]
    assert fitted.regions_.shape == (K,)


def test_shares_may_be_a_data_frame(fitted):
    shares = fitted.transform(X, YEARS)
    named = deepcopy(fitted).set_output(transform="pandas").transform(X, YEARS)
    assert list(named.columns) == [f"topicmodel{k}" for k in range(fitted.n_topics_)]
    np.testing.assert_array_equal(named.to_numpy(), shares)


def test_traces_have_one_number_per_draw(fitted):
    traces = fitted.traces_
    names = {"log_joint", "n_topics", "n_tables", "sigma", "sigma0", "M", "M0[2]", "u[0]", "q[2,1]"}
    assert names <= set(traces)
    assert {values.shape for values in traces.values()} == {(60,)}
    assert np.isfinite(list(traces.values())).all()


def test_a_number_fixes_alpha_and_a_law_has_it_learnt(fitted):
    assert len(set(fitted.traces_["alpha"])) == len(fitted.traces_["alpha"]) > 1
    fixed = em.TopicModel(em.HDP(), alpha=0.3, **SHORT).fit(X)
    assert set(fixed.traces_["alpha"]) == {0.3}
    snapshot = fixed._fitted.point()
    counts = snapshot.counts.toarray().T
    want = (0.3 + counts) / (6 * 0.3 + counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(fixed.components_, want, rtol=1e-12)
    tight = em.TopicModel(em.HDP(), alpha=em.Gamma(1e6, 2e6), **SHORT).fit(X)
    np.testing.assert_allclose(tight.traces_["alpha"], 0.5, rtol=0.01)


def test_perplexity_lies_between_that_of_the_words_of_a_topic_and_of_all(fitted):
    new, years = documents(seed=5)
    assert 2.5 < fitted.perplexity(new, years) < 6.0
    assert fitted.score(new, times=years) == pytest.approx(-np.log(fitted.perplexity(new, years)))


def test_the_same_question_gets_the_same_answer(fitted):
    np.testing.assert_array_equal(fitted.transform(X, YEARS), fitted.transform(X, YEARS))
    assert fitted.perplexity(X, YEARS) == fitted.perplexity(X, YEARS)


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("sampler", [em.H1(), em.H1(slices=True), em.H2()], ids=repr)
def test_every_prior_can_be_fitted_and_asked(prior, sampler):
    topics = em.TopicModel(prior, sampler=sampler, **SHORT)
    theta = topics.fit_transform(X, times=YEARS if prior.timed else None)
    assert theta.shape == (24, topics.n_topics_)
    assert np.isfinite(topics.perplexity(X, YEARS))
    assert np.isfinite(topics.traces_["log_joint"]).all()


@pytest.mark.parametrize("prior", FLAT, ids=["MNGG", "TNGG", "fixed"])
def test_without_hierarchy_documents_are_times(prior):
    topics = em.TopicModel(prior, **SHORT)
    assert topics.fit_transform(X).shape == (24, topics.n_topics_)
    assert topics.evolution_.shape == (1, topics.n_topics_)
    reported = em.TopicModel(prior, **SHORT).fit(X, times=YEARS)
    assert reported.evolution_.shape == (3, reported.n_topics_)
    np.testing.assert_array_equal(reported.traces_["log_joint"], topics.traces_["log_joint"])
    assert 2.0 < topics.perplexity(*documents(seed=5)[:1]) < 7.0


def test_without_times_the_default_is_the_hierarchical_dirichlet_process():
    topics, hdp = em.TopicModel(**SHORT).fit(X), em.TopicModel(em.HDP(), **SHORT).fit(X)
    hngg = em.TopicModel(em.HNGG(), **SHORT).fit(X)
    assert topics.evolution_.shape == (1, topics.n_topics_)
    np.testing.assert_array_equal(topics.transform(X), hdp.transform(X))
    for name, values in topics.traces_.items():
        np.testing.assert_array_equal(values, hdp.traces_[name])
    assert not np.array_equal(topics.traces_["log_joint"], hngg.traces_["log_joint"])


def test_vocabularies_name_the_words(fitted):
    words = [f"word{i}" for i in range(6)]
    assert fitted.top_words(2, words)[0][0].startswith("word")
    with pytest.raises(ValueError, match=r"one entry per word, \(6,\), got shape \(2,\)"):
        fitted.top_words(2, ["a", "b"])


def test_names_of_columns_are_the_vocabulary():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    topics = em.TopicModel(**SHORT).fit(frame)
    assert set().union(*topics.top_words(6)) == set("abcdef")
    assert list(topics.get_feature_names_out())[0] == "topicmodel0"


def test_chains_are_independent_and_separated():
    topics = em.TopicModel(em.HDP(), chains=2, **SHORT).fit(X)
    joint = topics.traces_["log_joint"]
    assert joint.shape == (12,)
    assert not np.array_equal(joint[:6], joint[6:])
    alone = em.TopicModel(em.HDP(), chains=1, **SHORT).fit(X)
    np.testing.assert_array_equal(alone.traces_["log_joint"], joint[:6])


def test_traces_go_to_arviz():
    pytest.importorskip("arviz")
    data = em.TopicModel(em.HDP(), chains=2, **SHORT).fit(X).to_arviz()
    assert data["posterior"]["n_topics"].shape == (2, 6)
    assert "log_joint" in data["sample_stats"]


def test_sparse_and_dense_documents_are_the_same():
    dense = em.TopicModel(**SHORT).fit(X)
    lean = em.TopicModel(**SHORT).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(dense.traces_["log_joint"], lean.traces_["log_joint"])


def test_empty_documents_are_documents_like_any_other():
    rows = X.copy()
    rows[3] = 0
    topics = em.TopicModel(em.HMNGG(), **SHORT).fit(rows, times=YEARS)
    theta = topics.transform(rows, YEARS)
    np.testing.assert_allclose(theta[3], topics.predicted_evolution_[0], rtol=1e-9)


def test_a_document_without_any_topic_gets_the_shares_of_all():
    words = np.hstack([X, np.zeros_like(X)])
    topics = em.TopicModel(em.TNGG(3), **SHORT).fit(words)
    shares = topics.transform(np.vstack([10 * words[:, ::-1], words]))
    assert np.all(shares >= 0.0)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


# ---- what cannot be --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "times", "message"),
    [
        (X, None, "HMNGG is a model over time, and times are missing"),
        (X, YEARS[:5], "times must have one entry per row"),
        (X, np.where(YEARS == 2001, np.nan, YEARS), "missing or infinite value in row 0"),
        (X - 1, YEARS, "whole numbers >= 0"),
        (X + 0.5, YEARS, "got 0.5 in row 0, column|got .*5 in row 0, column 0"),
        (X * 0, YEARS, "X holds no words"),
        (X * (YEARS != 2002)[:, None], YEARS, "all documents of the time 2002 are empty"),
        (X[:0], YEARS[:0], "minimum of 1 is required"),
        (np.where(X > 3, np.nan, X), YEARS, "NaN"),
    ],
)
def test_documents_and_times_that_cannot_be_are_refused(rows, times, message):
    with pytest.raises(ValueError, match=message):
        em.TopicModel(em.HMNGG(), **SHORT).fit(rows, times=times)


def test_times_that_were_not_there_are_refused(fitted):
    with pytest.raises(ValueError, match="no rows at the time 1999"):
        fitted.transform(X[:1], [1999])
    for ask in (fitted.perplexity, fitted.transform, fitted.score):
        with pytest.raises(ValueError, match="times are missing: .* by name: times=years") as error:
            ask(X)
        assert "fit(" not in str(error.value)
    with pytest.raises(ValueError, match="no words to predict"):
        fitted.perplexity(X * 0, YEARS)
    with pytest.raises(ValueError, match="X has 5 features"):
        fitted.transform(X[:, :5], YEARS)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"prior": em.DP()}, TypeError, "prior must be em.HDP"),
        ({"sampler": em.M1()}, TypeError, r"sampler must be em.H1\(\), em.H2\(\) or None"),
        ({"prior": em.MNGG(), "sampler": em.H2()}, TypeError, r"must be em.M1\(\), em.M3\(\) or"),
        ({"prior": em.TNGG(), "sampler": em.M1()}, TypeError, r"must be em.T1\(\) or None"),
        ({"prior": em.SNGG()}, TypeError, "em.MNGG or em.TNGG, got SNGG"),
        ({"alpha": 0.0}, ValueError, "alpha must be positive"),
        ({"alpha": em.Beta()}, TypeError, "alpha must be a number, or em.Gamma to learn it"),
        ({"burn_in": -1}, ValueError, "burn_in must be at least 0"),
        ({"draws": 0}, ValueError, "draws must be at least 1"),
        ({"chains": 0}, ValueError, "chains must be at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        em.TopicModel(**{**SHORT, **settings}).fit(X, times=YEARS)


def test_hyperparameters_that_cannot_be_say_which_level_they_are_of():
    with pytest.raises(ValueError, match="HNGG, the process of topics: sigma"):
        em.HNGG(sigma0=1.5)
    with pytest.raises(ValueError, match="HDP, the process of documents: a"):
        em.HDP(a=-1.0)


def test_before_a_fit_there_is_nothing_to_ask(tmp_path):
    with pytest.raises(NotFittedError):
        em.TopicModel().transform(X)
    with pytest.raises(ValueError, match="nothing to save"):
        em.TopicModel().save(tmp_path / "topics.evermix")


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
def test_priors_go_through_plain_data(prior):
    assert type(prior).from_spec(prior.to_spec()) == prior


def test_a_fit_that_is_refused_leaves_the_old_model(fitted):
    """Also what it knows of its features."""
    before, V = fitted.transform(X, YEARS), fitted.n_features_in_
    with pytest.raises(ValueError, match="whole numbers"):
        fitted.fit(np.full((3, V + 2), 0.5), times=YEARS[:3])
    assert fitted.n_features_in_ == V
    np.testing.assert_array_equal(fitted.transform(X, YEARS), before)
