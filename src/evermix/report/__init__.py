"""Words and pictures that tell what a mixture found."""

from evermix.report.plots import Series, overview, read_events
from evermix.report.words import distinctive_words, frequent_words

__all__ = ["Series", "distinctive_words", "frequent_words", "overview", "read_events"]
