"""Small fits of dependent mixtures and topic models whose results ``results.py`` saves."""

from functools import partial
from typing import Any

import numpy as np
from result_cases import FAMILIES, Case, Results, attributes, prefixed, reloaded, rows
from scipy import sparse

import evermix as em

OVER_TIME = ("evolution_", "predicted_evolution_", "regions_", "times_", "n_sweeps_")
DEPENDENT = ("labels_", "n_clusters_", *OVER_TIME)
TOPICS = ("components_", "weights_", "n_topics_", *OVER_TIME)

DEPENDENT_PRIORS: dict[str, Any] = {
    "MNGG": (em.MNGG(), (em.M1(), em.M2(), em.M3())),
    "MNGG-gamma": (em.MNGG(regions=2, sigma=0.0, a=em.Gamma(1.0, 1.0)), (em.M1(), em.M3())),
    "SNGG": (em.SNGG(sigma=0.3), (em.M1(), em.M2(), em.M3())),
    "TNGG": (em.TNGG(regions=2), (em.T1(), em.T2(), em.T3(), em.T4(), em.T5())),
}
HIERARCHIES: dict[str, Any] = {
    name: getattr(em, name)()
    for name in ("HDP", "HNGG", "HSNGG", "HMNGG", "HMNGP", "HTNGG", "HTNGP")
}
WORD_SAMPLERS: dict[str, Any] = {
    "H1": em.H1(),
    "H1-jumps": em.H1(jumps=True),
    "H1-slices": em.H1(slices=True),
    "H2": em.H2(),
    "H2-jumps": em.H2(jumps=True),
}


def documents() -> tuple[Any, Any]:
    """Return counts of words (60, 15) whose topics change, and the times of the documents."""
    rng, times = np.random.default_rng(6), np.repeat([2001, 2002, 2003], 20)
    topics = rng.dirichlet(np.full(15, 0.2), size=4)
    shares = rng.dirichlet(np.full(4, 0.5), size=3)[times - 2001]
    X = [rng.multinomial(18, rng.dirichlet(3 * s + 0.05) @ topics) for s in shares]
    return sparse.csr_array(np.array(X)), times


def dependent(prior: Any, sampler: Any, family: Any = "auto") -> Results:
    """Fit a dependent mixture, ask, save, load, go on, ask again."""
    X = rows("Gaussian" if family == "auto" else family)
    times = np.repeat([1.0, 2.0, 3.0], 50)
    mix = em.DependentMixture(
        FAMILIES.get(family, family), prior, sampler, burn_in=4, draws=4, random_state=0
    )

    def answers(mix: em.DependentMixture) -> Results:
        yield from attributes(mix, DEPENDENT)
        yield from mix.traces_.items()
        yield "predict_proba", mix.predict_proba(X[:20], times[:20])
        yield "score_samples", mix.score_samples(X[:20], times[:20])
        yield "draws", mix.posterior_.labels

    yield from answers(mix.fit(X, times=times))
    more = reloaded(mix).set_params(draws=6).resume(X, times)
    yield from prefixed("resumed", answers(more))


def topics(prior: Any, sampler: Any, chains: int = 1) -> Results:
    """Fit a topic model, ask, save, load, go on, ask again."""
    X, times = documents()
    model = em.TopicModel(prior, sampler=sampler, burn_in=5, draws=3, chains=chains, random_state=0)

    def answers(model: em.TopicModel) -> Results:
        yield from attributes(model, TOPICS)
        yield from model.traces_.items()
        yield "transform", model.transform(X[:20], times[:20])
        yield "perplexity", model.perplexity(X, times)
        yield "top_words", model.top_words(3)

    used = None if isinstance(prior, em.HDP | em.HNGG) else times
    yield from answers(model.fit(X, times=used))
    more = reloaded(model).set_params(draws=5).resume(X, used)
    yield from prefixed("resumed", answers(more))


def cases() -> dict[str, Case]:
    """Return the cases by name."""
    found: dict[str, Case] = {}
    for name, (prior, samplers) in DEPENDENT_PRIORS.items():
        found[f"dependent/{name}/default"] = partial(dependent, prior, None)
        for sampler in samplers:
            case = partial(dependent, prior, sampler)
            found[f"dependent/{name}/{type(sampler).__name__}"] = case
    for family in FAMILIES:
        found[f"dependent/MNGG/{family}"] = partial(dependent, em.MNGG(), None, family)
    for name, prior in HIERARCHIES.items():
        for sampler_name, sampler in WORD_SAMPLERS.items():
            found[f"topics/{name}/{sampler_name}"] = partial(topics, prior, sampler)
    found["topics/MNGG/M1"] = partial(topics, em.MNGG(), em.M1())
    found["topics/MNGG/M3"] = partial(topics, em.MNGG(), em.M3())
    found["topics/TNGG/T1"] = partial(topics, em.TNGG(), em.T1())
    found["topics/default"] = partial(topics, None, None)
    found["topics/two chains"] = partial(topics, em.HDP(), None, 2)
    return found
