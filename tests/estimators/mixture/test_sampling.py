"""Rows that a mixture draws: of the density that it tells, and with numbers of their own."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import chisquare

import evermix as em

FAMILY = em.FixedGaussian(variance=1.0, mean_variance=25.0)
GRID = np.linspace(-40.0, 40.0, 8001)


def numbers(n=12, seed=0):
    """Rows about whose clusters there is much doubt."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)) + 3.0 * rng.integers(-1, 2, size=(n, 1))


def legacy():
    """Return a Generator whose seeds cannot be spawned."""
    return np.random.Generator(np.random.RandomState(5)._bit_generator)


# ---- the law of samples ----------------------------------------------------------------------

ENGINES = [
    em.ADF(),
    em.RCRP(),
    em.OnlineCRP(),
    em.DPMeans(),
    em.MemoizedVB(laps=5),
    em.Gibbs(sweeps=40, hyperpriors={"alpha": em.Gamma(1.0, 1.0)}),
    em.Gibbs(sweeps=20, chains=2, hyperpriors={"family.mean_variance": em.Gamma(2.0, 0.1)}),
    em.Slice(sweeps=40),
]


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_rows_are_drawn_from_the_density_that_is_reported(engine):
    mix = em.Mixture(FAMILY, em.DP(2.0), engine, random_state=0).fit(numbers())
    drawn = mix.sample(20_000)[0][:, 0]
    density = np.exp(mix.score_samples(GRID[:, None]))
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(GRID))])
    edges = np.interp(np.arange(1, 20) / 20, below, GRID)  # as likely between any two
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=20)
    assert chisquare(counts).pvalue > 1e-3
    mean = trapezoid(GRID * density, GRID)
    assert drawn.mean() == pytest.approx(mean, abs=4 * drawn.std() / np.sqrt(len(drawn)))


def test_rows_of_labels_that_are_not_shown_are_of_no_cluster():
    """They hold a part of the density, beside that of a cluster not seen before."""
    mix = em.Mixture(FAMILY, em.DP(2.0), em.RCRP(), random_state=0).partial_fit(numbers())
    weights = np.exp(mix.learner_.engine.log_weights(mix.model_, mix.state_))
    shown = mix.learner_.engine.shown(mix.state_)
    hidden = weights[:-1][~shown].sum()
    assert hidden > 0.05
    labels = mix.sample(20_000)[1]
    assert set(labels) == {-1, *mix.cluster_ids_}
    assert np.mean(labels < 0) == pytest.approx(hidden + weights[-1], abs=0.015)


def test_clusters_of_several_draws_have_no_names_in_common():
    X = numbers()
    several = em.Mixture(FAMILY, em.DP(2.0), em.Gibbs(sweeps=10), random_state=0).fit(X)
    assert set(several.sample(500)[1]) == {-1}
    engine = em.Gibbs(sweeps=10, burn_in=9)
    single = em.Mixture(FAMILY, em.DP(2.0), engine, random_state=0).fit(X)
    assert set(single.sample(500)[1]) == {-1, *single.cluster_ids_}


# ---- whose numbers they are ------------------------------------------------------------------

SEEDS = {
    "int": lambda: 5,
    "RandomState": lambda: np.random.RandomState(5),
    "Generator": lambda: np.random.default_rng(5),
    "without spawning": legacy,
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_asking_does_not_change_what_is_learnt(seed):
    X = numbers(400)
    queried, silent = (em.Mixture(FAMILY, engine=em.OnlineCRP(), random_state=seed()) for _ in "ab")
    for mix in (queried, silent):
        mix.partial_fit(X[:200])
    queried.sample(3)
    for mix in (queried, silent):
        mix.partial_fit(X[200:])
    np.testing.assert_array_equal(queried.labels_, silent.labels_)
    np.testing.assert_array_equal(queried.tally_.mass, silent.tally_.mass)


def test_an_interrupted_fit_goes_on_bit_for_bit_also_after_sampling():
    X = numbers(60)
    whole, stopped = (
        em.Mixture(FAMILY, em.DP(), em.Gibbs(sweeps=12), random_state=np.random.default_rng(5))
        for _ in "ab"
    )

    def stop(mix, info):
        if mix.state_.clock >= 8 * len(X):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, observers=[stop])
    stopped.sample(3)
    np.testing.assert_array_equal(
        stopped.resume(X).posterior_.labels, whole.fit(X).posterior_.labels
    )


def test_a_merged_model_draws_with_numbers_of_its_own():
    X = numbers(400)
    seeds = np.random.default_rng(5)
    first = em.Mixture(FAMILY, engine=em.OnlineCRP(), random_state=seeds).fit(X[:200])
    second = em.Mixture(FAMILY, engine=em.OnlineCRP(), random_state=0).fit(X[200:])
    alone = deepcopy(first).partial_fit(X)
    merged = em.merge([first, second])
    merged.partial_fit(X)
    np.testing.assert_array_equal(first.partial_fit(X).labels_, alone.labels_)


def test_an_int_draws_the_same_rows_again_and_what_moves_on_draws_others():
    X = numbers()
    same = em.Mixture(FAMILY, random_state=5).fit(X)
    np.testing.assert_array_equal(same.sample(4)[0], same.sample(4)[0])
    for name in ("RandomState", "Generator", "without spawning"):
        one, two = (em.Mixture(FAMILY, random_state=SEEDS[name]()).fit(X) for _ in "ab")
        drawn = one.sample(4)[0]
        np.testing.assert_array_equal(drawn, two.sample(4)[0])
        assert np.all(drawn != one.sample(4)[0])


def test_a_generator_gives_what_follows_from_its_state():
    """Not from how it was seeded: that may be unknown, and says nothing of where it stands."""
    X = numbers(100)

    def labels(seeds):
        return em.Mixture(FAMILY, engine=em.OnlineCRP(), random_state=seeds).fit(X).labels_

    begun, moved, restored = (np.random.default_rng(seed) for seed in (5, 5, 6))
    moved.random(3)
    restored.bit_generator.state = moved.bit_generator.state
    first, second = labels(begun), labels(moved)
    assert np.any(first != second)
    np.testing.assert_array_equal(labels(restored), second)
