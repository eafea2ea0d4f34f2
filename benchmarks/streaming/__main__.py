"""Run the benchmarks and print one JSON object: ``python -m benchmarks.streaming``."""

import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from benchmarks.streaming import growth, startup, text, vectors
from benchmarks.streaming.common import DataMissing

RESULTS = Path("results/streaming")
BENCHMARKS = {
    "numpy-text": text.against_numpy,
    "peers-text": text.against_peers,
    "numpy-vectors": vectors.against_numpy,
    "peers-vectors": vectors.against_peers,
    "growth": growth.growth,
    "startup": startup.startup,
}
PACKAGES = ("evermix", "numpy", "scipy", "scikit-learn", "numba", "river", "gensim")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    unknown = set(only.split(",")) - set(BENCHMARKS)
    if unknown:
        raise typer.BadParameter(f"{sorted(unknown)} not among {', '.join(BENCHMARKS)}")
    results: dict[str, Any] = {"machine": _machine()}
    missing = False
    for name in only.split(","):
        print(f"running {name} ...", file=sys.stderr)
        try:
            results[name] = BENCHMARKS[name](repeats)
        except DataMissing as error:
            missing = True
            results[name] = {"skipped": str(error)}
            print(error, file=sys.stderr)
    document = json.dumps(results, indent=1, default=float)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "benchmarks.json").write_text(document + "\n", encoding="utf-8")
    print(document)
    raise SystemExit(2 if missing else 0)


def _machine() -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


if __name__ == "__main__":
    typer.run(main)
