"""Hyperparameters are checked when a prior is made, and are plain data."""

import json

import numpy as np
import pytest

from evermix.priors import DP, NGGP, PRIORS, GeneralizedDirichlet, PitmanYor
from helpers.prior_cases import EVERY


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DP(0.0), "alpha must be positive, got 0.0"),
        (lambda: DP("1"), "alpha must be a finite number, got '1'"),
        (lambda: DP(True), "alpha must be a finite number, got True"),
        (lambda: DP(np.nan), "alpha must be a finite number, got nan"),
        (lambda: NGGP(a=-1.0), "a must be positive, got -1.0"),
        (lambda: NGGP(a=np.inf), "a must be a finite number, got inf"),
        (lambda: NGGP(sigma=1.0), r"sigma must lie in \[0, 1\), got 1.0"),
        (lambda: NGGP(sigma=-0.1), r"sigma must lie in \[0, 1\), got -0.1"),
        (lambda: NGGP(tau=-1.0), "tau must be 0 or more, got -1.0"),
        (lambda: NGGP(sigma=0.0, tau=0.0), "tau must be positive where sigma is 0, got 0.0"),
        (lambda: NGGP(u="median"), 'u must be "quadrature" or "mode", got \'median\''),
        (lambda: PitmanYor(discount=1.0), r"discount must lie in \[0, 1\), got 1.0"),
        (lambda: PitmanYor(-0.5, 0.5), "alpha must be larger than -discount = -0.5, got -0.5"),
        (lambda: PitmanYor(0.0, 0.0), "alpha must be larger than -discount"),
        (lambda: PitmanYor(None), "alpha must be a finite number, got None"),
        (lambda: GeneralizedDirichlet(a=0), "a must be positive, got 0.0"),
        (lambda: GeneralizedDirichlet(rates=0), "rates must be a whole number, 1 or more, got 0"),
        (lambda: GeneralizedDirichlet(rates=1.5), "rates must be a whole number"),
    ],
)
def test_bad_values_say_what_was_wanted_and_what_came(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("prior", EVERY, ids=repr)
def test_a_prior_survives_the_way_through_json(prior):
    assert type(prior).from_spec(json.loads(json.dumps(prior.to_spec()))) == prior


def test_numpy_numbers_become_plain_ones():
    prior = NGGP(np.float32(2.0), np.float64(0.5), np.int64(1))
    assert json.dumps(prior.to_spec()) == '{"a": 2.0, "sigma": 0.5, "tau": 1.0, "u": "quadrature"}'


def test_the_registry_names_every_shipped_prior():
    assert PRIORS == {cls.__name__: cls for cls in (DP, NGGP, PitmanYor, GeneralizedDirichlet)}


def test_a_measure_whose_u_overflows_says_so():
    prior = GeneralizedDirichlet(a=1e-20, rates=2)
    with pytest.raises(ValueError, match="beyond floating-point range"):
        prior.log_weights(np.array([2.0, 1.0]), np.ones(2))
