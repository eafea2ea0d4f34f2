"""The parameters of a mixture, validated."""

from typing import Any, NamedTuple

from evermix.engines.base import Engine
from evermix.engines.filters.adf import ADF
from evermix.estimators.resolve import check_cap
from evermix.families.base import Family
from evermix.forgetting import Exponential
from evermix.model import Model
from evermix.priors.base import Prior

DEFAULT_ENGINE = ADF()


def check_family(family: object) -> None:
    """Raise ValueError or TypeError unless this is "auto" or a family."""
    if isinstance(family, str) and family != "auto":
        raise ValueError(f"family must be 'auto' or a Family, got {family!r}.")
    if not isinstance(family, str | Family):
        raise TypeError(f"family must be 'auto' or a Family, got {family!r}.")


def with_family(tags: Any, family: object) -> Any:
    """Return scikit-learn's tags with the kinds of rows that a family takes.   Consumes: tags."""
    tags.input_tags.sparse = family == "auto" or (isinstance(family, Family) and family.sparse)
    tags.input_tags.positive_only = isinstance(family, Family) and family.sparse
    return tags


class Settings(NamedTuple):
    """The parameters of a mixture with defaults filled in.

    Attributes
    ----------
    family : Family or None
        None if the rows decide.
    """

    family: Family | None
    prior: Prior
    engine: Engine
    forgetting: Exponential | None
    max_clusters: int | None
    random_state: Any

    @classmethod
    def of(cls, mix: Any) -> "Settings":
        """Return the settings of a mixture, or raise TypeError or ValueError."""
        engine = DEFAULT_ENGINE if mix.engine is None else mix.engine
        if not isinstance(engine, Engine):
            raise TypeError(f"engine must be an Engine such as em.ADF() or None, got {engine!r}.")
        check_family(mix.family)
        family = mix.family if isinstance(mix.family, Family) else None
        if family is None and engine.families:
            family = engine.families[0]()
        prior = engine.default_prior() if mix.prior is None else mix.prior
        if not isinstance(prior, Prior):
            raise TypeError(f"prior must be a Prior such as em.DP(1.0) or None, got {prior!r}.")
        if mix.forgetting is not None and not isinstance(mix.forgetting, Exponential):
            raise TypeError(
                f"forgetting must be em.Exponential(half_life=...) or None, got {mix.forgetting!r}."
            )
        check_cap(mix.max_clusters)
        return cls(family, prior, engine, mix.forgetting, mix.max_clusters, mix.random_state)

    def model(self, family: Family) -> Model:
        """Return the model for a family, whose hyperparameters may still be open."""
        return Model(family, self.prior, self.max_clusters, self.forgetting)
