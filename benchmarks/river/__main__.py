"""Run the benchmarks and print one JSON object: ``python -m benchmarks.river``."""

import typer

from benchmarks.common import run
from benchmarks.river import rows

BENCHMARKS = {"blobs": rows.blobs, "single-rows": rows.single_rows}
PACKAGES = ("evermix", "numpy", "scikit-learn", "numba", "river")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 3) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("river", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
