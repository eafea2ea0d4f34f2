"""Bars (section 4.1, Figure 1): are the true components found, with and without merges?

200 images of 8 x 8 pixels, each 50 counts from one of 16 bars on an even baseline, Dirichlet 0.5,
NGGP with sigma 0.5. The paper names neither the baseline nor a and tau; here a pixel of the bar
weighs 1, every pixel 0.1 more, and a = tau = 1.

The stream is shorter than the engine's interval between two rounds of merges (1,000 images), so
the only merges are those that end a ``fit``.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import typer
from scipy import sparse

import evermix as em
from experiments.common import new_figure, save, show

__all__ = ["main"]

SIDE, IMAGES, COUNTS, BASELINE = 8, 200, 50, 0.1
CLOSE = 0.25  # total variation within which a component counts as the bar
RULES = {
    "rule of the paper": em.ADF(birth=0.5, rule="paper"),
    "defaults": em.ADF(),
}


def true_bars() -> np.ndarray:
    """Return the pixel probabilities (16, 64) of the horizontal and vertical bars."""
    bars = np.zeros((2 * SIDE, SIDE, SIDE))
    for j in range(SIDE):
        bars[j, j, :] = 1.0
        bars[SIDE + j, :, j] = 1.0
    bars = bars.reshape(2 * SIDE, -1) + BASELINE
    return bars / bars.sum(axis=1, keepdims=True)


def images(rng: np.random.Generator) -> sparse.csr_array:
    """Return images as counts (200, 64)."""
    bars = true_bars()
    return sparse.csr_array(
        [
            rng.multinomial(COUNTS, bars[z]).astype(float)
            for z in rng.integers(len(bars), size=IMAGES)
        ]
    )


def learn(X: sparse.csr_array, engine: em.ADF) -> tuple[np.ndarray, np.ndarray]:
    """Return posterior mean components (K, 64) and masses (K,) after one pass, heaviest first."""
    prior = em.NGGP(a=1.0, sigma=0.5, tau=1.0)
    mix = em.Mixture(family=em.Multinomial(alpha=0.5), prior=prior, engine=engine).fit(X)
    tally = mix.state_.tally
    eta = mix.model_.family.posterior(tally.stats, tally.mass)
    order = np.argsort(-tally.mass)
    return (eta[:, :-1] / eta[:, -1:])[order], tally.mass[order]


def recovered(components: np.ndarray) -> int:
    """Return how many of the 16 bars some component matches."""
    distance = 0.5 * np.abs(true_bars()[:, None] - components[None]).sum(axis=2)
    return int((distance.min(axis=1) < CLOSE).sum())


def main(seeds: int = 20, quick: bool = False) -> None:
    """Reproduce Figure 1; --quick runs three seeds."""
    seeds = 3 if quick else seeds
    lines, numbers, runs = [], {}, {}
    for name, rule in RULES.items():
        for merges in (True, False):
            title = f"{name}, {'with' if merges else 'no'} merges"
            engine = rule if merges else replace(rule, merge=None)
            runs[title] = [learn(images(np.random.default_rng(s)), engine) for s in range(seeds)]
            found = np.array([recovered(components) for components, _ in runs[title]])
            K = np.array([len(mass) for _, mass in runs[title]])
            numbers[title] = {"recovered": found.tolist(), "K": K.tolist()}
            paper = ["all", "fewer extra" if merges else "some extra"]
            ours = [f"{found.mean():.1f} of 16", f"{(K - found).mean():.1f}"]
            lines.append([title, paper[0], ours[0], paper[1], ours[1]])
    columns = ["method", "bars found: paper", "ours", "extra clusters: paper", "ours"]
    show(f"Bars, one pass over {IMAGES} images, mean of {seeds} seeds", columns, lines)
    worst = int(np.argmax(numbers["rule of the paper, no merges"]["K"]))
    save("streaming/bars", _figure({title: found[worst] for title, found in runs.items()}), numbers)


def _figure(shown: dict[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    """Draw the components of the seed with most clusters, one row of images for each method."""
    widest = max(len(mass) for _, mass in shown.values())
    figure = new_figure(0.62 * widest, 1.15 * len(shown))
    grid = figure.subplots(len(shown), widest, squeeze=False)
    for axes in grid.ravel():
        axes.set_axis_off()
    for row, (title, (components, mass)) in zip(grid, shown.items(), strict=True):
        # Left out of the layout, or the title would widen the first column.
        row[0].text(-0.5, -1.0, title, size=8).set_in_layout(False)
        for axes, component, m in zip(row, components, mass, strict=False):
            axes.imshow(component.reshape(SIDE, SIDE), cmap="gray")
            axes.text(3.5, 8.2, f"{m:.0f}", ha="center", va="top", size=6)
    return figure


if __name__ == "__main__":
    typer.run(main)
