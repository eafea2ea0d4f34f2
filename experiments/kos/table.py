"""Table 1 (section 4.3): held-out log likelihood and number of clusters of ADF, EP and Gibbs.

A fifth of the 3,430 posts is held out. ADF and EP learn the rest in each of 20 random orders, Gibbs
in 5 chains of 215 sweeps of which the last 50 count. Hyperparameters are the paper's: Dirichlet
0.1, NGGP(10, 0.5, 100) (called IG) and DP(100).

As in the paper, the value of Gibbs is the mean over draws of the held-out log likelihood. Densities
averaged over draws, inside the log, predict better and stand beside it.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import typer

import evermix as em
from experiments.common import mean_and_error, new_figure, save, show, with_error
from experiments.kos.runs import DP, IG, draws, passes, split

__all__ = ["GIBBS", "OURS", "PAPER", "main"]

PAPER = (
    em.ADF(birth=0.5, rule="paper", merge=None),
    em.EP(laps=50, birth=0.5, rule="paper", merge=None, tol=0.0),
)
OURS = (em.ADF(birth=0.1, merge=None), em.EP(laps=50, birth=0.1, merge=None, tol=0.0))
GIBBS = em.Gibbs(sweeps=215, burn_in=165, chains=5)


class Row(NamedTuple):
    """One line of the table; the paper's values are (mean, standard error)."""

    name: str
    prior: Any
    engine: Any
    paper_score: tuple[float, float] | None = None
    paper_clusters: tuple[float, float] | None = None


TABLE = [
    Row("ADF-DP, rule of the paper", DP, PAPER[0], (-346_023, 165), (80, 0.17)),
    Row("ADF-IG, rule of the paper", IG, PAPER[0], (-345_588, 159), (92, 0.18)),
    Row("EP-DP, rule of the paper", DP, PAPER[1], (-342_535, 181), (104, 2.4)),
    Row("EP-IG, rule of the paper", IG, PAPER[1], (-342_195, 161), (114, 1.5)),
    Row("Gibbs-DP", DP, GIBBS, (-342_164, 11), (119, 0.3)),
    Row("Gibbs-IG", IG, GIBBS, (-341_468, 338), (128, 1.3)),
]
OTHERS = [
    Row("ADF-DP, birth 0.1, no merges", DP, OURS[0]),
    Row("ADF-IG, birth 0.1, no merges", IG, OURS[0]),
    Row("EP-DP, birth 0.1, no merges", DP, OURS[1]),
    Row("EP-IG, birth 0.1, no merges", IG, OURS[1]),
    Row("ADF-DP, defaults", DP, em.ADF()),
    Row("ADF-IG, defaults", IG, em.ADF()),
    Row("EP-DP, defaults", DP, em.EP()),
    Row("EP-IG, defaults", IG, em.EP()),
    Row("ADF-IG, defaults, no merges", IG, em.ADF(merge=None)),
    Row("ADF-IG, birth 0.01, no merges", IG, em.ADF(birth=0.01, merge=None)),
]


class Found(NamedTuple):
    """Independent values of a row: of each order (ADF, EP), or the mean of each chain (Gibbs)."""

    held_out: np.ndarray
    K: np.ndarray
    laps: np.ndarray
    inside: float | None = None
    mixing: dict[str, dict[str, float]] | None = None


def learn(row: Row, posts: Any, orders: int) -> Found:
    """Return what the engine of a row finds."""
    if isinstance(row.engine, em.Gibbs):
        run = draws(row.prior, row.engine, *posts)
        each = [np.array(run["chain"]) == c for c in range(row.engine.chains)]
        held_out, K = (
            np.array([np.array(run[name])[own].mean() for own in each])
            for name in ("held_out", "K")
        )
        laps = np.full(len(each), row.engine.sweeps)
        return Found(held_out, K, laps, run["inside"], run["mixing"])
    runs = [passes(row.prior, row.engine, *posts, seed) for seed in range(orders)]
    laps = np.array([len(run["by_lap"]) for run in runs])
    return Found(np.array([r["held_out"] for r in runs]), np.array([r["K"] for r in runs]), laps)


def main(orders: int = 20, quick: bool = False) -> None:
    """Reproduce Table 1; --quick runs two orders of five laps, and two chains of ten sweeps."""
    rows = [_quick(row) for row in TABLE + OTHERS] if quick else TABLE + OTHERS
    orders, posts = 2 if quick else orders, split()
    found = {}
    for row in rows:
        found[row.name] = learn(row, posts, orders)
        print(f"{row.name}: done", flush=True)
    lines = [_line(row, found[row.name]) for row in rows]
    columns = ["method", "log lik.: paper", "log lik.: ours", "K: paper", "K: ours", "laps"]
    show(f"KOS, mean of {orders} orders or of the chains (± standard error)", columns, lines)
    print("The paper's split is not known, so its log likelihoods are of other held-out posts.")
    _show_chains({row.name: found[row.name] for row in rows if isinstance(row.engine, em.Gibbs)})
    _show_priors(found)
    _show_order("rule of the paper", found)
    _show_order("birth 0.1, no merges", found)
    if not quick:
        _show_targets(found)
    save("kos/table", _figure(rows, found), {name: _plain(f) for name, f in found.items()})


