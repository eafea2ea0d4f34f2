"""Births, merges and deletes: judged by the exact bound, made in every record."""

import numpy as np
import pytest

from evermix import MemoizedVB
from evermix.engines.variational.local import Beliefs, Plan, Trial, believe
from evermix.engines.variational.memory import totals
from evermix.engines.variational.moves import plan as plans
from evermix.engines.variational.moves.decide import judge
from evermix.families import FAMILIES
from evermix.priors import DP
from helpers.engine_cases import documents, model_for, text_model
from helpers.oracles import best_log_shares, elbo, sums_of
from helpers.variational_cases import (
    PRIORS,
    WEIGHTS,
    Witness,
    all_pairs,
    by_size,
    copied,
    cut,
    fit,
    memoized,
    named,
    one_move,
)

every_family = pytest.mark.parametrize("name", FAMILIES)
either_prior = pytest.mark.parametrize("prior", PRIORS, ids=repr)


# ---- judged gains ----------------------------------------------------------------------------


def children_of(witness, parents):
    """A trial that divides some clusters by chance into as many children and one more."""
    model, whole = witness.model, np.concatenate(witness.r)[:, parents].sum(axis=1, keepdims=True)
    parts = np.random.default_rng(0).dirichlet(np.ones(len(parents) + 1), size=len(whole))
    mass, stats = sums_of(model.family, witness.X, witness.weights, whole * parts)
    return Trial(np.array(parents), believe(model, mass, stats))


class Judged:
    """A lap with many planned moves over rows shared among five clusters."""

    def __init__(self, name, prior, top=None):
        self.model, batches = named(name, prior, weights=WEIGHTS)
        engine = memoized(truncation=5, top=top)
        witness = self.witness = Witness(engine, self.model, batches)
        list(witness.lap())
        tally = witness.state.tally
        assert tally.K == 5
        groups = ([0], [1], [3, 2], [4], [0, 4], [2])
        trials = tuple(children_of(witness, group) for group in groups)
        trials += (Trial(np.array([1, 3]), _only(trials[3].children, 0)),)
        trials += (Trial(np.array([2, 4]), _only(believe(self.model, tally.mass, tally.stats), 2)),)
        self.plan = Plan(all_pairs(5), trials)
        record = plans.to_record(self.plan, [0] * len(trials), tally.ids)
        witness.state.memo["plan"] = record
        for key in range(len(batches)):
            witness.step(key)
        self.sums = totals(witness.state.memo[str(key)] for key in range(len(batches)))
        self.r, self.young = np.concatenate(witness.r), np.concatenate(witness.young)
        self.before = self.bound(self.r)

    def bound(self, r):
        """The bound of responsibilities, clusters in the best order."""
        witness = self.witness
        return elbo(self.model, witness.X, witness.weights, by_size(r, witness.weights))

    def merged(self, a, b):
        return np.column_stack([np.delete(self.r, [a, b], axis=1), self.r[:, a] + self.r[:, b]])

    def divided(self, t):
        parents, young = self.plan.trials[t].parents, plans.children(self.plan)[t]
        return np.column_stack([np.delete(self.r, parents, axis=1), self.young[:, young]])

    def check(self, r, pair=None, trial=None):
        """One move is judged as by brute force; return whether it was accepted."""
        verdict = judge(self.model, *one_move(self.plan, self.sums, pair, trial))
        gain = self.bound(r) - self.before
        if verdict.gains:
            assert verdict.gains == [pytest.approx(gain, abs=1e-9 * abs(self.before))]
        else:
            assert gain < 1e-9 * abs(self.before)
        return bool(verdict.gains)


def _only(beliefs, k):
    """The beliefs about one cluster."""
    return Beliefs(beliefs.slopes[k : k + 1], beliefs.intercepts[k : k + 1])


@pytest.mark.parametrize("top", [None, 2])
@either_prior
@every_family
def test_a_move_is_judged_by_the_bound_of_all_rows(name, prior, top):
    """Every pair, and trials of one or two parents with more or fewer children."""
    it = Judged(name, prior, top)
    for pair, (a, b) in enumerate(it.plan.pairs):
        it.check(it.merged(a, b), pair=pair)
    for trial in range(len(it.plan.trials)):
        it.check(it.divided(trial), trial=trial)


