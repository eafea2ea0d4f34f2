"""Parameters of estimators through the objects that they are given: ``prior__alpha``."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from inspect import signature
from typing import Any, Self

_NUMBERS = {"n_clusters", "n_components", "n_topics", "num_topics", "k", "K"}


class DeepParameters:
    """Reads and sets the fields of priors, families, engines and samplers as parameters.

    These objects never change. To set a field of one puts another one in its place, so that
    estimators which share it are not touched.
    """

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Make the object, unless a number of clusters is given, which is learnt here."""
        for name in _NUMBERS & params.keys():
            raise TypeError(
                f"{cls.__name__} has no parameter {name!r}: it learns the number from the rows. "
                f"Leave it out{cls._fewer(params[name])}."
            )
        return super().__new__(cls)

    @classmethod
    def _fewer(cls, n: Any) -> str:
        """Return how to get n clusters or topics, for a message."""
        coarse = f"; once it is fitted, coarse({n!r}) joins what it has found into {n!r}"
        most = f", and max_clusters={n!r} is a limit that it never passes"
        bounded = "max_clusters" in signature(cls.__init__).parameters
        return coarse * hasattr(cls, "coarse") + most * bounded

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether to add the fields of parameters that are objects, under names such as
            ``prior__alpha`` and ``engine__laps``.
        """
        params: dict[str, Any] = super().get_params(deep=False)  # type: ignore[misc]
        return dict(_with_fields(params)) if deep else params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of :meth:`get_params`, and return the estimator.

        A whole object and its fields may be set together: ``prior=em.DP(), prior__alpha=2.0``.
        If one of them is wrong, nothing is set.

        Examples
        --------
        >>> import evermix as em
        >>> em.Mixture(prior=em.DP(1.0)).set_params(prior__alpha=2.0).prior
        DP(alpha=2.0)
        """
        known = self.get_params(deep=False)
        for name, value in _changed(type(self).__name__, known, params).items():
            setattr(self, name, value)
        return self


def _with_fields(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values, and those of the fields of objects among them."""
    for name, value in values.items():
        yield prefix + name, value
        if _is_object(value):
            inner = {each: getattr(value, each) for each in _settable(value)}
            yield from _with_fields(inner, f"{prefix}{name}__")


def _changed(owner: str, known: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Return new values of some of the values that an object has, by name.

    Names such as ``prior__alpha`` change a part of a value.
    """
    changed: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in params.items():
        name, below, rest = path.partition("__")
        if name not in known:
            raise ValueError(
                f"{owner} has no parameter {name!r}. Valid parameters are: {sorted(known)}."
            )
        if below:
            inner.setdefault(name, {})[rest] = value
        else:
            changed[name] = value
    for name, some in inner.items():
        value = changed.get(name, known[name])
        if not _is_object(value):
            raise ValueError(
                f"{name} is {value!r}, which has no parameter {next(iter(some))!r}. Give an object "
                f"first: set_params({name}=...)."
            )
        fields_now = {each: getattr(value, each) for each in _settable(value)}
        changed[name] = replace(value, **_changed(type(value).__name__, fields_now, some))
    return changed


def _is_object(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _settable(value: Any) -> list[str]:
    return [field.name for field in fields(value) if field.init]
