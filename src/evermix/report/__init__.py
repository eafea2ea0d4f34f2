"""Summaries and pictures of what a mixture or topic model has found."""

from evermix.report.lifetimes import Lifetimes, changes, lifetimes
from evermix.report.plots import (
    Laps,
    Series,
    bound_plot,
    co_clustering_map,
    overview,
    read_events,
    read_laps,
    trace_plot,
)
from evermix.report.posterior import Posterior
from evermix.report.topic_plots import topic_curves, topic_overview
from evermix.report.words import distinctive_words, frequent_words, frex_words, lift_words

__all__ = [
    "Laps",
    "Lifetimes",
    "Posterior",
    "Series",
    "bound_plot",
    "changes",
    "co_clustering_map",
    "distinctive_words",
    "frequent_words",
    "frex_words",
    "lift_words",
    "lifetimes",
    "overview",
    "read_events",
    "read_laps",
    "topic_curves",
    "topic_overview",
    "trace_plot",
]
