"""The recursion of RCRP in plain array maths, and the law of the number of tables."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from evermix import DP, Multinomial
from evermix.engines.batch import Batch
from evermix.kernels.engines.rcrp import NEGLIGIBLE
from evermix.model import Model

ALPHAS = (1.1, 10.78, 15.37, 30.91)  # of the published check


def no_data(n, alpha):
    """Return a model and n empty documents, which are as likely everywhere."""
    return Model(Multinomial(1.0, n_features=2), DP(alpha)), sparse.csr_matrix((n, 2))


def stream(engine, model, X, weights=None):
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, float)
    return engine.step(model, engine.initial(model, None), Batch(X, weights), None)


def table_law(T, alpha):
    """Return p(K_T = k), k = 0..T: alpha^k |s(T, k)| over a rising factorial."""
    stirling = [1]  # whole numbers, by |s(t + 1, k)| = |s(t, k - 1)| + t |s(t, k)|
    for t in range(T):
        stirling = [
            (stirling[k - 1] if k else 0) + t * (stirling[k] if k < len(stirling) else 0)
            for k in range(len(stirling) + 1)
        ]
    log_rising = np.log(alpha + np.arange(T)).sum()
    logs = [float("-inf") if s == 0 else float(np.log(float(s))) for s in stirling]
    return np.exp(np.array(logs) + np.arange(T + 1) * np.log(alpha) - log_rising)


def table_sizes(T, alpha):
    """Return E[n_k], k = 1..T: table k is opened at time t, and is a Polya urn from then on."""
    sizes, tables = np.zeros(T), np.eye(1, T + 1)[0]
    for t in range(T):  # p(K_t = k) before customer t + 1
        opened = alpha / (alpha + t) * tables[:-1]
        # One customer of alpha + t + 1; the share of a table in the urn is a martingale.
        sizes += opened * (1 + (T - t - 1) / (alpha + t + 1))
        tables = tables * t / (alpha + t) + np.append(0.0, opened)
    return sizes


class Arrays(NamedTuple):
    """What the plain recursion has learnt."""

    R: np.ndarray
    mass: np.ndarray
    stats: np.ndarray
    tables: np.ndarray
    log_predictive: np.ndarray


def by_arrays(engine, model, X, weights):
    """Learn rows as :class:`RCRP` says, without a cap and without a kernel."""
    family, alpha = model.family, model.prior.alpha
    R, tables, density = np.zeros(0), np.ones(1), []
    mass, stats = np.zeros(0), np.zeros((0, family.n_stats))
    own = engine.likelihood == "paper"
    for i, w in enumerate(weights):
        x, K = X[i : i + 1], len(R)
        seen, mass_, stats_ = (np.append(R, 0.0), np.append(mass, 0.0), _below(stats))
        scores = family.log_predictive(x, family.posterior(stats_, mass_))[0]
        log_weights = np.log(np.maximum(np.append(R, alpha), 1e-300) / (alpha + R.sum()))
        density.append(np.logaddexp.reduce(scores + log_weights))
        fresh = np.full(K + 1, scores[-1])
        if own:
            mass_[-1] += 1.0
            stats_[-1] += family.statistic(x)[0]
            scores = family.log_predictive(x, family.posterior(stats_, mass_))[0]
            fresh = scores
        top = max(scores.max(), fresh.max())
        old, new = seen * np.exp(scores - top), alpha * tables * np.exp(fresh - top)
        total = (old + new).sum()
        old, new = old / total, new / total
        q = old + new
        if w == 0:
            continue
        if q[-1] < NEGLIGIBLE:  # then no label is opened
            old, new, q, seen, mass_, stats_ = (
                values[:-1] for values in (old, new, q, seen, mass_, stats_)
            )
        if engine.rule == "coupled":
            tables = coupled(tables, R, old, new)[: len(q) + 1]
        elif engine.rule == "joint":
            tables = np.append(0.0, new) + old.sum() * np.append(tables, 0.0)[: len(q) + 1]
        else:
            tables = moved(engine.rule, tables, q)[: len(q) + 1]
        R, mass = seen + w * q, mass_ + w * q
        stats = stats_ + family.accumulate(x, w * q[None, :])
    return Arrays(R, mass, stats, tables, np.array(density) + family.log_base(X))


def coupled(tables, R, old, new):
    """Return p(K_t) from the law of K_{t-1} given each table j in use, written out as a matrix."""
    K = len(R)
    if not R.sum():
        return np.append(0.0, new)
    left, law = R.sum() * tables[1:], np.zeros((K, K))
    for j in range(K - 1, -1, -1):
        room = left[j:].sum()
        if room > 0:
            law[j, j:] = left[j:] / room
            left = left - law[j] * min(R[j], room)
    stays = old[:K] @ law
    after = np.append(0.0, np.pad(new, (0, K + 1 - len(new))))
    after[1 : K + 1] += stays * old.sum() / stays.sum()
    return after / after.sum()


def moved(rule, tables, q):
    """Return p(K_t) by the double sum over K_{t-1} and z_t that Eq. 8 writes."""
    after = np.zeros(len(tables) + 1)
    for K, p in enumerate(tables):
        for z, share in enumerate(q, start=1):
            if rule == "code" and z > K + 1:
                continue
            up = z > K + 1 if rule == "text" else z > K
            after[K + up] += p * share
    return after / after.sum()


def _below(stats):
    return np.vstack([stats, np.zeros(stats.shape[1])])
