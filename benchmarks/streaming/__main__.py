"""Run the benchmarks and print one JSON object: ``python -m benchmarks.streaming``."""

import typer

from benchmarks.common import run
from benchmarks.streaming import growth, startup, text, vectors

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
    run("streaming", BENCHMARKS, PACKAGES, only, repeats)


if __name__ == "__main__":
    typer.run(main)
