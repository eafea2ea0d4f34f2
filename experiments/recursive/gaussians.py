"""Mixtures of Gaussians (section 4.2, Figures 5c and 6): agreement with the truth, and K.

100 rows of 3 round Gaussians in the plane, 10 data sets, concentrations from 0.01 to 6. The paper
does not give the variance of the means. Its public code draws clusters of variance 0.3 (not 1, as
printed) with means of variance 6, each as likely as the others; so do we, and all algorithms
get these variances.
"""

import numpy as np
import typer
from sklearn.metrics import adjusted_mutual_info_score, pairwise_distances_argmin

from experiments.common import save
from experiments.recursive.data import CLUSTERS, Data, gaussians, public_gaussians
from experiments.recursive.runs import GAUSSIAN, draw_sweeps, plain, show_sweeps, sweep

__all__ = ["STRENGTHS", "main"]

STRENGTHS = 0.01 + np.arange(0.0, 6.01, 0.25)
PUBLIC = {"RCRP": 0.68, "SUGS": 0.05}  # mean AMI of the paper's public code


def best_possible(data: Data) -> float:
    """Return the AMI of the truth and the nearest mean, where means are those of true clusters."""
    means = np.array([data.X[data.labels == k].mean(axis=0) for k in np.unique(data.labels)])
    nearest = pairwise_distances_argmin(data.X, means)
    return float(adjusted_mutual_info_score(data.labels, nearest))


def main(seeds: int = 0, processes: int = 1, quick: bool = False) -> None:
    """Reproduce Figure 6 on the ten data sets of the public code, or on --seeds others.

    --quick has two data sets and every sixth concentration.
    """
    seeds, strengths = (2, STRENGTHS[::6]) if quick else (seeds, STRENGTHS)
    problems = [gaussians(seed) for seed in range(seeds)] if seeds else public_gaussians()
    found = sweep(problems, GAUSSIAN, strengths, processes)
    show_sweeps(f"Gaussians, {len(problems)} data sets", found, PUBLIC)
    ceiling = float(np.mean([best_possible(problem) for problem in problems]))
    print(f"With the means of the true clusters: AMI {ceiling:.3f}.")
    numbers = {"strengths": strengths.tolist(), "ceiling": ceiling, "found": plain(found)}
    save("recursive/gaussians", draw_sweeps(found, GAUSSIAN, strengths, CLUSTERS), numbers)


if __name__ == "__main__":
    typer.run(main)
