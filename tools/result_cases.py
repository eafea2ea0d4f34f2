"""Small fits of mixtures whose results ``results.py`` saves; only public names are used.

A case is a function that yields (name, value) pairs. Everything is drawn with fixed seeds.
"""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import gammaln

import evermix as em

Results: TypeAlias = Iterator[tuple[str, Any]]
Case: TypeAlias = Callable[[], Results]

N = 120  # rows that are learnt
CUTS = (37, 38, 45, 46, 78, 79, 103)  # of a stream of N rows

MIXTURE = (
    "labels_",
    "probabilities_",
    "cluster_ids_",
    "weights_",
    "lower_bound_",
    "n_clusters_posterior_",
)
ENGINES: dict[str, Any] = {
    "ADF": em.ADF(),
    "EP": em.EP(laps=3, tol=0.0, batch_size=50),
    "FullVB": em.FullVB(laps=4, truncation=6, tol=0.0),
    "StochasticVB": em.StochasticVB(laps=3, batch_size=40, truncation=6),
    "MemoizedVB": em.MemoizedVB(laps=4, batch_size=40, tol=0.0),
    "Gibbs": em.Gibbs(sweeps=8, burn_in=4),
    "Slice": em.Slice(sweeps=8, burn_in=4),
    "RCRP": em.RCRP(),
    "SUGS": em.SUGS(),
    "OnlineCRP": em.OnlineCRP(),
    "DPMeans": em.DPMeans(laps=3),
}
STREAMING = ("ADF", "RCRP", "SUGS", "OnlineCRP", "DPMeans")
MERGING = ("ADF", "EP", "FullVB", "StochasticVB", "MemoizedVB", "SUGS", "OnlineCRP")
MORE = {"laps": 6, "sweeps": 11}  # with which a fit is resumed
FAMILIES: dict[str, Any] = {
    "Multinomial": em.Multinomial(),
    "Gaussian": em.Gaussian(),
    "ZeroMeanGaussian": em.ZeroMeanGaussian(),
    "DiagonalGaussian": em.DiagonalGaussian(),
    "FixedGaussian": em.FixedGaussian(),
    "Bernoulli": em.Bernoulli(),
    "Poisson": em.Poisson(),
}


@dataclass(frozen=True)
class GammaProcess(em.NRM):
    """A prior of a user's own: the Dirichlet process as a normalised random measure."""

    a: float = 1.0

    def log_moment(self, m: Any, u: Any) -> Any:
        """Log moments of the jumps."""
        return np.log(self.a) + gammaln(m) - m * np.log1p(u)

    def laplace_exponent(self, u: Any) -> Any:
        """Laplace exponent of the process."""
        return self.a * np.log1p(u)


