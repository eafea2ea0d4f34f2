"""Laws of exponential families, for every family: no numbers from elsewhere are needed."""

import json

import numpy as np
import pytest

from evermix.families import FAMILIES, Gaussian, Mixed, ZeroMeanGaussian
from evermix.families.base import Family
from evermix.tally import Tally
from evermix.testing import check_family
from helpers.family_cases import CASES


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def posterior(case):
    """Natural parameters of three clusters that share the rows softly."""
    family, X = case
    r = np.random.default_rng(3).dirichlet(np.ones(3), size=X.shape[0])
    return family.posterior(family.accumulate(X, r), r.sum(axis=0))


def test_shipped_laws_hold(case):
    """What users can check of their own families holds for ours."""
    check_family(*case)


def steps(family, eta):
    """Yield a small step (K, E) along every coordinate; matrices stay symmetric."""
    twin = np.arange(eta.shape[1])
    blocks = [(getattr(family, "plane", family), 0)]
    if isinstance(family, Mixed):
        pairs = zip(family.blocks, family.spans, strict=True)
        blocks = [(block.family, span.start) for block, span in pairs]
    for kind, first in blocks:
        D = kind.n_features
        if isinstance(kind, Gaussian | ZeroMeanGaussian):
            start = D if isinstance(kind, Gaussian) else 0
            square = slice(first + start, first + start + D * D)
            twin[square] = twin[square].reshape(D, D).T.ravel()
    for e in range(eta.shape[1]):
        h = np.zeros_like(eta)
        h[:, e] = 1e-6 * np.maximum(1e-3, np.abs(eta[:, e]))
        h[:, twin[e]] = h[:, e]
        yield h


def test_mean_params_are_the_gradient_in_every_coordinate(case, posterior):
    """Central differences of the log normaliser, one coordinate at a time."""
    family, _ = case
    gradient = family.mean_params(posterior)
    for h in steps(family, posterior):
        up, down = family.log_partition(posterior + h), family.log_partition(posterior - h)
        want = (gradient * h).sum(axis=1)
        # Truncation of the difference, and rounding of the two log normalisers.
        tolerance = 1e-5 * np.abs(want) + 1e-14 * (1 + np.abs(up))
        assert np.all(np.abs((up - down) / 2 - want) <= tolerance)


def test_closed_forms_equal_what_the_base_class_derives(case, posterior):
    """A closed form is a faster way to the same number."""
    family, X = case
    derived = Family.log_predictive(family, X, posterior)
    np.testing.assert_allclose(family.log_predictive(X, posterior), derived, 1e-8, 1e-8)
    derived = Family.self_log_likelihood(family, X)
    np.testing.assert_allclose(family.self_log_likelihood(X), derived, 1e-8, 1e-8)


def test_expected_log_likelihood_lies_below_the_predictive(case, posterior):
    """Jensen's inequality: E log p <= log E p."""
    family, X = case
    gap = family.log_predictive(X, posterior) - family.expected_log_likelihood(X, posterior)
    assert gap.min() >= -1e-9


def test_marginal_does_not_depend_on_how_rows_are_cut(case):
    """Statistics add up: two halves together are the whole."""
    family, X = case
    n = X.shape[0]
    one = np.ones((n, 1))
    whole = family.accumulate(X, one)
    halves = family.accumulate(X[: n // 2], one[: n // 2])
    halves = halves + family.accumulate(X[n // 2 :], one[n // 2 :])
    np.testing.assert_allclose(whole, halves, rtol=1e-12, atol=1e-9)


def test_fusion_of_a_cluster_with_an_empty_one_changes_nothing(case):
    """The empty cluster is the prior, which fusing leaves behind."""
    family, X = case
    n = X.shape[0]
    stats = np.vstack([family.accumulate(X, np.ones((n, 1))), np.zeros(family.n_stats)])
    tally = Tally.of(np.arange(2), np.array([n, 0.0]), stats, {}, family.layout)
    gain = family.log_fusion(tally, np.array([[0, 1]]))
    np.testing.assert_allclose(gain, 0.0, atol=1e-8)


def test_fusion_with_more_data_is_fusion_of_clusters_that_have_them(case):
    """Foresight: twice and three times the data of each pair, in the same proportions."""
    family, X = case
    r = np.random.default_rng(3).dirichlet(np.ones(3), size=X.shape[0])
    stats, mass = family.accumulate(X, r), r.sum(axis=0)
    tally = Tally.of(np.arange(3), mass, stats, {}, family.layout)
    pairs, times = np.array([[0, 1], [1, 2]]), np.array([2.0, 3.0])
    for pair, t, gain in zip(pairs, times, family.log_fusion(tally, pairs, times), strict=True):
        (a, b), more = pair, (t * stats, t * mass)
        apart = family.log_marginal(*more)
        together = family.log_marginal(more[0][[a]] + more[0][[b]], more[1][[a]] + more[1][[b]])
        want = together[0] - apart[a] - apart[b]
        assert gain == pytest.approx(want, rel=1e-8, abs=1e-8 * np.abs(apart).max())


def test_spec_survives_json(case):
    """A family is plain data, in every digit."""
    family, X = case
    spec = json.loads(json.dumps(family.to_spec()))
    again = FAMILIES[type(family).__name__].from_spec(spec)
    assert again == family
    assert again.resolved
    np.testing.assert_array_equal(again.eta0, family.eta0)
    np.testing.assert_array_equal(again.log_base(X), family.log_base(X))


def test_a_resolved_family_resolves_to_itself(case):
    """Choosing hyperparameters twice changes nothing."""
    family, X = case
    assert not family.open
    (again,) = family.candidates(X)
    assert again == family