def test_some_moves_are_accepted_and_others_are_not():
    accepted = set()
    for name in FAMILIES:
        it = Judged(name, DP(1.5))
        for pair, (a, b) in enumerate(it.plan.pairs):
            accepted.add(("merge", it.check(it.merged(a, b), pair=pair)))
        for trial in range(len(it.plan.trials)):
            accepted.add(("trial", it.check(it.divided(trial), trial=trial)))
    assert len(accepted) == 4


@either_prior
@every_family
def test_gains_of_several_moves_add_up(name, prior):
    """They are of different clusters, and the bound rises by their sum."""
    it = Judged(name, prior)
    it.witness.prepare()
    verdict = it.witness.verdict
    assert verdict.gains == judge(it.model, it.plan, it.sums).gains
    gone = [k for stays, goes, _ in verdict.merges for k in (stays, goes)]
    gone += [k for t in verdict.trials for k in it.plan.trials[t].parents]
    assert len(gone) == len(set(gone))
    assert all(gain > 0 for gain in verdict.gains)
    it.witness.end_lap()
    assert it.witness.tracked() == pytest.approx(it.witness.bound(), rel=1e-10)
    rise = it.witness.bound() - it.before
    assert rise == pytest.approx(sum(verdict.gains), abs=1e-8 * abs(it.before))


# ---- a misprint --------------------------------------------------------------------------------


def copies():
    """Rows that four copies of each of two clusters share, in uneven parts."""
    model, X = model_for("FixedGaussian", DP(1.5))
    family, ones = model.family, np.ones(120)
    hard = best_log_shares(
        model, *sums_of(family, X, ones, np.eye(2)[(X[:, 0] > 2).astype(int)]), X
    )
    parts = np.random.default_rng(0).dirichlet(np.full(4, 5.0), size=120)
    r = (np.exp(hard)[:, :, None] * parts[:, None, :]).reshape(120, 8)
    return model, X, r


def sums_with_pairs(model, X, r, pairs):
    """What a lap would bring."""
    mass, _ = sums_of(model.family, X, np.ones(len(r)), r)
    both = r[:, pairs[:, 0]] + r[:, pairs[:, 1]]
    return {
        "mass": mass,
        "sums": r.T @ model.family.features(X),
        "entropy": -np.sum(r * np.log(r), axis=0),
        "pairs": -np.sum(both * np.log(both), axis=0),
        "child_mass": np.zeros(0),
        "child_sums": np.zeros((0, 0)),
        "child_entropy": np.zeros(0),
    }


def merged_by(judge_of):
    """Merge copies as a judge says; return its gains and how much the bound has risen."""
    model, X, r = copies()
    pairs = all_pairs(8)
    before = elbo(model, X, np.ones(120), by_size(r, np.ones(120)))
    merges, gains = judge_of(model, Plan(pairs), sums_with_pairs(model, X, r, pairs))
    for stays, goes in merges:
        r[:, stays] += r[:, goes]
        r[:, goes] = 0.0
    after = elbo(model, X, np.ones(120), by_size(r, np.ones(120)))
    assert len(gains) > 1
    assert sum(gains) == pytest.approx(after - before, rel=1e-8)


def ours(model, plan, sums):
    verdict = judge(model, plan, sums)
    return [(stays, goes) for stays, goes, _ in verdict.merges], verdict.gains


def stale(model, plan, sums):
    """Merge as long as the bound seems to rise, with entropies of unions from before the merges.

    The published algorithm does not say that they are void (Hughes & Sudderth 2013, section 3.3).
    """
    sums, merges, gains = {**sums, "entropy": sums["entropy"].copy()}, [], []
    heir = np.arange(len(sums["mass"]))
    for p, (a, b) in enumerate(plan.pairs):
        pair = heir[[a, b]]
        if pair[0] == pair[1]:
            continue
        one = {**sums, "pairs": sums["pairs"][p : p + 1]}
        verdict = judge(model, Plan(pair[None]), one)
        if verdict.gains:
            ((stays, goes, _),) = verdict.merges
            for values in (sums["mass"], sums["sums"]):
                values[stays] += values[goes]
                values[goes] = 0.0
            sums["entropy"][[stays, goes]] = sums["pairs"][p], 0.0
            heir[heir == goes] = stays
            merges, gains = [*merges, (stays, goes)], gains + verdict.gains
    return merges, gains


