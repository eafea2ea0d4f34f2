"""A fit goes on with the settings that it was begun with, but for those that say when it ends."""

from dataclasses import fields, replace

import numpy as np
import pytest

import evermix as em
from helpers.mixture_cases import blobs
from helpers.same_models import assert_same

X, _ = blobs(80)
FAMILY = em.FixedGaussian(1.0, 40.0)
ENGINES = [
    em.ADF(),
    em.SUGS(),
    em.OnlineCRP(),
    em.RCRP(),
    em.DPMeans(laps=3),
    em.EP(laps=3, batch_size=30),
    em.FullVB(laps=3, truncation=5),
    em.StochasticVB(laps=3, batch_size=30, truncation=5),
    em.MemoizedVB(laps=3, batch_size=30),
    em.Gibbs(sweeps=4, burn_in=1),
    em.Slice(sweeps=4, burn_in=1),
]
OTHERS = {  # than those above, of every setting there is
    "announce": 0.7,
    "augmented": True,
    "batch_size": 40,
    "birth": 0.2,
    "births": False,
    "burn_in": 2,
    "cannot_link": ((0, 1),),
    "chains": 2,
    "damping": 0.5,
    "delay": 7.0,
    "deletes": False,
    "hybrid": True,
    "hyperpriors": {"alpha": em.Gamma()},
    "kappa": 0.9,
    "laps": 5,
    "likelihood": "paper",
    "lookback": 32,
    "merge": 9.0,
    "merges": False,
    "must_link": ((0, 1),),
    "patience": 2,
    "penalty": 30.0,
    "rule": "paper",
    "shuffle": True,
    "spill": ".",
    "start": "random",
    "stride": 2,
    "sweeps": 6,
    "thin": 2,
    "tol": 1e-9,
    "top": 2,
    "truncation": 3,
    "validation": 0.3,
}
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: type(engine).__name__)


class Stop(Exception):
    pass


def mixture(engine):
    return em.Mixture(FAMILY, em.DP(), engine, random_state=0)


def fitted(engine):
    return mixture(engine).fit(X)


def stopped(engine, steps):
    """Return a mixture whose fit has ended after so many steps and ends of laps."""
    mix, seen = mixture(engine), []

    def stop(mix, info):
        seen.append(info)
        if len(seen) == steps:
            raise Stop

    with pytest.raises(Stop):
        mix.fit(X, observers=[stop])
    return mix


# ---- any engine ----------------------------------------------------------------------------------


@every_engine
def test_a_setting_that_decides_what_is_learnt_cannot_change(engine):
    """Neither is the fit changed, nor the engine that it predicts and is saved with."""
    mix = fitted(engine)
    labels = mix.labels_.copy()
    for name in {field.name for field in fields(engine)} - set(engine.may_change):
        value = "joint" if (type(engine), name) == (em.RCRP, "rule") else OTHERS[name]
        other = replace(engine, **{name: value})
        message = f"the fit was begun with {name}=.* cannot go on with {name}=.*or call fit"
        with pytest.raises(ValueError, match=message):
            mix.set_params(engine=other).resume(X)
        np.testing.assert_array_equal(mix.labels_, labels)
    assert mix.set_params(engine=engine).resume(X).learner_.engine == engine


@every_engine
def test_what_may_change_are_settings(engine):
    assert set(engine.may_change) <= {field.name for field in fields(engine)}


