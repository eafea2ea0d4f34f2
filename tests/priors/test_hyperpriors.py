"""Hyperpriors: their densities, their way to the real line, and the fields that they are for."""

import json
from dataclasses import fields

import numpy as np
import pytest
from scipy import stats

import evermix as em
from evermix.priors import PRIORS, Beta, Gamma, HyperPrior

CASES = [
    (Gamma(1.0, 1.0), stats.gamma(1.0)),
    (Gamma(0.3, 5.0), stats.gamma(0.3, scale=0.2)),
    (Beta(1.0, 1.0), stats.beta(1.0, 1.0)),
    (Beta(0.5, 3.0), stats.beta(0.5, 3.0)),
]


@pytest.mark.parametrize(("hyperprior", "law"), CASES)
def test_density_is_that_of_the_law_up_to_a_constant(hyperprior, law):
    points = law.ppf([0.01, 0.2, 0.5, 0.9, 0.999])
    gap = [hyperprior.log_density(x) - law.logpdf(x) for x in points]
    assert np.ptp(gap) < 1e-9
    np.testing.assert_allclose(hyperprior.log_densities(points) - law.logpdf(points), gap)


@pytest.mark.parametrize(("hyperprior", "law"), CASES)
def test_real_coordinates_go_there_and_back_with_their_slope(hyperprior, law):
    for x in law.ppf([0.01, 0.2, 0.5, 0.9, 0.999]):
        y, h = hyperprior.to_real(x), 1e-6
        assert hyperprior.from_real(y) == pytest.approx(x, rel=1e-12)
        slope = (hyperprior.from_real(y + h) - hyperprior.from_real(y - h)) / (2 * h)
        assert hyperprior.log_jacobian(x) == pytest.approx(np.log(slope), abs=1e-6)


@pytest.mark.parametrize("hyperprior", [Gamma(), Beta()])
def test_far_out_the_line_maps_to_the_ends_of_the_domain(hyperprior):
    low, high = hyperprior.domain
    assert hyperprior.from_real(-1e4) == low
    assert hyperprior.from_real(1e4) == high


@pytest.mark.parametrize("hyperprior", [Gamma(0.1, 2.0), Beta(2.0, 3.0)])
def test_a_spec_survives_the_way_through_json(hyperprior):
    assert HyperPrior.from_spec(json.loads(json.dumps(hyperprior.to_spec()))) == hyperprior


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gamma(0.0, 1.0), "shape must be positive, got 0.0"),
        (lambda: Gamma(1.0, -2), "rate must be positive, got -2.0"),
        (lambda: Beta(a="1"), "a must be a finite number, got '1'"),
        (lambda: Beta(b=np.inf), "b must be a finite number, got inf"),
        (lambda: HyperPrior.from_spec({"name": "Cauchy"}), "one of Beta, Gamma, got 'Cauchy'"),
    ],
)
def test_bad_values_say_what_was_wanted_and_what_came(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", PRIORS)
def test_tunable_names_are_fields_of_the_prior(name):
    assert set(PRIORS[name].tunable) <= {f.name for f in fields(PRIORS[name])}


def test_hyperpriors_are_public():
    assert (em.Gamma, em.Beta) == (Gamma, Beta)
