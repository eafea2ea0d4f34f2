"""What a file of a mixture over time holds."""

from typing import Any

import numpy as np

from evermix.cli.output.topic_report import shown_label
from evermix.estimators import DependentMixture


def describe_dependent(mix: DependentMixture, top: int) -> dict[str, Any]:
    """Return what a mixture over time has found so far as a JSON-ready dict."""
    times = [shown_label(time) for time in mix.times_.tolist()]
    drawn = hasattr(mix, "posterior_")  # what a chain is in its burn-in tells nothing
    return {
        "kind": "dependent mixture",
        "source": None,
        "family": repr(mix.family_),
        "prior": "MNGG()" if mix.prior is None else repr(mix.prior),
        "sampler": repr(mix.sampler_),
        "sweeps": mix.n_sweeps_,
        "burn_in": mix.burn_in,
        "draws": mix.draws,
        "features": mix.n_features_in_,
        "times": f"{len(times):,}, {times[0]} to {times[-1]}",
        "observations": len(mix.labels_) if drawn else None,
        "K": mix.n_clusters_ if drawn else None,
        "clusters": _clusters(mix, times)[:top] if drawn else [],
    }


def _clusters(mix: DependentMixture, times: list[Any]) -> list[dict[str, Any]]:
    """Return the clusters, the largest first, and between which times they have rows."""
    size, evolution = np.bincount(mix.labels_, minlength=mix.n_clusters_), mix.evolution_
    clusters = []
    for k in np.argsort(-size, kind="stable").tolist():
        there = np.flatnonzero(evolution[:, k])
        clusters.append(
            {
                "id": k,
                "size": int(size[k]),
                "share": float(size[k] / size.sum()),
                "first": times[there[0]],
                "last": times[there[-1]],
            }
        )
    return clusters