@pytest.mark.parametrize(
    ("engine", "changes"),
    [
        (em.DPMeans(laps=1), {"laps": None}),
        (em.EP(laps=2, tol=0.0, batch_size=30), {"laps": 5}),
        (em.EP(laps=9, tol=0.0, batch_size=30, stride=2), {"tol": 0.1}),
        (em.EP(laps=9, tol=0.0, batch_size=30, validation=0.3), {"patience": 1}),
        (em.FullVB(laps=2, tol=0.0, truncation=5), {"laps": 5}),
        (em.FullVB(laps=9, tol=0.0, truncation=5), {"tol": 50.0}),
        (em.StochasticVB(laps=2, batch_size=30, truncation=5), {"laps": 4}),
        (em.MemoizedVB(laps=9, tol=0.0, batch_size=30), {"tol": 5.0, "spill": "."}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, em.engines.Engine) else str(value),
)
def test_what_may_change_gives_what_it_would_have_given_from_the_start(engine, changes):
    other = replace(engine, **changes)
    mix = stopped(engine, 2).set_params(engine=other).resume(X)
    assert_same(mix, fitted(other))
    assert mix.learner_.engine == other


def test_a_stream_goes_on_with_other_settings_from_the_next_row_on():
    """Rows that were learnt stay learnt."""
    far = np.vstack([X, X + 100.0])
    for engine in (em.DPMeans(penalty=1e9), em.ADF(birth=0.9999, lookback=0)):
        mix = mixture(engine).partial_fit(far)
        before = mix.n_clusters_
        change = {"penalty": 20.0} if isinstance(engine, em.DPMeans) else {"birth": 0.01}
        closer = replace(engine, **change)
        mix.set_params(engine=closer).partial_fit(far)
        assert mix.n_clusters_ > before
        assert mix.state_.clock == 2 * len(far) and mix.learner_.engine == closer


# ---- chains --------------------------------------------------------------------------------------


SHORT = {"sweeps": 8, "burn_in": 2}


@pytest.mark.parametrize("kind", [em.Gibbs, em.Slice])
@pytest.mark.parametrize(
    ("begun", "now", "sweeps"),
    [
        (SHORT, {"sweeps": 12, "burn_in": 2}, 8),
        ({"sweeps": 8}, {"sweeps": 12, "burn_in": 4}, 8),  # half of 8
        ({"sweeps": 8}, {"sweeps": 12}, 3),  # still within both burn-ins
        (SHORT, {"sweeps": 6, "burn_in": 2}, 5),
        (SHORT, {"sweeps": 8, "burn_in": 4}, 2),
        (SHORT | {"thin": 2}, SHORT | {"thin": 2, "chains": 2}, 8),
        ({"sweeps": 8}, {"sweeps": 8, "burn_in": 4, "chains": 2}, 6),
        (SHORT | {"chains": 3}, SHORT | {"chains": 2}, 9),
        (SHORT | {"chains": 2}, {"sweeps": 10, "burn_in": 2, "chains": 2}, 8),
    ],
)
def test_a_chain_goes_on_as_one_that_had_these_settings_from_the_start(kind, begun, now, sweeps):
    mix = stopped(kind(**begun), 2 * sweeps).set_params(engine=kind(**now)).resume(X)
    want = fitted(kind(**now))
    np.testing.assert_array_equal(mix.posterior_.labels, want.posterior_.labels)
    np.testing.assert_array_equal(mix.posterior_.chain, want.posterior_.chain)
    assert_same(mix, want)


@pytest.mark.parametrize("kind", [em.Gibbs, em.Slice])
@pytest.mark.parametrize(
    ("begun", "now", "complaint"),
    [
        ({"sweeps": 8}, {"sweeps": 12}, "burn-in of 4 sweeps, .* one of 6: .* Use burn_in=4"),
        (SHORT, {"sweeps": 8, "burn_in": 5}, "burn-in of 2 sweeps, .* one of 5"),
        (SHORT, {"sweeps": 8, "burn_in": 1}, "burn-in of 2 sweeps, .* one of 1"),
        (SHORT, {"sweeps": 5, "burn_in": 2}, "begun with sweeps=8, .* with sweeps=5"),
        (SHORT, SHORT | {"thin": 2}, "begun with thin=1"),
        (
            SHORT | {"chains": 2},
            {"sweeps": 12, "burn_in": 2, "chains": 2},
            "begun with sweeps=8, .* with sweeps=12",
        ),
        (SHORT | {"chains": 2}, SHORT, "begun with chains=2, .* with chains=1"),
    ],
)
def test_a_chain_does_not_go_on_if_other_draws_would_have_been_kept(kind, begun, now, complaint):
    mix = fitted(kind(**begun))
    drawn = mix.posterior_.labels.copy()
    with pytest.raises(ValueError, match=complaint):
        mix.set_params(engine=kind(**now)).resume(X)
    np.testing.assert_array_equal(mix.posterior_.labels, drawn)
    assert mix.learner_.engine == kind(**begun)
