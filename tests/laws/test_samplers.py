"""The four samplers draw from the posterior, held against enumeration and against each other.

G0 is Gibbs, G1 Gibbs with U, G2 slices and G3 the hybrid. Data are documents over two words.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from evermix import Beta, Gamma, Gibbs, Slice
from evermix.engines import Batch
from evermix.engines.samplers import conditional
from evermix.engines.samplers import slice as slicing
from evermix.engines.samplers.conditional import EmptyClusters
from evermix.engines.samplers.sampler import state_of
from evermix.families import FAMILIES, Multinomial
from evermix.model import Model
from evermix.priors import DP, NGGP, PitmanYor
from evermix.priors.jumps import Jumps
from helpers.oracles import set_partitions

FOREVER = 10**9
SAMPLERS = {
    "G0": Gibbs(sweeps=FOREVER),
    "G1": Gibbs(sweeps=FOREVER, augmented=True),
    "G2": Slice(sweeps=FOREVER),
    "G3": Slice(sweeps=FOREVER, hybrid=True),
}
QUICK = {"G0": 1500, "G1": 1500, "G2": 800, "G3": 500}  # sweeps that take about a second
PRIORS = [DP(1.0), NGGP(1.0, 0.25), NGGP(1.0, 0.5), NGGP(1.0, 0.75)]
WORDS = Multinomial(0.5, n_features=2)
DOCUMENTS = sparse.csr_matrix(np.array([[3, 0], [2, 1], [0, 3], [1, 2], [0, 1]], dtype=float))
EMPTY = sparse.csr_matrix((5, 2))


def batch_of(X):
    return Batch(X, np.ones(X.shape[0]))


def walk(engine, model, X, sweeps, skip=20):
    """Yield the state after each sweep, the first ones left out."""
    rng, batch = np.random.default_rng(0), batch_of(X)
    state = engine.initial(model, rng)
    for sweep in range(sweeps + skip):
        state, _ = engine.step(model, state, batch, rng)
        if sweep >= skip:
            yield state


def labels_of(state):
    return tuple(state.memo["chain"]["labels"].tolist())


def posterior(model, X):
    """Exact probability of every partition."""
    log_p, cap = {}, model.max_clusters or X.shape[0]
    for labels in set_partitions(X.shape[0]):
        if max(labels) >= cap:
            continue
        r = np.eye(max(labels) + 1)[list(labels)]
        sizes, stats = r.sum(axis=0), model.family.accumulate(X, r)
        marginal = model.family.log_marginal(stats, sizes).sum()
        log_p[labels] = model.prior.log_eppf(sizes) + marginal
    p = np.exp(np.array(list(log_p.values())) - max(log_p.values()))
    return dict(zip(log_p, p / p.sum(), strict=True))


def misfit(engine, model, X, sweeps, thin=1):
    """Distance of a chain's partitions from the exact ones, in units of what chance would give.

    Total variation over its mean for independent draws; on a few rows sweeps are nearly that.
    """
    exact = posterior(model, X)
    chain = enumerate(walk(engine, model, X, sweeps * thin))
    seen = Counter(labels_of(state) for sweep, state in chain if sweep % thin == 0)
    distance = 0.5 * sum(abs(seen[labels] / sweeps - p) for labels, p in exact.items())
    noise = 0.5 * math.sqrt(2 / (math.pi * sweeps)) * sum(math.sqrt(p) for p in exact.values())
    return distance / noise


# ---- enumeration ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLERS)
def test_partitions_have_the_posterior_of_the_enumeration(name):
    """Three times the noise of independent draws is never met by chance (here or below)."""
    model = Model(WORDS, NGGP(1.0, 0.5))
    assert misfit(SAMPLERS[name], model, DOCUMENTS, QUICK[name]) < 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
@pytest.mark.parametrize("name", SAMPLERS)
def test_below_a_cap_partitions_have_the_posterior_of_the_enumeration(name):
    """Of the partitions of at most two clusters."""
    model = Model(WORDS, NGGP(2.0, 0.5), max_clusters=2)
    assert misfit(SAMPLERS[name], model, DOCUMENTS, 3000, thin=2) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("prior", PRIORS)
def test_of_every_prior_partitions_have_the_posterior_of_the_enumeration(prior, name):
    assert misfit(SAMPLERS[name], Model(WORDS, prior), DOCUMENTS, 2500) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("prior", PRIORS)
def test_empty_documents_have_the_partitions_of_the_prior(prior, name):
    assert misfit(SAMPLERS[name], Model(WORDS, prior), EMPTY, 2000) < 3


@pytest.mark.slow
def test_a_prior_without_u_has_the_posterior_of_the_enumeration():
    assert misfit(SAMPLERS["G0"], Model(WORDS, PitmanYor(0.5, 0.4)), DOCUMENTS, 5000) < 3


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_of_every_family_partitions_have_the_posterior_of_the_enumeration(family, name):
    """On four rows of two features, the first two alike."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    X = sparse.csr_matrix(X) if FAMILIES[family].sparse else X
    X = X + 1.0 if family.startswith("Log") else X[:, :1] if family == "Categorical" else X
    model = Model(FAMILIES[family]().candidates(X)[0], NGGP(1.0, 0.5))
    assert misfit(SAMPLERS[name], model, X, 1500) < 3


