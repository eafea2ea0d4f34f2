"""Estimators with the interface of scikit-learn."""

from evermix.estimators.dependent import DependentMixture
from evermix.estimators.merge import merge
from evermix.estimators.mixture import Mixture
from evermix.estimators.persistence import load
from evermix.estimators.select import PriorScore, score_priors, select_prior
from evermix.estimators.topic_model import TopicModel

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
