"""The same model, prior and start for evermix and for scikit-learn.

60,000 rows of 50 features in 20 clusters; both are given 100.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture

import evermix as em

__all__ = ["K", "Point", "family", "mixture", "sklearn_points", "sklearn_mixture", "points"]

D, K = 50, 100
ALPHA, KAPPA, NU = 1.0, 0.01, D + 2.0


class Point(NamedTuple):
    """How far a fit is after a lap or an iteration: wall time so far, the bound, and clusters."""

    seconds: float
    bound: float
    K: int


def family() -> em.Gaussian:
    """Return clusters whose covariance is expected to be the identity."""
    return em.Gaussian(mean=np.zeros(D), kappa=KAPPA, nu=NU, scale=np.eye(D))


def mixture(engine: Any) -> em.Mixture:
    """Return evermix's mixture."""
    prior = em.DP(alpha=ALPHA)
    return em.Mixture(family=family(), prior=prior, engine=engine, random_state=0)


def points(engine: Any, X: np.ndarray) -> list[Point]:
    """Fit, and return where every lap ended."""
    found: list[Point] = []
    began = time.perf_counter()

    def watch(mix: em.Mixture, info: em.Info) -> None:
        if info.rows == 0:
            found.append(Point(time.perf_counter() - began, info.scalars["elbo"], info.K))

    mixture(engine).fit(X, observers=[watch])
    return found


class Watched(BayesianGaussianMixture):
    """scikit-learn's mixture, which tells after every iteration what it believes of the rows."""

    watch: Callable[[np.ndarray], None]

    def _compute_lower_bound(self, log_resp: np.ndarray, log_prob_norm: Any) -> float:
        self.watch(log_resp)
        return super()._compute_lower_bound(log_resp, log_prob_norm)


def sklearn_mixture(iterations: int, watch: Callable[[np.ndarray], None]) -> Watched:
    """Return the same mixture as scikit-learn has it.

    Its ``covariance_prior`` is the matrix that the scatter is added to: B, not B / nu.
    """
    model = Watched(
        n_components=K,
        max_iter=iterations,
        tol=0.0,
        reg_covar=0.0,
        init_params="k-means++",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=ALPHA,
        mean_prior=np.zeros(D),
        mean_precision_prior=KAPPA,
        degrees_of_freedom_prior=NU,
        covariance_prior=(NU - D - 1) * np.eye(D),
        random_state=0,
    )
    model.watch = watch
    return model


def sklearn_points(
    X: np.ndarray, iterations: int, bound: Callable[[np.ndarray], float] | None = None
) -> list[Point]:
    """Fit scikit-learn's mixture, and return where every iteration ended.

    ``bound`` scores responsibilities (N, K); its time does not count. Without it bounds are 0.
    """
    found: list[Point] = []
    paused, began = 0.0, time.perf_counter()

    def watch(log_resp: np.ndarray) -> None:
        nonlocal paused
        now = time.perf_counter()
        value = bound(np.exp(log_resp)) if bound else 0.0
        found.append(Point(now - began - paused, value, K))
        paused += time.perf_counter() - now

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is not asked to converge
        sklearn_mixture(iterations, watch).fit(X)
    return found
