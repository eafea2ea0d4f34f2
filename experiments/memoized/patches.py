"""Natural image patches (section 4.4, Figure 5): 1.88 million, learnt from one cluster on.

9,400 patches of 8 x 8 come from random places of each of 200 photographs, without their means. They
lie in a file, of which the engine reads one batch at a time. The mixture is kept for ``denoising``.
"""

import resource
import time
from typing import Any

import numpy as np
import typer

import evermix as em
from experiments.common import RESULTS, new_figure, save, show
from experiments.memoized.bsds import basis, training_patches

__all__ = ["MODEL", "QUICK_MODEL", "main"]

MODEL, QUICK_MODEL = RESULTS / "memoized/patches.evermix", RESULTS / "memoized/quick.evermix"
PER_IMAGE, BATCH = 9_400, 20_000
ALPHA = 10.0
SHARE = 0.1  # of the variance of the patches, that the prior expects in a cluster
LIMIT = 4.0  # GB that the fit may take
SHOWN = 10  # clusters in the figure


def main(laps: int = 30, quick: bool = False) -> None:
    """Learn the patches and keep the mixture; --quick takes 100 of each photograph, and 10 laps."""
    per_image, laps = (100, 10) if quick else (PER_IMAGE, laps)
    X = training_patches(per_image)
    mix = em.Mixture(
        family=_family(X[:BATCH]),
        prior=em.DP(alpha=ALPHA),
        engine=em.MemoizedVB(laps=laps, batch_size=BATCH),
        random_state=0,
    )
    began = time.perf_counter()
    by_lap: list[dict[str, float]] = []

    def look(mix: em.Mixture, info: em.Info) -> None:
        if info.rows == 0:
            seconds = time.perf_counter() - began
            by_lap.append({"elbo": info.scalars["elbo"], "K": info.K, "seconds": seconds})
            print(f"lap {len(by_lap)}: ELBO {by_lap[-1]['elbo']:,.0f}, K {info.K}", flush=True)

    mix.fit(X, observers=[look])
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # Linux counts in KB
    mix.save(QUICK_MODEL if quick else MODEL)
    numbers = {"N": len(X), "by_lap": by_lap, "gigabytes": gigabytes} | _sizes(mix)
    _show(numbers)
    save("memoized/patches", _figure(mix, by_lap), numbers)


def _family(X: np.ndarray) -> em.ZeroMeanGaussian:
    """Return the prior: a cluster has a tenth of the covariance of all patches, worth one row."""
    D = X.shape[1]
    return em.ZeroMeanGaussian(nu=D + 2.0, scale=SHARE * (X.T @ X) / len(X))


def _sizes(mix: em.Mixture) -> dict[str, Any]:
    weights = np.sort(mix.weights_)[::-1]
    perplexity = float(np.exp(-weights @ np.log(weights)))
    return {"K": mix.n_clusters_, "effective_K": perplexity, "weights": weights.tolist()}


def _show(numbers: dict[str, Any]) -> None:
    last = numbers["by_lap"][-1]
    lines = [
        ["patches", "1.88 million", f"{numbers['N']:,}"],
        ["K", None, numbers["K"]],
        ["exp(entropy of the weights)", None, f"{numbers['effective_K']:.1f}"],
        ["ELBO", None, f"{last['elbo']:,.0f}"],
        ["ELBO for each patch (63 dimensions)", None, f"{last['elbo'] / numbers['N']:.3f}"],
        ["laps", None, len(numbers["by_lap"])],
        ["minutes", None, f"{last['seconds'] / 60:.1f}"],
        ["peak of resident memory, GB", None, f"{numbers['gigabytes']:.2f} (limit {LIMIT:g})"],
    ]
    show("Image patches", ["what", "paper", "ours"], lines)


def _figure(mix: em.Mixture, by_lap: list[dict[str, float]]) -> Any:
    """Draw ELBO and K by lap, and patches drawn from the heaviest clusters."""
    figure = new_figure(12, 4.5)
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    laps = np.arange(1, len(by_lap) + 1)
    for axes, name in zip(left.subplots(1, 2), ("elbo", "K"), strict=True):
        axes.plot(laps, [lap[name] for lap in by_lap])
        axes.set(xlabel="laps", ylabel="ELBO" if name == "elbo" else "number of clusters")
    family, tally, rng = mix.model_.family, mix.tally_, np.random.default_rng(0)
    eta = family.posterior(tally.stats, tally.mass)
    panels = right.subplots(4, SHOWN)
    for column, k in zip(panels.T, np.argsort(-mix.weights_)[:SHOWN], strict=False):
        for axes in column:
            row = family.draw(eta[k], float(tally.mass[k]), rng) @ basis()
            axes.imshow(row.reshape(8, 8), cmap="gray")
    for axes in panels.flat:
        axes.set_axis_off()
    right.suptitle("patches drawn from the heaviest clusters")
    return figure


if __name__ == "__main__":
    typer.run(main)