PRIORS: dict[str, Any] = {
    "DP": em.DP(2.0),
    "NGGP": em.NGGP(a=2.0, sigma=0.3, tau=1.0),
    "NGGP-mode": em.NGGP(a=2.0, sigma=0.3, tau=1.0, u="mode"),
    "PitmanYor": em.PitmanYor(1.0, 0.3),
    "GeneralizedDirichlet": em.GeneralizedDirichlet(1.0, 2),
    "own": GammaProcess(1.0),
}
LAWS = {"a": em.Gamma(1.0, 1.0), "sigma": em.Beta(1.0, 2.0), "family.alpha": em.Gamma(1.0, 5.0)}
OPTIONS: dict[str, Any] = {
    "ADF-paper": em.ADF(birth=0.6, rule="paper"),
    "ADF-no-merges": em.ADF(birth=0.01, merge=None),
    "EP-paper": em.EP(laps=3, birth=0.6, rule="paper"),
    "EP-shuffle": em.EP(laps=3, shuffle=True),
    "EP-validation": em.EP(laps=6, validation=0.2, patience=2),
    "EP-stride": em.EP(laps=3, batch_size=20, stride=3),
    "EP-damping": em.EP(laps=3, batch_size=20, stride=2, damping=0.5),
    "FullVB-random": em.FullVB(laps=3, truncation=5, start="random"),
    "FullVB-top": em.FullVB(laps=3, truncation=5, top=2),
    "StochasticVB-top": em.StochasticVB(laps=2, batch_size=30, truncation=5, top=2, kappa=0.8),
    "MemoizedVB-kmeans++": em.MemoizedVB(laps=3, batch_size=30, start="kmeans++", truncation=5),
    "MemoizedVB-top": em.MemoizedVB(laps=3, batch_size=30, top=2),
    "MemoizedVB-stride": em.MemoizedVB(laps=3, batch_size=30, stride=2),
    "MemoizedVB-no-moves": em.MemoizedVB(
        laps=3, batch_size=30, births=False, merges=False, deletes=False, start="random"
    ),
    "Gibbs-augmented": em.Gibbs(sweeps=6, augmented=True),
    "Gibbs-laws": em.Gibbs(sweeps=8, chains=2, thin=2, hyperpriors=LAWS),
    "Gibbs-augmented-laws": em.Gibbs(sweeps=8, augmented=True, hyperpriors=LAWS),
    "Slice-hybrid": em.Slice(sweeps=6, hybrid=True),
    "Slice-laws": em.Slice(sweeps=8, chains=2, thin=2, hyperpriors=LAWS),
    "RCRP-announce": em.RCRP(announce=0.2),
    "SUGS-merge": em.SUGS(merge=2.0),
    "OnlineCRP-merge": em.OnlineCRP(merge=2.0),
    "DPMeans-penalty": em.DPMeans(penalty=20.0, laps=1),
}


# ---- data ----------------------------------------------------------------------------------


@cache
def rows(family: str, n: int = N + 30) -> Any:
    """Return rows that suit a family; the first N are learnt, the others are new."""
    rng = np.random.default_rng(5)
    groups = rng.integers(3, size=n)
    if family == "Multinomial":
        words = rng.dirichlet(np.full(12, 0.2), size=3)
        return sparse.csr_array(np.array([rng.multinomial(15, words[k]) for k in groups], float))
    if family == "Bernoulli":
        return (rng.random((n, 8)) < rng.beta(0.4, 0.4, size=(3, 8))[groups]).astype(np.float64)
    if family == "Poisson":
        return rng.poisson(rng.gamma(1.0, 4.0, size=(3, 5))[groups]).astype(np.float64)
    noise = rng.normal(size=(n, 3))
    if family == "ZeroMeanGaussian":
        return np.einsum("nij,nj->ni", rng.normal(size=(3, 3, 3))[groups], noise)
    return noise + rng.normal(scale=6.0, size=(3, 3))[groups]


# ---- what is recorded ----------------------------------------------------------------------


def attributes(model: Any, names: tuple[str, ...]) -> Results:
    """Yield the attributes that a model has."""
    for name in names:
        if hasattr(model, name):
            yield name, getattr(model, name)


def answers(mix: Any, new: Any) -> Results:
    """Yield everything that a mixture says of what it has learnt, and of new rows."""
    yield from attributes(mix, MIXTURE)
    yield "history K", [info.K for info in mix.history_]
    yield "history log_predictive", [info.log_predictive for info in mix.history_]
    for name in ("born", "ended", "into", "last"):
        yield f"lineage {name}", np.array(getattr(mix.lineage_, name), dtype=np.float64)
    yield "predict", mix.predict(new)
    yield "predict_proba", mix.predict_proba(new)
    yield "score_samples", mix.score_samples(new)
    X, labels = mix.sample(5)
    yield "sample", sparse.csr_array(X).toarray()
    yield "sample labels", labels
    if hasattr(mix, "posterior_"):
        yield "score_draws", mix.score_draws(new)
        yield "co_clustering", mix.posterior_.co_clustering()
        for name, values in mix.posterior_.traces().items():
            yield f"trace {name}", values


