"""Mixtures of unigrams (section 4.4, Figure 8): agreement with the truth, and K.

150 documents of 120 words, 7 topics over a vocabulary of 8, 10 data sets, the concentrations of the
Gaussians. The paper gives no numbers; these are those of its public code: topics are drawn from a
Dirichlet of 0.3, and their shares are sticks of concentration 4.6. All algorithms get the 0.3.
"""

import typer

from experiments.common import save
from experiments.recursive.data import TOPICS, unigrams
from experiments.recursive.gaussians import STRENGTHS
from experiments.recursive.runs import TEXT, draw_sweeps, plain, show_sweeps, sweep

__all__ = ["main"]

PUBLIC = {"RCRP": 0.80, "SUGS": 0.69}  # mean AMI of the paper's public code


def main(seeds: int = 10, processes: int = 1, quick: bool = False) -> None:
    """Reproduce Figure 8; --quick has two data sets and every sixth concentration."""
    seeds, strengths = (2, STRENGTHS[::6]) if quick else (seeds, STRENGTHS)
    found = sweep([unigrams(seed) for seed in range(seeds)], TEXT, strengths, processes)
    show_sweeps(f"Unigrams, {seeds} data sets", found, PUBLIC)
    numbers = {"strengths": strengths.tolist(), "found": plain(found)}
    save("recursive/unigrams", draw_sweeps(found, TEXT, strengths, TOPICS), numbers)


if __name__ == "__main__":
    typer.run(main)
