"""Words and pictures that tell what a mixture found."""

from evermix.report.bounds import Laps, bound_plot, read_laps
from evermix.report.lifetimes import Lifetimes, lifetimes
from evermix.report.plots import Series, overview, read_events
from evermix.report.posterior import Posterior
from evermix.report.posterior_plots import co_clustering_map, trace_plot
from evermix.report.topic_plots import topic_curves, topic_overview
from evermix.report.words import distinctive_words, frequent_words

__all__ = [
    "Laps",
    "Lifetimes",
    "Posterior",
    "Series",
    "bound_plot",
    "co_clustering_map",
    "distinctive_words",
    "frequent_words",
    "lifetimes",
    "overview",
    "read_events",
    "read_laps",
    "topic_curves",
    "topic_overview",
    "trace_plot",
]
