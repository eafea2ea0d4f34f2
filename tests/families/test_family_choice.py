"""What "auto" takes rows for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

import evermix as em
from evermix.families.choosing import are_counts, choose
from helpers.variants import slow_but

RNG = np.random.default_rng(0)
WORDS = [f"word{j}" for j in range(200)]
TEXTS = [
    " ".join(RNG.choice(WORDS, size=12, p=RNG.dirichlet(np.full(200, 0.1)))) for _ in range(60)
]
COUNTS = CountVectorizer().fit_transform(TEXTS)
DIGITS, IRIS = load_digits().data, load_iris().data
ANSWERS = (RNG.random((100, 6)) < 0.4).astype(float)
AGES = np.column_stack([RNG.integers(18, 90, 100), RNG.integers(20, 60, 100)])
PEOPLE = np.column_stack([AGES, RNG.integers(1, 4, 100), RNG.integers(0, 2, 100)])


@pytest.mark.parametrize(
    ("X", "family"),
    [
        (np.insert(IRIS, 2, 7.5, axis=1), em.Mixed),
        (np.full((5, 3), 7.5), em.Gaussian),
        (DIGITS.astype(int), em.LowRankGaussian),
        (DIGITS.astype(np.uint8) * 15, em.LowRankGaussian),
        (COUNTS, em.Multinomial),
        (COUNTS.toarray(), em.Multinomial),
        (COUNTS.toarray().astype(float), em.Multinomial),
        ((10 * IRIS).astype(int), em.Gaussian),
        (AGES, em.Gaussian),
        (ANSWERS, em.Bernoulli),
        (ANSWERS.astype(int), em.Bernoulli),
        (ANSWERS > 0, em.Bernoulli),
        (RNG.poisson(20.0, size=(200, 6)), em.Gaussian),
        (PEOPLE, em.Mixed),
        (PEOPLE.astype(float), em.Mixed),
        (np.where(RNG.random(IRIS.shape) < 0.1, np.nan, IRIS), em.Mixed),
        (-(AGES.astype(int)), em.Gaussian),
        (np.zeros((0, 3)), em.Gaussian),
    ],
)
def test_rows_are_taken_for_what_they_hold(X, family):
    chosen, why = choose(X)
    assert type(chosen) is family
    assert why


def test_columns_of_few_whole_numbers_are_levels_and_others_share_a_covariance():
    family = choose(PEOPLE).family
    assert {block.names: type(block.family) for block in family.blocks} == {
        (2,): em.Categorical,
        (3,): em.Categorical,
        (0, 1): em.Gaussian,
    }
    holes = np.where(RNG.random(PEOPLE.shape) < 0.1, np.nan, PEOPLE)
    kinds = [type(block.family) for block in choose(holes).family.blocks]
    assert kinds == [em.Categorical, em.Categorical, em.Gaussian, em.Gaussian]


def test_scores_from_1_to_10_are_levels_and_larger_numbers_are_not():
    scores = np.tile(np.arange(1, 11), 30).reshape(-1, 1) + np.zeros((1, 2))
    assert {type(block.family) for block in choose(scores).family.blocks} == {em.Categorical}
    assert type(choose(scores + 1).family) is em.Gaussian


def test_levels_and_zeros_and_ones_are_seen_in_all_rows_of_many():
    X = np.zeros((5000, 40))
    X[::2] = 1
    assert type(choose(X).family) is em.Bernoulli
    X[4321, 7] = 0.5
    assert type(choose(X).family) is em.LowRankGaussian
    people = np.tile(PEOPLE.astype(float), (50, 1))
    people[4321, 3] = 0.5
    assert len(choose(people).family.blocks) == 2  # the last column is no level any more


def test_a_stream_is_judged_when_enough_rows_are_known():
    for X in (ANSWERS, COUNTS.toarray(), PEOPLE):
        assert isinstance(choose(X[:30], enough=64).family, em.Gaussian | em.LowRankGaussian)
    few = choose(ANSWERS[:64], enough=64).family
    assert type(few) is type(choose(np.vstack([ANSWERS[:64], [[2.0] * 6]]), enough=64).family)
    assert type(choose(np.vstack([AGES, [[np.nan, 1]]]), enough=64).family) is em.Mixed


def test_weights_of_words_are_no_counts():
    weights = TfidfVectorizer().fit_transform(TEXTS)
    with pytest.raises(ValueError, match=r"sparse .* TfidfTransformer .*normalize\(X\)"):
        em.Mixture().fit(weights)
    few = sparse.csr_matrix(IRIS)
    mix = em.Mixture(random_state=0).fit(few)
    assert "made dense" in mix.family_reason_
    np.testing.assert_array_equal(mix.labels_, em.Mixture(random_state=0).fit(IRIS).labels_)
    np.testing.assert_array_equal(mix.predict(few), mix.predict(IRIS))


def test_few_columns_are_no_vocabulary():
    X = RNG.poisson(0.3, size=(100, 40))
    assert are_counts(X)
    assert not are_counts(X[:, :32])
    assert not are_counts(X - 1)


def three_blobs():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 1000)
    return np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0]])[y] + rng.normal(size=(1000, 2)), y


def test_constant_columns_change_nothing():
    X, _ = three_blobs()
    alone = em.Mixture(random_state=0).fit(X)
    with_more = em.Mixture(random_state=0).fit(
        np.column_stack([np.full(1000, 1e6), X, np.zeros(1000)])
    )
    assert alone.n_clusters_ == with_more.n_clusters_ == 3
    assert adjusted_rand_score(alone.labels_, with_more.labels_) > 0.99
    assert "2 of 4 columns are constant" in with_more.family_reason_


@pytest.mark.parametrize("far", [1e3, 1e6, -1e6])
@pytest.mark.parametrize("columns", slow_but([2], [2, 5]))
def test_one_wild_number_does_not_hide_the_clusters(far, columns):
    X, y = three_blobs()
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(1000, columns - 2))])
    X[500, 0] = far
    fit, stream = em.Mixture(random_state=0).fit(X), em.Mixture(random_state=0)
    for rows in np.array_split(X, 10):
        stream.partial_fit(rows)
    for mix in fit, stream:
        assert adjusted_rand_score(y, mix.predict(X)) > 0.9
