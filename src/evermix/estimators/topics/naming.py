"""Topics that people name."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from evermix._warning import warn
from evermix.estimators.ids import id_called
from evermix.estimators.topics.fitted import FittedTopics, NamesOfDraw
from evermix.hand import new_name


class NamedTopics:
    """Names of the topics of a fitted model."""

    _fitted: FittedTopics
    _point: Any
    _check_drawn: Any

    @property
    def names_(self) -> dict[int, str]:
        """Names that :meth:`rename` gave to topics, by their numbers."""
        check_is_fitted(self)
        return self._fitted.names

    def rename(self, topic: int | str, name: str | None) -> Self:
        """Call a topic by a name, on cards, in pictures and reports, and on the command line.

        The name is saved with the model, and stays with the topic in :meth:`partial_fit`. Once a
        fit that goes on shows another draw, whose topics are others, names are gone, with a
        warning. None takes the name away.

        Examples
        --------
        >>> import numpy as np, evermix as em
        >>> rng = np.random.default_rng(0)
        >>> halves = np.repeat([[4.0, 4, 4, 0, 0, 0], [0, 0, 0, 4, 4, 4]], 20, axis=0)
        >>> topics = em.TopicModel(em.HDP(), burn_in=50, draws=50, random_state=0)
        >>> topics.fit(rng.poisson(halves)).rename(0, "harbour").card(0).name
        'harbour'
        """
        self._check_drawn()
        id, names = self._checked_topic(topic), self.names_
        if name is None:
            names.pop(id, None)
        else:
            owner = {other: own for own, other in names.items()}.get(new_name(name, "topic"), id)
            if owner != id:
                raise ValueError(f"topic {owner} is called {name!r} already: choose another name.")
            names[id] = name
        self._fitted = replace(self._fitted, given=NamesOfDraw.of(self._fitted.point(), names))
        return self

    def _checked_topic(self, topic: Any) -> int:
        """Return the number of a topic, given that or its name; ValueError if there is none."""
        id, K = id_called(topic, self.names_, "topic"), self._point().K
        if not 0 <= id < K:
            raise ValueError(f"there is no topic {id}; they are 0 to {K - 1}.")
        return id

    @contextmanager
    def _warn_of_lost_names(self) -> Iterator[None]:
        """Warn at the end if the topics that had names before are no longer shown."""
        before = self._fitted.names if "_fitted" in vars(self) else {}
        try:
            yield
        finally:
            if before and before != self._fitted.names:
                named = ", ".join(f"{topic}: {name}" for topic, name in sorted(before.items()))
                warn(
                    f"another draw is shown now, whose topics are others, so their names are gone "
                    f"({named}). Name topics again with rename."
                )
