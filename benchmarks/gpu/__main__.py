"""Run the benchmarks on a CUDA device and print one JSON object: ``python -m benchmarks.gpu``."""

import typer

from benchmarks.common import run
from benchmarks.gpu import fit, laps

BENCHMARKS = {"peak": laps.peak, "products": laps.products, "lap": laps.lap, "fit": fit.fit}
PACKAGES = ("evermix", "numpy", "torch", "triton", "array-api-compat")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("gpu", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
