"""MNIST (section 4.2, Figure 3): 60,000 digits, projected to 50 dimensions by PCA.

The paper does not state its prior. Here all methods expect a cluster to have SHARE times the
covariance of the data; the value was chosen once, before any of these runs.
"""

from typing import Any

import numpy as np
import typer
from matplotlib.figure import Figure

import evermix as em
from experiments.common import new_figure, save
from experiments.memoized.data import FEATURES, Images, mnist
from experiments.memoized.images import BIRTHS, Size, figure, methods, problem, show_images
from experiments.memoized.runs import plain, study

__all__ = ["SHARE", "main"]

SHARE = 0.1
SIZE = Size(rows=60_000)
QUICK = Size(3_000, 20, 10, 8, 8, 1, 1, 1, (1, 1, 1), 1)
SIDE = 28


def main(processes: int = 1, quick: bool = False, fixed_laps: int = SIZE.fixed_laps) -> None:
    """Reproduce Figure 3; --quick has 3,000 images, 20 clusters, and single runs of 8 laps.

    --fixed-laps says how many laps methods get whose number of clusters is fixed.
    """
    size = QUICK if quick else SIZE._replace(fixed_laps=fixed_laps)
    images, compared = mnist().first(size.rows), methods(size)
    task = problem("mnist", images, SHARE)._replace(look=means)
    found = study(task, compared, processes)
    show_images(f"MNIST, {size.rows:,} images", compared, found)
    best = max(found[BIRTHS], key=lambda run: run["bound"])
    place = f"memoized/{'quick/' if quick else ''}mnist"
    save(place, figure(found), plain(found))
    save(f"{place}-means", _draw_means(best, images), {"mass": best["mass"]})


def means(mix: em.Mixture) -> dict[str, Any]:
    """Return mass (K,) and mean (K, 50) of every cluster, heaviest first."""
    tally, family = mix.tally_, mix.model_.family
    order = np.argsort(-tally.mass)
    centres = tally.stats[:, :FEATURES] / np.maximum(tally.mass, 1.0)[:, None]
    return {
        "mass": tally.mass[order].round(1).tolist(),
        "means": (family.origin + centres)[order].round(4).tolist(),
    }


def _draw_means(run: dict[str, Any], images: Images, across: int = 15) -> Figure:
    """Draw the mean image of every cluster, heaviest first."""
    pictures = images.centre + np.array(run["means"]) @ images.directions
    down = -(-len(pictures) // across)
    drawn = new_figure(0.7 * across, 0.8 * down)
    grid = drawn.subplots(down, across, squeeze=False).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, picture, mass in zip(grid, pictures, run["mass"], strict=False):
        axes.imshow(picture.reshape(SIDE, SIDE), cmap="gray")
        axes.set_title(f"{mass:,.0f}", size=6)
    return drawn


if __name__ == "__main__":
    typer.run(main)