def test_merges_of_copies_bring_what_was_judged():
    merged_by(ours)


def test_entropies_of_unions_that_are_void_are_caught():
    with pytest.raises(AssertionError):
        merged_by(stale)


# ---- laps with moves ---------------------------------------------------------------------------


def check_records(witness):
    """Totals are sums over records, and no mass is lost."""
    state, family = witness.state, witness.model.family
    sums = totals(state.memo[str(key)] for key in range(len(witness.batches)))
    np.testing.assert_array_equal(state.tally.mass, sums["mass"])
    np.testing.assert_array_equal(state.tally.extras["entropy"], sums["entropy"])
    np.testing.assert_array_equal(state.tally.stats, family.from_features(sums["sums"]))
    r = np.concatenate(witness.r)
    mass, stats = sums_of(family, witness.X, witness.weights, r)
    scale = np.abs(stats).max()
    np.testing.assert_allclose(state.tally.mass, mass, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.tally.stats, stats, rtol=1e-9, atol=1e-9 * scale)
    assert state.tally.mass.sum() == pytest.approx(witness.weights.sum(), rel=1e-12)
    assert np.all(np.diff(state.tally.mass) <= 0)


@pytest.mark.parametrize(
    "settings", [{"truncation": 1}, {"truncation": 1, "top": 2}, {"truncation": 9}]
)
@pytest.mark.parametrize("name", ["Multinomial", "Gaussian", "FixedGaussian", "Bernoulli"])
def test_the_bound_is_exact_and_rises_through_all_moves(name, settings):
    """After every batch and every move, against the responsibilities of all rows."""
    model, batches = named(name, DP(1.0), weights=WEIGHTS)
    witness = Witness(MemoizedVB(laps=12, start="kmeans++", **settings), model, batches)
    last, moves = -np.inf, 0
    for lap in range(6):
        for at in witness.lap():
            if at is None:
                r = by_size(np.concatenate(witness.r), witness.weights)
                before = elbo(model, witness.X, witness.weights, r)
            elif lap:
                assert witness.tracked() == pytest.approx(witness.bound(), rel=1e-10)
                assert witness.bound() >= last - 1e-9 * abs(last)
                last = witness.bound()
        check_records(witness)
        assert witness.tracked() == pytest.approx(witness.bound(), rel=1e-10)
        gain = witness.bound() - before
        assert gain == pytest.approx(sum(witness.verdict.gains), abs=1e-9 * abs(before))
        assert witness.info.scalars["accepted"] == len(witness.verdict.gains)
        moves += len(witness.verdict.gains)
        last = witness.bound()
    assert moves > 0


@either_prior
@every_family
def test_moves_that_are_rejected_leave_no_trace(name, prior):
    """The totals have the bits that they would have without a plan."""
    model, batches = named(name, prior, weights=WEIGHTS)
    engine, rng = memoized(), np.random.default_rng(0)
    start = fit(memoized(laps=2), model, batches)
    K = start.tally.K
    beliefs = believe(model, start.tally.mass, start.tally.stats)
    # Children that divide rows by chance alone, and pairs that would lose.
    twins = Beliefs(np.repeat(beliefs.slopes[:1], 9, axis=0), np.repeat(beliefs.intercepts[:1], 9))
    trials = (Trial(np.array([0]), twins),)
    found = []
    for plan in (None, Plan(all_pairs(K), trials)):
        state = copied(start)
        if plan is not None:
            state.memo["plan"] = plans.to_record(plan, [0], state.tally.ids)
        for batch in batches:
            state, _ = engine.step(model, state, batch, rng)
        if plan is not None:
            sums = totals(state.memo[str(key)] for key in range(len(batches)))
            losing = [
                p
                for p in range(len(plan.pairs))
                if not judge(model, *one_move(plan, sums, pair=p)).gains
            ]
            assert not judge(model, *one_move(plan, sums, trial=0)).gains
            state = _planned(state, plan, losing)
        state, info = engine.end_lap(model, state, batches, rng)
        assert not info.scalars["accepted"]
        found.append(state.to_arrays())
    (ours, header), (theirs, other) = found
    assert header == other and ours.keys() == theirs.keys()
    for key in ours.keys() - {"column.stage"}:
        np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)
    assert theirs["column.stage"].sum() == 1


