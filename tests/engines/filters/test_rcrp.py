"""The laws of the recursive Chinese restaurant process as an engine."""

from dataclasses import replace

import numpy as np
import pytest

import evermix.engines.filters.rcrp as rcrp
from evermix import ADF, DP, NGGP, RCRP, FixedGaussian, PitmanYor
from evermix.engines.batch import Batch, CapacityWarning
from evermix.model import Model
from evermix.state import State
from evermix.testing import check_engine
from experiments.recursive.published_rules import RULES, PublishedRCRP
from helpers.engine_cases import FEW_FAMILIES, documents, model_for, text_model, vectors
from helpers.oracles import set_partitions
from helpers.rcrp_cases import by_arrays, stream

ENGINES = [
    kind(rule, likelihood)
    for kind, rules in ((RCRP, ("coupled", "joint")), (PublishedRCRP, RULES))
    for rule in rules
    for likelihood in ("predictive", "paper")
]


def gaussian(X, alpha=1.0, variance=1.0, mean_variance=100.0):
    return Model(FixedGaussian(variance, mean_variance).candidates(X)[0], DP(alpha))


# ---- exactness -----------------------------------------------------------------------------


def enumerated(model, X):
    """Return the exact posterior of the number of clusters of rows X (N, D), (N + 1,)."""
    family, weights = model.family, np.zeros(X.shape[0] + 1)
    for labels in set_partitions(X.shape[0]):
        r = np.eye(max(labels) + 1)[list(labels)]
        mass = r.sum(axis=0)
        logp = model.prior.log_eppf(mass)
        logp += family.log_marginal(family.accumulate(X, r), mass).sum()
        weights[len(mass)] += np.exp(logp)
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(5))
def test_two_rows_are_learnt_exactly(seed):
    X = np.random.default_rng(seed).normal(scale=3.0, size=(2, 2))
    state, info = stream(RCRP(), gaussian(X), X)
    want = enumerated(gaussian(X), X)
    np.testing.assert_allclose(RCRP().n_clusters_probabilities(state), want, rtol=1e-10)
    np.testing.assert_allclose(state.tally.mass, [2 - want[2], want[2]], rtol=1e-10)
    family = gaussian(X).family
    both = family.accumulate(X, np.ones((2, 1)))
    apart = family.log_marginal(family.statistic(X), np.ones(2)).sum()
    together = family.log_marginal(both, np.array([2.0]))[0]
    evidence = np.logaddexp(together, apart) - np.log(2.0)  # alpha is one
    assert info.log_predictive == pytest.approx(evidence + family.log_base(X).sum(), rel=1e-10)


def test_three_rows_are_learnt_nearly():
    """From the third row on statistics are soft and the past is not revised: an approximation."""
    errors = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(scale=3.0, size=(3, 2))
        state, _ = stream(RCRP(), gaussian(X), X)
        got = np.pad(RCRP().n_clusters_probabilities(state), (0, 4 - state.tally.K - 1))
        errors.append(0.5 * np.abs(got - enumerated(gaussian(X), X)).sum())
    assert np.mean(errors) < 0.1
    assert max(errors) > 1e-3  # were it exact, the docstring would have to say so


def test_rows_that_leave_no_doubt_are_learnt_exactly():
    """With hard assignments the predictives multiply to EPPF times marginal likelihoods."""
    centres = 1e3 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    order = [0, 1, 0, 2, 0, 1, 2, 0, 1]
    X = centres[order] + np.random.default_rng(0).normal(scale=0.1, size=(9, 2))
    model = gaussian(X, mean_variance=1e6)
    state, info = stream(RCRP(), model, X)
    sizes = np.array([4.0, 3.0, 2.0])
    np.testing.assert_allclose(state.tally.mass[:3], sizes, atol=1e-2)
    np.testing.assert_array_equal(info.results.labels, order)
    r = np.eye(3)[order]
    joint = model.prior.log_eppf(sizes)
    joint += model.family.log_marginal(model.family.accumulate(X, r), sizes).sum()
    want = joint + model.family.log_base(X).sum()
    assert info.log_predictive == pytest.approx(want, abs=0.05)


