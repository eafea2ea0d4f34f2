"""Small models of every kind, to be saved and attacked."""

import warnings

import numpy as np

import evermix as em

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)) + RNG.choice([-6.0, 6.0], size=(40, 1))
COUNTS = RNG.integers(0, 4, size=(40, 5))
COUNTS[:20, :2], COUNTS[20:, 3:] = 0, 0
BITS = (COUNTS > 0).astype(float)
TIMES = np.arange(40) % 3
SHORT = {"burn_in": 2, "draws": 3, "random_state": 0}
LAWS = {"a": em.Gamma(), "sigma": em.Beta()}


def fitted(rows, **settings):
    return lambda: em.Mixture(random_state=0, **settings).fit(rows)


def streamed(rows, cuts=(), **settings):
    def learn():
        mix = em.Mixture(random_state=0, **settings)
        for part in np.split(rows, cuts):
            mix.partial_fit(part)
        return mix

    return learn


def forgetting():
    mix = em.Mixture(em.DiagonalGaussian(), forgetting=em.Exponential(9.0), random_state=0)
    return mix.partial_fit(np.vstack([X] * 30), times=np.arange(1200.0))


def over_time(prior, rows, **settings):
    return lambda: em.DependentMixture(prior=prior, **SHORT, **settings).fit(rows, times=TIMES)


def live_clusters():
    return over_time(em.MNGG(), X)().partial_fit(X, times=TIMES + 2)


def topics(prior, times=None, **settings):
    return lambda: em.TopicModel(prior, **SHORT | settings).fit(COUNTS, times=times)


def live_topics():
    return topics(em.HMNGG(), TIMES)().partial_fit(COUNTS, times=TIMES + 3)


MODELS = {
    "default": fitted(X),
    "waiting": streamed(X, (10, 25)),
    "stream": streamed(np.vstack([X] * 30)),
    "forgetting": forgetting,
    "words": fitted(COUNTS, family=em.Multinomial(0.3), engine=em.ADF()),
    "bits": fitted(BITS, family=em.Bernoulli(), engine=em.ADF()),
    "counts": fitted(COUNTS, family=em.Poisson(), engine=em.ADF()),
    "diagonal": fitted(X, family=em.DiagonalGaussian(), engine=em.ADF()),
    "centred": fitted(X, family=em.ZeroMeanGaussian(), engine=em.ADF()),
    "ep": fitted(X, engine=em.EP(laps=3)),
    "rcrp": fitted(X, engine=em.RCRP()),
    "dp-means": fitted(X, engine=em.DPMeans()),
    "gibbs": fitted(COUNTS, engine=em.Gibbs(sweeps=6, chains=2, hyperpriors=LAWS)),
    "slice": fitted(X, engine=em.Slice(sweeps=6)),
    "full": fitted(X, engine=em.FullVB(laps=3, truncation=4)),
    "stochastic": fitted(X, engine=em.StochasticVB(laps=3, truncation=4)),
    "memoized": fitted(X, engine=em.MemoizedVB(laps=2, batch_size=15, births=False)),
    "mixed": over_time(em.MNGG(), X),
    "thinned": over_time(em.TNGG(), X),
    "spatial": over_time(em.SNGG(), COUNTS, chains=2),
    "topics": topics(em.HMNGG(), TIMES, chains=2),
    "burn-in": topics(em.HDP(), burn_in=3, draws=1),
    "flat": topics(em.TNGG(), TIMES),
    "live-topics": live_topics,
    "live-clusters": live_clusters,
}


def save_all(folder, names=None):
    """Save models by name, and return their paths."""
    paths = {}
    for name in names or MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that are short
            MODELS[name]().save(folder / f"{name}.evermix")
        paths[name] = folder / f"{name}.evermix"
    return paths


def answers(model):
    """Return numbers that a model gives, each of which would be NaN if it had learnt nonsense."""
    rows = BITS if model.n_features_in_ == 5 else X
    if isinstance(model, em.TopicModel):
        return model.components_, model.evolution_, model.transform(rows[:3], _times(model))
    if isinstance(model, em.DependentMixture):
        return model.labels_, model.score_samples(rows[:3], np.repeat(model.times_[:1], 3))
    return model.labels_, model.score_samples(rows[:3]), model.predict_proba(rows[:3])


def _times(model):
    return np.repeat(model.times_[:1], 3) if len(model.times_) else None
