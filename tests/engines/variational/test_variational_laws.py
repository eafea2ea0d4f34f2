"""Variational engines raise a bound on the evidence: what it is, and that it rises."""

from functools import partial
from itertools import pairwise, permutations

import numpy as np
import pytest

from evermix import FullVB, StochasticVB
from evermix.engines.batch import Batch
from evermix.engines.bound import bound_of_rows, lower_bound
from evermix.engines.variational.local import believe, summarise
from evermix.families import FAMILIES, FixedGaussian
from evermix.model import Model
from evermix.priors import DP, PitmanYor
from helpers.engine_cases import model_for
from helpers.oracles import best_log_shares, elbo, log_evidence, sums_of
from helpers.variational_cases import (
    PRIORS,
    WEIGHTS,
    Witness,
    by_size,
    cut,
    fit,
    joined,
    memoized,
    named,
)

every_family = pytest.mark.parametrize("name", FAMILIES)
every_prior = pytest.mark.parametrize("prior", [*PRIORS, PitmanYor(-0.2, 0.5)], ids=repr)
either_prior = pytest.mark.parametrize("prior", PRIORS, ids=repr)


def rises(bounds):
    """Whether numbers never fall by more than rounding."""
    return all(after - before >= -1e-9 * abs(after) for before, after in pairwise(bounds))


def lap_bounds(engine, model, batches, seed=0):
    """The bound after each lap."""
    bounds = []
    fit(engine, model, batches, seed, [lambda _, info: bounds.append(info.scalars.get("elbo"))])
    return [bound for bound in bounds if bound is not None]


# ---- what it is ------------------------------------------------------------------------------


class Shared:
    """Rows that are shared among four clusters in any way."""

    def __init__(self, name, prior):
        self.model, self.X = model_for(name, prior, n=40)
        rng = np.random.default_rng(0)
        self.weights = np.append(rng.gamma(2.0, size=39), 0.0)
        self.r = rng.dirichlet(np.full(4, 0.3), size=40)
        self.mass, self.stats = sums_of(self.model.family, self.X, self.weights, self.r)
        self.entropy = -self.weights @ (self.r * np.log(self.r))
        self.base = self.weights @ self.model.family.log_base(self.X)

    def check_short_form(self, short):
        got = short(self.model, self.mass, self.stats, self.entropy, self.base)
        want = elbo(self.model, self.X, self.weights, self.r)
        assert got == pytest.approx(want, rel=1e-10)


@every_prior
@every_family
def test_the_short_form_of_the_bound_is_the_long_one(name, prior):
    Shared(name, prior).check_short_form(lower_bound)


@every_prior
@every_family
def test_the_bound_of_best_responsibilities_is_the_long_one(name, prior):
    """For any posterior, whether or not it follows from the responsibilities."""
    it = Shared(name, prior)
    summary = summarise(it.model, believe(it.model, it.mass, it.stats), Batch(it.X, it.weights))
    got = bound_of_rows(it.model, it.mass, it.stats, it.weights @ summary.log_norm, it.base)
    r = np.exp(best_log_shares(it.model, it.mass, it.stats, it.X))
    want = elbo(it.model, it.X, it.weights, r, (it.mass, it.stats))
    assert got == pytest.approx(want, rel=1e-10)
    for other in (it.r, by_size(it.r, it.weights)):
        assert want >= elbo(it.model, it.X, it.weights, other, (it.mass, it.stats))


def without_base(model, mass, stats, entropy, base):
    """The published bound, whose reference measure is hidden (Hughes & Sudderth 2013, Eq. 8)."""
    return lower_bound(model, mass, stats, entropy, 0.0 * base)


def without_counts(model, mass, stats, entropy, base):
    """The published update taken literally: statistics without the counts (Eq. 10)."""
    with np.errstate(invalid="ignore"):  # scatter about the origin, not about the mean
        evidence = model.family.log_marginal(stats, 0.0 * mass).sum()
    return base + evidence + model.prior.log_stick_evidence(mass) + entropy.sum()


def without_order(model, mass, stats, entropy, base):
    """Sticks of the opposite order: those before in place of those behind."""
    right = lower_bound(model, mass, stats, entropy, base)
    sticks = model.prior.log_stick_evidence
    return right - sticks(mass) + sticks(mass[::-1])


