"""Why observations are in their clusters."""

from typing import Any

from evermix.estimators.mixture.explanation import NEW, explained_words
from evermix.estimators.mixture.held import absent, cluster_id
from evermix.service.bodies import BodyError, Observations
from evermix.service.core import Core
from evermix.service.edits import LISTED

MOST_EXPLAINED = 20  # observations in a request


def explained(core: Core, given: Observations, called: str | None) -> list[dict[str, Any]]:
    """Return for every row why it is in its cluster, as ``evermix explain --json`` does.

    ``called`` is the id or the name of a cluster to compare with, -1 for a new one.
    """
    if len(given.ids) > MOST_EXPLAINED:
        raise BodyError(
            f"explain takes {MOST_EXPLAINED} observations at most, got {len(given.ids):,}. "
            "Send several requests."
        )
    words = core.words(given)
    against = None if called is None else _id_of(core, called)
    answers = list[dict[str, Any]]()
    for i, id in enumerate(given.ids):
        if words is None:
            why = core.mix.explain(core.features(given.part([i])), against, core.names)
        else:
            why = explained_words(core.mix, words[i : i + 1], against, core.names)
        answers.append(({} if id is None else {"id": id}) | why.to_dict())
    return answers


def _id_of(core: Core, called: str) -> int:
    try:
        id = cluster_id(core.mix, called)
    except ValueError as error:
        raise BodyError(f"against: {error}") from error
    if id not in (NEW, *core.ids):
        raise BodyError(absent(core.mix.lineage_, id, LISTED))
    return id