@pytest.mark.slow
def test_rows_that_rest_leave_the_posterior_as_it_is(monkeypatch):
    """Where slices would need too many clusters without rows, here more than two."""
    monkeypatch.setattr(slicing, "MOST_EMPTY", 2.0)
    monkeypatch.setattr(slicing, "_crowded", lambda scene: False)
    assert misfit(SAMPLERS["G2"], Model(WORDS, NGGP(1.0, 0.5)), DOCUMENTS, 2500, thin=3) < 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:a slice sweep would need")
def test_sweeps_of_both_kinds_leave_the_posterior_as_it_is(monkeypatch):
    """Crowded sweeps are made by the hybrid step, here about every second one."""
    monkeypatch.setattr(slicing, "MOST_EMPTY", 28.0)
    kinds = Counter()
    for name in ("hybrid_sweep", "_slice_sweep"):
        sweep = getattr(slicing, name)
        count = lambda *args, name=name, sweep=sweep: kinds.update([name]) or sweep(*args)  # noqa: E731
        monkeypatch.setattr(slicing, name, count)
    assert misfit(SAMPLERS["G2"], Model(WORDS, NGGP(1.0, 0.5)), DOCUMENTS, 3000) < 3
    assert min(kinds.values()) > 500


# ---- a law that cannot be broken checks nothing ---------------------------------------------


def misprinted(self, v, n, K):
    """The published exponent n - a K in the density of U, instead of n - sigma K."""
    return n * v - (n - self.a * K) * self.log_sum(v) - self.a * self.psi(v)


def test_the_misprinted_exponent_is_caught(monkeypatch):
    monkeypatch.setattr(Jumps, "log_u_density", misprinted)
    assert misfit(SAMPLERS["G1"], Model(WORDS, NGGP(2.0, 0.5)), DOCUMENTS, 1500) > 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["G2", "G3"])
@pytest.mark.parametrize("error", ["exponent", "weights", "new clusters"])
def test_errors_of_weights_are_caught(name, error, monkeypatch):
    """The misprint; weights Gamma(n_k) instead of Gamma(n_k - sigma); twice the new clusters."""
    if error == "exponent":
        monkeypatch.setattr(Jumps, "log_u_density", misprinted)
    elif error == "weights":
        right = conditional.draw_log_gamma
        monkeypatch.setattr(
            conditional, "draw_log_gamma", lambda shape, rng: right(shape + 0.5, rng)
        )
    else:
        monkeypatch.setattr(
            conditional, "EmptyClusters", lambda mass, sigma: EmptyClusters(2 * mass, sigma)
        )
    assert misfit(SAMPLERS[name], Model(WORDS, NGGP(2.0, 0.5)), DOCUMENTS, 3000) > 4


# ---- learning hyperparameters --------------------------------------------------------------


def z_score(chain, reference):
    """Difference of means of a chain and of independent draws, over its standard error."""
    means = np.array([part.mean() for part in np.array_split(np.asarray(chain, float), 25)])
    variance = means.var(ddof=1) / len(means) + np.var(reference) / len(reference)
    return abs(means.mean() - np.mean(reference)) / math.sqrt(variance)


LAWS = {"a": Gamma(2.0, 1.0), "sigma": Beta(2.0, 4.0)}
LENGTHS = np.array([3, 3, 2, 1])


def reported(prior, sizes, together):
    """What is compared of a draw: hyperparameters, clusters, whether two rows are together."""
    K = len(sizes)
    return [prior.a, prior.a**2, prior.sigma, prior.sigma**2, K, K == 1, together]