NOTHING_LEFT_OUT = [
    ("Bernoulli", without_base),
    ("Categorical", without_base),
    ("Categorical", without_counts),  # the levels add up to them
    ("Mixed", without_counts),  # they are among the statistics
    ("Multinomial", without_counts),
    ("VonMisesFisher", without_base),
]
MUTANTS = [
    pytest.param(name, mutant, id=f"{name}-{mutant.__name__}")
    for name in FAMILIES
    for mutant in (without_base, without_counts, without_order)
    if (name, mutant) not in NOTHING_LEFT_OUT
]


@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_misprinted_bound_is_caught(name, mutant):
    with pytest.raises(AssertionError):
        Shared(name, DP(1.5)).check_short_form(mutant)


@either_prior
@every_family
def test_the_bound_lies_below_the_evidence(name, prior):
    """Whatever the truncation, on rows few enough for all partitions."""
    model, X = model_for(name, prior, n=5)
    exact = log_evidence(model, X)
    for K in (1, 2, 4, 7):
        bounds = lap_bounds(FullVB(laps=30, truncation=K, tol=0.0), model, [Batch(X, np.ones(5))])
        assert bounds[0] <= bounds[-1] + 1e-9 <= exact + 2e-9


@every_family
def test_the_bound_is_the_evidence_where_there_is_but_one_partition(name):
    """One cluster, and next to no chance of another."""
    model, X = model_for(name, DP(1e-250), n=5)
    bounds = lap_bounds(FullVB(truncation=1), model, [Batch(X, np.ones(5))])
    assert bounds[-1] == pytest.approx(log_evidence(model, X), rel=1e-12)


@either_prior
def test_the_larger_first_on_the_stick_is_never_worse(prior):
    model, X = model_for("Poisson", prior, n=40)
    r = by_size(np.random.default_rng(1).dirichlet([3.0, 1.0, 0.7, 0.2], size=40), np.ones(40))
    bounds = {o: elbo(model, X, np.ones(40), r[:, o]) for o in permutations(range(4))}
    for order, bound in bounds.items():
        for k in range(3):
            swapped = [*order[:k], order[k + 1], order[k], *order[k + 2 :]]
            assert (bound > bounds[tuple(swapped)]) == (order[k] < order[k + 1])


@either_prior
@every_family
def test_an_empty_cluster_at_the_end_changes_nothing(name, prior):
    """Truncations are nested."""
    it = Shared(name, prior)
    more = [np.concatenate([values, 0 * values[:1]]) for values in (it.mass, it.stats, it.entropy)]
    few = lower_bound(it.model, it.mass, it.stats, it.entropy, it.base)
    assert lower_bound(it.model, *more, it.base) == pytest.approx(few, rel=1e-14)


@either_prior
@every_family
def test_two_copies_of_a_cluster_are_worse_than_one(name, prior):
    """Wherever they are on the stick, if each holds rows. (Crumbs may pay for their entropy.)"""
    it = Shared(name, prior)
    one = elbo(it.model, it.X, it.weights, by_size(it.r, it.weights))
    for share in (0.5, 0.2):
        copies = np.column_stack([share * it.r[:, 0], (1 - share) * it.r[:, 0], it.r[:, 1:]])
        for order in permutations(range(5)):
            assert elbo(it.model, it.X, it.weights, copies[:, order]) < one


# ---- it rises --------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [None, 2])
@either_prior
@every_family
def test_full_updates_never_lower_the_bound(name, prior, top):
    model, batches = named(name, prior, weights=WEIGHTS)
    for start in ("kmeans++", "random"):
        engine = FullVB(laps=15, truncation=6, tol=0.0, top=top, start=start)
        bounds = lap_bounds(engine, model, batches)
        assert rises(bounds)
        assert len(bounds) > 2


