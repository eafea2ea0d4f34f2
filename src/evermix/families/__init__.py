"""What one cluster looks like: likelihoods with their conjugate priors."""

from evermix.families.base import Family
from evermix.families.gaussian import Gaussian
from evermix.families.multinomial import Multinomial

__all__ = ["FAMILIES", "Family", "Gaussian", "Multinomial"]

FAMILIES: dict[str, type[Family]] = {family.__name__: family for family in (Multinomial, Gaussian)}
"""Every family by name, as a saved model names it."""
