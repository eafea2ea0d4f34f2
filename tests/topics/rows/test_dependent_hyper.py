"""What is learnt of a measure: priors stay as they are without data, and in Geweke's joint test.

4.5 standard errors are not met by chance.
"""

import math

import numpy as np
import pytest
from scipy import sparse

from evermix import Beta, Gamma
from evermix.topics.measures import Mixed, Thinned
from evermix.topics.measures.levels import jumps_above, level_of
from evermix.topics.priors import MNGG, TNGG
from evermix.topics.rows import M1, M2, M3, T1, T2, T3, T4, T5
from evermix.topics.rows.chain import RowChain, RowData
from helpers.dependent_oracles import EMPTY, TIMES, WORDS, data, walk_chain

SIGMA, MASS, Q = Beta(2.0, 8.0), Gamma(2.0, 1.0), {Mixed: Gamma(3.0, 3.0), Thinned: Beta(3.0, 1.0)}
SPECS = {
    Mixed: MNGG(2, SIGMA, MASS, q=Q[Mixed]),
    Thinned: TNGG(2, SIGMA, MASS, q=Q[Thinned]),
}
LENGTHS = np.array([3, 2, 3, 1, 2])
SAMPLERS = [M1(), M2(), M3(), T1(), T2(), T3(), T4(), T5()]
crowded = pytest.mark.filterwarnings("ignore:T[34] would need")


def z_score(chain, reference):
    """Difference of means of a chain and of independent draws, over its standard error."""
    means = np.array([part.mean() for part in np.array_split(np.asarray(chain, float), 25)])
    variance = means.var(ddof=1) / len(means) + np.var(reference) / len(reference)
    return abs(means.mean() - np.mean(reference)) / math.sqrt(variance)


def numbers(measure):
    """What is compared of a measure."""
    s, m, q = measure.sigma, measure.mass, measure.q
    return [s, s**2, m[0], m[0] ** 2, m[1], q[0, 0], q[0, 0] ** 2, q[1, 1]]


def draw_measure(spec, rng):
    """Draw sigma, masses and q from their laws."""
    measure = spec.measure(np.bincount(TIMES))
    sigma = rng.beta(SIGMA.a, SIGMA.b)
    law, shape = Q[type(measure)], measure.q.shape
    if isinstance(law, Gamma):
        q = rng.gamma(law.shape, 1 / law.rate, size=shape)
    else:
        q = rng.beta(law.a, law.b, size=shape)
    mass = rng.gamma(MASS.shape, 1 / MASS.rate, size=2)
    measure.assign({"sigma": np.array([sigma]), "mass": mass, "q": q, "u": measure.u})
    return measure


def partition(labels, region):
    """What is compared of clusters: how many, who is together, who is in one region."""
    K, home = len(region), np.asarray(region)[labels]
    return [K, K == 1, labels[0] == labels[1], labels[1] == labels[2], home[0] == home[4]]


def prior_draws(spec, size, rng):
    """Independent draws of everything, from jumps above a tiny level."""
    out = []
    for _ in range(size):
        measure = draw_measure(spec, rng)
        s, level = measure.sigma, level_of(5000.0, 1.0, measure.sigma)
        jumps = [
            np.exp(jumps_above(max(level, -40.0), a, s, np.zeros_like, rng)) for a in measure.a
        ]
        region = np.repeat([0, 1], [len(some) for some in jumps])
        w, q = np.concatenate(jumps), measure.q[region]
        see = q if isinstance(measure, Mixed) else rng.random(q.shape) < q
        p = w[:, None] * see
        if not np.all(p.sum(axis=0) > 0):
            continue
        labels = np.array([rng.choice(len(w), p=p[:, t] / p[:, t].sum()) for t in TIMES])
        used, z = np.unique(labels, return_inverse=True)
        out.append(numbers(measure) + partition(z, region[used]))
    return np.array(out, dtype=float).T


def joint_chain(spec, sampler, sweeps, rng):
    """Draws of a chain that alternates new data given all, and a sweep given the data."""
    measure, out = spec.measure(np.bincount(TIMES)), []
    chain = RowChain.start(measure, data(EMPTY))
    sampler.sweep(data(EMPTY), chain, rng)
    for _ in range(sweeps):
        words = rng.beta(0.5, 0.5, size=chain.K)[chain.labels]
        first = rng.binomial(LENGTHS, words)
        X = sparse.csr_matrix(np.column_stack([first, LENGTHS - first]).astype(float))
        sampler.sweep(RowData(WORDS, X, TIMES, 2), chain, rng)
        out.append(numbers(measure) + partition(chain.labels, chain.region))
    return np.array(out, dtype=float).T


def joint_scores(sampler, sweeps, seed=0):
    rng, spec = np.random.default_rng(seed), SPECS[sampler.needs]
    reference = prior_draws(spec, max(sweeps, 1500), rng)
    chain = joint_chain(spec, sampler, sweeps, rng)
    return [z_score(*both) for both in zip(chain, reference, strict=True)]


@pytest.mark.parametrize("sampler", [pytest.param(M1(), marks=pytest.mark.slow), T1()], ids=repr)
def test_data_and_parameters_in_turn_leave_the_prior_as_it_is(sampler):
    assert max(joint_scores(sampler, 800)) < 4.5


@crowded
@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_data_and_parameters_in_turn_for_long(sampler):
    assert max(joint_scores(sampler, 6000)) < 4.5


def test_a_decay_without_sigma_fails_the_joint_test(monkeypatch):
    """The power of 1 / (1 + U) is n - sigma K, not n."""

    def misprinted(self, atoms):
        return np.bincount(atoms.region, atoms.sizes, minlength=self.n_regions)

    monkeypatch.setattr(Mixed, "_decay", misprinted)
    assert max(joint_scores(M1(), 1200)) > 4.5


def invariance_scores(spec, sampler, sweeps):
    rng = np.random.default_rng(1)
    reference = np.array([numbers(draw_measure(spec, rng)) for _ in range(10_000)]).T
    measure = spec.measure(np.bincount(TIMES))
    seen = [numbers(measure) for _ in walk_chain(sampler, measure, data(EMPTY), sweeps)]
    return [z_score(*both) for both in zip(np.array(seen).T, reference, strict=True)]


@pytest.mark.parametrize("sampler", [M1(), T1()], ids=repr)
def test_empty_documents_leave_the_hyperpriors_as_they_are(sampler):
    assert max(invariance_scores(SPECS[sampler.needs], sampler, 800)) < 4.5


@crowded
@pytest.mark.slow
@pytest.mark.parametrize("form", ["M", "a"])
@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_for_long_empty_documents_leave_the_hyperpriors_as_they_are(sampler, form):
    """With masses in either form."""
    cls, masses = type(SPECS[sampler.needs]), {form: MASS}
    spec = cls(2, SIGMA, q=Q[sampler.needs], **masses)
    assert max(invariance_scores(spec, sampler, 6000)) < 4.5