def _planned(state, plan, pairs):
    """The same state as if only some pairs had been planned."""
    plan = Plan(plan.pairs[pairs], plan.trials)
    state.memo["plan"] = plans.to_record(plan, [0], state.tally.ids)
    for key, record in state.memo.items():
        if key != "plan":
            record["pairs"] = record["pairs"][pairs]
    return state


# ---- names and owners --------------------------------------------------------------------------


def test_ids_follow_what_becomes_of_clusters():
    """Living ids are the tally's; whatever ended went into one of them, or was dropped."""
    X = documents(300, V=12, words=30, groups=7)
    model, seen = text_model(DP(1.0)), []

    def watch(state, info):
        if info.rows:
            return
        seen.append(info)
        alive = set(state.tally.ids.tolist())
        heirs = state.lineage.current(np.arange(state.lineage.next_id))
        assert set(heirs.tolist()) - {-2} == alive
        for key in range(6):
            np.testing.assert_array_equal(state.memo[str(key)]["ids"], state.tally.ids)

    fit(MemoizedVB(start="kmeans++", truncation=12), model, cut(X, size=50), observers=[watch])
    changes = [len(i.births) - len(i.merges) - len(i.dropped) for i in seen]
    np.testing.assert_array_equal(12 + np.cumsum(changes), [i.K for i in seen])
    assert any(info.merges for info in seen)


@pytest.mark.parametrize("name", ["Multinomial", "FixedGaussian"])
def test_owners_of_rows_follow_the_moves(name):
    """Each row is owned by the cluster that holds most of it."""
    witness = Witness(MemoizedVB(laps=9), *named(name, DP(1.0)))
    for _ in range(4):
        list(witness.lap())
        owner = np.concatenate([witness.state.memo[str(key)]["owner"] for key in range(3)])
        r = np.concatenate(witness.r)
        share = r[np.arange(len(r)), owner]
        assert np.mean(share == r.max(axis=1)) > 0.95
        assert share.min() > 0.0


def test_owners_of_rows_follow_merges():
    """Whoever takes a cluster over owns its rows."""
    merges = 0
    for name in FAMILIES:
        it = Judged(name, DP(1.5))
        it.witness.prepare()
        gone = [k for t in it.witness.verdict.trials for k in it.plan.trials[t].parents]
        mine = ~np.isin(it.r.argmax(axis=1), gone)
        it.witness.end_lap()
        owner = np.concatenate([it.witness.state.memo[str(key)]["owner"] for key in range(3)])
        share = np.concatenate(it.witness.r)[np.arange(120), owner]
        assert np.all(share[mine] >= it.r.max(axis=1)[mine] - 1e-12)
        merges += len(it.witness.verdict.merges)
    assert merges > 3


def test_plans_survive_being_written_as_arrays():
    witness = Witness(memoized(laps=1), *named("Gaussian", DP(1.0)))
    list(witness.lap())
    state, groups = witness.state, ([0], [2, 1], [3])
    trials = tuple(children_of(witness, group) for group in groups)
    for plan in (Plan(all_pairs(3), trials), Plan(all_pairs(2)), Plan(all_pairs(0), trials[:1])):
        targets = list(range(len(plan.trials)))
        record = plans.to_record(plan, targets, state.tally.ids)
        again, back = plans.from_record(record, state.tally.ids)
        assert back.tolist() == targets
        np.testing.assert_array_equal(again.pairs, plan.pairs)
        for ours, theirs in zip(again.trials, plan.trials, strict=True):
            np.testing.assert_array_equal(ours.parents, theirs.parents)
            np.testing.assert_array_equal(ours.children.slopes, theirs.children.slopes)
            np.testing.assert_array_equal(ours.children.intercepts, theirs.children.intercepts)
        others, none = plans.from_record(record, state.tally.ids[::-1])
        assert not others.trials and not len(others.pairs) and not len(none)
