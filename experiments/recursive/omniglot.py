"""Handwritten characters (section 4.3, Figure 7): agreement with the characters, and K.

The first 60 characters of Omniglot, 20 drawings each, in 3 random orders; concentrations from 0.1
to 3 times the logarithm of the number of drawings. The paper does not say how many it took, its
public code does. Features are 20 principal components, or the means of a small variational
autoencoder where PyTorch is installed; both are learnt from all drawings, without labels.

Algorithms get one variance within clusters, which evermix chose from the first 1,000 drawings.
"""

import numpy as np
import typer
from sklearn.decomposition import PCA

import evermix as em
from experiments.common import arrays, save
from experiments.recursive.autoencoder import encode, torch_is_there
from experiments.recursive.data import Data
from experiments.recursive.runs import GAUSSIAN, draw_sweeps, plain, show_sweeps, sweep

__all__ = ["main"]

CHARACTERS, DRAWINGS = 60, 1_200
FEATURES, EPOCHS = 20, 10
STRENGTHS = np.linspace(0.1, 3.0, 11) * np.log(DRAWINGS)


def drawings() -> tuple[np.ndarray, np.ndarray]:
    """Return all drawings as pixels in [0, 1] (N, 784), and their characters (N,)."""
    data = arrays("omniglot/omniglot_28x28.npz")
    pixels = data["images"].reshape(len(data["images"]), -1) / 255.0
    return pixels, data["character"].astype(np.int64)


def in_order(features: np.ndarray, labels: np.ndarray, seed: int) -> Data:
    """Return features in a random order, with the scale that evermix chooses for them."""
    order = np.random.default_rng(seed).permutation(len(labels))
    X = features[order]
    family = em.Mixture(family=em.FixedGaussian(mean=None), random_state=seed).fit(X).model_.family
    return Data(X, labels[order], family)


def main(seeds: int = 3, processes: int = 1, epochs: int = EPOCHS, quick: bool = False) -> None:
    """Reproduce Figure 7; --quick has one order, three concentrations and two epochs."""
    seeds, strengths, epochs = (1, STRENGTHS[::5], 2) if quick else (seeds, STRENGTHS, epochs)
    pixels, labels = drawings()
    extracted = {"PCA": PCA(FEATURES, svd_solver="covariance_eigh").fit_transform(pixels)}
    if torch_is_there():
        extracted["autoencoder"] = encode(pixels, FEATURES, epochs)
    else:
        print("PyTorch is not installed, so there are no features by the autoencoder.")
    for name, features in extracted.items():
        few = features[:DRAWINGS]
        problems = [in_order(few, labels[:DRAWINGS], seed) for seed in range(seeds)]
        found = sweep(problems, GAUSSIAN, strengths, processes)
        show_sweeps(f"Omniglot, {name}, {DRAWINGS:,} drawings", found)
        numbers = {"strengths": strengths.tolist(), "found": plain(found)}
        figure = draw_sweeps(found, GAUSSIAN, strengths, CHARACTERS)
        save(f"recursive/omniglot-{name.lower()}", figure, numbers)


if __name__ == "__main__":
    typer.run(main)
