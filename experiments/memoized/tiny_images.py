"""Tiny images (section 4.3, Figure 4): 100,000 images of Tiny ImageNet, projected to 50 dimensions.

They stand in for SUN-397. The images come projected, so the figure has no pictures; instead the
classes that are most related to each cluster are printed. The prior is chosen as for MNIST.
"""

import numpy as np
import typer

import evermix as em
from experiments.common import save, show
from experiments.memoized.data import Images, tiny_images
from experiments.memoized.images import BIRTHS, Size, figure, methods, problem, show_images
from experiments.memoized.runs import Problem, plain, study

__all__ = ["SHARE", "main"]

SHARE = 0.1
SIZE = Size(
    100_000, laps=60, fixed_laps=30, births=1, memoized=1, full=1, stochastic=(1, 0, 0), random=0
)
QUICK = Size(3_000, 20, 10, 8, 8, 1, 1, 1, (1, 1, 1), 1)


def main(processes: int = 1, quick: bool = False) -> None:
    """Reproduce Figure 4; --quick has 3,000 images, 20 clusters, and single runs of 8 laps."""
    size = QUICK if quick else SIZE
    images, compared = tiny_images().first(size.rows), methods(size)
    found = study(_problem(images), compared, processes)
    show_images(f"Tiny images, {size.rows:,} of them", compared, found)
    best = max(found[BIRTHS], key=lambda run: run["bound"])
    columns = ["cluster", "images", "most related classes (share of the class in the cluster)"]
    lines = [[k, *line] for k, line in enumerate(best["classes"])]
    show("The best run with births and merges", columns, lines)
    numbers = plain(found) | {"classes": best["classes"]}
    save(f"memoized/{'quick/' if quick else ''}tiny_images", figure(found), numbers)


def _problem(images: Images) -> Problem:
    def look(mix: em.Mixture) -> dict[str, list[list[str]]]:
        return {"classes": related(images, mix.labels_)}

    return problem("tiny-images", images, SHARE)._replace(look=look)


def related(images: Images, labels: np.ndarray, clusters: int = 10) -> list[list[str]]:
    """Return size and the three most related classes of the clusters (N,) that have the most.

    A class is the more related to a cluster, the larger the share of its images that are in it.
    """
    sizes = np.bincount(images.labels, minlength=len(images.names))
    lines = []
    for k in np.argsort(-np.bincount(labels))[:clusters]:
        own = images.labels[labels == k]
        share = np.bincount(own, minlength=len(sizes)) / np.maximum(sizes, 1)
        three = np.argsort(-share)[:3]
        words = [f"{images.names[c].split(',')[0]} {share[c]:.2f}" for c in three]
        lines.append([f"{len(own):,}", ", ".join(words)])
    return lines


if __name__ == "__main__":
    typer.run(main)
