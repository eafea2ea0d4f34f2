"""Traces of chains: summaries, convergence diagnostics, and conversion to ArviZ.

Only this file imports ArviZ, and only when it is needed, since that takes seconds.
"""

import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._extras import install

TAILS = (0.05, 0.95)
MIN_DRAWS = 4  # per chain, as ArviZ requires


def stack_chains(values: NDArray[Any], chain: NDArray[Any]) -> NDArray[Any]:
    """Stack the draws (M,) of chains, cut to the length of the shortest one.

    Returns
    -------
    array (C, T)
        The first T draws of each of the C chains that have any, by number of the chain.
    """
    numbers, lengths = np.unique(chain, return_counts=True)
    T = lengths.min()
    return np.stack([values[chain == number][:T] for number in numbers])


def summarise(values: NDArray[Any], chain: NDArray[Any]) -> dict[str, float]:
    """Summarise one trace: mean, standard deviation, quantiles, and diagnostics of mixing.

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
    chains = stack_chains(np.asarray(values, dtype=np.float64), chain)
    # Chains that are constant at different values divide by a variance of zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        low, median, high = np.quantile(values, (TAILS[0], 0.5, TAILS[1]))
        return {
            "mean": float(np.mean(values)),
            "sd": float(np.std(values, ddof=1)) if len(values) > 1 else np.nan,
            "median": float(median),
            "5%": float(low),
            "95%": float(high),
            **_mixing(chains),
        }


def _mixing(chains: NDArray[Any]) -> dict[str, float]:
    """Return ArviZ's diagnostics of chains (C, T); nan if chains are short or constant."""
    arviz, _ = _import_arviz()
    C, T = chains.shape
    if T < MIN_DRAWS or not np.isfinite(chains).all() or np.ptp(chains) == 0:
        return {"ess_bulk": np.nan, "ess_tail": np.nan, "r_hat": np.nan}
    return {
        "ess_bulk": float(arviz.ess(chains, method="bulk")),
        "ess_tail": float(arviz.ess(chains, method="tail", prob=TAILS)),
        "r_hat": float(arviz.rhat(chains)) if C > 1 else np.nan,
    }


def to_inference_data(groups: Mapping[str, Mapping[str, NDArray[Any]]], chain: NDArray[Any]) -> Any:
    """Return traces in the form of ArviZ.

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
            name: (("chain", "draw"), stack_chains(trace, chain)) for name, trace in traces.items()
        }
        datasets[group] = xarray.Dataset(variables, coordinates, attributes)
    if int(arviz.__version__.split(".")[0]) >= 1:
        return xarray.DataTree.from_dict(datasets)
    return arviz.InferenceData(**datasets)


def _import_arviz() -> tuple[Any, Any]:
    """Return ArviZ and xarray, which it depends on."""
    try:
        # ArviZ 0 warns of ArviZ 1 when it is imported; both work here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz
            import xarray
    except ImportError as error:
        raise ImportError(
            f"summaries of chains need ArviZ, which is not installed: {install('arviz')}"
        ) from error
    return arviz, xarray
