"""Laws that every family, prior and engine obeys, shipped so that yours can be held to them.

Each check raises AssertionError with the law that was broken.

>>> import evermix as em
>>> from evermix.testing import check_prior
>>> check_prior(em.NGGP(a=2.0, sigma=0.3))
"""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from evermix._random import restore
from evermix._xp import Array, logsumexp
from evermix.engines.base import Engine
from evermix.engines.batch import Batch, Info, RowResults
from evermix.engines.run import run, run_laps
from evermix.engines.shards import CollectResults, Shard
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.kernels.base import add, kernel
from evermix.kernels.scoring import score_rows
from evermix.model import Model
from evermix.priors.base import HasPredictive
from evermix.state import State
from evermix.tally import Tally

__all__ = ["check_engine", "check_family", "check_prior", "set_partitions"]


def set_partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Yield every partition of n items as labels in order of appearance."""
    labels = [0] * n

    def extend(i: int, used: int) -> Iterator[tuple[int, ...]]:
        if i == n:
            yield tuple(labels)
            return
        for k in range(used + 1):
            labels[i] = k
            yield from extend(i + 1, max(used, k + 1))

    yield from extend(0, 0)


# ---- priors --------------------------------------------------------------------------------


def check_prior(prior: Any, n: int = 6) -> None:
    """Check the partition probability, the predictive rule and the merge odds of a prior."""
    sizes = {tuple(sorted(Counter(labels).values())) for labels in set_partitions(n)}
    count = Counter(tuple(sorted(Counter(labels).values())) for labels in set_partitions(n))
    total = sum(count[s] * np.exp(prior.log_eppf(np.array(s, float))) for s in sizes)
    _close(total, 1.0, 1e-9, f"the EPPF sums to one over all partitions of {n}")
    for s in sizes:
        _check_predictive(prior, np.array(s, float))
        _check_merge_odds(prior, np.array(s, float))
    again = type(prior).from_spec(json.loads(json.dumps(prior.to_spec())))
    _require(again == prior, "a prior survives the way through JSON")


def _check_predictive(prior: HasPredictive, sizes: Array) -> None:
    got = prior.log_weights(sizes, np.ones(len(sizes)))
    grown = [sizes + np.eye(len(sizes))[k] for k in range(len(sizes))] + [np.append(sizes, 1.0)]
    want = np.array([prior.log_eppf(s) for s in grown]) - prior.log_eppf(sizes)
    _close(np.exp(got), np.exp(want), 1e-9, f"the predictive is the EPPF ratio at sizes {sizes}")


def _check_merge_odds(prior: HasPredictive, sizes: Array) -> None:
    if len(sizes) < 2:
        return
    fused = np.append(sizes[2:], sizes[0] + sizes[1])
    want = prior.log_eppf(fused) - prior.log_eppf(sizes)
    got = prior.log_merge_odds(sizes, np.ones(len(sizes)), np.array([[0, 1]]))
    _close(got[0], want, 1e-8, f"merge odds are the EPPF difference at sizes {sizes}")


# ---- families ------------------------------------------------------------------------------


def check_family(family: Family, X: Array) -> None:
    """Check a resolved family on a few rows X (N, D), prepared as the family wants them."""
    n = X.shape[0]
    _require(family.resolved, "the family is resolved")
    r = np.random.default_rng(0).dirichlet(np.ones(3), size=n)
    stats, mass = family.accumulate(X, r), r.sum(axis=0)
    _check_sums(family, X, r)
    eta = family.posterior(stats, mass)
    plain = Family.log_predictive(family, X, eta)
    _close(family.log_predictive(X, eta), plain, 1e-8, "the predictive is a difference of log a")
    _check_gradient(family, eta)
    _check_likelihood(family, X, eta)
    _check_chain_rule(family, X)
    _check_marginals(family, stats, mass)
    _check_tunable(family, X, stats, mass)
    _check_moved(family, X, r)
    _check_kernels(family, X, r)
    again = type(family).from_spec(json.loads(json.dumps(family.to_spec())))
    _require(again == family, "a family survives the way through JSON")


def _check_gradient(family: Family, eta: Array) -> None:
    """Mean parameters are the gradient of the log normaliser along a few directions."""
    rng = np.random.default_rng(1)
    mean = family.mean_params(eta)
    # Steps towards more data of the same kind stay inside the domain.
    for direction in (eta - family.eta0, rng.uniform(0.5, 1.0, (len(eta), 1)) * eta):
        h = 1e-5
        slope = (
            family.log_partition(eta + h * direction) - family.log_partition(eta - h * direction)
        ) / (2 * h)
        want = (mean * direction).sum(axis=1)
        scale = 1 + np.abs(mean * direction).sum(axis=1)
        _close(slope / scale, want / scale, 1e-6, "mean_params is the gradient of log_partition")


def _check_sums(family: Family, X: Array, r: Array) -> None:
    """Sums of statistics can be had from those of features, which hold nothing twice."""
    t = family.statistic(X)
    want, scale = r.T @ t, 1e-300 + r.T @ np.abs(t)
    got = family.accumulate(X, r)
    _close(got / scale, want / scale, 1e-10, "accumulate sums weighted statistics")
    got = family.from_features(r.T @ family.features(X))
    _close(got / scale, want / scale, 1e-10, "from_features gives the sums of statistics")


def _check_likelihood(family: Family, X: Array, eta: Array) -> None:
    """Log likelihoods are linear in the parameters, whether these are drawn or expected."""
    mean = family.mean_params(eta)
    _check_linear(family, X, mean)
    if type(family).draw_params is not Family.draw_params:  # a family need not have it
        drawn = family.draw_params(eta, np.random.default_rng(2))
        _require(drawn.shape == eta.shape, "draw_params draws one parameter for each cluster")
        _require(bool(np.all(np.isfinite(drawn))), "drawn parameters are finite")
        _check_linear(family, X, drawn)
    expected = family.expected_log_likelihood(X, eta)
    _close(expected, family.log_likelihood(X, mean), 1e-8, "E log p is log p at mean_params")
    predictive = family.log_predictive(X, eta)
    slack = 1e-9 * (1 + np.abs(predictive))
    _require(bool(np.all(expected <= predictive + slack)), "E log p lies below log E p (Jensen)")
    alone = Family.self_log_likelihood(family, X)
    got = family.self_log_likelihood(X)
    _close(got, alone, 1e-8, "self_log_likelihood is E log p of a row in a cluster of its own")


def _check_linear(family: Family, X: Array, params: Array) -> None:
    """Statistics times parameters, features times slopes and log_likelihood are the same."""
    t, (phi, rest) = family.statistic(X), np.split(params, [family.n_stats], axis=1)
    want, scale = t @ phi.T + rest.sum(axis=1), 1 + np.abs(t) @ np.abs(phi).T
    got = family.log_likelihood(X, params)
    _close(got / scale, want / scale, 1e-10, "the log likelihood is t(x) phi - A(phi)")
    got = family.features(X) @ family.slopes(params).T + rest.sum(axis=1)
    _close(got / scale, want / scale, 1e-10, "features times slopes are t(x) phi")


def _check_marginals(family: Family, stats: Array, mass: Array) -> None:
    tally = Tally.of(np.arange(len(mass)), mass, stats, {}, family.layout)
    want = family.log_marginal(stats, mass)
    _close(family.log_marginals(tally), want, 1e-8, "log_marginals is log_marginal of the tally")


def _check_moved(family: Family, X: Array, r: Array) -> None:
    """Statistics about one origin follow from those about another."""
    if "origin" not in (f.name for f in fields(family)):
        return
    other = replace(family, origin=np.asarray(X[-1]) + 1.0)  # type: ignore[call-arg]
    stats, mass = family.accumulate(X, r), r.sum(axis=0)
    scale = r.T @ np.abs(family.statistic(X)) + r.T @ np.abs(other.statistic(X))
    got, want = family.moved(stats, mass, other), other.accumulate(X, r)
    _close(got / scale, want / scale, 1e-10, "statistics can be moved to another origin")
    _close(other.moved(got, mass, family) / scale, stats / scale, 1e-10, "and back")


def _check_tunable(family: Family, X: Array, stats: Array, mass: Array) -> None:
    """Hyperparameters that can be learnt reach the data only through the prior."""
    for name in family.tunable:
        value = getattr(family, name)
        if np.ndim(value) > 0:
            continue
        other = replace(family, **{name: 1.5 * value})
        moved = np.abs(other.log_marginal(stats, mass) - family.log_marginal(stats, mass))
        _require(bool(np.any(moved > 1e-9)), f"tunable {name} changes the marginal likelihood")
        same = np.array_equal(other.statistic(X), family.statistic(X))
        same = same and np.array_equal(other.log_base(X), family.log_base(X))
        _require(same, f"tunable {name} leaves statistics and base measure as they are")


def _check_chain_rule(family: Family, X: Array) -> None:
    """One-step predictives multiply to the marginal likelihood."""
    t = family.statistic(X)
    before = np.vstack([np.zeros(t.shape[1]), np.cumsum(t, axis=0)])
    eta = family.posterior(before, np.arange(len(t) + 1.0))
    chain = sum(family.log_predictive(X[i : i + 1], eta[i : i + 1])[0, 0] for i in range(len(t)))
    want = family.log_marginal(before[-1:], np.array([float(len(t))]))[0]
    _close(chain, want, 1e-8, "the chain rule gives the marginal likelihood")


@kernel
def _feed(work, rows, r, mass):  # type: ignore[no-untyped-def]
    """Add every row to every slot with weight r (N, K)."""
    for i in range(r.shape[0]):
        for k in range(r.shape[1]):
            mass[k] += r[i, k]
            add(work, rows, i, k, r[i, k], mass[k])


def _check_kernels(family: Family, X: Array, r: Array) -> None:
    """Scores and updates inside loops equal the array maths, also for the empty slot."""
    K = r.shape[1]
    tally = Tally.empty(family.n_stats, (), family.layout)
    tally.append(np.arange(K))
    tally.reserve(K + 2)
    columns = family.columns(tally)
    work = family.workspace(tally, columns)
    _feed(work, family.rows(X), r, tally.mass)
    got = np.empty((X.shape[0], K + 1))
    score_rows(work, family.rows(X), K + 1, got)
    stats = np.vstack([tally.stats, np.zeros(tally.size)])
    want = family.log_predictive(X, family.posterior(stats, np.append(tally.mass, 0.0)))
    _close(tally.stats, family.accumulate(X, r), 1e-9, "loops sum the same statistics")
    _close(got, want, 1e-8, "loops score like the array maths")
    fresh = family.columns(tally)
    for name, column in columns.items():
        _close(column[:K], fresh[name][:K], 1e-7, f"the cache {name} follows the statistics")


# ---- engines -------------------------------------------------------------------------------


def check_engine(engine: Engine, model: Model, X: Array) -> None:
    """Check an engine on rows X (N, D), prepared as the model's family wants them.

    A lower bound that it reports after laps, as the scalar ``elbo`` of their ``Info``, must not
    fall. Mass that it drops must be counted by the latent ``dropped``.
    """
    n = X.shape[0]
    engine.check(model)
    if engine.streams:
        whole, results = _check_stream(engine, model, X)
    else:
        whole, results = _laps(engine, model, X)
        other, _ = _laps(engine, model, X, resume=True)
        _same_states(whole, other, "a stop and a resume after every step change nothing")
    mass = whole.tally.mass.sum() + engine.dropped_mass(whole)
    _close(mass, float(n), 1e-9, "mass plus dropped mass is the sum of the weights")
    _require(len(set(whole.tally.ids.tolist())) == whole.tally.K, "ids are unique")
    _close(logsumexp(engine.log_weights(model, whole)), 0.0, 1e-9, "predictive weights sum to one")
    known = set(range(-2, whole.lineage.next_id))
    _require(set(results.labels.tolist()) <= known, "labels are ids that were given")
    if engine.forgets and model.forgetting is None:
        _check_forgetting(engine, model, X)
    twin = type(engine).from_spec(json.loads(json.dumps(engine.to_spec())))
    _require(twin == engine, "an engine survives the way through JSON")


def _check_stream(engine: Engine, model: Model, X: Array) -> tuple[State, RowResults]:
    """Check that neither cuts nor rows of weight zero change a stream; return what it comes to."""
    n = X.shape[0]
    whole, results = _stream(engine, model, X, [0, n])
    cuts = [0, 1, 2, n // 3, n // 3, n // 2, n]
    for name, again in (("other batch cuts", False), ("a stop and a resume", True)):
        other, _ = _stream(engine, model, X, cuts, resume=again)
        _same_states(whole, other, f"{name} at every cut change nothing")
    twice, weights = np.repeat(np.arange(n), 2), np.tile([0.0, 1.0], n)
    other, _ = _stream(engine, model, X[twice], [0, n, 2 * n], weights=weights)
    _same_states(whole, other, "rows of weight zero change nothing")
    return whole, results


def _check_forgetting(engine: Engine, model: Model, X: Array) -> None:
    """Check an engine that forgets: every row counts for what is left of it."""
    n = X.shape[0]
    plan = Exponential(half_life=n / 5)
    state, _ = _check_stream(engine, replace(model, forgetting=plan), X)
    left = 0.0
    for stretch in plan.stretches(np.arange(1.0, n + 1), None):
        left = left * stretch.factor + (stretch.rows.stop - stretch.rows.start)
    mass = state.tally.mass.sum() + engine.dropped_mass(state)
    _close(mass, left, 1e-9, "mass plus dropped mass is what is left of the weights")
    _require(len(state.lineage.last) == state.lineage.next_id, "all clusters were seen sometime")


class _Stopped(Exception):
    pass


def _laps(engine: Engine, model: Model, X: Array, resume: bool = False) -> tuple[State, RowResults]:
    """Run all laps over a few batches; with ``resume``, stop after every step and go on."""
    n = X.shape[0]
    size = n if engine.whole else n // 3 + 1
    starts = range(0, n, size)
    batches = [Batch(X[s : s + size], np.ones(min(size, n - s)), k) for k, s in enumerate(starts)]
    results = RowResults.empty(n)
    rng = np.random.default_rng(0)
    state = engine.initial(model, rng)
    bounds: list[float] = []

    def put(key: int, found: RowResults) -> None:
        for values, part in zip(results, found, strict=True):
            values[starts[key] : starts[key] + size] = part

    def watch(after: State, info: Info) -> None:
        nonlocal state
        state = after
        bounds.extend(value for name, value in info.scalars.items() if name == "elbo")
        if info.results is not None:
            put(int(engine.order(after, len(batches))[after.at - 1]), info.results)
        if resume:
            raise _Stopped

    while state.at or not engine.finished(state):
        shard = Shard(batches, state.memo)
        with suppress(_Stopped):
            run_laps(engine, model, state, shard, rng, [watch])
        for key, found in shard.do(CollectResults(), range(len(shard))).items():
            put(key, found)
        state = State.from_arrays(*state.to_arrays())
        rng = restore(dict(rng.bit_generator.state))
    for before, now in pairwise(bounds):
        _require(now >= before - 1e-9 * abs(before), "a lap never lowers the lower bound")
    return state, results


def _stream(
    engine: Engine,
    model: Model,
    X: Array,
    cuts: list[int],
    resume: bool = False,
    weights: Array | None = None,
) -> tuple[State, RowResults]:
    rng = np.random.default_rng(0)
    weights = np.ones(X.shape[0]) if weights is None else weights
    state = engine.initial(model, rng)
    parts: list[RowResults] = []

    def keep(_: State, info: Info) -> None:
        assert info.results is not None
        parts.append(info.results)

    for start, stop in pairwise(cuts):
        batch = Batch(X[start:stop], weights[start:stop])
        state = run(engine, model, state, [batch], rng, [keep])
        if resume:
            state = State.from_arrays(*state.to_arrays())
    return state, RowResults(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _same_states(a: State, b: State, law: str) -> None:
    ours, header = a.to_arrays()
    theirs, other_header = b.to_arrays()
    _require(header == other_header and ours.keys() == theirs.keys(), law)
    for name, values in ours.items():
        missing = values.dtype.kind == "f"  # kept rows may have values that are not known
        _require(np.array_equal(values, theirs[name], equal_nan=missing), f"{law} ({name})")


def _close(got: Array, want: Array, tolerance: float, law: str) -> None:
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=law)


def _require(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(f"broken law: {law}.")
