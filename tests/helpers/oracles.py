"""Slow and plain truths to hold the library against: enumeration and brute-force integrals."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy.special import betaln, digamma, log_softmax


def set_partitions(n: int) -> Iterator[tuple[int, ...]]:
    """Yield every partition of n items as labels in order of appearance (Bell number of them)."""
    if n == 0:
        yield ()
        return
    for labels in set_partitions(n - 1):
        for k in range(max(labels, default=-1) + 2):
            yield (*labels, k)


def partition_shapes(n: int) -> Counter[tuple[int, ...]]:
    """Count the set partitions of n items by their sorted block sizes."""
    return Counter(tuple(sorted(Counter(labels).values())) for labels in set_partitions(n))


def grown(sizes: np.ndarray) -> list[np.ndarray]:
    """Sizes after one more item, which joins block 0, 1, ..., or opens a new one (last)."""
    joined = [sizes + np.eye(len(sizes))[k] for k in range(len(sizes))]
    return [*joined, np.append(sizes, 1.0)]


class LogU:
    """The density of v = log U of a generalised gamma process, on a fine grid over v.

    ``power`` and ``decay`` are the exponents of u and 1 / (u + tau) in the density of log U. The
    right ones are n and n - sigma K; others make a misprint. ``v`` replaces the grid (Q,).
    """

    def __init__(self, power, decay, a, sigma, tau, v=None):
        self.power, self.decay, self.a, self.sigma, self.tau = power, decay, a, sigma, tau
        self.v = self._grid() if v is None else v
        self.log_p = self.log_density(self.v)

    def _grid(self):
        coarse = np.arange(-700.0, 700.0, 0.25)
        log_p = self.log_density(coarse)
        inside = coarse[log_p > log_p.max() - 60]
        return np.linspace(inside[0] - 0.25, inside[-1] + 0.25, 20001)

    def log_density(self, v):
        log_sum = np.logaddexp(v, np.log(self.tau))
        with np.errstate(over="ignore"):
            exponent = self.a / self.sigma * (np.exp(self.sigma * log_sum) - self.tau**self.sigma)
        return self.power * v - self.decay * log_sum - exponent

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        """E f(U)."""
        p = np.exp(self.log_p - self.log_p.max())
        return float((p * f(np.exp(self.v))).sum() / p.sum())

    def log_integral(self) -> float:
        """Log of the integral of the density before normalising."""
        peak = self.log_p.max()
        step = self.v[1] - self.v[0]
        return float(peak + np.log(step * np.exp(self.log_p - peak).sum()))


def nggp_omega(n, K, a, sigma, tau):
    """New-cluster weight a E[(U + tau)^sigma], where U belongs to n + 1 observations."""
    law = LogU(n + 1, n + 1 - sigma * K, a, sigma, tau)
    return a * law.mean(lambda u: (u + tau) ** sigma)


def occupied(q: np.ndarray) -> np.ndarray:
    """Probability that each label (K,) is used under independent labels q (N, K)."""
    return 1.0 - np.prod(1.0 - q, axis=0)


def expected_predictive(log_weights, q: np.ndarray) -> np.ndarray:
    """Exact predictive (K + 1,) averaged over all labellings of rows q (N, K); new comes last.

    ``log_weights`` maps hard sizes (K,) to log probabilities (K + 1,).
    """
    N, K = q.shape
    total = np.zeros(K + 1)
    known: dict[tuple[int, ...], np.ndarray] = {}
    for labels in product(range(K), repeat=N):
        sizes = np.bincount(labels, minlength=K)
        used = np.flatnonzero(sizes)
        key = tuple(sizes[used])
        if key not in known:
            known[key] = np.exp(log_weights(sizes[used].astype(float)))
        total[[*used, K]] += np.prod(q[np.arange(N), labels]) * known[key]
    return total


def log_joints(model, X) -> dict[tuple[int, ...], float]:
    """Log joint density of every partition and the rows X, base measure left out."""
    family, prior = model.family, model.prior
    log_p = {}
    for labels in set_partitions(X.shape[0]):
        r = np.eye(max(labels) + 1)[list(labels)]
        marginal = family.log_marginal(family.accumulate(X, r), r.sum(axis=0)).sum()
        log_p[labels] = float(marginal) + prior.log_eppf(r.sum(axis=0))
    return log_p


def log_posterior(model, X) -> dict[tuple[int, ...], float]:
    """Log posterior of every partition of the rows X, by enumeration."""
    log_p = log_joints(model, X)
    total = np.logaddexp.reduce(list(log_p.values()))
    return {labels: value - total for labels, value in log_p.items()}


def log_evidence(model, X) -> float:
    """Log marginal density of the rows X, base measure included, by enumeration."""
    total = np.logaddexp.reduce(list(log_joints(model, X).values()))
    return float(total + model.family.log_base(X).sum())


def exact_co_clustering(model, X) -> np.ndarray:
    """Posterior probability (N, N) that two rows are in one cluster, by enumeration."""
    together = np.zeros((X.shape[0], X.shape[0]))
    for labels, log_p in log_posterior(model, X).items():
        r = np.eye(max(labels) + 1)[list(labels)]
        together += np.exp(log_p) * (r @ r.T)
    return together


# ---- mean field ------------------------------------------------------------------------------


class Sticks:
    """Fractions of a stick given soft counts (K,).

    They are v_k ~ Beta(1 - d, alpha + k d) before; without a discount that is Beta(1, alpha).
    """

    def __init__(self, prior, mass):
        d, k = getattr(prior, "discount", 0.0), np.arange(1, len(mass) + 1)
        self.prior_a, self.prior_b = 1.0 - d + 0.0 * k, prior.alpha + d * k
        self.a = self.prior_a + mass
        self.b = self.prior_b + [mass[j:].sum() for j in k]
        self.log_v = digamma(self.a) - digamma(self.a + self.b)
        self.log_rest = digamma(self.b) - digamma(self.a + self.b)
        self.log_w = self.log_v + [self.log_rest[: j - 1].sum() for j in k]

    def log_density(self, a, b):
        """Expected log density (K,) of the fractions under Beta(a, b)."""
        return (a - 1) * self.log_v + (b - 1) * self.log_rest - betaln(a, b)


def best_log_shares(model, mass, stats, X, top=None) -> np.ndarray:
    """Log responsibilities (N, K) that are best given the posterior of these sums.

    With ``top``, the best among those that share a row between no more clusters than that.
    """
    eta = model.family.posterior(stats, mass)
    scores = model.family.expected_log_likelihood(X, eta) + Sticks(model.prior, mass).log_w
    if top is not None:
        rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        scores = np.where(rank < top, scores, -np.inf)
    return log_softmax(scores, axis=1)


def sums_of(family, X, weights, r) -> tuple[np.ndarray, np.ndarray]:
    """Mass (K,) and statistics (K, S) of rows with responsibilities r (N, K)."""
    wr = weights[:, None] * r
    return wr.sum(axis=0), wr.T @ family.statistic(X)


def elbo(model, X, weights, r, q=None) -> float:
    """Evidence lower bound, term by term, of responsibilities r (N, K) and a posterior.

    ``q`` are the mass (K,) and statistics (K, S) that make the posterior; None for those of r.
    """
    family, S = model.family, model.family.n_stats
    N, s = sums_of(family, X, weights, r)
    mass, stats = (N, s) if q is None else q
    eta0, eta = family.eta0, family.posterior(stats, mass)
    mean = np.clip(family.mean_params(eta), -1e250, 1e250)  # E[phi; -A(phi)]; 0 times it is 0
    v = Sticks(model.prior, mass)
    entropy = -weights @ (r * np.log(np.where(r > 0, r, 1.0)))
    rows = weights @ family.log_base(X)
    fit = np.sum(mean[:, :S] * s, axis=1) + N * mean[:, S:].sum(axis=1)
    share = N * v.log_w
    log_p_v = (
        (v.prior_a - 1) * v.log_v + (v.prior_b - 1) * v.log_rest - betaln(v.prior_a, v.prior_b)
    )
    log_q_v = (v.a - 1) * v.log_v + (v.b - 1) * v.log_rest - betaln(v.a, v.b)
    log_p_phi = mean @ eta0 - family.log_partition(eta0[None])
    log_q_phi = np.sum(mean * eta, axis=1) - family.log_partition(eta)
    terms = fit + share + entropy + log_p_v - log_q_v + log_p_phi - log_q_phi
    return float(rows + terms.sum())
