"""Topic models beside LDA on five corpora: ``python -m benchmarks.topics.lda``.

LDA gets the number of topics, and the Dirichlet parameter of their words, that predict other
documents best; ours get no settings. All make the same number of sweeps.
"""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import typer

from benchmarks.topics.beside import PEER, Settings, learnt
from benchmarks.topics.documents import CORPORA

__all__ = ["main"]

TOPICS, ETAS = (25, 50, 100, 200, 400), (0.01, 0.1)
RESULTS = Path("results/topics")


def main(
    corpora: str = ",".join(CORPORA),
    priors: str = "HDP,HMNGG",
    seeds: int = 5,
    sweeps: int = 400,
    topics: str = ",".join(map(str, TOPICS)),
    etas: str = ",".join(map(str, ETAS)),
    out: Path = RESULTS / "lda.json",
) -> None:
    """Compare on the named corpora, separated by commas, and print one JSON object.

    HMNGG needs times, and is left out where there are none. What is in --out already is not done
    again, if sweeps are the same.
    """
    found: dict[str, Any] = json.loads(out.read_text()) if out.is_file() else {}
    grid = [
        {"learner": PEER, "seed": 0, "K": int(K), "eta": float(eta)}
        for K in topics.split(",")
        for eta in etas.split(",")
    ]

    def once(corpus: str, key: str, settings: Settings, choosing: bool = False) -> Settings:
        done = found.setdefault(corpus, {}).setdefault(f"{sweeps} sweeps", {})
        place = done.setdefault("choosing" if choosing else "held out", {})
        if key not in place:
            place[key] = _alone(learnt, corpus, settings, sweeps, choosing)
            print(corpus, key, round(place[key]["perplexity"], 1), file=sys.stderr, flush=True)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(json.dumps(found, indent=1) + "\n")
        return place[key]

    for corpus in corpora.split(","):
        timed = CORPORA[corpus]().timed
        names = [name for name in priors.split(",") if timed or name == "HDP"]
        tried = {str(s): once(corpus, _key(s), s, choosing=True)["perplexity"] for s in grid}
        best = min(grid, key=lambda settings: tried[str(settings)])
        for seed in range(seeds):
            for one in [best, *({"learner": name} for name in names)]:
                once(corpus, _key(one | {"seed": seed}), one | {"seed": seed})
    print(
        json.dumps(
            {name: _table(found[name][f"{sweeps} sweeps"]) for name in corpora.split(",")}, indent=1
        )
    )


def _alone(call: Callable[..., Settings], *args: Any) -> Settings:
    """Call in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(call, *args).result()


def _key(settings: Settings) -> str:
    more = ", ".join(f"{k} {v}" for k, v in settings.items() if k != "learner")
    return f"{settings['learner']}: {more}"


def _table(done: dict[str, Any]) -> dict[str, Any]:
    """Return mean and standard deviation of every number over seeds, by learner."""
    rows: dict[str, list[Settings]] = {}
    for key, row in done["held out"].items():
        rows.setdefault(key.partition(": ")[0], []).append(row)
    best = min(done["choosing"], key=lambda key: done["choosing"][key]["perplexity"])
    table: dict[str, Any] = {"chosen": best}
    for name, some in rows.items():
        table[name] = {number: _spread([row[number] for row in some]) for number in some[0]}
        seen = [row["perplexity"] for row in some]
        table[name]["seeds apart, %"] = round(100 * (max(seen) / min(seen) - 1), 2)
    return table


def _spread(values: list[float]) -> list[float]:
    return [float(f"{x:.5g}") for x in (mean(values), stdev(values) if len(values) > 1 else 0.0)]


if __name__ == "__main__":
    typer.run(main)