def reloaded(model: Any) -> Any:
    """Return the model after a round trip through a file."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.evermix")
        return em.load(Path(folder) / "model.evermix")


def prefixed(prefix: str, results: Results) -> Results:
    """Put a prefix before each name."""
    return ((f"{prefix} {name}", value) for name, value in results)


# ---- mixtures ------------------------------------------------------------------------------


def fit(family: str, engine: Any, prior: Any = None, n: int = N, **settings: Any) -> Results:
    """Fit, ask, save, load, ask again."""
    X = rows(family)
    seen: list[list[int]] = []
    mix = em.Mixture(FAMILIES[family], prior, engine, random_state=0, **settings)

    def watch(_: Any, info: Any) -> None:
        seen.append([info.rows, info.clock, info.K, info.lap])

    mix.fit(X[:n], observers=[watch])
    yield "observed", seen
    yield from answers(mix, X[N:])
    if not isinstance(prior, GammaProcess):  # which a file cannot name
        yield from prefixed("loaded", answers(reloaded(mix), X[N:]))


def go_on(family: str, engine: Any) -> Results:
    """Save and load a fit, and give it more to do; or let a stream go on."""
    X = rows(family)
    mix = reloaded(em.Mixture(FAMILIES[family], engine=engine, random_state=0).fit(X[:N]))
    more = {name: value for name, value in MORE.items() if hasattr(engine, name)}
    if more:
        mix.set_params(engine=replace(engine, **more)).resume(X[:N])
    else:
        mix.partial_fit(X[N:])
    yield from answers(mix, X[N:])


def stream(family: str, engine: Any, **settings: Any) -> Results:
    """Learn rows in odd cuts, and save and load in between."""
    X = rows(family)
    mix = em.Mixture(FAMILIES[family], engine=engine, random_state=0, **settings)
    for start, end in zip((0, *CUTS), (*CUTS, N), strict=True):
        mix.partial_fit(X[start:end])
        yield f"labels_ {end}", mix.labels_
        yield f"probabilities_ {end}", mix.probabilities_
        if end == CUTS[3]:
            mix = reloaded(mix)
    yield from answers(mix, X[N:])


def dated_stream(family: str) -> Results:
    """Forget by dates."""
    X = rows(family)
    steps = np.random.default_rng(1).integers(1, 5000, size=N)
    times = np.datetime64("2020-01-01T00:00:00") + np.cumsum(steps).astype("timedelta64[s]")
    half_life: Any = timedelta(hours=10)
    plan = em.Exponential(half_life)
    mix = em.Mixture(FAMILIES[family], forgetting=plan, random_state=0)
    for start, end in zip((0, *CUTS), (*CUTS, N), strict=True):
        mix.partial_fit(X[start:end], times=times[start:end])
    yield from answers(mix, X[N:])


def long_stream(counts: bool) -> Results:
    """Learn more rows with the defaults than wait for the scale to be known."""
    X = rows("Multinomial" if counts else "Gaussian", 1400)
    X = X.astype(np.int64) if counts else X
    mix = em.Mixture(random_state=0)
    for start, end in ((0, 1), (1, 500), (500, 998), (998, 1003), (1003, 1004), (1004, 1300)):
        mix.partial_fit(X[start:end])
    yield from answers(mix, X[1300:])


def weighted(engine: Any) -> Results:
    """Learn rows of different weights."""
    X, w = rows("Gaussian"), np.resize([1.0, 0.5, 2.0, 0.0, 1.5], N)
    mix = em.Mixture(engine=engine, random_state=0).fit(X[:N], sample_weight=w)
    yield from answers(mix, X[N:])


def other_rows(kind: str) -> Results:
    """Learn the same rows in another form, with a family that is chosen by the data."""
    family, engine = "Multinomial" if "counts" in kind else "Gaussian", ENGINES["MemoizedVB"]
    X = rows(family)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.npy"
        np.save(file, rows("Gaussian")[:N])
        given: Any = {
            "float32": lambda: X[:N].astype(np.float32),
            "dense counts": lambda: X[:N].toarray().astype(np.int64),
            "sparse counts": lambda: X[:N].astype(np.int64),
            "bits": lambda: rows("Bernoulli")[:N].astype(bool),
            "memory map": lambda: np.load(file, mmap_mode="r"),
            "chunks": lambda: em.Chunks([X[:50], X[50:N]]),
            "chunks of counts": lambda: em.Chunks([X[:50], X[50:N]]),
            "spill": lambda: X[:N],
        }[kind]()
        if kind == "spill":
            engine = replace(engine, spill=folder)
        mix = em.Mixture(engine=engine, random_state=0).fit(given)
        new = rows("Bernoulli")[N:] if kind == "bits" else X[N:]
        yield from answers(mix, new.astype(np.int64) if "counts" in kind else new)


def merged(family: str, engine: Any) -> Results:
    """Merge two models of different rows."""
    X = rows(family)
    first = em.Mixture(FAMILIES[family], engine=engine, random_state=0).fit(X[:70])
    second = em.Mixture(first.model_.family, engine=engine, random_state=1).fit(X[70:N])
    both = em.merge([first, second])
    for number, names in enumerate(both.label_maps_):
        yield f"label_maps_ {number}", names
    yield "cluster_ids_", both.cluster_ids_
    yield "weights_", both.weights_
    yield "predict_proba", both.predict_proba(X[N:])
    yield "score_samples", reloaded(both).score_samples(X[N:])


def selected(family: str) -> Results:
    """Choose among priors."""
    X, priors = rows(family), list(PRIORS.values())[:4]
    found = em.score_priors(X, priors, family=FAMILIES[family], random_state=0)
    yield "log_likelihood", [one.log_likelihood for one in found]
    yield "n_clusters", [one.n_clusters for one in found]
    chosen = em.select_prior(X, priors, family=FAMILIES[family], random_state=0)
    yield "chosen", priors.index(chosen)


# ---- the list ------------------------------------------------------------------------------


def cases() -> dict[str, Case]:
    """Return the cases of mixtures by name."""
    found: dict[str, Case] = {}
    for family in FAMILIES:
        for name, engine in ENGINES.items():
            found[f"fit/{name}/{family}"] = partial(fit, family, engine)
            found[f"go on/{name}/{family}"] = partial(go_on, family, engine)
        for name in STREAMING:
            found[f"stream/{name}/{family}"] = partial(stream, family, ENGINES[name])
            plan = em.Exponential(half_life=30.0)
            forgetting = partial(stream, family, ENGINES[name], forgetting=plan)
            found[f"forgetting/{name}/{family}"] = forgetting
        found[f"dated forgetting/{family}"] = partial(dated_stream, family)
        found[f"merge/ADF/{family}"] = partial(merged, family, em.ADF())
        found[f"select/{family}"] = partial(selected, family)
    for name in MERGING:
        for family in ("Gaussian", "Multinomial"):
            found[f"merge/{name}/{family}"] = partial(merged, family, ENGINES[name])
    for prior_name, prior in PRIORS.items():
        for name in ("ADF", "EP", "FullVB", "MemoizedVB", "Gibbs", "Slice", "SUGS"):
            few = 40 if prior_name in ("GeneralizedDirichlet", "own") else N  # slow: not compiled
            case = partial(fit, "Multinomial", ENGINES[name], prior, few)
            found[f"prior/{prior_name}/{name}"] = case
    for name, engine in OPTIONS.items():
        family = "FixedGaussian" if name.startswith("DPMeans") else "Multinomial"
        found[f"option/{name}"] = partial(fit, family, engine)
    for name in ("ADF", "EP", "MemoizedVB", "RCRP", "SUGS"):
        found[f"weights/{name}"] = partial(weighted, ENGINES[name])
        found[f"cap/{name}"] = partial(fit, "Gaussian", ENGINES[name], max_clusters=2)
    for kind in ("float32", "dense counts", "sparse counts", "bits", "memory map", "chunks"):
        found[f"rows/{kind}"] = partial(other_rows, kind)
    found["rows/chunks of counts"] = partial(other_rows, "chunks of counts")
    found["rows/spill"] = partial(other_rows, "spill")
    found["long stream/vectors"] = partial(long_stream, False)
    found["long stream/counts"] = partial(long_stream, True)
    return found


def run(case: Case) -> Results:
    """Yield the results of a case; what it refuses is a result too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield from case()
        except (TypeError, ValueError, AttributeError) as error:
            yield "refused", f"{type(error).__name__}: {error}"
