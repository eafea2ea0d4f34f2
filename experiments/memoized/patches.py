"""Natural image patches (section 4.4, Figure 5): 1.88 million, learnt from one cluster on.

9,400 patches of 8 x 8 come from random places of each of 200 photographs, without their means. They
lie in a file, of which the engine reads one batch at a time. The mixture is kept after every lap,
for ``denoising`` and so that an interrupted fit goes on where it was; delete it to learn anew.
"""

import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import typer

import evermix as em
from evermix.estimators.files import load_with_extra
from evermix.estimators.files import save as save_with_extra
from experiments.common import RESULTS, new_figure, save, show
from experiments.memoized.bsds import SIDE, basis, training_patches

__all__ = ["main", "model_file"]

PER_IMAGE, BATCH = 9_400, 20_000
PRIOR = em.DP(alpha=10.0)
SHARE = 0.1  # of the covariance of all patches, that the prior expects in a cluster
LIMIT = 4.0  # GB that the fit may take
SHOWN = 10  # clusters in the figure


def model_file(quick: bool) -> Path:
    """Return where the mixture is kept."""
    return RESULTS / f"memoized/{'quick/' if quick else ''}patches.evermix"


def main(laps: int = 40, quick: bool = False) -> None:
    """Learn the patches and keep the mixture; --quick takes 100 of each photograph, and 10 laps."""
    per_image, laps = (100, 10) if quick else (PER_IMAGE, laps)
    X = training_patches(per_image)
    mix, by_lap = learn(X, laps, model_file(quick))
    numbers = {"N": len(X), "by_lap": by_lap} | _sizes(mix)
    _show(numbers)
    save(f"memoized/{'quick/' if quick else ''}patches", _figure(mix, by_lap), numbers)


def learn(X: np.ndarray, laps: int, file: Path) -> tuple[em.Mixture, list[dict[str, float]]]:
    """Return the mixture, and what was seen after every lap; go on with a fit that is kept."""
    engine = em.MemoizedVB(laps=laps, batch_size=BATCH)
    if file.is_file():
        mix, extra = load_with_extra(file)
        by_lap, go = extra["by_lap"], mix.set_params(engine=engine).resume
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        mix = em.Mixture(_family(X[:BATCH]), PRIOR, engine, random_state=0)
        by_lap, go = [], mix.fit
    began = time.perf_counter() - (by_lap[-1]["seconds"] if by_lap else 0.0)

    def look(mix: em.Mixture, info: em.Info) -> None:
        if info.rows:
            return
        gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # Linux: from KB
        lap = {"elbo": info.scalars["elbo"], "K": info.K, "gigabytes": gigabytes}
        by_lap.append(lap | {"seconds": time.perf_counter() - began})
        save_with_extra(mix, file, {"by_lap": by_lap})
        print(f"lap {len(by_lap)}: ELBO {lap['elbo']:,.0f}, K {info.K}", flush=True)

    go(X, observers=[look])
    save_with_extra(mix, file, {"by_lap": by_lap})
    return mix, by_lap


def _family(X: np.ndarray) -> em.ZeroMeanGaussian:
    """Return the prior: a share of the covariance of all patches, worth little."""
    return em.ZeroMeanGaussian(nu=X.shape[1] + 2.0, scale=SHARE * (X.T @ X) / len(X))


def _sizes(mix: em.Mixture) -> dict[str, Any]:
    weights = np.sort(mix.weights_)[::-1]
    perplexity = float(np.exp(-weights @ np.log(weights)))
    return {"K": mix.n_clusters_, "effective_K": perplexity, "weights": weights.tolist()}


def _show(numbers: dict[str, Any]) -> None:
    by_lap, N = numbers["by_lap"], numbers["N"]
    elbo, peak = by_lap[-1]["elbo"], max(lap["gigabytes"] for lap in by_lap)
    lines = [
        ["patches", f"{N:,}"],
        ["K", numbers["K"]],
        ["effective K: exp(entropy of the weights)", f"{numbers['effective_K']:.1f}"],
        ["ELBO", f"{elbo:,.0f}"],
        ["ELBO for each patch (63 dimensions)", f"{elbo / N:.3f}"],
        ["laps", len(by_lap)],
        ["minutes", f"{by_lap[-1]['seconds'] / 60:.1f}"],
        [f"peak of resident memory (goal: under {LIMIT:g} GB)", f"{peak:.2f} GB"],
    ]
    show("Image patches", ["what", "ours"], lines)


def _figure(mix: em.Mixture, by_lap: list[dict[str, float]]) -> Any:
    """Draw ELBO and K by lap, and patches drawn from the heaviest clusters."""
    figure = new_figure(13)
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2))
    laps = np.arange(1, len(by_lap) + 1)
    labels = {"elbo": "ELBO", "K": "number of clusters"}
    for axes, (name, label) in zip(left.subplots(1, 2), labels.items(), strict=True):
        axes.plot(laps, [lap[name] for lap in by_lap])
        axes.set(xlabel="laps", ylabel=label)
    family, tally, rng = mix.model_.family, mix.tally_, np.random.default_rng(0)
    eta = family.posterior(tally.stats, tally.mass)
    panels = right.subplots(4, SHOWN)
    for column, k in zip(panels.T, np.argsort(-mix.weights_)[:SHOWN], strict=False):
        for axes in column:
            row = family.draw(eta[k], float(tally.mass[k]), rng) @ basis()
            axes.imshow(row.reshape(SIDE, SIDE), cmap="gray")
    for axes in panels.flat:
        axes.set_axis_off()
    right.suptitle("patches drawn from the heaviest clusters")
    return figure


if __name__ == "__main__":
    typer.run(main)
