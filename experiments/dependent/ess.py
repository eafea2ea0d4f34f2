"""Table 2 (section 5.2): effective sample sizes and times of samplers.

Topic models are moved with the jumps of topics integrated out (*marginal*), with explicit jumps of
the topics that have words (*hybrid*), or with slices (*slice*, the paper's subscript s), where
every table chooses among the topics above a level of its own. Words then move as in the hybrid,
since a word that opens a table has no level yet. The marginal sampler of thinned measures looks at
all sets of times, so it is left out where there are more than eight times. Without hierarchy there
is no slice sampler: the paper's figures of its own stand beside the hybrid one, and say so.

The corpus comes with its years, and then in two times. Statistics are the log joint, the numbers of
topics and of tables, sigma, sigma0, M, and every M0[r], u[t] and q[r,t]; the paper does not list
its own. MNGG and TNGG, where every document is a time, leave out u and q.

The samplers of dependent mixtures follow: there a whole document is one observation of its year.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure

import evermix as em
from evermix.topics.measures.thinned import MAX_TIMES
from experiments.common import new_figure, remember, save, show
from experiments.dependent.data import CORPORA, Corpus, halved
from experiments.dependent.runs import ALPHA, MODELS, chosen, fitted, timed

__all__ = ["effective", "main"]

SAMPLERS = {
    "H1, marginal": em.H1(jumps=False),
    "H1, hybrid": em.H1(jumps=True),
    "H1, slice": em.H1(slices=True),
    "H2, marginal": em.H2(jumps=False),
    "H2, hybrid": em.H2(jumps=True),
}
FLAT = {
    "MNGG": {"M1, marginal": em.M1(), "M3, hybrid": em.M3()},
    "TNGG": {"T1, hybrid": em.T1()},
}
MIXTURES = {
    "MNGG": (em.MNGG(), (em.M1(), em.M2(), em.M3())),
    "TNGG": (em.TNGG(), (em.T1(), em.T2(), em.T3(), em.T4(), em.T5())),
}
KINDS = ("HMNGG", "HTNGG", "MNGG", "TNGG", "mixtures")
PAPER = {  # TPAMI: mean, median and least ESS, and seconds
    "MNGG, M1, marginal": "252.4/231.9/3.7, 285 s",
    "MNGG, M3, hybrid": "slice: 205.1/131.9/23.5, 813 s",
    "TNGG, T1, hybrid": "slice: 135.7/113.0/11.1, 592 s",
    "HMNGG, H1, marginal": "171.5/80.4/5.1, 176 s",
    "HMNGG, H1, slice": "194.3/180.9/6.5, 227 s",
    "HTNGG, H1, slice": "92.5/105.1/5.4, 312 s",
    "HMNGG, two times, H1, marginal": "59.4/56.3/6.7, 89 s",
    "HMNGG, two times, H1, slice": "142.0/125.6/10.6, 91 s",
    "HTNGG, two times, H1, marginal": "55.3/58.4/4.3, 95 s",
    "HTNGG, two times, H1, slice": "116.0/107.8/3.4, 106 s",
}


def effective(chain: np.ndarray) -> float:
    """Return how many independent draws a chain (S,) is worth; nan if it never moves.

    Autocorrelations are summed in pairs as long as the sums are positive, each at most the one
    before (Geyer's initial monotone sequence).
    """
    S, centred = len(chain), chain - chain.mean()
    if np.ptp(chain) == 0.0:
        return np.nan
    spectrum = np.abs(np.fft.rfft(centred, 2 * S)) ** 2
    rho = np.fft.irfft(spectrum)[:S]
    rho /= rho[0]
    pairs = rho[: S // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else None])
    return float(S / max(2.0 * pairs.sum() - 1.0, 1.0 / S))


def main(
    corpus: str = "neurips2007_2011",
    model: str = "",
    runs: int = 5,
    burn_in: int = 2000,
    draws: int = 1000,
    quick: bool = False,
) -> None:
    """Reproduce Table 2 on one corpus; --quick makes one run of 20 + 50 sweeps on the smallest.

    --model names some of HMNGG, HTNGG, MNGG, TNGG (topic models) and mixtures (of documents).
    """
    if quick:
        corpus, runs, burn_in, draws = "aistats2007_2012", 1, 20, 50
    (name,) = chosen(corpus, list(CORPORA))
    models = chosen(model, list(KINDS))
    documents, found = CORPORA[name](), {}
    for row, learn in _rows(models, documents, burn_in, draws).items():
        found[row] = []
        for run in range(runs):
            settings = {"corpus": name, "row": row, "burn_in": burn_in, "draws": draws, "run": run}
            found[row].append(
                remember(f"dependent/runs/ess-{name}", settings, lambda: learn(run))  # noqa: B023
            )
        print(f"{row}: done", flush=True)
    lines = [_line(row, some) for row, some in found.items()]
    columns = ["sampler", "paper, TPAMI", "ESS", "least", "ESS per s", "never moved", "s"]
    title = f"{name}: ESS of {draws} draws, mean/median/least of all statistics; {runs} runs"
    show(title, columns, lines)
    place = "dependent/quick/ess" if quick else "dependent/ess"
    save(place, _figure(found), found)


Learn = Callable[[int], dict[str, Any]]


def _rows(models: list[str], documents: Corpus, burn_in: int, draws: int) -> dict[str, Learn]:
    """Return what is compared, by name: from a seed to effective sample sizes."""
    rows: dict[str, Learn] = {}
    for model in [name for name in ("HMNGG", "HTNGG") if name in models]:
        for times, data in (("", documents), (", two times", halved(documents))):
            many = model == "HTNGG" and len(np.unique(data.years)) > MAX_TIMES
            for name, sampler in SAMPLERS.items():
                if many and name.endswith("marginal"):
                    continue
                rows[f"{model}{times}, {name}"] = _topics(model, data, sampler, burn_in, draws)
    for model in [name for name in FLAT if name in models]:
        for name, sampler in FLAT[model].items():
            rows[f"{model}, {name}"] = _topics(model, documents, sampler, burn_in, draws)
    for model, (prior, samplers) in MIXTURES.items() if "mixtures" in models else ():
        for sampler in samplers:
            name = f"{model} of documents, {type(sampler).__name__}"
            rows[name] = _mixture(prior, documents, sampler, burn_in, draws)
    return rows


def _topics(model: str, data: Corpus, sampler: Any, burn_in: int, draws: int) -> Learn:
    def learn(seed: int) -> dict[str, Any]:
        topics, burnt = fitted(data, MODELS[model], burn_in, 1, seed, sampler=sampler)
        topics.set_params(draws=draws)
        _, seconds = timed(lambda: topics.resume(data.X, times=data.years))
        return _sizes(topics.traces_, seconds, burnt)

    return learn


def _mixture(prior: Any, data: Corpus, sampler: Any, burn_in: int, draws: int) -> Learn:
    def learn(seed: int) -> dict[str, Any]:
        family = em.Multinomial(alpha=ALPHA)
        mix = em.DependentMixture(family, prior, sampler, burn_in, 1, random_state=seed)
        _, burnt = timed(lambda: mix.fit(data.X, times=data.years))
        mix.set_params(draws=draws)
        _, seconds = timed(lambda: mix.resume(data.X, data.years))
        return _sizes(mix.traces_, seconds, burnt)

    return learn


def _sizes(traces: dict[str, np.ndarray], seconds: float, burnt: float) -> dict[str, Any]:
    sizes = {name: effective(np.asarray(chain)) for name, chain in traces.items()}
    moved = {name: size for name, size in sizes.items() if not np.isnan(size)}
    return {"ess": moved, "still": len(sizes) - len(moved), "seconds": seconds, "burn_in_s": burnt}


def _line(row: str, runs: list[dict[str, Any]]) -> list[Any]:
    sizes = [np.array(list(run["ess"].values())) for run in runs]
    mean, median, least = (
        np.mean([f(some) for some in sizes]) for f in (np.mean, np.median, np.min)
    )
    worst = min(runs[0]["ess"], key=lambda name: runs[0]["ess"][name])
    seconds = np.mean([run["seconds"] for run in runs])
    still = np.mean([run["still"] for run in runs])
    return [
        row,
        PAPER.get(row),
        f"{mean:.1f}/{median:.1f}/{least:.1f}",
        worst,
        f"{mean / seconds:.2f}",
        f"{still:.0f}",
        f"{seconds:.1f}",
    ]


def _figure(found: dict[str, list[dict[str, Any]]]) -> Figure:
    figure = new_figure(8.0, 1.0 + 0.3 * len(found))
    axes = figure.subplots()
    values = [[size for run in runs for size in run["ess"].values()] for runs in found.values()]
    axes.boxplot(values, orientation="horizontal", tick_labels=list(found))
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="effective sample size of each statistic")
    return figure


if __name__ == "__main__":
    typer.run(main)
