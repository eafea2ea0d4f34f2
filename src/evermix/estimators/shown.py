"""How notebooks show estimators: fitted ones by what they have found."""

from abc import ABC, abstractmethod
from typing import Any

from sklearn.utils import estimator_html_repr

from evermix.report.page import Report


class Shown(ABC):
    """An estimator that notebooks show by its largest clusters or topics, once it is fitted."""

    @abstractmethod
    def _glance(self) -> Report | None:
        """Return the facts and the largest items; None if there is nothing to show yet."""

    def _repr_html_(self) -> str:
        glance = self._glance()
        return estimator_html_repr(self) if glance is None else glance.summary()

    def _repr_mimebundle_(self, **settings: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
