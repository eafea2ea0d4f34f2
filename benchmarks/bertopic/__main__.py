"""Run the benchmark and print one JSON object: ``python -m benchmarks.bertopic``."""

import typer

from benchmarks.bertopic.titles import titles
from benchmarks.common import run

BENCHMARKS = {"titles": titles}
PACKAGES = ("evermix", "numpy", "scikit-learn", "numba", "bertopic", "river")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 3) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("bertopic", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
