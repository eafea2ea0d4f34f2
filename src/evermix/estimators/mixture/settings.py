"""The parameters of a mixture, validated."""

from dataclasses import replace
from typing import Any, NamedTuple

from evermix import families
from evermix.engines.base import Engine
from evermix.engines.filters.adf import ADF
from evermix.engines.variational.memoized import MemoizedVB
from evermix.estimators.data.rows import Rows
from evermix.estimators.resolve import check_cap
from evermix.families.base import Family
from evermix.families.kinds import kinds, open_names, without_search
from evermix.families.opening import left_open
from evermix.families.zero_inflated import ZeroInflated
from evermix.forgetting import Exponential
from evermix.model import Model
from evermix.priors.base import HasSticks, Prior

STREAM_ENGINE = ADF()
# Reviews merge and split, so that between them only clear newcomers open clusters.
REVIEWED_ENGINE = ADF(birth=0.5)
# It starts from the clusters that are found on a sample, so that none have to be born.
FIT_ENGINE = MemoizedVB(laps=20, batch_size=4096, births=False)
# Those of counts are merged as long as rows predict each other well, which the bound cannot tell.
COUNTS_ENGINE = replace(FIT_ENGINE, merges=False, deletes=False)


def check_family(family: object) -> None:
    """Raise ValueError or TypeError unless this is "auto" or a family."""
    if isinstance(family, str) and family != "auto":
        names = [name for name in families.__all__ if name not in ("FAMILIES", "Family")]
        raise ValueError(
            f"family must be 'auto' or a Family, got {family!r}. Families are "
            f"{', '.join(f'em.{name}()' for name in names)}; what is not given is learnt."
        )
    if isinstance(family, ZeroInflated):
        raise TypeError(
            "family must be 'auto' or a Family, got em.ZeroInflated, which is for one column: "
            "give it by the column's name or number, em.Mixed({0: em.ZeroInflated()})."
        )
    if not isinstance(family, str | Family):
        raise TypeError(f"family must be 'auto' or a Family, got {family!r}.")


def with_family(tags: Any, family: object, engine: object = None, holes: bool = True) -> Any:
    """Return scikit-learn's tags with the kinds of rows that a family takes.   Consumes: tags.

    "auto" takes all of them, unless the engine knows some families only. ``holes`` says whether the
    estimator lets values be missing at all.
    """
    if family == "auto" and isinstance(engine, Engine) and engine.families:
        family = engine.families[0]()
    known, auto = family if isinstance(family, Family) else None, family == "auto"
    counts = known is not None and known.sparse
    tags.input_tags.sparse, tags.input_tags.positive_only = auto or counts, counts
    tags.input_tags.allow_nan = holes and (auto or (known is not None and known.missing))
    return tags


def can_stream(mix: Any) -> bool:
    """Whether the engine can stream; raises the error that scikit-learn shows as the reason."""
    engine = mix.engine
    if engine is None or not isinstance(engine, Engine):  # partial_fit refuses what is no engine
        return True
    if not engine.streams:
        raise TypeError(
            f"{type(engine).__name__} comes back to its rows, so it cannot learn them as they "
            "come. Use fit, or an engine that streams: em.ADF()."
        )
    return True


def parameters_of(mix: Any) -> tuple[Any, ...]:
    """Return the parameters of a mixture that are checked before rows are learnt."""
    return mix.family, mix.prior, mix.engine, mix.forgetting, mix.max_clusters


class Settings(NamedTuple):
    """The parameters of a mixture with defaults filled in.

    Attributes
    ----------
    family : Family or None
        None if the rows decide.
    prior : Prior or None
        None for the usual one of the engine, or to learn it.
    automatic : bool
        Whether no engine was given, so that everything else that was not is learnt.
    learns_counts : bool
        Whether it would be so, but that rows are forgotten: then only of counts.
    """

    family: Family | None
    prior: Prior | None
    engine: Engine
    forgetting: Exponential | None
    max_clusters: int | None
    random_state: Any
    automatic: bool
    learns_counts: bool = False

    @classmethod
    def of(cls, mix: Any, streaming: bool = False) -> "Settings":
        """Return the settings of a mixture that is to fit or to stream, or raise an error.

        TypeError or ValueError: a parameter is not what it should be.
        """
        engine = mix.engine
        if engine is None:
            engine = FIT_ENGINE if _may_vary(mix) else STREAM_ENGINE
            if streaming:
                engine = REVIEWED_ENGINE if _may_vary(mix) else STREAM_ENGINE
        if not isinstance(engine, Engine):
            raise TypeError(f"engine must be an Engine such as em.ADF() or None, got {engine!r}.")
        check_family(mix.family)
        family = mix.family if isinstance(mix.family, Family) else None
        if family is None and engine.families:
            family = engine.families[0]()
        prior = mix.prior
        if prior is not None and not isinstance(prior, Prior):
            raise TypeError(f"prior must be a Prior such as em.DP(1.0) or None, got {prior!r}.")
        if mix.forgetting is not None and not isinstance(mix.forgetting, Exponential):
            raise TypeError(
                f"forgetting must be em.Exponential(half_life=...) or None, got {mix.forgetting!r}."
            )
        check_cap(mix.max_clusters)
        return cls(
            family,
            prior,
            engine,
            mix.forgetting,
            mix.max_clusters,
            mix.random_state,
            automatic=mix.engine is None and _may_vary(mix),
            learns_counts=mix.engine is None and _has_sticks(mix),
        )

    def for_rows(self, family: Family, X: Rows, streaming: bool = False) -> "Settings":
        """Return the settings for prepared rows X (N, D) of a family."""
        if self.automatic and family.sparse:
            return self._replace(engine=STREAM_ENGINE if streaming else COUNTS_ENGINE)
        if self.learns_counts and family.sparse:
            return self._replace(automatic=True)
        return self

    def model(self, family: Family) -> Model:
        """Return the model for a family, where what is not given may be open."""
        prior = self.engine.default_prior() if self.prior is None else self.prior
        learns: list[str] = []
        if self.automatic:
            learns = list(left_open(family))
            if self.family is None and len(several := kinds(family)) > 1:
                learns = [*open_names(several), "family"]
            learns += ["prior"] * (self.prior is None)
        elif self.family is None:
            family = without_search(family)
        return Model(family, prior, self.max_clusters, self.forgetting, tuple(learns))


def _may_vary(mix: Any) -> bool:
    """Whether a fit without a given engine can be variational."""
    return mix.forgetting is None and _has_sticks(mix)


def _has_sticks(mix: Any) -> bool:
    """Whether the prior of a mixture is one for searches, or is to be learnt."""
    return mix.prior is None or isinstance(mix.prior, HasSticks)
