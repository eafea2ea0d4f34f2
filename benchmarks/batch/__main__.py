"""Run the benchmarks and print one JSON object: ``python -m benchmarks.batch``."""

import typer

from benchmarks.batch import memory, text, vectors
from benchmarks.common import run

BENCHMARKS = {
    "numpy-text": text.against_numpy,
    "peers-text": text.against_peers,
    "vectors": vectors.vectors,
    "memory": memory.memory,
}
PACKAGES = ("evermix", "numpy", "scipy", "scikit-learn", "numba", "tomotopy")


def main(only: str = ",".join(BENCHMARKS), repeats: int = 5) -> None:
    """Run the benchmarks named in --only, separated by commas."""
    run("batch", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