def prior_draws(size, rng):
    """Independent draws of hyperparameters and partitions of four rows from the prior."""
    out = []
    for _ in range(size):
        prior, labels = NGGP(rng.gamma(2.0), rng.beta(2.0, 4.0)), [0]
        while len(labels) < len(LENGTHS):
            sizes = np.bincount(labels).astype(float)
            q = np.cumsum(np.exp(prior.log_weights(sizes, np.ones(len(sizes)))))
            labels.append(int(np.searchsorted(q[:-1], rng.random() * q[-1], side="right")))
        out.append(reported(prior, np.bincount(labels), labels[0] == labels[1]))
    return np.array(out, dtype=float).T


def joint_chain(engine, model, sweeps, rng):
    """Draws of a chain that alternates new data given all, and a sweep given the data."""
    engine, out = replace(engine, hyperpriors=LAWS), []
    state, labels = engine.initial(model, rng), np.arange(len(LENGTHS))
    for _ in range(sweeps):
        first = rng.binomial(LENGTHS, rng.beta(0.5, 0.5, size=len(LENGTHS))[labels])
        X = sparse.csr_matrix(np.column_stack([first, LENGTHS - first]).astype(float))
        if "chain" in state.memo:
            fresh = state_of(model, batch_of(X), labels)
            state.tally, state.columns = fresh.tally, fresh.columns
        state, _ = engine.step(model, state, batch_of(X), rng)
        labels = state.memo["chain"]["labels"]
        prior = engine.current(model, state).prior
        out.append(reported(prior, state.tally.mass, labels[0] == labels[1]))
    return np.array(out, dtype=float).T


def joint_scores(name, sweeps):
    """Z-scores of Geweke's joint test: data and parameters, each given the other."""
    rng = np.random.default_rng(0)
    reference = prior_draws(max(sweeps, 1000), rng)
    chain = joint_chain(SAMPLERS[name], Model(WORDS, NGGP(1.0, 0.5)), sweeps, rng)
    return [z_score(*both) for both in zip(chain, reference, strict=True)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_data_and_parameters_in_turn_leave_the_prior_as_it_is(name):
    """Geweke's joint test of partition, a and sigma; 4.5 standard errors are not met by chance."""
    assert max(joint_scores(name, QUICK[name] // 2)) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_data_and_parameters_in_turn_for_long(name):
    assert max(joint_scores(name, 3000)) < 4.5


def test_the_misprinted_exponent_fails_the_joint_test(monkeypatch):
    monkeypatch.setattr(Jumps, "log_u_density", misprinted)
    assert max(joint_scores("G1", 1000)) > 6


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_empty_documents_leave_the_hyperpriors_as_they_are(name):
    """Of a, sigma and tau together."""
    laws = {**LAWS, "tau": Gamma(2.0, 1.0)}
    engine = replace(SAMPLERS[name], hyperpriors=laws)
    chain = [
        [float(state.latents[law][0]) for law in laws]
        for state in walk(engine, Model(WORDS, NGGP(1.0, 0.5)), EMPTY, 3000)
    ]
    rng = np.random.default_rng(1)
    want = rng.gamma(2.0, size=10**6), rng.beta(2.0, 4.0, size=10**6), rng.gamma(2.0, size=10**6)
    for got, reference in zip(np.array(chain).T, want, strict=True):
        assert z_score(got, reference) < 4.5
        assert z_score(got**2, reference**2) < 4.5


# ---- against each other --------------------------------------------------------------------


def topics(n, seed=0):
    """Documents of five words over two, from three topics."""
    rng = np.random.default_rng(seed)
    first = rng.binomial(5, np.array([0.05, 0.5, 0.95])[rng.integers(3, size=n)])
    return sparse.csr_matrix(np.column_stack([first, 5 - first]).astype(float))


def numbers_of_clusters(name, sweeps):
    model = Model(WORDS, NGGP(1.0, 0.3))
    return [state.tally.K for state in walk(SAMPLERS[name], model, topics(30), sweeps, skip=50)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["G1", "G2", "G3"])
def test_samplers_agree_on_the_number_of_clusters(name):
    """Of thirty documents, which are too many to enumerate."""
    exact, other = numbers_of_clusters("G0", 5000), numbers_of_clusters(name, 1500)
    parts = [np.array([part.mean() for part in np.array_split(K, 25)]) for K in (exact, other)]
    error = math.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    assert abs(parts[0].mean() - parts[1].mean()) < 4.5 * error


@pytest.mark.parametrize("name", SAMPLERS)
def test_without_sigma_the_process_is_a_dirichlet_process(name):
    """The chains are the same, draw by draw."""
    chains = [
        [labels_of(state) for state in walk(SAMPLERS[name], Model(WORDS, prior), topics(12), 10)]
        for prior in (DP(1.5), NGGP(1.5, 0.0, 1.0))
    ]
    assert chains[0] == chains[1]
