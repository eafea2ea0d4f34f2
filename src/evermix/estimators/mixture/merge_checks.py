"""Whether models were taught with the same hyperparameters, so that what they learnt adds up."""

from dataclasses import fields
from typing import Any

import numpy as np

from evermix.estimators.mixture.estimator import Mixture

ADVICE = (
    "Give all hyperparameters explicitly, or fit one model first and the others with its family: "
    "em.Mixture(family=first.model_.family, ...)."
)


def check_alike(first: Mixture, other: Mixture, number: int) -> None:
    """Raise ValueError unless two models, 0 and ``number``, differ in nothing but what they learnt.

    Families may differ in the origin of their statistics.
    """
    for what, ours, theirs in (*_kinds(first, other), *_hyperparameters(first, other)):
        if not _equal(ours, theirs):
            raise ValueError(
                f"models 0 and {number} differ in their {what}: {_said(ours)} and {_said(theirs)}. "
                f"Only models of the same kind, with the same hyperparameters, can be merged. "
                f"{ADVICE}"
            )


def _kinds(first: Mixture, other: Mixture) -> list[tuple[Any, ...]]:
    """Return what models are for: names, and the values of both."""
    both = first, other
    return [
        ("engine", *(type(mix._taught).__name__ for mix in both)),
        ("family", *(type(mix.model_.family).__name__ for mix in both)),
        ("number of features", *(mix.n_features_in_ for mix in both)),
        ("feature names", *(vars(mix).get("feature_names_in_") for mix in both)),
    ]


def _hyperparameters(first: Mixture, other: Mixture) -> list[tuple[Any, ...]]:
    """Return what models of one kind may differ in: names, and the values of both."""
    models = first.model_, other.model_
    family = models[0].family
    names = [f.name for f in fields(family) if f.name != "origin"]
    if type(family) is not type(models[1].family):  # which was told before
        return []
    return [
        ("prior", *(model.prior.canonical() for model in models)),
        ("max_clusters", *(model.max_clusters for model in models)),
        *(
            (f"{type(family).__name__}.{name}", *(getattr(m.family, name) for m in models))
            for name in names
        ),
    ]


def _equal(a: Any, b: Any) -> bool:
    """Whether two values are equal; a number stands for an array that holds nothing else."""
    if a is None or b is None:
        return a is b
    if np.ndim(a) == np.ndim(b):
        return np.array_equal(a, b)
    return bool(np.all(np.equal(a, b)))


def _said(value: Any) -> str:
    return np.array2string(value, threshold=6) if isinstance(value, np.ndarray) else repr(value)
