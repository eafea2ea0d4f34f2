"""Joining models that were taught apart, on different rows: shards, sites, days."""

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from evermix._random import generator
from evermix._xp import Array
from evermix.engines.base import Engine
from evermix.engines.batch import CapacityWarning, RowResults
from evermix.engines.joining.union import United, moved, unite
from evermix.engines.settings import check_number
from evermix.estimators.mixture.estimator import Mixture
from evermix.estimators.mixture.merge_checks import check_alike
from evermix.state import State


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
    Clusters of the same model are never fused: their model had the rows and told them apart. A
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
    engine, model = chosen[0]._taught, chosen[0].model_
    threshold = _threshold(engine, threshold)
    parts = [moved(mix.model_.family, mix.state_, model.family) for mix in chosen]
    united = unite(engine, model, parts, threshold)
    K, cap = united.state.tally.K, model.max_clusters
    if cap is not None and K > cap:
        warnings.warn(
            f"the merged model has {K} clusters, more than max_clusters={cap}; none was dropped. "
            "Raise max_clusters, or lower threshold.",
            CapacityWarning,
            stacklevel=2,
        )
    return _mixture(chosen, united)


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
        if mix._taught.rereads and mix._rows_seen and not mix.state_.lap:
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
    reason = chosen[0]._taught.not_mergeable
    if reason is not None:
        raise TypeError(
            f"models of {type(chosen[0]._taught).__name__} cannot be merged: {reason}. Use em.ADF, "
            "em.EP or a variational engine."
        )
    for number, mix in enumerate(chosen[1:], start=1):
        check_alike(chosen[0], mix, number)
    return chosen


def _threshold(engine: Engine, threshold: float | None) -> float:
    if threshold is not None:
        check_number("threshold", threshold)
        if np.isnan(threshold):
            raise ValueError("threshold must be a number of nats, got nan.")
        return float(threshold)
    return engine.merge_threshold


def _mixture(models: Sequence[Mixture], united: United) -> Mixture:
    """Return an estimator with the settings of the first model, and a state made of all."""
    first = models[0]
    mix = Mixture(**first.get_params(deep=False))
    mix._begin(first._family)
    mix._taught = first._taught
    mix.n_features_in_ = first.n_features_in_
    if "feature_names_in_" in vars(first):
        mix.feature_names_in_ = first.feature_names_in_.copy()
    mix._rng = generator(first.random_state)
    mix._model, mix._state = first.model_, united.state
    mix._results = RowResults.empty(0)
    mix._label_maps = [_names(m.state_, ids) for m, ids in zip(models, united.ids, strict=True)]
    return mix


def _names(state: State, ids: Array) -> Array:
    """Return what all clusters that a state has ever had are called, given that of those alive."""
    old = np.append(np.arange(state.lineage.next_id), -1)  # the last, so that -1 stays -1
    names = np.full(len(old), -1)
    names[state.tally.ids] = ids
    return names[np.maximum(state.lineage.current(old), -1)]
