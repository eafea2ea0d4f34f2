"""Small fits of variational engines, and all their responsibilities by brute force."""

from copy import deepcopy

import numpy as np
from scipy import sparse
from scipy.special import softmax

from evermix import MemoizedVB
from evermix.engines.batch import Batch
from evermix.engines.run import run_laps
from evermix.engines.variational.local import HELD, Plan
from evermix.engines.variational.memory import totals
from evermix.engines.variational.moves import plan as plans
from evermix.engines.variational.moves.decide import decide, judge
from evermix.kernels.engines.local import LEAST
from evermix.priors import DP, PitmanYor
from evermix.state import State
from helpers.engine_cases import model_for
from helpers.oracles import best_log_shares, elbo

PRIORS = [DP(1.5), PitmanYor(0.8, 0.3)]
FIXED = {"births": False, "merges": False, "deletes": False}
WEIGHTS = np.resize([1.0, 0.3, 2.5, 0.0, 1.0, 4.0], 120)


def memoized(**settings):
    """Memoized inference with a fixed number of clusters, unless said otherwise."""
    chosen = {"start": "kmeans++", "truncation": 6, "laps": 6, "tol": 0.0, **FIXED}
    return MemoizedVB(**chosen | settings)


def cut(X, weights=None, size=40):
    """Batches of ``size`` rows."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    starts = range(0, X.shape[0], size)
    return [Batch(X[s : s + size], weights[s : s + size], key) for key, s in enumerate(starts)]


def joined(batches):
    """Rows and weights of all batches."""
    rows = [batch.X for batch in batches]
    X = sparse.vstack(rows, "csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate([batch.weights for batch in batches])


def fit(engine, model, batches, seed=0, observers=()):
    """Go round until the engine has finished; return the state."""
    rng = np.random.default_rng(seed)
    return run_laps(engine, model, engine.initial(model, rng), batches, rng, observers)


def copied(state):
    return State.from_arrays(*state.to_arrays())


def divided(trial, model, X, r, slots=None):
    """Responsibilities (N, J) of the children of a trial, given those of all clusters (N, K).

    Where the parents hold next to nothing, all that they hold goes to the first child; elsewhere
    no more than ``slots`` (N,) children share it.
    """
    whole = r[:, trial.parents].sum(axis=1, keepdims=True)
    scores = model.family.features(X) @ trial.children.slopes.T + trial.children.intercepts
    if slots is not None:
        rank = np.argsort(np.argsort(-scores, axis=1), axis=1)
        scores = np.where(rank < np.maximum(slots, 1)[:, None], scores, -np.inf)
    first = np.eye(len(trial.children.intercepts))[0]
    return whole * np.where(whole > HELD, softmax(scores, axis=1), first)


class Witness:
    """A memoized fit, and beside it the responsibilities of all rows, by brute force.

    They are computed from the beliefs before each step, and through all moves column by column.
    """

    def __init__(self, engine, model, batches, seed=0):
        self.engine, self.model, self.batches = engine, model, batches
        self.rng = np.random.default_rng(seed)
        state = engine.initial(model, self.rng)
        self.state = engine.begin(model, state, batches, self.rng)
        self.X, self.weights = joined(batches)
        self.r, self.young = [None] * len(batches), [None] * len(batches)
        self.plan, self.verdict, self.info = None, None, None

    def bound(self):
        """The bound of all rows, term by term."""
        return elbo(self.model, self.X, self.weights, np.concatenate(self.r))

    def tracked(self):
        """The bound that the engine knows without looking at the rows."""
        return self.engine.bound(self.model, self.state)

    def lap(self):
        """Make a lap; yield the key of every batch after it, and None before moves are made."""
        for key in range(len(self.batches)):
            self.step(key)
            yield key
        self.prepare()
        yield None
        self.end_lap()

    def step(self, key):
        tally, batch, top = self.state.tally, self.batches[key], self.engine.top
        plan, _ = plans.from_record(self.state.memo.get("plan"), tally.ids)
        log_r = best_log_shares(self.model, tally.mass, tally.stats, batch.X, top)
        self.r[key] = np.exp(log_r)
        spare = 0 if top is None else max(top - tally.K, 0) // max(len(plan.trials), 1)
        self.young[key] = self.r[key][:, :0]
        for trial in plan.trials:
            shared = log_r[:, trial.parents] - log_r.max(axis=1, keepdims=True) > LEAST
            slots = spare + np.sum(shared, axis=1)
            slots = None if top is None else slots
            young = divided(trial, self.model, batch.X, self.r[key], slots)
            self.young[key] = np.concatenate([self.young[key], young], axis=1)
        self.state, _ = self.engine.step(self.model, self.state, batch, self.rng)
        self.state.at += 1

    def prepare(self):
        """Find out which moves will be made."""
        state = self.state
        self.plan, _ = plans.from_record(state.memo.get("plan"), state.tally.ids)
        self.sums = totals(state.memo[str(key)] for key in range(len(self.batches)))
        self.verdict = judge(self.model, self.plan, self.sums)
        lineage = deepcopy(state.lineage)
        self.change = decide(
            self.plan, self.verdict, self.sums, state.tally.ids, lineage, state.clock
        )

    def end_lap(self):
        self.r = [moved(r, y, self.change) for r, y in zip(self.r, self.young, strict=True)]
        state, self.info = self.engine.end_lap(self.model, self.state, self.batches, self.rng)
        state.lap, state.at, self.state = state.lap + 1, 0, state


def moved(r, young, change):
    """Responsibilities after moves."""
    r = np.concatenate([r, young], axis=1)
    for stays, goes, _ in change.merges:
        r[:, stays] += r[:, goes]
    return r[:, change.order]


def by_size(r, weights):
    """The columns of r (N, K), the largest first."""
    return r[:, np.argsort(-(weights @ r), kind="stable")]


def named(name, prior, n=120, weights=None, size=40):
    """A model of the named family, and batches of its data."""
    model, X = model_for(name, prior, n)
    return model, cut(X, weights, size)


def all_pairs(K):
    return np.stack(np.triu_indices(K, 1), axis=1)


def one_move(plan, sums, pair=None, trial=None):
    """A plan of one move, and the sums that judging it takes."""
    pairs = plan.pairs[:0] if pair is None else plan.pairs[pair : pair + 1]
    trials = () if trial is None else (plan.trials[trial],)
    young = np.zeros(0, dtype=int) if trial is None else plans.children(plan)[trial]
    some = {name: sums[name][young] for name in ("child_mass", "child_sums", "child_entropy")}
    some["pairs"] = sums["pairs"][:0] if pair is None else sums["pairs"][pair : pair + 1]
    return Plan(pairs, trials), sums | some