@pytest.mark.parametrize("top", [None, 2])
@either_prior
@every_family
def test_a_visit_of_a_batch_never_lowers_the_bound_and_it_is_always_known(name, prior, top):
    """After the first lap. The truth is computed from the responsibilities of all rows."""
    witness = Witness(memoized(top=top, laps=4), *named(name, prior, weights=WEIGHTS))
    list(witness.lap())
    bounds = [witness.bound()]
    for _ in range(3):
        for at in witness.lap():
            if at is not None:
                assert witness.tracked() == pytest.approx(witness.bound(), rel=1e-10)
                bounds.append(witness.bound())
        assert witness.tracked() == pytest.approx(witness.bound(), rel=1e-10)
        assert witness.info.scalars["elbo"] == witness.tracked()
        bounds.append(witness.bound())
    assert rises(bounds)
    assert bounds[-1] > bounds[0]


@every_family
def test_the_start_stands_for_batches_not_visited_yet(name):
    """In the first lap, by its share of all rows: so mass is that of all rows at any time."""
    witness = Witness(memoized(), *named(name, DP(1.5), weights=WEIGHTS))
    statistic = witness.model.family.statistic(witness.X)
    start, scale = WEIGHTS @ statistic, WEIGHTS @ np.abs(statistic)
    for seen in (40, 80, 120):
        witness.step(seen // 40 - 1)
        tally, known = witness.state.tally, np.where(np.arange(120) < seen, WEIGHTS, 0.0)
        assert tally.mass.sum() == pytest.approx(WEIGHTS.sum(), rel=1e-12)
        want = known @ statistic + (1 - known.sum() / WEIGHTS.sum()) * start
        np.testing.assert_allclose(tally.stats.sum(axis=0) / scale, want / scale, atol=1e-12)


@either_prior
@every_family
def test_one_batch_makes_memoized_updates_full_ones(name, prior):
    """Step by step, to the last bit."""
    model, batches = named(name, prior, weights=WEIGHTS, size=120)
    found = []
    for engine in (memoized(start="random"), FullVB(6, 6, "random", tol=0.0)):
        found.append([])
        fit(engine, model, batches, observers=[partial(_keep, found[-1])])
    assert len(found[0]) == len(found[1]) == 6
    for ours, theirs in zip(*found, strict=True):
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)


def _keep(states, state, info):
    if info.rows == 0:
        arrays, _ = state.to_arrays()
        kept = ("tally", "latent.bound", "latent.base", "lineage")
        states.append({name: a for name, a in arrays.items() if name.startswith(kept)})


@every_family
def test_full_updates_do_not_depend_on_how_rows_are_cut(name):
    model, (whole,) = named(name, DP(1.5), weights=WEIGHTS, size=120)
    engine = FullVB(laps=5, truncation=5, tol=0.0)
    ours, theirs = (
        fit(engine, model, batches) for batches in ([whole], cut(whole.X, whole.weights, 17))
    )
    np.testing.assert_array_equal(ours.tally.ids, theirs.tally.ids)
    np.testing.assert_allclose(ours.tally.mass, theirs.tally.mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.latents["bound"], theirs.latents["bound"], rtol=1e-10)


def put(engine, model, batches, mass, stats):
    """A state at the start of a fit, with these clusters."""
    state = engine.initial(model, np.random.default_rng(0))
    state.append(np.array([state.lineage.birth(0) for _ in mass]))
    state.tally.mass[:], state.tally.stats[:] = mass, stats
    return engine.begin(model, state, batches, np.random.default_rng(0))


