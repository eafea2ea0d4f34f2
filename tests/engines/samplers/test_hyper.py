"""Learning hyperparameters: without data a hyperprior must come out as it went in.

Drawing hyperparameters, then a partition (or data) given them, then updating the hyperparameters
given that, again and again, leaves the hyperprior as it was: by a Kolmogorov-Smirnov test on
independent replications, where every p-value is above 1e-4 and each misprint is far below.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evermix.engines.samplers.hyper import (
    check_hyperpriors,
    draw_log_u,
    slice_sample,
    update_augmented,
    update_family,
    update_prior,
)
from evermix.families import Gaussian, Multinomial
from evermix.priors import DP, NGGP, Beta, Gamma, GeneralizedDirichlet, PitmanYor
from evermix.priors.jumps import Jumps
from evermix.tally import Tally
from helpers.oracles import LogU

N = 6  # observations: few, so that they say little and the hyperprior shows
GAMMA, BETA = Gamma(2.0, 1.0), Beta(1.0, 1.0)
PARTITION = [
    (DP(), {"alpha": GAMMA}),
    (NGGP(), {"a": GAMMA, "sigma": BETA, "tau": GAMMA}),
    (PitmanYor(), {"alpha": GAMMA, "discount": BETA}),
]
AUGMENTED = [
    (DP(), {"alpha": GAMMA}),
    (NGGP(), {"a": GAMMA, "sigma": BETA, "tau": GAMMA}),
    (NGGP(2.0), {"sigma": BETA}),
    (NGGP(2.0), {"tau": GAMMA}),
]


def law(hyperprior):
    if isinstance(hyperprior, Gamma):
        return stats.gamma(hyperprior.shape, scale=1 / hyperprior.rate)
    return stats.beta(hyperprior.a, hyperprior.b)


def draw(hyperprior, rng):
    if isinstance(hyperprior, Gamma):
        return rng.gamma(hyperprior.shape) / hyperprior.rate
    return rng.beta(hyperprior.a, hyperprior.b)


def draw_sizes(prior, n, rng):
    """Sizes of a partition of n items, one after another by the exact predictive."""
    sizes = np.zeros(0)
    for _ in range(n):
        total = np.cumsum(np.exp(prior.log_weights(sizes, np.ones(len(sizes)))))
        k = int(np.searchsorted(total, rng.random() * total[-1]))
        sizes = np.append(sizes, 0.0) if k == len(sizes) else sizes
        sizes[k] += 1
    return sizes


def by_u(prior, hyperpriors, sizes, rng):
    v, _ = Jumps.of(prior).log_u_peak(N, len(sizes))
    for _ in range(2):
        v = draw_log_u(prior, N, len(sizes), v, rng)
    return update_augmented(prior, hyperpriors, sizes, v, rng)


def p_values(prior, hyperpriors, update, replications, rounds=3):
    """P-values of what comes out against the hyperprior that went in, by name."""
    rng = np.random.default_rng(0)
    out = {name: np.empty(replications) for name in hyperpriors}
    for r in range(replications):
        now = replace(prior, **{name: draw(h, rng) for name, h in hyperpriors.items()})
        for _ in range(rounds):
            now = update(now, hyperpriors, draw_sizes(now, N, rng), rng)
        for name in hyperpriors:
            out[name][r] = getattr(now, name)
    return {name: stats.kstest(out[name], law(h).cdf).pvalue for name, h in hyperpriors.items()}


# ---- invariance without data ---------------------------------------------------------------


@pytest.mark.parametrize(("prior", "hyperpriors"), PARTITION)
def test_given_a_partition_the_hyperprior_is_invariant(prior, hyperpriors):
    assert min(p_values(prior, hyperpriors, update_prior, 250).values()) > 1e-4


@pytest.mark.parametrize(("prior", "hyperpriors"), AUGMENTED)
def test_given_u_too_the_hyperprior_is_invariant(prior, hyperpriors):
    assert min(p_values(prior, hyperpriors, by_u, 250).values()) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "hyperpriors"), PARTITION)
def test_given_a_partition_many_replications(prior, hyperpriors):
    assert min(p_values(prior, hyperpriors, update_prior, 3000).values()) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "hyperpriors"), AUGMENTED)
def test_given_u_too_many_replications(prior, hyperpriors):
    assert min(p_values(prior, hyperpriors, by_u, 3000).values()) > 1e-4


@pytest.mark.slow
def test_a_prior_that_is_not_of_gibbs_type_is_learnt_too():
    hyperpriors = {"a": Gamma(8.0, 4.0)}
    assert p_values(GeneralizedDirichlet(), hyperpriors, update_prior, 100, 2)["a"] > 1e-4


# ---- a law that cannot be broken checks nothing ---------------------------------------------


@pytest.mark.parametrize(
    ("prior", "hyperpriors"),
    [(DP(), {"alpha": GAMMA}), (PitmanYor(), {"discount": BETA}), (NGGP(2.0), {"tau": GAMMA})],
)
def test_without_the_jacobian_it_is_not(prior, hyperpriors, monkeypatch):
    for kind in (Gamma, Beta):
        monkeypatch.setattr(kind, "log_jacobian", lambda self, x: 0.0)
    assert max(p_values(prior, hyperpriors, update_prior, 150).values()) < 1e-6


@pytest.mark.parametrize(("prior", "hyperpriors"), AUGMENTED[1:])
def test_with_the_misprinted_exponent_it_is_not(prior, hyperpriors, monkeypatch):
    """The exponent in the density of U is n - sigma K; n - a K was printed."""

    def misprinted(self, v, n, K):
        return n * v - (n - self.a * K) * self.log_sum(v) - self.a * self.psi(v)

    monkeypatch.setattr(Jumps, "log_u_density", misprinted)
    assert min(p_values(prior, hyperpriors, by_u, 100).values()) < 1e-6


def test_with_the_tilt_left_out_of_psi_it_is_not(monkeypatch):
    """The term tau^sigma cancels for U alone, not for hyperparameters."""

    def without(self, v):
        return np.exp(self.sigma * self.log_sum(v)) / self.sigma

    monkeypatch.setattr(Jumps, "psi", without)
    assert p_values(NGGP(2.0), {"a": GAMMA}, by_u, 100)["a"] < 1e-6


# ---- families ------------------------------------------------------------------------------


def family_p_value(replications):
    """The same for Multinomial.alpha, with documents of four words from a vocabulary of two."""
    rng, hyperprior, mass = np.random.default_rng(0), Gamma(3.0, 2.0), np.array([2.0, 1.0, 1.0])
    out = np.empty(replications)
    for r in range(replications):
        family = Multinomial(draw(hyperprior, rng), n_features=2)
        for _ in range(3):
            first = rng.beta(family.alpha, family.alpha, size=3)
            counts = rng.binomial(4 * mass.astype(int), first)
            stats_ = np.column_stack([counts, 4 * mass - counts, 4 * mass])
            tally = Tally.of(np.arange(3), mass, stats_, {}, family.layout)
            family = update_family(family, {"family.alpha": hyperprior}, tally, rng)
        out[r] = family.alpha
    return stats.kstest(out, law(hyperprior).cdf).pvalue


def test_given_data_from_the_prior_the_hyperprior_of_a_family_is_invariant():
    assert family_p_value(250) > 1e-4


@pytest.mark.slow
def test_of_a_family_many_replications():
    assert family_p_value(3000) > 1e-4


def test_without_the_jacobian_that_of_a_family_is_not(monkeypatch):
    monkeypatch.setattr(Gamma, "log_jacobian", lambda self, x: 0.0)
    assert family_p_value(250) < 1e-6


# ---- log U ---------------------------------------------------------------------------------


def draws_of_log_u(prior, n, K, size):
    rng = np.random.default_rng(0)
    v, out = Jumps.of(prior).log_u_peak(n, K)[0], np.empty(size)
    for i in range(size):
        for _ in range(3):  # U_STEPS slice steps each: all but independent
            v = draw_log_u(prior, n, K, v, rng)
        out[i] = v
    return out


@pytest.mark.parametrize(
    ("prior", "n", "K"),
    [
        (NGGP(1.0, 0.5, 1.0), 5, 3),
        (NGGP(0.1, 0.05, 1.0), 10, 3),  # skewed, with a sharp left edge
        (NGGP(3.0, 0.8, 20.0), 1000, 400),
        (NGGP(3.0, 0.3, 1e-3), 1, 1),
    ],
)
def test_log_u_has_the_density_of_the_quadrature(prior, n, K):
    grid = LogU(n, n - prior.sigma * K, prior.a, prior.sigma, prior.tau)
    p = np.exp(grid.log_p - grid.log_p.max())
    total = np.cumsum(p) / p.sum()
    draws = draws_of_log_u(prior, n, K, 400)
    assert stats.kstest(draws, lambda v: np.interp(v, grid.v, total)).pvalue > 1e-4


@pytest.mark.parametrize("prior", [DP(2.0), NGGP(2.0, 0.0, 7.0)])
def test_for_a_gamma_process_the_share_of_u_is_beta(prior):
    """U / (U + tau) ~ Beta(n, a) where sigma is 0."""
    u = np.exp(draws_of_log_u(prior, 8, 3, 400)) / Jumps.of(prior).tau
    assert stats.kstest(u / (1 + u), stats.beta(8, 2.0).cdf).pvalue > 1e-4


def test_for_a_stable_process_the_power_of_u_is_gamma():
    """U^sigma ~ Gamma(K, a / sigma) where tau is 0."""
    power = np.exp(0.4 * draws_of_log_u(NGGP(2.0, 0.4, 0.0), 8, 3, 400))
    assert stats.kstest(power, stats.gamma(3, scale=0.4 / 2.0).cdf).pvalue > 1e-4


def test_the_peak_of_log_u_is_where_its_density_is_flat():
    for jumps in (Jumps(1.0, 0.5, 1.0), Jumps(30.0, 0.0, 0.1), Jumps(1e-6, 0.2, 5.0)):
        v, spread = jumps.log_u_peak(50, 7)
        left, peak, right = (jumps.log_u_density(v + d * spread, 50, 7) for d in (-0.01, 0, 0.01))
        assert left < peak > right
        assert (2 * peak - left - right) == pytest.approx(1e-4, rel=1e-2)


def test_psi_is_continuous_where_sigma_vanishes():
    for v in (-30.0, 0.0, 5.0, 300.0):
        assert Jumps(1.0, 1e-9, 2.0).psi(v) == pytest.approx(Jumps(1.0, 0.0, 2.0).psi(v), rel=1e-6)


def test_other_priors_have_no_u():
    with pytest.raises(TypeError, match="needs DP or NGGP as a prior, got PitmanYor. Use Gibbs"):
        draw_log_u(PitmanYor(), 5, 2, 0.0, np.random.default_rng(0))
    with pytest.raises(TypeError, match="got PitmanYor"):
        update_augmented(PitmanYor(), {}, np.ones(3), 0.0, np.random.default_rng(0))


# ---- slice sampling ------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.01, 1.0, 100.0])
def test_a_slice_step_leaves_a_density_invariant(width):
    """Two humps without a valley of zero density, and steps of every size."""

    def log_density(x):
        return float(np.logaddexp(-0.5 * x**2, -0.5 * ((x - 4) / 0.5) ** 2 - np.log(0.5)))

    rng = np.random.default_rng(0)
    start = np.where(rng.random(500) < 0.5, rng.normal(size=500), 4 + 0.5 * rng.normal(size=500))
    end = [slice_sample(log_density, x, rng, width) for x in start]

    def cdf(x):
        return 0.5 * (stats.norm.cdf(x) + stats.norm.cdf(x, 4, 0.5))

    assert stats.kstest(end, cdf).pvalue > 1e-4
    assert np.abs(end - start).min() > 0


def test_a_slice_ends_where_the_density_does():
    rng = np.random.default_rng(0)

    def log_density(x):
        return 0.0 if 0 < x < 1 else -np.inf

    x, out = 0.5, []
    for _ in range(500):
        x = slice_sample(log_density, x, rng, 0.3)
        out.append(x)
    assert stats.kstest(out, stats.uniform.cdf).pvalue > 1e-4


def test_a_slice_step_cannot_begin_outside():
    with pytest.raises(ValueError, match="where the density is positive, got x = 2"):
        slice_sample(lambda x: -np.inf, 2.0, np.random.default_rng(0), 1.0)


def test_vague_hyperpriors_do_not_leave_the_range_of_numbers():
    """Under Gamma(0.01, 0.01) a hyperparameter wanders over a hundred orders of magnitude."""
    rng, vague, sizes = np.random.default_rng(0), Gamma(0.01, 0.01), np.array([2.0, 1.0])
    hyperpriors = {"a": vague, "sigma": Beta(0.1, 0.1), "tau": vague}
    prior, visited = NGGP(), []
    for _ in range(30):
        prior = update_prior(prior, hyperpriors, sizes, rng)
        visited.append(prior.tau)
    v = Jumps.of(prior).log_u_peak(3, 2)[0]
    for _ in range(30):
        v = draw_log_u(prior, 3, 2, v, rng)
        prior = update_augmented(prior, hyperpriors, sizes, v, rng)
        visited.append(prior.tau)
    assert min(visited) < 1e-10


# ---- what can be learnt --------------------------------------------------------------------

TEXT = Multinomial(0.1, n_features=3)


@pytest.mark.parametrize(
    ("hyperpriors", "prior", "family", "message"),
    [
        ({"a": BETA}, NGGP(), TEXT, r"'a' lies in \(0, inf\), which asks for em.Gamma, got Beta"),
        ({"sigma": GAMMA}, NGGP(), TEXT, r"'sigma' lies in \(0, 1\), which asks for em.Beta"),
        ({"alpha": GAMMA}, NGGP(), TEXT, "NGGP has no 'alpha' .*: a, sigma, tau, family.alpha"),
        ({"u": GAMMA}, NGGP(), TEXT, "NGGP has no 'u'"),
        ({"family.beta": GAMMA}, DP(), TEXT, "Multinomial has no 'family.beta'"),
        ({"family.alpha": BETA}, DP(), TEXT, "asks for em.Gamma"),
        (
            {"family.alpha": GAMMA},
            DP(),
            Multinomial(np.ones(3), n_features=3),
            r"only single numbers can be learnt, got an array of shape \(3,\)",
        ),
        ({"family.scale": GAMMA}, DP(), Gaussian(), "Gaussian has no 'family.scale'"),
        ({"sigma": BETA}, NGGP(1.0, 0.0), TEXT, r"'sigma' must start inside \(0, 1\)"),
        ({"tau": GAMMA}, NGGP(1.0, 0.5, 0.0), TEXT, r"'tau' must start inside \(0, inf\)"),
        ({"alpha": GAMMA}, PitmanYor(-0.1, 0.5), TEXT, "'alpha' must start inside"),
        ({"a": GAMMA}, NGGP(1e300), TEXT, r"'a' must start between 1e-200 and 1e\+20"),
    ],
)
def test_a_hyperprior_that_does_not_fit_is_refused(hyperpriors, prior, family, message):
    with pytest.raises(ValueError, match=message):
        check_hyperpriors(hyperpriors, prior, family)


def test_what_is_no_hyperprior_is_refused():
    with pytest.raises(TypeError, match="the hyperprior of 'a' must be em.Gamma or em.Beta, got 1"):
        check_hyperpriors({"a": 1.0}, NGGP(), TEXT)


@pytest.mark.parametrize(("prior", "hyperpriors"), PARTITION)
def test_hyperpriors_that_fit_are_accepted(prior, hyperpriors):
    check_hyperpriors({**hyperpriors, "family.alpha": GAMMA}, prior, TEXT)


def test_what_has_no_hyperprior_stays_as_it_is():
    rng, sizes = np.random.default_rng(0), np.array([3.0, 1.0])
    prior = NGGP(1.0, 0.4, 2.0, "mode")
    for moved in (
        update_prior(prior, {"sigma": BETA}, sizes, rng),
        update_augmented(prior, {"sigma": BETA}, sizes, 0.1, rng),
    ):
        assert moved.sigma != prior.sigma
        assert replace(moved, sigma=prior.sigma) == prior