def _quick(row: Row) -> Row:
    engine = row.engine
    if isinstance(engine, em.EP):
        engine = replace(engine, laps=5)
    elif isinstance(engine, em.Gibbs):
        engine = replace(engine, sweeps=10, burn_in=5, chains=2)
    return row._replace(engine=engine)


def _line(row: Row, found: Found) -> list[Any]:
    return [
        row.name,
        with_error(row.paper_score),
        with_error(mean_and_error(found.held_out)),
        with_error(row.paper_clusters, 1),
        with_error(mean_and_error(found.K), 1),
        f"{found.laps.mean():.0f}",
    ]


def _show_chains(found: dict[str, Found]) -> None:
    lines = []
    for name, row in found.items():
        cells: list[Any] = [name, with_error(mean_and_error(row.held_out)), f"{row.inside:,.0f}"]
        for trace in ("K", "log_joint"):
            mixing = (row.mixing or {}).get(trace)
            cells += ["-"] * 2 if mixing is None else _two(mixing["r_hat"], mixing["ess_bulk"])
        lines.append(cells)
    columns = ["method", "log lik. outside", "inside the log", "R-hat: K", "ESS", "joint", "ESS"]
    show("Gibbs: log likelihoods averaged outside and inside the log; mixing", columns, lines)


def _two(r_hat: float, ess: float) -> list[str]:
    return [f"{r_hat:.2f}", f"{ess:.0f}"]


def _show_priors(found: dict[str, Found]) -> None:
    """Print by how much the IG predicts better than the DP, in the same orders."""
    lines = []
    for name, ig in found.items():
        other = name.replace("-IG", "-DP")
        if other == name or other not in found:
            continue
        dp = found[other]
        pairs = mean_and_error(ig.held_out - dp.held_out)  # chains are pairs as good as any
        lines.append(
            [name.replace("-IG", ""), with_error(pairs), f"{(ig.K.mean() - dp.K.mean()):.1f}"]
        )
    show("IG minus DP", ["method", "log lik.", "K"], lines)


def _show_order(rule: str, found: dict[str, Found]) -> None:
    """Say whether the six rows of the paper come in its order."""
    paper = [row.name.split(",")[0] for row in sorted(TABLE, key=lambda row: row.paper_score or ())]
    means = {name: _six(found, name, rule).held_out.mean() for name in paper}
    ours = sorted(means, key=lambda name: means[name])
    same = "the paper's order" if ours == paper else f"the paper's is {' < '.join(paper)}"
    print(f"Order with {rule}: {' < '.join(ours)}: {same}.")


def _six(found: dict[str, Found], name: str, rule: str) -> Found:
    return found[name if name.startswith("Gibbs") else f"{name}, {rule}"]


def _show_targets(found: dict[str, Found]) -> None:
    paper, ours = found["EP-IG, rule of the paper"], found["EP-IG, birth 0.1, no merges"]
    gain = (ours.held_out - found["ADF-IG, birth 0.1, no merges"].held_out).mean()
    lines = [
        _target("EP-IG, rule of the paper: log lik.", paper.held_out.mean(), -346_100, np.inf),
        _target("EP-IG, rule of the paper: K", paper.K.mean(), 105, 120),
        _target("EP-IG, birth 0.1, no merges: log lik.", ours.held_out.mean(), -345_300, np.inf),
        _target("EP-IG, birth 0.1, no merges: gain over ADF", gain, 1_000, np.inf),
        _target("EP-IG, birth 0.1, no merges: K", ours.K.mean(), 115, 140),
        _target("Gibbs-IG: K", found["Gibbs-IG"].K.mean(), 118, 135),
    ]
    show("Targets", ["what", "wanted", "ours", "met"], lines)


def _target(what: str, value: float, low: float, high: float) -> list[str]:
    wanted = f"> {low:,}" if np.isinf(high) else f"{low:,} to {high:,}"
    return [what, wanted, f"{value:,.1f}", "yes" if low < value < high else "no"]


def _plain(found: Found) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in found._asdict().items()
    }


def _figure(rows: list[Row], found: dict[str, Found]) -> Any:
    figure = new_figure(12, 6)
    panels = figure.subplots(1, 2)
    for axes, what in zip(panels, ("held_out", "K"), strict=True):
        values = [getattr(found[row.name], what) for row in rows]
        names = [row.name for row in rows]
        axes.boxplot(values, orientation="horizontal", tick_labels=names)
        axes.invert_yaxis()
        axes.locator_params(axis="x", nbins=5)
    for place, row in enumerate(rows, start=1):
        if row.paper_clusters is not None:
            panels[1].plot(row.paper_clusters[0], place, "r*", label="paper" if place == 1 else "")
    panels[0].set_xlabel("held-out log likelihood")
    panels[1].set_xlabel("number of clusters")
    panels[1].legend()
    panels[1].set_yticklabels([])
    return figure


if __name__ == "__main__":
    typer.run(main)
