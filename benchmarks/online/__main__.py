"""Run the benchmarks and print one JSON object: ``python -m benchmarks.online``."""

import typer

from benchmarks.common import run
from benchmarks.online import growth

BENCHMARKS = {"two-columns": growth.two_columns, "ten-columns": growth.ten_columns}
PACKAGES = ("evermix", "numpy", "scikit-learn", "numba", "river")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("online", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
