"""New clusters of a stream that another loop lets learn, posted once they are confirmed."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evermix.estimators import Mixture
from evermix.estimators.mixture.card import Card
from evermix.service.bodies import Observations
from evermix.service.confirming import Confirming, Questions
from evermix.service.webhooks import Webhook


class Announcing:
    """Posts the new clusters of a mixture to an address.

    Parameters
    ----------
    address : str
    name : str
        What the model is called there.
    mix : Mixture
    words : callable
        Returns names of the columns, and words that name clusters.
    labels : callable
        Returns the clusters of texts; none if vectors come beside them.
    waiting : mapping, optional
        What :meth:`to_spec` returned, of a stream that goes on; None: what is there is known.
    """

    def __init__(
        self,
        address: str,
        name: str,
        mix: Mixture,
        words: Callable[[], tuple[Sequence[str] | None, dict[int, list[str]]]],
        labels: Callable[[list[str]], Sequence[int]],
        waiting: Mapping[str, Any] | None = None,
    ) -> None:
        self._name, self._mix, self._words = name, mix, words
        self._ask = Questions(self._cards, lambda: words()[1], labels)
        self._confirming = Confirming()
        if waiting is not None:
            self._confirming = Confirming.from_spec(waiting)
        elif mix.__sklearn_is_fitted__() and not mix.learner_.waiting:
            self._confirming.next_id = mix.lineage_.next_id
        self._webhook = Webhook(address)
        self._webhook.start()

    def learnt(self, ids: Sequence[Any], texts: Sequence[str] | None) -> None:
        """Post the clusters that are confirmed now, after rows with these ids were learnt."""
        kind = "vectors" if texts is None else "texts"
        given = Observations(kind, texts, list(ids))
        self._confirming.keep(given)
        self._post(given)

    def ended(self) -> bool:
        """Post the clusters that wait, since no more rows come; return whether there are any."""
        return self._post(None)

    def _post(self, given: Observations | None) -> bool:
        if not self._mix.__sklearn_is_fitted__() or self._mix.learner_.waiting:
            return False
        found = self._confirming.events(self._mix, given, self._ask, time.time())
        for event in found:
            self._webhook.tell(self._name, event)
        return bool(found)

    def _cards(self, id: int | None = None) -> list[Card]:
        names = self._words()[0]
        return self._mix.cards(names=names) if id is None else [self._mix.card(id, names=names)]

    def to_spec(self) -> dict[str, Any]:
        """Return which clusters wait to be confirmed, as JSON-ready values."""
        return self._confirming.to_spec()

    def close(self) -> None:
        """Send what waits, and stop."""
        self._webhook.stop()

    def lost(self) -> str:
        """Return how many clusters could not be posted, where and why; "" if all were."""
        return self._webhook.lost()