def test_where_the_number_of_tables_is_certain_a_step_is_that_of_adf():
    """Label K + 1 is new: the rule of ADF at sigma = 0 with every birth, weights S_k and alpha."""
    model, X = model_for("Gaussian", DP(2.0), n=60)
    adf = ADF(birth=0.0, merge=None)
    start, _ = stream(adf, model, X[:20])
    engine = RCRP()
    state = engine.initial(model, None)
    state.append([state.lineage.birth(0) for _ in range(start.tally.K)])
    state.tally.mass[:], state.tally.stats[:] = start.tally.mass, start.tally.stats
    state.columns["tables"][state.tally.K - 1] = 1.0
    state.latents["no_table"][:] = 0.0
    state.columns |= model.family.columns(state.tally)
    np.testing.assert_allclose(
        engine.log_weights(model, state), adf.log_weights(model, start), rtol=1e-12
    )
    row = Batch(X[20:21], np.ones(1))
    want, reported = adf.step(model, start, row, None)
    got, said = engine.step(model, state, row, None)
    np.testing.assert_allclose(got.tally.mass, want.tally.mass, rtol=1e-9)
    np.testing.assert_allclose(got.tally.stats, want.tally.stats, rtol=1e-9, atol=1e-12)
    assert said.log_predictive == pytest.approx(reported.log_predictive, rel=1e-9)


# ---- the compiled loop ---------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
@pytest.mark.parametrize("name", ["Multinomial", "FixedGaussian"])
def test_the_compiled_loop_equals_the_array_maths(name, engine):
    model, X = model_for(name, DP(2.0), n=60)
    weights = np.random.default_rng(0).integers(0, 3, X.shape[0]) / 2
    state, info = stream(engine, model, X, weights)
    _same(state, info, engine, by_arrays(engine, model, X, weights))


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_it_does_so_for_every_family(name):
    model, X = model_for(name, DP(2.0), n=60)
    for engine in (RCRP(), RCRP("joint", "paper"), PublishedRCRP("paper", "paper")):
        state, info = stream(engine, model, X)
        _same(state, info, engine, by_arrays(engine, model, X, np.ones(60)))


def _same(state, info, engine, want):
    K = state.tally.K
    assert len(want.R) == K
    np.testing.assert_allclose(
        state.tally.mass - state.tally.extras["start"], want.R, rtol=1e-7, atol=1e-12
    )
    np.testing.assert_allclose(state.tally.mass, want.mass, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(state.tally.stats, want.stats, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(engine.n_clusters_probabilities(state), want.tables, atol=1e-10)
    np.testing.assert_allclose(info.results.log_predictive, want.log_predictive, rtol=1e-7)


@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_laws_hold_for_every_family(name):
    check_engine(RCRP(), *model_for(name, DP(2.0)))


@pytest.mark.parametrize("engine", [RCRP(), RCRP("joint", "paper")], ids=repr)
@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_batches_of_one_row_and_resumes_give_the_same_bits(name, engine, monkeypatch):
    """What is derived from the state is rebuilt at every cut, exactly as it was."""
    monkeypatch.setattr(rcrp, "CHECK_EVERY", 40)
    model, X = model_for(name, DP(5.0))
    weights = np.random.default_rng(0).choice([0.0, 0.2, 1.0, 3.0], X.shape[0])
    whole, info = stream(engine, model, X, weights)
    state, parts = engine.initial(model, None), []
    for i in range(X.shape[0]):
        batch = Batch(X[i : i + 1], weights[i : i + 1])
        state, one = engine.step(model, state, batch, None)
        parts.append(one)
        if i % 7 == 0:
            state = State.from_arrays(*state.to_arrays())
        state.reserve(state.tally.K + 1 + i % 5)
    for name, values in info.results._asdict().items():
        got = np.concatenate([getattr(one.results, name) for one in parts])
        np.testing.assert_array_equal(got, values, err_msg=name)
    assert [k for one in parts for k in one.births] == info.births
    want, header = whole.to_arrays()
    got, other = state.to_arrays()
    assert header == other
    for key, values in want.items():
        np.testing.assert_array_equal(got[key], values, err_msg=key)


# ---- labels and clusters -------------------------------------------------------------------


def test_the_owners_of_rows_are_announced_and_no_others():
    X = vectors(200, D=2)
    state, info = stream(RCRP(), gaussian(X), X)
    shown = RCRP().shown(state)
    assert info.K == shown.sum() == len(info.births) < state.tally.K
    np.testing.assert_array_equal(np.sort(info.births), state.tally.ids[shown])
    assert set(info.results.labels) == set(info.births)
    assert info.results.born.sum() == len(info.births)
    np.testing.assert_array_equal(info.results.labels[info.results.born], info.births)
    announced = state.columns["announced"][: state.tally.K]
    assert [state.lineage.born[k] for k in state.tally.ids] == announced.tolist()


def test_a_higher_threshold_shows_fewer_clusters_and_learns_the_same():
    X = vectors(200, D=2)
    found = []
    for announce in (0.01, 0.5, 5.0, 1e9):
        state, info = stream(RCRP(announce=announce), gaussian(X, 10.0), X)
        found.append((info.K, state.tally.mass))
        assert info.K == len(set(info.results.labels))
    numbers = [K for K, _ in found]
    assert sorted(numbers, reverse=True) == numbers
    assert numbers[1] > numbers[2] > numbers[3] == 1
    for _, mass in found:
        np.testing.assert_array_equal(mass, found[0][1])


@pytest.mark.parametrize("distance", [8.0, 16.0])
@pytest.mark.parametrize("n", [5, 50, 200])
def test_a_late_cluster_shares_no_label_with_the_first(n, distance):
    """The first row of a new cluster is not of the cluster that others know by the same label."""
    shared = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 40, 2))
        X[n:, 0] += distance
        _, info = stream(RCRP(), gaussian(X), X)
        labels = info.results.labels
        shared += bool(np.isin(labels[n:], labels[:n]).any())
    assert shared <= 1


