"""Measures beside the laws they stand for, number by number."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp

from evermix import Beta, Gamma
from evermix.families import FAMILIES
from evermix.kernels.topics import measures as kernels
from evermix.topics.measures import Laws, Occupancy, Thinned
from evermix.topics.measures.thinned import Factors
from evermix.topics.rows.chain import RowChain, RowData
from evermix.topics.rows.gibbs import gibbs_sweep
from helpers.dependent_oracles import (
    _log_mixed,
    data,
    laplace,
    mixed,
    patterns,
    probability,
    thinned,
)

COUNTS = np.array([[2, 0, 1], [1, 3, 0]])
REGION = np.array([0, 1, 1])
ON = np.array([[True, False, True], [True, True, True]])
U = np.array([0.7, 2.3])


def atoms(on=ON):
    return Occupancy.of(COUNTS, REGION, on)


def with_u(measure, u=U):
    measure.assign({**measure.arrays(), "u": np.asarray(u)})
    return measure


# ---- joint laws ------------------------------------------------------------------------------


def log_u_part(u):
    n = COUNTS.sum(axis=1)
    return float((n - 1) @ np.log(u) - gammaln(n).sum())


def test_the_joint_density_of_mixed_measures_is_what_it_says():
    measure = with_u(mixed())
    want = float(_log_mixed(measure, U, COUNTS, REGION)) + log_u_part(U)
    assert measure.log_joint(atoms()) == pytest.approx(want, rel=1e-12)


def test_the_joint_density_of_thinned_measures_is_what_it_says():
    measure = with_u(thinned())
    q, a, sigma = measure.q, measure.a, measure.sigma
    want = log_u_part(U)
    for r in range(2):
        want -= sum(probability(q[r], b) * laplace(a[r], sigma, b @ U) for b in patterns(2))
    for k, r in enumerate(REGION):
        n = COUNTS[:, k].sum() - sigma
        want += math.log(a[r]) + gammaln(n) - gammaln(1 - sigma) - n * np.log1p(ON[:, k] @ U)
        want += math.log(probability(q[r], ON[:, k]))
    assert measure.log_joint(atoms()) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("relative", [True, False])
def test_laws_of_what_is_learnt_are_part_of_the_joint_density(relative):
    laws = Laws(Beta(2.0, 3.0), Gamma(2.0, 1.0), Beta(1.5, 2.0), relative)
    mass = np.array([0.8, 1.4])
    plain = Thinned(Laws(relative=relative), 0.4, mass, thinned().q, U)
    full = Thinned(laws, 0.4, mass, thinned().q, U)
    want = laws.sigma.log_density(0.4) + sum(map(laws.mass.log_density, mass))
    want += sum(map(laws.q.log_density, plain.q.ravel()))
    assert full.log_joint(atoms()) - plain.log_joint(atoms()) == pytest.approx(want)


# ---- kernels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.0, 0.4])
def test_the_law_of_u_in_kernels_is_that_of_the_joint_density(sigma):
    """Up to a constant, with the Jacobian of the log."""
    for t in range(2):
        for make in (mixed, thinned):
            measure = with_u(make(sigma=sigma))
            found, want = [], []
            for x in (-2.0, 0.3, 4.0):
                u = U.copy()
                u[t] = math.exp(x)
                want.append(with_u(make(sigma=sigma), u).log_joint(atoms()) + x)
                found.append(_height_of_u(measure, t, x))
            np.testing.assert_allclose(np.diff(found), np.diff(want), rtol=1e-9)


def _height_of_u(measure, t, x):
    n = float(COUNTS[t].sum())
    if not isinstance(measure, Thinned):
        rest = measure.q @ measure.u - measure.q[:, t] * measure.u[t]
        decay = measure._decay(atoms()).astype(float)
        slope = measure.q[:, t].copy()
        target = kernels.LogWeight(n, 0.0, slope, rest, measure.a, decay, measure.sigma)
        return kernels._log_weight_height(target, x)
    factors = Factors.of(measure.q, measure.u)
    others = [factors.without(measure.q, r, t) for r in range(measure.n_regions)]
    rest = (measure.a * measure.q[:, t]) @ np.array(others)
    load = 1.0 + measure.u @ ON - measure.u[t] * ON[t]
    decay = atoms().sizes - measure.sigma
    weights = factors.weights(measure.sigma)
    target = kernels.LogU(n, load, ON[t].copy(), decay, rest * weights, factors.grid.w)
    return kernels._log_u_height(target, x)


def test_the_law_of_q_in_kernels_is_that_of_the_joint_density():
    law = Gamma(1.5, 0.7)
    measure, want, found = with_u(mixed(laws=Laws(q=law, relative=False))), [], []
    rest = np.array([measure.q[1] @ U - measure.q[1, 0] * U[0]])
    decay = measure._decay(atoms())[1:].astype(float)
    target = kernels.LogWeight(1.5 + 1, 0.7, U[:1], rest, measure.a[1:], decay, measure.sigma)
    for x in (-2.0, 0.3, 4.0):
        measure.q[1, 0] = math.exp(x)
        want.append(measure.log_joint(atoms()) + x)
        found.append(kernels._log_weight_height(target, x))
    np.testing.assert_allclose(np.diff(found), np.diff(want), rtol=1e-9)


def test_factors_are_finite_where_they_underflow():
    x = np.array([0.0, 1e-12, 0.4, 0.6, 50.0, 1e4])
    for q in (1e-250, 0.3, 1.0 - 1e-15, 1.0):
        found = [kernels.log_factor(q, value) for value in x]
        with np.errstate(divide="ignore"):
            want = np.logaddexp(np.log1p(-q), math.log(q) - x)
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-15)


def test_moves_leave_the_products_of_the_factors():
    """Products take one factor out and another in; many times do not blur them."""
    rng, T = np.random.default_rng(0), 200
    measure = thinned(q=rng.beta(0.5, 0.5, size=(2, T)), laws=Laws(q=Beta(1.0, 1.0)))
    measure.assign({**measure.arrays(), "u": rng.gamma(2.0, 50.0, size=T)})
    n, on, decay = np.full(T, 90.0), rng.random((T, 5)) < 0.5, np.full(5, 3.0)
    (w, still, product), _ = factors = Factors.of(measure.q, measure.u)
    grid = factors.grid, factors.weights(measure.sigma)
    for _ in range(10):
        kernels.move_thinned_u(n, measure.a, measure.q, measure.u, on, decay, *grid, rng)
        counts = np.full((2, T), 3.0)
        kernels.move_thinned_q(counts, counts, measure.a, measure.q, measure.u, *grid, rng)
    np.testing.assert_allclose(still, np.exp(-np.outer(measure.u, w)), rtol=1e-12)
    want = np.log1p(measure.q[:, :, None] * np.expm1(-measure.u[:, None] * w)).sum(axis=1)
    seen = want > -600.0
    np.testing.assert_allclose(np.log(product[seen]), want[seen], rtol=1e-9, atol=1e-12)
    assert np.all(product[~seen] < 1e-250)


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.6])
def test_the_nodes_reach_far_beyond_u(sigma):
    """With few observations and a small sigma log u moves by tens in one step."""
    factors = Factors.of(np.ones((1, 1)), np.ones(1))
    for u in np.exp([-20.0, 0.0, 10.0, 20.0, 24.0]):
        found = -factors.weights(sigma) @ np.expm1(-u * factors.grid.w)
        assert found == pytest.approx(laplace(1.0, sigma, u), rel=1e-6)


# ---- choices ---------------------------------------------------------------------------------


def test_weights_of_choices_are_ratios_of_the_joint_density():
    """One more observation of time t at an atom, or at a new one of a region."""
    measure = with_u(mixed())
    before = measure.log_joint(atoms()) + log_u_part(U) * -1
    offers = measure.marginal(atoms())
    for t in range(2):
        for k in range(3):
            counts = COUNTS.copy()
            counts[t, k] += 1
            more = _without_u(measure, Occupancy.of(counts, REGION))
            weight = offers.atoms[t, k] + math.log(COUNTS[:, k].sum() - offers.discount)
            assert weight == pytest.approx(more - before, rel=1e-9)
        for r in range(2):
            counts = np.column_stack([COUNTS, np.eye(2, dtype=int)[t]])
            more = _without_u(measure, Occupancy.of(counts, np.append(REGION, r)))
            assert offers.new[t, r] == pytest.approx(more - before, rel=1e-9)


def _without_u(measure, occupied):
    n = occupied.n
    part = float((n - 1) @ np.log(measure.u) - gammaln(n).sum())
    return measure.log_joint(occupied) - part


def test_a_new_atom_of_a_thinned_measure_weighs_the_sum_over_patterns():
    """The quadrature of the hybrid, and the sum over all patterns of the marginal sampler."""
    measure = with_u(thinned())
    patterned = measure.marginal(atoms()).new.reshape(2, 2, -1)
    np.testing.assert_allclose(
        measure.hybrid(atoms()).new, logsumexp(patterned, axis=2), rtol=1e-10
    )


def test_kinds_unfold_to_regions_and_times():
    measure = thinned()
    region, on = measure.unfold(measure.marginal(atoms()).kind)
    np.testing.assert_array_equal(region, REGION)
    np.testing.assert_array_equal(on, ON)


@pytest.mark.parametrize("u", [U, np.array([3.0, 400.0])])
def test_jumps_of_newborn_atoms_have_their_law(u):
    """Quantiles of the law of jump and times on of an atom that time 0 has just chosen."""
    measure, rng = with_u(thinned(q=((0.8, 0.6), (0.4, 0.6))), u), np.random.default_rng(0)
    draws = [measure.newborn(0, 0, rng) for _ in range(2000)]
    q, sigma = measure.q[0], measure.sigma

    def density(w):
        return w**-sigma * math.exp(-(1 + u[0]) * w) * (1 - q[1] + q[1] * math.exp(-u[1] * w))

    def mean(f):
        return quad(lambda w: f(w) * density(w), 0, 40, limit=500, points=[1e-3, 1e-2, 0.1, 1])[0]

    edges = np.array([0.001, 0.01, 0.1, 0.5])
    jumps = np.exp([draw.log_jump for draw in draws])
    for edge in edges:
        p = quad(density, 0, edge, limit=500)[0] / mean(lambda w: 1.0)
        assert abs((jumps < edge).mean() - p) < 4.5 * math.sqrt(p * (1 - p) / 2000) + 1e-9
    there = np.mean([draw.on[1] for draw in draws])

    def on_too(w):
        e = q[1] * math.exp(-u[1] * w)
        return e / (1 - q[1] + e)

    p = mean(on_too) / mean(lambda w: 1.0)
    assert abs(there - p) < 4.5 * math.sqrt(p * (1 - p) / 2000)
    assert all(draw.on[0] for draw in draws)


def test_predictive_weights_of_a_dirichlet_process_are_its_own():
    measure = mixed(q=((1.0,),), a=(1.5,), sigma=0.0)
    occupied = Occupancy.of(np.array([[3, 1]]), np.array([0, 0]))
    weights = np.exp(measure.predictive(occupied)[0])
    np.testing.assert_allclose(weights / weights.sum(), np.array([3, 1, 1.5]) / 5.5)


# ---- compiled Gibbs sweeps -------------------------------------------------------------------


def rows_for(name, n=40):
    rng = np.random.default_rng(0)
    first = rng.binomial(6, np.array([0.1, 0.9])[rng.integers(2, size=n)])
    X = np.column_stack([first, 6 - first]).astype(float)
    if name == "Bernoulli":
        X = (X > 3).astype(float)
    family = FAMILIES[name]()
    if family.sparse:
        X = data().X.__class__(X)
    return RowData(family.candidates(X)[0], X, np.arange(n) % 2, 2)


def sweep_by_arrays(rows, chain, offers, rng):
    """The same sweep with plain array maths, from no clusters; returns its labels."""
    n, family = len(rows), rows.family
    order, uniforms = rng.permutation(n), rng.random(n)
    labels, kinds, sizes = np.full(n, -1), [], np.zeros(0)
    stats = np.zeros((0, family.n_stats))
    for i, uniform in zip(order, uniforms, strict=True):
        t, x = rows.times[i], rows.X[i : i + 1]
        eta = family.posterior(np.vstack([stats, 0 * stats.sum(0)]), np.append(sizes, 0.0))
        rho = family.log_predictive(x, eta)[0]
        rho[:-1] += offers.newborn[t, kinds] + np.log(sizes - offers.discount)
        rho[-1] += logsumexp(offers.new[t])
        q = np.exp(rho - rho.max())
        target = uniform * q.sum()
        k = int(np.searchsorted(np.cumsum(q), target, side="right"))
        if k == len(sizes):
            share = np.exp(offers.new[t] - logsumexp(offers.new[t]))
            left = (target - q[:-1].sum()) / q[-1]
            kinds.append(int(np.searchsorted(np.cumsum(share), left, side="right")))
            sizes, stats = np.append(sizes, 0.0), np.vstack([stats, 0 * stats.sum(0)])
        labels[i] = k
        sizes[k] += 1
        stats[k] += family.accumulate(x, np.ones((1, 1)))[0]
    return labels, np.array(kinds)


@pytest.mark.parametrize("name", ["Multinomial", "Gaussian"])
def test_the_compiled_sweep_equals_the_array_maths(name):
    """The same random numbers choose the same clusters and regions."""
    rows, measure = rows_for(name), with_u(mixed())
    chain = RowChain.start(measure, rows)
    offers = measure.marginal(chain.occupancy(rows))
    labels, kinds = sweep_by_arrays(rows, chain, offers, np.random.default_rng(3))
    gibbs_sweep(rows, chain, chain.occupancy(rows), offers, np.random.default_rng(3))
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    np.testing.assert_array_equal(chain.labels, rank[inverse])
    np.testing.assert_array_equal(chain.region, kinds[np.argsort(first)])
