"""Run the battery, or summarise its results: ``python -m benchmarks.quality``."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.quality.methods import GROUPS, METHODS
from benchmarks.quality.runs import Task, read, run_all
from benchmarks.quality.sets import KINDS, recipes
from benchmarks.quality.summary import show, summarised

OUT = Path("results/quality.jsonl")
Files = Annotated[list[Path] | None, typer.Option(help="Files of results: print their summary.")]


def main(
    kinds: str = ",".join(KINDS),
    sets: str = "",
    methods: str = ",".join(GROUPS),
    orders: str = "0,1,2,3,4",
    out: Path = OUT,
    jobs: int = 1,
    again: bool = False,
    against: str = "gmm_bic",
    summary: Files = None,
) -> None:
    """Run methods on sets, several names being separated by commas; JSON goes to stdout.

    Groups of methods (ours, peers, river) can be named too. Results that --out has already are not
    computed again, unless with --again. --summary FILE, as often as there are files, runs nothing;
    --against names the method that others are compared with.
    """
    if summary:
        _print(summary, against)
        return
    found, missing = recipes()
    if missing:
        print("Sets are left out:", *missing, sep="\n", file=sys.stderr)
    chosen = _chosen(sets, "set", found) or [
        name for name, one in found.items() if one.kind in _chosen(kinds, "kind", KINDS)
    ]
    runners = _methods(methods)
    done = {} if again else read([out])
    tasks = [
        task
        for order in map(int, orders.split(","))
        for name in chosen
        for runner in runners
        if found[name].kind in METHODS[runner].kinds
        and "ami" not in done.get(task := Task(name, runner, order), ())
    ]
    _run(tasks, out, jobs)
    _print([out], against)
    raise SystemExit(2 if missing and not sets else 0)


def _run(tasks: list[Task], out: Path, jobs: int) -> None:
    began = time.perf_counter()
    print(f"{len(tasks)} runs to do; results go to {out}", file=sys.stderr)
    for record in run_all(tasks, out, jobs):
        what = record.get("error") or "AMI {ami:.3f}  K {k}  cpu {cpu_s:.2f} s".format(**record)
        name = f"{record['set']} {record['method']} {record['order']}"
        print(f"{time.perf_counter() - began:8.0f} s  {name:45} {what}", file=sys.stderr)


def _methods(names: str) -> list[str]:
    """Return the methods that are named, one by one or as a group."""
    some = _chosen(names, "method", {**METHODS, **GROUPS})
    return list(dict.fromkeys(one for name in some for one in GROUPS.get(name, (name,))))


def _chosen(names: str, what: str, known: Mapping[str, object] | tuple[str, ...]) -> list[str]:
    some = [name for name in names.split(",") if name]
    unknown = sorted(set(some) - set(known))
    if unknown:
        raise typer.BadParameter(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}.")
    return some


def _print(files: list[Path], against: str) -> None:
    result = summarised(read(files).values(), against)
    show(result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    typer.run(main)
