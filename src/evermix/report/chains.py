"""Traces of several chains: summaries, convergence, and the way into ArviZ.

This is the only file that imports ArviZ, and only when it is needed: importing it takes seconds.
"""

import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from evermix._xp import Array

ENDS = (0.05, 0.95)
FEWEST = 4  # draws per chain that ArviZ asks for


def side_by_side(values: Array, chain: Array) -> Array:
    """Put the draws (M,) of chains beside each other, cut to the length of the shortest.

    Returns
    -------
    array (C, T)
        The first T draws of each of the C chains that have any, by number of the chain.
    """
    numbers, lengths = np.unique(chain, return_counts=True)
    T = lengths.min()
    return np.stack([values[chain == number][:T] for number in numbers])


def describe(values: Array, chain: Array) -> dict[str, float]:
    """Summarise one trace: mean, spread and quantiles of all draws, and how well chains mixed.

    Parameters
    ----------
    values : array (M,)
    chain : int array (M,)
        The chain that each value comes from.

    Returns
    -------
    dict of float
        mean, sd, median, 5%, 95%, ess_bulk, ess_tail, r_hat; see
        :meth:`evermix.report.Posterior.summary`.
    """
    chains = side_by_side(np.asarray(values, dtype=np.float64), chain)
    # Chains that stand still at different values divide by a variance of zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        low, median, high = np.quantile(values, (ENDS[0], 0.5, ENDS[1]))
        return {
            "mean": float(np.mean(values)),
            "sd": float(np.std(values, ddof=1)) if len(values) > 1 else np.nan,
            "median": float(median),
            "5%": float(low),
            "95%": float(high),
            **_mixing(chains),
        }


def _mixing(chains: Array) -> dict[str, float]:
    """ArviZ's diagnostics of chains (C, T); nan where ArviZ has none or nothing varies."""
    arviz, _ = _import_arviz()
    C, T = chains.shape
    if T < FEWEST or not np.isfinite(chains).all() or np.ptp(chains) == 0:
        return {"ess_bulk": np.nan, "ess_tail": np.nan, "r_hat": np.nan}
    return {
        "ess_bulk": float(arviz.ess(chains, method="bulk")),
        "ess_tail": float(arviz.ess(chains, method="tail", prob=ENDS)),
        "r_hat": float(arviz.rhat(chains)) if C > 1 else np.nan,
    }


def to_inference_data(groups: Mapping[str, Mapping[str, Array]], chain: Array) -> Any:
    """Return traces as ArviZ wants them.

    Parameters
    ----------
    groups : mapping of mappings of arrays (M,)
        The traces, by group and name.
    chain : int array (M,)
        The chain that each draw comes from.

    Returns
    -------
    xarray.DataTree (ArviZ 1) or arviz.InferenceData (ArviZ 0)
        Dimensions are chain and draw.
    """
    arviz, xarray = _import_arviz()
    attributes = {"inference_library": "evermix", "inference_library_version": version("evermix")}
    numbers, lengths = np.unique(chain, return_counts=True)
    coordinates = {"chain": numbers, "draw": np.arange(lengths.min())}
    datasets = {}
    for group, traces in groups.items():
        variables = {
            name: (("chain", "draw"), side_by_side(trace, chain)) for name, trace in traces.items()
        }
        datasets[group] = xarray.Dataset(variables, coordinates, attributes)
    if int(arviz.__version__.split(".")[0]) >= 1:
        return xarray.DataTree.from_dict(datasets)
    return arviz.InferenceData(**datasets)


def _import_arviz() -> tuple[Any, Any]:
    """Return ArviZ, and xarray, which it brings."""
    try:
        # ArviZ 0 tells of ArviZ 1 when it is imported; both work here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
            import xarray
    except ImportError as error:
        raise ImportError(
            "summaries of chains need ArviZ, which is not installed: pip install evermix[arviz]"
        ) from error
    return arviz, xarray
