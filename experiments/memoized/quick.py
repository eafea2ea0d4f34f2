"""A quick look: every experiment here on a small part of its data, in minutes.

Figures and numbers go to ``results/memoized/quick``. MNIST and the tiny images are left out where
``EVERMIX_DATA`` does not point to them.
"""

import os

import typer

from experiments.common import DATA
from experiments.memoized import bars, digits, edges, mnist, tiny_images

__all__ = ["main"]


def main(processes: int = 1) -> None:
    """Run edges, digits, bars, and the images where their data are there."""
    for script in (edges, digits, bars):
        script.main(processes=processes, quick=True)
    if not os.environ.get(DATA):
        print(f"{DATA} is not set: MNIST and the tiny images are left out.")
        return
    for script in (mnist, tiny_images):
        script.main(processes=processes, quick=True)


if __name__ == "__main__":
    typer.run(main)
