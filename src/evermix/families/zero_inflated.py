r"""Columns of a table that are 0 in many rows: amounts that most people did not spend."""

from dataclasses import dataclass, field

from evermix.families.base import Family
from evermix.families.bernoulli import Bernoulli
from evermix.families.diagonal_gaussian import DiagonalGaussian
from evermix.families.gaussian import Gaussian
from evermix.families.log_normal import LogNormal


@dataclass(frozen=True)
class ZeroInflated:
    r"""A column of :class:`Mixed` that is 0 in many rows: whether it is, and how large it is else.

    Given its cluster, a number is 0 with probability :math:`1 - p`, and otherwise of a family that
    says nothing of zeros. Without it, clusters of rows with zeros are split from the others, since
    no normal distribution has many rows at exactly one number.

    Parameters
    ----------
    family : LogNormal, Gaussian or DiagonalGaussian, default=LogNormal()
        Of the numbers that are not 0.
    zero : Bernoulli, default=Bernoulli()
        Of whether a number is not 0.

    Examples
    --------
    >>> from evermix.families import Mixed
    >>> Mixed({"snacks": ZeroInflated()}).blocks[1].view
    'rest'
    """

    family: Family = field(default_factory=LogNormal)
    zero: Bernoulli = field(default_factory=Bernoulli)

    def __post_init__(self) -> None:
        if type(self.family) not in (LogNormal, Gaussian, DiagonalGaussian):
            raise TypeError(
                "the family of the numbers that are not 0 must be em.LogNormal, em.Gaussian or "
                f"em.DiagonalGaussian, got {self.family!r}."
            )
        if not isinstance(self.zero, Bernoulli):
            raise TypeError(f"zero must be an em.Bernoulli, got {self.zero!r}.")
