"""Run the benchmarks and print one JSON object: ``python -m benchmarks.topics``."""

import typer

from benchmarks.common import run
from benchmarks.topics import sweeps

BENCHMARKS = {"abstracts": sweeps.abstracts, "drifting": sweeps.drifting, "threads": sweeps.threads}
PACKAGES = ("evermix", "numpy", "numba", "tomotopy", "gensim")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("topics", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