@pytest.mark.parametrize("engine", [FullVB(tol=0.0), memoized(tol=0.0)], ids=["full", "memoized"])
@every_family
def test_a_weight_is_so_many_copies_of_a_row(name, engine):
    model, X = model_for(name, DP(1.5), n=30)
    copies = np.resize([1, 3, 0, 2], 30)
    many = X[np.repeat(np.arange(30), copies)]
    mass, stats = sums_of(model.family, many, np.ones(46), np.eye(3)[np.resize([0, 1, 2], 46)])
    found = []
    for rows, weights in ((X, copies.astype(float)), (many, np.ones(46))):
        batches = [Batch(rows, weights)]
        state = put(engine, model, batches, mass, stats)
        for _ in range(4):
            state, _ = engine.step(model, state, batches[0], None)
            state, info = engine.end_lap(model, state, batches, np.random.default_rng(0))
            state.lap += 1
        found.append((state.tally.mass, info.scalars["elbo"]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-10)


# ---- stochastic steps ------------------------------------------------------------------------


@either_prior
@every_family
def test_a_step_of_rate_one_from_all_rows_is_a_full_one(name, prior):
    model, batches = named(name, prior, weights=WEIGHTS, size=120)
    full = fit(FullVB(1, 5), model, batches).tally
    online = fit(StochasticVB(laps=1, truncation=5, delay=0.0), model, batches).tally
    online = online.take(np.argsort(-online.mass, kind="stable"))
    np.testing.assert_array_equal(online.ids, full.ids)
    np.testing.assert_allclose(online.mass, full.mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        online.stats, full.stats, rtol=1e-9, atol=1e-9 * np.abs(full.stats).max()
    )


@every_family
def test_a_step_moves_by_the_rate_towards_a_batch_taken_for_all_rows(name):
    """By more towards heavy batches, so that every row counts by its weight."""
    model, batches = named(name, DP(1.5), weights=WEIGHTS)
    (X, weights), engine = joined(batches), StochasticVB(delay=2.0, kappa=0.7)
    thirds = np.eye(3)[np.resize([0, 1, 2], 120)]
    state = put(engine, model, batches, *sums_of(model.family, X, weights, thirds))
    for t, batch in enumerate(batches, start=1):
        before = state.tally.mass.copy(), state.tally.stats.copy()
        r = np.exp(best_log_shares(model, *before, batch.X))
        said = sums_of(model.family, batch.X, batch.weights, r)
        state, _ = engine.step(model, state, batch, None)
        times = weights.sum() / batch.weights.sum()
        rate = (t + 2.0) ** -0.7 * len(batches) / times
        for k, got in enumerate((state.tally.mass, state.tally.stats)):
            want = (1 - rate) * before[k] + rate * times * said[k]
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10 * np.abs(want).max())


@every_family
def test_where_full_updates_rest_stochastic_steps_do_too(name):
    model, batches = named(name, DP(1.5), size=120)
    rest = fit(FullVB(1000, 4, tol=0.0), model, batches)
    engine = StochasticVB(laps=1)
    state = put(engine, model, batches, rest.tally.mass, rest.tally.stats)
    state, _ = engine.step(model, state, batches[0], None)
    np.testing.assert_allclose(state.tally.mass, rest.tally.mass, rtol=1e-3, atol=1e-3)


@either_prior
@every_family
def test_a_stochastic_bound_is_that_of_the_beliefs(name, prior):
    """With the best responsibilities for them, computed when the last lap ends."""
    model, batches = named(name, prior, weights=WEIGHTS)
    state = fit(StochasticVB(laps=3, truncation=5, batch_size=40), model, batches)
    (X, weights), tally = joined(batches), state.tally
    r = np.exp(best_log_shares(model, tally.mass, tally.stats, X))
    want = elbo(model, X, weights, r, (tally.mass, tally.stats))
    assert state.latents["bound"][0] == pytest.approx(want, rel=1e-10)
    assert tally.mass.sum() == pytest.approx(weights.sum())


def test_stochastic_steps_come_near_the_bound_of_full_ones():
    model, batches = named("Multinomial", DP(1.5), n=300, size=50)
    full = fit(FullVB(30, 6), model, batches).latents["bound"][0]
    online = fit(StochasticVB(laps=20, truncation=6), model, batches).latents["bound"][0]
    assert full - 0.02 * abs(full) < online


def test_stochastic_steps_count_rows_by_their_weight_wherever_they_are():
    """Also where some batches hold light rows only."""
    X = np.repeat([[0.0], [20.0]], 200, axis=0) + np.random.default_rng(0).normal(size=(400, 1))
    model = Model(FixedGaussian(1.0, 1000.0, mean=0.0).candidates(X)[0], DP(1.0))
    batches = cut(X, np.repeat([1.0, 0.01], 200), 20)
    full, online = (
        fit(engine, model, batches).tally.mass
        for engine in (FullVB(truncation=2), StochasticVB(laps=20, truncation=2))
    )
    np.testing.assert_allclose(np.sort(online), np.sort(full), rtol=0.2)
