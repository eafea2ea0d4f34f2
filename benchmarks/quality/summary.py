"""Medians over orders, then means over the sets of a kind, with bootstrap intervals over sets."""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["show", "summarised"]

MEASURES = ("ami", "ari", "ari_last", "k", "k_large", "k_ratio", "cpu_s")
BOOTSTRAP = 2_000
INTERVAL = (2.5, 97.5)  # percentiles

Record = Mapping[str, Any]

# Parts of a kind that promises speak of, beside the kinds themselves.
PARTS: dict[str, Callable[[Record], bool]] = {
    "vectors, 2 and 3 columns": lambda one: one["kind"] == "vectors" and one["d"] in (2, 3),
    "vectors, at most 2,000 x 16": lambda one: (
        one["kind"] == "vectors" and one["n"] <= 2_000 and one["d"] <= 16
    ),
    "vectors, true K up to 15": lambda one: one["kind"] == "vectors" and one["true_k"] <= 15,
}


def summarised(records: Iterable[Record], against: str = "") -> dict[str, Any]:
    """Return the summary of some records: ``kinds`` (with their parts), ``sets``, ``errors``.

    With ``against``, the name of a method, there is also the mean difference of AMI to it over the
    sets that both have, the interval being that of the differences.
    """
    records = list(records)
    good = [record for record in records if "error" not in record]
    of_set = _medians(good)
    kinds = {}
    for kind in dict.fromkeys(record["kind"] for record in good):
        kinds[kind] = _part(good, of_set, lambda one, kind=kind: one["kind"] == kind, against)
    for name, chosen in PARTS.items():
        if any(chosen(record) for record in good):
            kinds[name] = _part(good, of_set, chosen, against)
    sets: dict[str, dict[str, Any]] = defaultdict(dict)
    for (name, method), medians in of_set.items():
        sets[name][method] = medians
    errors = [record for record in records if "error" in record]
    return {"kinds": kinds, "sets": sets, "errors": errors}


def _medians(records: list[Record]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the median over orders of every measure, by set and method."""
    runs = defaultdict(list)
    for record in records:
        runs[record["set"], record["method"]].append(record)
    found = {}
    for key, some in runs.items():
        there = [measure for measure in MEASURES if measure in some[0]]
        found[key] = {name: float(np.median([one[name] for one in some])) for name in there}
        found[key] |= {"orders": len(some), "true_k": some[0]["true_k"]}
    return found


def _part(
    records: list[Record],
    of_set: dict[tuple[str, str], dict[str, float]],
    chosen: Callable[[Record], bool],
    against: str,
) -> dict[str, Any]:
    """Return the summary of every method over the sets whose records are chosen."""
    runs = defaultdict(list)
    for record in records:
        if chosen(record):
            runs[record["method"]].append(record)
    found = {}
    for method, some in runs.items():
        names = list(dict.fromkeys(record["set"] for record in some))
        medians = [of_set[name, method] for name in names]
        row: dict[str, Any] = {"sets": len(names), "runs": len(some)}
        for measure in MEASURES:
            if all(measure in one for one in medians):
                row[measure] = _mean([one[measure] for one in medians])
        row["k_ratio"]["median"] = float(np.median([one["k_ratio"] for one in medians]))
        row["k_right"] = float(np.mean([one["k"] == one["true_k"] for one in some]))
        shared = [name for name in names if (name, against) in of_set]
        if shared and method != against:
            gains = [of_set[name, method]["ami"] - of_set[name, against]["ami"] for name in shared]
            row[f"ami over {against}"] = _mean(gains) | {"sets": len(shared)}
        found[method] = row
    return found


def _mean(values: list[float]) -> dict[str, Any]:
    """Return the mean of one value for each set, and its bootstrap interval over sets."""
    each = np.asarray(values)
    drawn = np.random.default_rng(0).integers(0, len(each), (BOOTSTRAP, len(each)))
    low, high = np.percentile(each[drawn].mean(axis=1), INTERVAL)
    return {"mean": round(float(each.mean()), 4), "interval": [round(low, 4), round(high, 4)]}


def show(summary: Mapping[str, Any]) -> None:
    """Print the summary as a table, on stderr."""
    head = f"{'method':18}{'sets':>5}{'runs':>6}  {'AMI':22}{'ARI':>7}{'K/true K':>18}"
    head += f"{'K right':>9}{'K >1%':>8}{'cpu s':>9}"
    for kind, methods in summary["kinds"].items():
        _say(f"\n{kind}\n{head}  (K/true K: mean, median)")
        for method, row in methods.items():
            _say(_line(method, row))
    for record in summary["errors"]:
        _say(f"failed: {record['set']} {record['method']} {record['order']}: {record['error']}")


def _line(method: str, row: Mapping[str, Any]) -> str:
    low, high = row["ami"]["interval"]
    ratio = row["k_ratio"]
    text = f"{method:18}{row['sets']:5}{row['runs']:6}"
    text += f"  {row['ami']['mean']:.3f} [{low:.3f}, {high:.3f}]  {row['ari']['mean']:7.3f}"
    text += f"{ratio['mean']:10.2f}{ratio['median']:8.2f}{row['k_right']:9.0%}"
    text += f"{row['k_large']['mean']:8.1f}{row['cpu_s']['mean']:9.2f}"
    if "ari_last" in row:
        text += f"  ARI of newcomers {row['ari_last']['mean']:.3f}"
    for name, gain in row.items():
        if name.startswith("ami over"):
            low, high = gain["interval"]
            text += f"  {name} ({gain['sets']}): {gain['mean']:+.3f} [{low:+.3f}, {high:+.3f}]"
    return text


def _say(line: str) -> None:
    print(line, file=sys.stderr)
