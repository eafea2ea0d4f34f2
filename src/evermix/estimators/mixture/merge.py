"""Merging models that were fitted apart, on different rows: shards, sites, days."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evermix._random import generator
from evermix._warning import warn
from evermix.engines.base import Engine
from evermix.engines.batch import CapacityWarning
from evermix.engines.merging.union import United, moved, unite
from evermix.engines.settings import check_number
from evermix.estimators.data.levels import Level, with_common_codes
from evermix.estimators.data.written import joined
from evermix.estimators.mixture.estimator import Mixture
from evermix.estimators.mixture.learner import Learner
from evermix.families.base import Family
from evermix.families.growing import grows, recoded, widths
from evermix.families.opening import hyperparameters
from evermix.model import Model
from evermix.state import State

_ADVICE = (
    "Give all hyperparameters explicitly, or fit one model first and the others with its family: "
    "em.Mixture(family=first.model_.family, ...)."
)


def merge(models: Iterable[Mixture], threshold: float | None = None) -> Mixture:
    """Join models that were fitted apart, on different rows, without going back to the rows.

    Clusters that explain the same data become one; mass and statistics add up.

    Parameters
    ----------
    models : iterable of Mixture
        Fitted models with the same prior, the same family (up to the origin of its statistics) and
        the same kind of engine. They stay as they are. Samplers cannot be merged: what they learnt
        is draws of whole partitions.
    threshold : float or None
        Fuse two clusters of different models when the log odds for it exceed this many nats; for
        variational engines, when the lower bound rises by more. None is the ``merge`` of the first
        model's engine, or 0 where it has none. With ``np.inf`` clusters are put beside each other.

    Returns
    -------
    Mixture
        A model that predicts, scores, draws and can be saved; with an engine that streams, it goes
        on with ``partial_fit``. Its clusters are named in order of appearance, so that those of a
        fitted first model keep their names. ``label_maps_[i]`` translates: cluster k of the i-th
        model is ``label_maps_[i][k]`` here.

    Notes
    -----
    Clusters of the same model are never fused: their model had the rows and kept them apart. A
    stream that goes on may still join them.

    Examples
    --------
    >>> import numpy as np, evermix as em
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5)) + 6 * rng.integers(0, 4, size=(2000, 1))
    >>> first = em.Mixture().fit(X[:1000])
    >>> second = em.Mixture(family=first.model_.family).fit(X[1000:])
    >>> both = em.merge([first, second])
    >>> both.n_clusters_
    4
    >>> np.array_equal(both.label_maps_[1][second.labels_], both.predict(X[1000:]))
    True
    """
    chosen = _checked(models)
    aligned, levels = _with_same_levels(chosen)
    model = replace(chosen[0].model_, family=aligned[0][0])
    engine = chosen[0].learner_.engine
    threshold = _threshold(engine, threshold)
    parts = [moved(family, state, model.family) for family, state in aligned]
    united = unite(engine, model, parts, threshold)
    K, cap = united.state.tally.K, model.max_clusters
    if cap is not None and K > cap:
        warn(
            f"the merged model has {K} clusters, more than max_clusters={cap}; none was dropped. "
            "Raise max_clusters, or lower threshold.",
            CapacityWarning,
        )
    mix = _mixture(chosen, model, united)
    if levels:
        mix.levels_ = levels
    if written := joined([vars(one).get("written_", {}) for one in chosen]):
        mix.written_ = written
    if all("whole_" in vars(one) for one in chosen):
        mix.whole_ = np.all([one.whole_ for one in chosen], axis=0)
    return mix


def _with_same_levels(
    models: Sequence[Mixture],
) -> tuple[list[tuple[Family, State]], dict[str, list[Level]]]:
    """Return families and states that give the same codes to levels, and these by column.

    Levels of the first model keep their codes; those that only others know follow.
    """
    known = [vars(mix).get("levels_", {}) for mix in models]
    common = {name: with_common_codes([own[name] for own in known]) for name in known[0]}
    levels = {name: words for name, (words, _) in common.items()}
    families = [mix.model_.family for mix in models]
    wide = tuple(max(each) for each in zip(*map(widths, families), strict=True))
    if levels:
        wide = tuple(map(max, wide, map(len, levels.values())))
    aligned = []
    for number, (mix, family) in enumerate(zip(models, families, strict=True)):
        codes = [np.array(found[number]) for _, found in common.values()]
        codes = codes or [np.arange(n) for n in widths(family)]
        tally = mix.state_.tally
        if wide and not grows(family):
            family, tally = recoded(family, tally, wide, codes)
        aligned.append((family, replace(mix.state_, tally=tally)))
    return aligned, levels


def _checked(models: Iterable[Mixture]) -> list[Mixture]:
    """Return the models as a list, or raise if they cannot be merged."""
    if isinstance(models, Mixture) or not isinstance(models, Iterable):
        raise TypeError(f"wanted a list of fitted models, got {models!r}.")
    chosen = list(models)
    if not chosen:
        raise ValueError("wanted at least one fitted model, got none.")
    for number, mix in enumerate(chosen):
        if not isinstance(mix, Mixture):
            raise TypeError(f"wanted fitted models, and model {number} is {mix!r}.")
        if not mix.state_.tally.K:
            raise ValueError(f"model {number} has learnt no row yet: its fit was interrupted.")
        if mix.learner_.engine.rereads and mix.learner_.rows_digest and not mix.state_.lap:
            raise ValueError(
                f"the first lap of model {number} was interrupted, so part of what it holds is "
                "only its start. Go on with resume first."
            )
        if mix.model_.forgetting is not None:
            raise ValueError(
                f"model {number} forgets, and what it holds is of its own moment: models that "
                "forget cannot be merged."
            )
    if len({id(mix) for mix in chosen}) < len(chosen):
        raise ValueError(
            "the same model was given twice, and its rows would count twice. Give models of "
            "different rows."
        )
    engine = chosen[0].learner_.engine
    if engine.not_mergeable is not None:
        raise TypeError(
            f"models of {type(engine).__name__} cannot be merged: {engine.not_mergeable}. Use "
            "em.ADF, em.EP or a variational engine."
        )
    for number, mix in enumerate(chosen[1:], start=1):
        _check_same_model(chosen[0], mix, number)
    return chosen


def _threshold(engine: Engine, threshold: float | None) -> float:
    if threshold is not None:
        check_number("threshold", threshold)
        if np.isnan(threshold):
            raise ValueError("threshold must be a number of nats, got nan.")
        return float(threshold)
    return engine.merge_threshold


def _mixture(models: Sequence[Mixture], model: Model, united: United) -> Mixture:
    """Return an estimator with the settings of the first model, and a state made of all."""
    first = models[0]
    mix = Mixture(**first.get_params(deep=False))
    mix.n_features_in_ = first.n_features_in_
    if "feature_names_in_" in vars(first):
        mix.feature_names_in_ = first.feature_names_in_.copy()
    learner = Learner(first.learner_.engine, model, first.random_state)
    learner.started, learner.rng = True, generator(first.random_state)
    learner.state = united.state
    learner.label_maps = [
        _new_ids(m.state_, ids) for m, ids in zip(models, united.ids, strict=True)
    ]
    _carry_over(models, united)
    mix.learner_ = learner
    return mix


def _carry_over(models: Sequence[Mixture], united: United) -> None:
    """Give names and pins to the clusters that they are of now.   Consumes: united."""
    hand = united.state.lineage.hand
    for mix, ids in zip(models, united.ids, strict=True):
        known = zip(mix.state_.tally.ids.tolist(), ids.tolist(), strict=True)
        own = mix.state_.lineage.hand.rename(dict(known))
        hand.pinned |= own.pinned
        for id, name in own.names.items():
            if name not in hand.names.values():
                hand.names.setdefault(id, name)


def _new_ids(state: State, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the new ids of all clusters that a state has ever had, given those (K,) alive."""
    old = np.append(np.arange(state.lineage.next_id), -1)  # the last, so that -1 stays -1
    names = np.full(len(old), -1)
    names[state.tally.ids] = ids
    return names[np.maximum(state.lineage.current(old), -1)]


