"""The prior (section 4.1): without data the recursion must be the Chinese restaurant process.

50 customers, four concentrations. Exact are the law of the number of tables (Stirling numbers), the
law of every customer's table, and the expected number of customers at each table. The published
rules for the number of tables are held against the same; the paper compares with Monte Carlo
estimates, whose error is shown against the number of samples.
"""

from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure
from scipy import sparse

import evermix as em
from evermix.engines.batch import Batch
from experiments.common import new_figure, save, show
from experiments.recursive import published_rules
from experiments.recursive.published_rules import PublishedRCRP

__all__ = ["draws", "main", "recursion", "truth"]

T = 50
ALPHAS = (1.1, 10.78, 15.37, 30.91)
RULES = ("coupled", "joint", *published_rules.RULES)
SAMPLES = 5_000


def truth(alpha: float, n: int = T) -> tuple[np.ndarray, np.ndarray]:
    """Return p(z_t = k) (n, n) and p(K_t = k) (n, n + 1), by the recursion over (K_t, n_k).

    A table that customer s opened is later chosen with probability 1 / (alpha + s), at every time:
    its expected share of the customers and alpha is a martingale.
    """
    seats, tables = np.zeros((n, n)), np.zeros((n + 1, n + 1))
    tables[0, 0] = 1.0
    for s in range(n):
        opened = alpha / (alpha + s) * tables[s, :-1]
        seats[s] += opened
        seats[s + 1 :] += opened / (alpha + s + 1)
        tables[s + 1] = s / (alpha + s) * tables[s]
        tables[s + 1, 1:] += opened
    return seats, tables[1:]


def recursion(rule: str, alpha: float, n: int = T) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as the engine has it, customer by customer: empty documents say nothing."""
    published = rule in published_rules.RULES
    engine = PublishedRCRP(rule) if published else em.RCRP(rule)
    model = em.Model(em.Multinomial(1.0, n_features=1), em.DP(alpha))
    rng = np.random.default_rng(0)
    state, batch = engine.initial(model, rng), Batch(sparse.csr_matrix((1, 1)), np.ones(1))
    summed, tables = np.zeros((n + 1, n)), np.zeros((n, n + 1))
    for t in range(n):
        state, _ = engine.step(model, state, batch, rng)
        summed[t + 1, : state.tally.K] = state.tally.mass
        tables[t, : state.tally.K + 1] = engine.n_clusters_probabilities(state)
    return np.diff(summed, axis=0), tables


def draws(alpha: float, samples: int, seed: int, n: int = T) -> np.ndarray:
    """Draw seatings (samples, n) of n customers."""
    rng = np.random.default_rng(seed)
    seats = np.zeros((samples, n), dtype=np.int64)
    used = np.ones(samples, dtype=np.int64)
    for t in range(1, n):
        u = (alpha + t) * rng.random(samples)
        # Whoever sits down beside another chooses a customer, not a table.
        beside = seats[np.arange(samples), np.minimum(u.astype(np.int64), t - 1)]
        seats[:, t] = np.where(u < t, beside, used)
        used += u >= t
    return seats


def frequencies(seats: np.ndarray) -> np.ndarray:
    """Return how often customer t sits at table k, (n, n)."""
    n = seats.shape[1]
    return np.stack([np.bincount(seats[:, t], minlength=n) for t in range(n)]) / len(seats)


def check(alpha: float, samples: int, seed: int = 0) -> dict[str, Any]:
    """Return the errors of every rule, and those of Monte Carlo estimates, for one alpha."""
    seats, tables = truth(alpha)
    counts = np.arange(T + 1)
    rules = {}
    for rule in RULES:
        got, law = recursion(rule, alpha)
        rules[rule] = {
            "tables": np.abs(law - tables).max(),
            "seats": np.abs(got - seats).max(),
            "occupancies": np.abs((got - seats).sum(axis=0)).max(),
            "E[K]": law[-1] @ counts,
            "sizes": got.sum(axis=0).tolist(),
            "law of K": law[-1].tolist(),
        }
    drawn = draws(alpha, samples, seed)
    errors = {}
    for m in np.unique(np.geomspace(10, samples, 10).astype(int)):
        squares = (frequencies(drawn[:m]) - recursion("coupled", alpha)[0]) ** 2
        errors[int(m)] = squares.mean()
    return {
        "E[K]": tables[-1] @ counts,
        "sizes": seats.sum(axis=0).tolist(),
        "law of K": tables[-1].tolist(),
        "drawn sizes": frequencies(drawn).sum(axis=0).tolist(),
        "rules": rules,
        "squared error by samples": errors,
        "slope": np.polyfit(np.log(list(errors)), np.log(list(errors.values())), 1)[0],
    }


def main(samples: int = SAMPLES, quick: bool = False) -> None:
    """Compare every rule with the exact law; --quick draws 500 samples."""
    samples = 500 if quick else samples
    found = {alpha: check(alpha, samples) for alpha in ALPHAS}
    lines = [
        [
            f"{alpha:g}",
            rule,
            f"{errors['tables']:.1e}",
            f"{errors['seats']:.1e}",
            f"{errors['occupancies']:.1e}",
            f"{errors['E[K]']:.2f}",
            f"{numbers['E[K]']:.2f}",
        ]
        for alpha, numbers in found.items()
        for rule, errors in numbers["rules"].items()
    ]
    columns = ["alpha", "rule", "p(K_t)", "p(z_t)", "mean n_k", "mean K", "exact"]
    show(f"Largest errors without data, {T} customers", columns, lines)
    for alpha, numbers in found.items():
        errors = numbers["squared error by samples"]
        first, last = min(errors), max(errors)
        print(
            f"alpha = {alpha:g}: Monte Carlo's mean squared error falls from {errors[first]:.1e} "
            f"with {first} samples to {errors[last]:.1e} with {last}, as samples to the power "
            f"{numbers['slope']:.2f}."
        )
    place = "recursive/quick/prior" if quick else "recursive/prior"
    save(place, _figure(found), {str(alpha): numbers for alpha, numbers in found.items()})


def _figure(found: dict[float, dict[str, Any]]) -> Figure:
    """Draw the laws of K, the sizes of tables and the error of Monte Carlo (Figures 3 and 4)."""
    figure = new_figure(13.0)
    laws, sizes, errors = figure.subplots(1, 3)
    for number, (alpha, numbers) in enumerate(found.items()):
        colour = f"C{number}"
        name = rf"$\alpha$ = {alpha:g}"
        laws.plot(numbers["law of K"], color="black", lw=0.8)
        for rule, style in (("coupled", "o"), ("paper", "x")):
            law = numbers["rules"][rule]["law of K"]
            label = f"{name}, {rule}" if number == 1 else None
            laws.plot(law, style, ms=3, color=colour, label=label)
        sizes.plot(np.arange(1, T + 1), numbers["drawn sizes"], color="black", lw=0.8)
        recursive = numbers["rules"]["coupled"]["sizes"]
        sizes.plot(np.arange(1, T + 1), recursive, "o", ms=3, color=colour, label=name)
        by_samples = numbers["squared error by samples"]
        errors.loglog(list(by_samples), list(by_samples.values()), "o-", ms=3, label=name)
    laws.set(xlabel="tables of 50 customers", ylabel="probability", title="exact: lines")
    sizes.set(xlabel="table", ylabel="customers", yscale="log", ylim=(1e-3, 60))
    sizes.set_title("drawn: lines")
    errors.set(xlabel="Monte Carlo samples", ylabel="mean squared error of p(z_t)")
    for axes in (laws, sizes, errors):
        axes.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    typer.run(main)
