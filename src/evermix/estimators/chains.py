"""What estimators share whose answers are draws of Markov chains."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from evermix._xp import Array
from evermix.engines.settings import check_whole
from evermix.estimators import files
from evermix.estimators.fitting import check_observers, restored_on_error
from evermix.estimators.packing import Registry, built, features_of, named
from evermix.estimators.parameters import DeepParameters
from evermix.estimators.shown import Shown
from evermix.families.base import Family
from evermix.priors.hyper import HyperPrior
from evermix.report.page import SHOWN, Report
from evermix.topics.chains import ChainRun
from evermix.topics.priors import PlainSettings

Observer: TypeAlias = Callable[[Any, Any], None]
"""Called with the estimator and a summary after every sweep of a fit."""


class ChainEstimator(Shown, DeepParameters, BaseEstimator):  # type: ignore[misc]
    """An estimator of rows or documents that have times, whose answers are draws of chains."""

    kind: ClassVar[str]
    """What its files are called."""
    named_classes: ClassVar[Mapping[str, Mapping[str, Any]]]
    """The priors and samplers that a file may name."""
    fitted_class: ClassVar[Any]
    """Holds chains as ``run`` and their ``times``, and has ``to_file`` and ``from_file``."""

    n_features_in_: int
    _fitted: Any

    def __init__(
        self, prior: Any, sampler: Any, burn_in: int, draws: int, chains: int, random_state: Any
    ) -> None:
        self.prior = prior
        self.sampler = sampler
        self.burn_in = burn_in
        self.draws = draws
        self.chains = chains
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    @property
    def times_(self) -> Array:
        """The times in order, (T,)."""
        check_is_fitted(self)
        return self._fitted.times.array

    @property
    def n_sweeps_(self) -> int:
        """Number of sweeps so far, burn-in included."""
        return self._run.sweeps

    # ---- learning --------------------------------------------------------------------------

    def _check_settings(self, observers: Iterable[Observer]) -> tuple[Observer, ...]:
        """Raise if a setting is invalid; return the observers."""
        watching = check_observers(observers)
        check_whole("burn_in", self.burn_in, least=0)
        check_whole("draws", self.draws)
        check_whole("chains", self.chains)
        return watching

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Put the old model back if a fit fails before its first sweep is done."""
        known = vars(self).get("_fitted")

        def began(_: BaseException) -> bool:
            return vars(self).get("_fitted") is not known and self.n_sweeps_ > 0

        with restored_on_error(self, began):
            yield

    def _go_on(self, observers: tuple[Observer, ...]) -> None:
        """Sweep until there are as many draws as wanted."""
        run = self._run

        def after() -> None:
            if observers:
                last = run.last()
                for observe in observers:
                    observe(self, last)

        run.go_on(self.burn_in, self.draws, after)

    @property
    def _run(self) -> ChainRun[Any, Any]:
        check_is_fitted(self)
        return self._fitted.run

    def _glance(self) -> Report | None:
        drawn = self.__sklearn_is_fitted__() and self._run.n_draws
        return self._report(None, "", SHOWN + 1) if drawn else None

    @abstractmethod
    def _report(self, names: Sequence[Any] | None, title: str, top: int | None) -> Report:
        """Return the report on the largest ``top`` clusters or topics; None: all."""

    def _check_drawn(self) -> None:
        if not self._run.n_draws:
            raise AttributeError(
                "no draw was kept yet: the fit ended in its burn-in. Go on with resume."
            )

    # ---- files -----------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write everything to one file, from which :func:`evermix.load` restores it bit for bit.

        A model that was loaded goes on with ``resume`` as if it had never stopped.
        """
        files.save(self, path)

    def to_file(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Return everything as named arrays and a JSON-ready header."""
        if not self.__sklearn_is_fitted__() or not self.n_sweeps_:
            raise ValueError("there is nothing to save yet; call fit first.")
        arrays, fitted = self._fitted.to_file()
        settings = {name: _saved(name, value) for name, value in self.get_params(False).items()}
        header = {"kind": self.kind, "params": settings, "n_features_in": self.n_features_in_}
        if "feature_names_in_" in vars(self):
            header["feature_names_in"] = [str(name) for name in self.feature_names_in_]
        return arrays, header | fitted

    @classmethod
    def from_file(
        cls, content: tuple[Mapping[str, Array], Mapping[str, Any]], known: Registry
    ) -> Self:
        """Return the estimator that :meth:`to_file` described; ``known`` are classes by name."""
        arrays, header = content
        classes = {"family": known.families, **cls.named_classes}
        settings = {
            name: built(value, classes[name]) if isinstance(value, dict) else value
            for name, value in header["params"].items()
        }
        model = cls(**settings)
        model.n_features_in_, names = features_of(header)
        if names is not None:
            model.feature_names_in_ = names
        model._fitted = cls.fitted_class.from_file(dict(arrays), header, known)
        return model


def _saved(name: str, value: Any) -> Any:
    """Return a setting as JSON; of a random state that is no number, chains have their own."""
    if name == "random_state":
        return int(value) if isinstance(value, int | np.integer) else None
    return named(value) if isinstance(value, Family | PlainSettings | HyperPrior) else value