def _check_same_model(first: Mixture, other: Mixture, number: int) -> None:
    """Raise ValueError unless models 0 and ``number`` have the same hyperparameters.

    Families may differ in the origin of their statistics.
    """
    for what, ours, theirs in (*_kinds(first, other), *_hyperparameters(first, other)):
        if not _equal(ours, theirs):
            raise ValueError(
                f"models 0 and {number} differ in their {what}: {_shown(ours)} and "
                f"{_shown(theirs)}. Only models of the same kind, with the same hyperparameters, "
                f"can be merged. {_ADVICE}"
            )


def _kinds(first: Mixture, other: Mixture) -> list[tuple[Any, ...]]:
    """Return the kinds of the parts of two models: (name, one, other)."""
    both = first, other
    return [
        ("engine", *(type(mix.learner_.engine).__name__ for mix in both)),
        ("family", *(type(mix.model_.family).__name__ for mix in both)),
        ("number of features", *(mix.n_features_in_ for mix in both)),
        ("feature names", *(vars(mix).get("feature_names_in_") for mix in both)),
    ]


def _hyperparameters(first: Mixture, other: Mixture) -> list[tuple[Any, ...]]:
    """Return the hyperparameters of two models: (name, one, other)."""
    models = first.model_, other.model_
    family = models[0].family
    if type(family) is not type(models[1].family):  # which is reported before
        return []
    both = [hyperparameters(model.family) for model in models]
    return [
        ("prior", *(model.prior.canonical() for model in models)),
        ("max_clusters", *(model.max_clusters for model in models)),
        *((name, *(each.get(name) for each in both)) for name in both[0]),
    ]


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are equal; a number equals an array that holds nothing else."""
    if a is None or b is None:
        return a is b
    if np.ndim(a) == np.ndim(b):
        return np.array_equal(a, b)
    return bool(np.all(np.equal(a, b)))


def _shown(value: Any) -> str:
    return np.array2string(value, threshold=6) if isinstance(value, np.ndarray) else repr(value)
