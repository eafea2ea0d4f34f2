"""Run the benchmarks and print one JSON object: ``python -m benchmarks.variational``."""

import typer

from benchmarks.common import run
from benchmarks.variational import bounds, laps, toys

BENCHMARKS = {
    "laps": laps.laps,
    "bounds": bounds.bounds,
    "toys": toys.toys,
}
PACKAGES = ("evermix", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("variational", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
