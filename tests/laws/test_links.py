"""Rows that are known to be together or apart: enumeration agrees, and no draw breaks a link."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse

import evermix as em
from evermix.engines import Batch
from evermix.families import Multinomial
from evermix.model import Model
from evermix.priors import DP, NGGP, PitmanYor
from helpers.engine_cases import Plain, data_for
from helpers.oracles import set_partitions
from helpers.same_models import assert_same
from helpers.variants import slow_but

WORDS = Multinomial(0.5, n_features=2)
DOCUMENTS = sparse.csr_matrix(np.array([[3, 0], [2, 1], [0, 3], [1, 2], [0, 1]], dtype=float))
LINKS = {
    "together": {"must_link": [(0, 2)]},
    "three": {"must_link": [(0, 2), (2, 4)]},
    "apart": {"cannot_link": [(0, 1), (1, 2)]},
    "both": {"must_link": [(0, 3)], "cannot_link": [(0, 1), (3, 4)]},
}


def holds(labels, must_link=(), cannot_link=()):
    together = all(labels[a] == labels[b] for a, b in must_link)
    return together and all(labels[a] != labels[b] for a, b in cannot_link)


def enumerated(model, X, links):
    """Exact probability of every partition in which the links hold."""
    log_p = {}
    for labels in filter(lambda labels: holds(labels, **links), set_partitions(X.shape[0])):
        r = np.eye(max(labels) + 1)[list(labels)]
        sizes, stats = r.sum(axis=0), model.family.accumulate(X, r)
        marginal = model.family.log_marginal(stats, sizes).sum()
        log_p[labels] = model.prior.log_eppf(sizes) + marginal
    p = np.exp(np.array(list(log_p.values())) - max(log_p.values()))
    return dict(zip(log_p, p / p.sum(), strict=True))


def visited(engine, model, X, sweeps, skip=20):
    rng, batch = np.random.default_rng(0), Batch(X, np.ones(X.shape[0]))
    state, seen = engine.initial(model, rng), Counter()
    for sweep in range(sweeps + skip):
        state, _ = engine.step(model, state, batch, rng)
        if sweep >= skip:
            seen[tuple(state.memo["chain"]["labels"].tolist())] += 1
    return seen


PRIORS = [
    NGGP(1.0, 0.5),
    *(
        pytest.param(prior, marks=pytest.mark.slow)
        for prior in (DP(1.0), PitmanYor(0.5, 0.4), Plain(NGGP(1.0, 0.25)))
    ),
]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("name", slow_but(["both", "three"], LINKS))
def test_five_points_with_links_have_the_posterior_of_the_enumeration(name, prior):
    """Three times the noise of independent draws is never met by chance."""
    model, sweeps, links = Model(WORDS, prior), 500, LINKS[name]
    exact = enumerated(model, DOCUMENTS, links)
    seen = visited(em.Gibbs(sweeps=10**9, **links), model, DOCUMENTS, sweeps)
    assert seen.keys() <= exact.keys()  # no draw breaks a link
    distance = 0.5 * sum(abs(seen[labels] / sweeps - p) for labels, p in exact.items())
    noise = 0.5 * math.sqrt(2 / (math.pi * sweeps)) * sum(map(math.sqrt, exact.values()))
    assert distance < 3 * noise


@pytest.mark.parametrize("name", ["Gaussian", "VonMisesFisher", "Categorical"])
def test_no_draw_of_a_fit_breaks_a_link(name):
    X = data_for(name, n=40)
    links = {"must_link": [(0, 1), (1, 2), (7, 9)], "cannot_link": [(2, 7), (3, 4), (4, 9)]}
    family = em.families.FAMILIES[name]().candidates(X)[0]
    engine = em.Gibbs(sweeps=15, burn_in=2, chains=2, **links)
    mix = em.Mixture(family, em.DP(2.0), engine, random_state=0).fit(X)
    assert holds(mix.labels_, **links)
    assert all(holds(labels, **links) for labels in mix.posterior_.labels)
    assert np.isfinite(mix.score(X))


def test_linked_fits_are_saved_and_resumed_bit_for_bit(tmp_path):
    X = data_for("Gaussian", n=40)
    family = em.Gaussian().candidates(X)[0]
    law = {"alpha": em.Gamma(1.0, 1.0)}

    def fit(sweeps):
        engine = em.Gibbs(
            sweeps=sweeps, burn_in=2, hyperpriors=law, must_link=[(0, 1)], cannot_link=[(1, 2)]
        )
        return em.Mixture(family, em.DP(2.0), engine, random_state=0)

    part = fit(6).fit(X)
    part.save(tmp_path / "m.evermix")
    part = em.load(tmp_path / "m.evermix")
    assert part.engine == fit(6).engine
    part.set_params(engine=fit(12).engine).resume(X)
    assert_same(part, fit(12).fit(X))
    part.set_params(engine=em.Gibbs(sweeps=14, burn_in=2, hyperpriors=law))
    with pytest.raises(ValueError, match="must_link"):
        part.resume(X)


@pytest.mark.filterwarnings("ignore::evermix.CapacityWarning")
def test_links_that_cannot_hold_are_refused():
    X = data_for("Gaussian", n=10)
    for pairs in ([0, 1], [(0, 1, 2)], 7, [(0.5, 1)], ["ab"]):
        with pytest.raises(TypeError, match="pairs of rows"):
            em.Gibbs(must_link=pairs)
    for pairs in ([(1, 1)], [(-1, 0)]):
        with pytest.raises(ValueError, match="two different rows"):
            em.Gibbs(cannot_link=pairs)
    with pytest.raises(ValueError, match="augmented=False"):
        em.Gibbs(augmented=True, must_link=[(0, 1)])

    def fit(cap=None, **links):
        family = em.Gaussian().candidates(X)[0]
        return em.Mixture(family, engine=em.Gibbs(sweeps=3, **links), max_clusters=cap).fit(X)

    with pytest.raises(ValueError, match="rows 0 and 2 cannot be apart"):
        fit(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    with pytest.raises(ValueError, match="name row 10, but there are 10 rows"):
        fit(must_link=[(0, 10)])
    with pytest.raises(ValueError, match="max_clusters=None"):
        fit(cap=3, cannot_link=[(0, 1)])
    assert fit(cap=2, must_link=[(0, 1)]).n_clusters_ <= 2
