"""Estimators with the interface of scikit-learn."""

from evermix.estimators.dependent.estimator import DependentMixture
from evermix.estimators.files import load
from evermix.estimators.mixture.estimator import Mixture
from evermix.estimators.mixture.merge import merge
from evermix.estimators.mixture.select import PriorScore, score_priors, select_prior
from evermix.estimators.topics.estimator import TopicModel

__all__ = [
    "DependentMixture",
    "Mixture",
    "PriorScore",
    "TopicModel",
    "load",
    "merge",
    "score_priors",
    "select_prior",
]