def test_coupling_keeps_the_number_of_tables_in_touch_with_the_labels_in_use():
    """Ten clusters, far apart: without it, rows of new clusters are smeared over many labels."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=20.0, size=(10, 2))
    found = {"coupled": [], "joint": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = centres[rng.integers(10, size=500)] + rng.normal(size=(500, 2))
        for rule, counts in found.items():
            _, info = stream(RCRP(rule), gaussian(X, mean_variance=400.0), X)
            counts.append(len(set(info.results.labels)))
    assert np.mean(found["coupled"]) < 20
    assert np.mean(found["joint"]) > 1.5 * np.mean(found["coupled"])


def test_the_likelihood_of_the_paper_keeps_rows_off_labels_that_started_elsewhere():
    """A label starts at its row, so that the next one pays for being somewhere else."""
    X = np.repeat([[0.0, 0.0], [30.0, 0.0]], [20, 3], axis=0)
    model = gaussian(X)
    ours, _ = stream(RCRP(), model, X)
    theirs, _ = stream(RCRP(likelihood="paper"), model, X)
    assert np.all(ours.tally.extras["start"] == 0)
    assert np.all(theirs.tally.extras["start"] == 1)
    np.testing.assert_allclose(theirs.tally.mass.sum(), 23 + theirs.tally.K, rtol=1e-12)
    # The second label was opened at the origin, and has to be dragged to the newcomers.
    mean = theirs.tally.stats[1] / theirs.tally.mass[1]
    origin = model.family.origin
    assert np.all(np.abs(mean + origin) < 25)


# ---- weights, caps, fading -----------------------------------------------------------------


def test_a_weight_multiplies_what_is_added_and_the_number_of_tables_takes_one_step():
    X = vectors(2, D=2)
    model = gaussian(X)
    for w in (0.1, 1.0, 7.0):
        state, _ = stream(RCRP(), model, X[:1], [w])
        np.testing.assert_array_equal(RCRP().n_clusters_probabilities(state), [0.0, 1.0])
        np.testing.assert_array_equal(state.tally.mass, [w])
    one, _ = stream(RCRP(), model, X, [1.0, 1.0])
    light, _ = stream(RCRP(), model, X, [1.0, 0.25])
    np.testing.assert_array_equal(
        RCRP().n_clusters_probabilities(light), RCRP().n_clusters_probabilities(one)
    )
    np.testing.assert_allclose(light.tally.mass[1], 0.25 * one.tally.mass[1], rtol=1e-12)


def test_a_row_of_weight_zero_teaches_nothing():
    X = documents(100)
    weights = np.tile([1.0, 0.0], 50)
    with_zeros, info = stream(RCRP(), text_model(DP()), X, weights)
    without, _ = stream(RCRP(), text_model(DP()), X[::2])
    for values, other in zip(
        with_zeros.to_arrays()[0].values(), without.to_arrays()[0].values(), strict=True
    ):
        np.testing.assert_array_equal(values, other)
    assert np.all(info.results.labels >= 0)
    _, info = stream(RCRP(), text_model(DP()), X[:2], [0.0, 1.0])
    assert info.results.labels.tolist() == [-1, 0]


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_the_cap_is_kept_and_warns_once(engine):
    if engine.rule == "text":
        pytest.skip("there never is a second table")
    X = documents(300, groups=8)
    model = replace(text_model(DP(10.0)), max_clusters=3)
    state = engine.initial(model, None)
    with pytest.warns(CapacityWarning, match="max_clusters=3 at observation") as caught:
        state, _ = engine.step(model, state, Batch(X[:150], np.ones(150)), None)
        state, _ = engine.step(model, state, Batch(X[150:], np.ones(150)), None)
    assert len(caught) == 1
    assert state.tally.K == 3
    assert state.tally.mass.sum() - state.tally.extras["start"].sum() == pytest.approx(300)
    assert engine.n_clusters_probabilities(state).sum() == pytest.approx(1.0)


def test_a_cap_that_takes_nothing_away_is_silent():
    """Labels that hardly any row would have are refused without a word."""
    X = vectors(300, D=2)
    model = replace(gaussian(X), max_clusters=12)
    state, _ = stream(RCRP(), model, X)
    assert state.tally.K == 12


def test_what_has_faded_leaves_its_label_empty_and_its_name_behind():
    X = np.repeat([[0.0, 0.0], [50.0, 0.0]], 20, axis=0)
    model, engine = gaussian(X), RCRP()
    state, _ = stream(engine, model, X)
    total = state.tally.mass.sum()
    engine.fade(model, state, 0.02)
    state.tally.mass[0] += 20.0  # the first has been renewed since
    tables, labels = engine.n_clusters_probabilities(state), state.tally.K
    gone, merges = engine.tidy(model, state)
    assert gone == [1]
    assert merges == []
    np.testing.assert_array_equal(engine.n_clusters_probabilities(state), tables)
    assert state.tally.K == labels
    assert state.tally.mass[1] == 0.0
    assert not np.any(state.tally.stats[1])
    assert state.lineage.into[1] == -3
    assert state.tally.ids[1] == labels == state.lineage.next_id - 1
    assert engine.shown(state).sum() == 1
    mass = state.tally.mass.sum() + state.latents["dropped"][0]
    assert mass == pytest.approx(0.02 * total + 20.0, rel=1e-12)
    state, info = engine.step(model, state, Batch(X[-3:], np.ones(3)), None)
    assert len(set(info.results.labels)) == 1
    assert info.births == [info.results.labels[0]] != [0]


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
@pytest.mark.parametrize("name", FEW_FAMILIES)
def test_a_state_in_which_all_has_faded_still_works(name, engine):
    model, X = model_for(name, DP(2.0), n=40)
    state, _ = stream(engine, model, X)
    for factor in (1e-200, 1e-200):
        engine.fade(model, state, factor)
    assert not np.any(state.tally.mass)
    engine.tidy(model, state)
    assert engine.shown(state).sum() == 1
    assert np.all(np.isfinite(engine.log_weights(model, state)))
    state, info = engine.step(model, state, Batch(X, np.ones(40)), None)
    assert np.all(np.isfinite(info.results.log_predictive))
    mass = state.tally.mass.sum() - state.tally.extras["start"].sum()
    assert mass == pytest.approx(40, rel=1e-9)
    assert engine.n_clusters_probabilities(state).sum() == pytest.approx(1.0)


def test_a_capped_state_in_which_all_has_faded_still_works():
    X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0.0], [20.0]], 20, axis=0)
    model = replace(gaussian(X), max_clusters=1)
    with pytest.warns(CapacityWarning):
        state, _ = stream(RCRP(), model, X)
    RCRP().fade(model, state, 0.0)
    state, info = RCRP().step(model, state, Batch(X + 1e4, np.ones(40)), None)
    assert state.tally.mass == pytest.approx([40])
    assert np.all(np.isfinite(info.results.log_predictive))


# ---- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"rule": "other"}, ValueError, "one of coupled, joint, got 'other'"),
        ({"likelihood": "own"}, ValueError, "'predictive' or 'paper', got 'own'"),
        ({"announce": 0.0}, ValueError, "announce must be finite and above 0, got 0.0"),
        ({"announce": np.inf}, ValueError, "announce must be finite"),
        ({"announce": np.nan}, ValueError, "announce must be finite"),
        ({"announce": "half"}, TypeError, "announce must be a number, got 'half'"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        RCRP(**settings)


@pytest.mark.parametrize("prior", [NGGP(), PitmanYor()], ids=repr)
def test_other_priors_are_refused(prior):
    with pytest.raises(TypeError, match=r"needs the prior DP; got .* Use prior=em.DP"):
        RCRP().check(text_model(prior))
