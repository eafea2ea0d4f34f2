"""Denoising of 30 photographs with the clusters of ``patches`` (section 4.4), beside BM3D.

They are the first 30 of the test set by name. White noise of standard deviation 25/255 is added,
with a fixed seed for each and without clipping; both methods get the same noisy photographs, and
what they return is not clipped either. Ours is the expected patch log likelihood of ``epll``.
"""

import hashlib
import time
from typing import Any

import numpy as np
import typer

import evermix as em
from experiments.common import new_figure, remember, save, show
from experiments.memoized.bsds import noisy, psnr, test_photographs
from experiments.memoized.epll import Clusters, denoise
from experiments.memoized.patches import model_file
from experiments.memoized.reference import bm3d_of

__all__ = ["clusters_of", "main"]

IMAGES, SD = 30, 25.0 / 255.0
GOAL = 0.3  # dB below BM3D that the mean may lie


def main(quick: bool = False) -> None:
    """Denoise the photographs; --quick takes two, and the model of patches --quick."""
    model = model_file(quick)
    if not model.is_file():
        raise SystemExit(f"{model} is missing. Run python -m experiments.memoized.patches first.")
    clusters = clusters_of(em.load(model))
    images = test_photographs(2 if quick else IMAGES)
    runs = {}
    for name, image in images.items():
        ours = _ours(clusters, name, image)
        runs[name] = {"noisy": psnr(noisy(name, image, SD), image), "ours": ours["psnr"]}
        runs[name] |= {"seconds": ours["seconds"]}
        reference = bm3d_of(name, image, SD)
        runs[name]["bm3d"] = None if reference is None else reference["psnr"]
        print(name, f"{ours['psnr']:.2f} dB, {ours['seconds']:.0f} s", flush=True)
    _show(runs, len(clusters.weights))
    numbers = {"K": len(clusters.weights), "images": runs} | _means(runs)
    place = f"memoized/{'quick/' if quick else ''}denoising"
    save(place, _figure(images, runs, clusters), numbers)


def clusters_of(mix: em.Mixture) -> Clusters:
    """Return the weights and the expected covariances of a mixture of ZeroMeanGaussian."""
    tally, D = mix.tally_, mix.n_features_in_
    eta = mix.model_.family.posterior(tally.stats, tally.mass)
    # The mean of an inverse Wishart distribution: B / (nu - D - 1).
    covariances = eta[:, :-1] / (eta[:, -1:] - D - 1)
    return Clusters.of(mix.weights_, covariances.reshape(-1, D, D))


def _ours(clusters: Clusters, name: str, image: np.ndarray) -> dict[str, Any]:
    def compute() -> dict[str, Any]:
        began = time.perf_counter()
        estimate = denoise(noisy(name, image, SD), SD, clusters)
        return {"psnr": psnr(estimate, image), "seconds": time.perf_counter() - began}

    fitted = hashlib.sha256(clusters.variances.tobytes()).hexdigest()
    settings = {"name": name, "sd": SD, "fitted": fitted}
    return remember(f"memoized/epll/{name}", settings, compute)


def _means(runs: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    columns = {key: [run[key] for run in runs.values()] for key in ("noisy", "ours", "bm3d")}
    return {
        f"mean_{key}": None if None in values else float(np.mean(values))
        for key, values in columns.items()
    }


def _show(runs: dict[str, dict[str, Any]], K: int) -> None:
    def line(name: str, noisy: float, ours: float, bm3d: float | None) -> list[str | None]:
        both = [None, None] if bm3d is None else [f"{bm3d:.2f}", f"{ours - bm3d:+.2f}"]
        return [name, f"{noisy:.2f}", f"{ours:.2f}", *both]

    lines = [line(name, run["noisy"], run["ours"], run["bm3d"]) for name, run in runs.items()]
    means = _means(runs)
    lines.append(line("mean", means["mean_noisy"], means["mean_ours"], means["mean_bm3d"]))
    columns = ["photograph", "noisy", f"ours, K = {K}", "BM3D", "ours - BM3D"]
    show("Denoising, PSNR in dB (paper, mean of other 30: 28.54)", columns, lines)
    if means["mean_bm3d"] is None:
        print("bm3d cannot run here: see experiments/memoized/reference.py.")
        return
    gap = means["mean_ours"] - means["mean_bm3d"]
    print(f"ours - BM3D: {gap:+.2f} dB (goal: at least {-GOAL:g}); ", end="")
    print(f"{np.mean([run['seconds'] for run in runs.values()]):.0f} s for a photograph")


def _figure(
    images: dict[str, np.ndarray], runs: dict[str, dict[str, Any]], clusters: Clusters
) -> Any:
    """Draw both results of every photograph, and the first photograph at three stages."""
    figure = new_figure(15, 4)
    panels = figure.subplots(1, 4)
    for run in runs.values():
        if run["bm3d"] is not None:
            panels[0].plot(run["bm3d"], run["ours"], "o", color="tab:red")
    panels[0].axline((28.0, 28.0), slope=1.0, color="black", linewidth=0.8)
    panels[0].set(xlabel="BM3D (dB)", ylabel="ours (dB)")
    name, image = next(iter(images.items()))
    crop = image[:160, :160]
    rough = noisy(name, image, SD)[:160, :160]
    stages = {"photograph": crop, "noisy": rough, "ours": denoise(rough, SD, clusters)}
    for axes, (title, values) in zip(panels[1:], stages.items(), strict=True):
        axes.imshow(values, cmap="gray", vmin=0.0, vmax=1.0)
        axes.set(title=title, xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    typer.run(main)
